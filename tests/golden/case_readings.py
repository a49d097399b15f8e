"""Where each figure of tests/cases/checks.json stands in a report: one function a key.

A reading gets the case's reports and returns the figure in the shape of the check. Access counts come from runs
without the clock, since they are facts about the program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from tests.smoke.programs import build_for, warpath
from warpath.isa.opcodes import opcode_of
from warpath.report.model import Diagnosis, InstructionInfo, KernelInfo, Launch, Report

CASES = Path(__file__).resolve().parents[1] / "cases"
BOARDS = {"sm_89": "rtx4090", "sm_90": "h200"}


class Reports:
    """The reports of one case, each made when it is first asked for."""

    def __init__(self, case: str, folder: Path) -> None:
        self.source = CASES / f"{case}.cu"
        self._folder = folder

    def made(self, command: str, board: str, *options: str, program: Path | None = None) -> Report:
        file = self._folder / f"{command}.{board}.{len(options)}.json"
        if not file.exists():
            warpath(command, *options, "--gpu", board, "--json", file, program or self.source)
        return msgspec.json.decode(file.read_bytes(), type=Report)

    @cached_property
    def ada(self) -> Report:
        return self.made("run", "rtx4090", "--quiet", "--functional")

    @cached_property
    def hopper(self) -> Report:
        return self.made("run", "h200", "--quiet", "--functional")

    @cached_property
    def clocked(self) -> Report:
        return self.made("run", "rtx4090", "--quiet")

    @cached_property
    def checked(self) -> Report:
        return self.made("check", "rtx4090", "--instructions", "300000")

    @property
    def first(self) -> Launch:
        return self.ada.launches[0]

    def both(self, read: Callable[[Report], Any]) -> dict[str, Any]:
        return {"sm_89": read(self.ada), "sm_90": read(self.hopper)}


@dataclass(frozen=True)
class Sum:
    """Counts of some instructions, added up."""

    code: list[InstructionInfo]

    def __getattr__(self, name: str) -> int:
        return sum(getattr(i, name) for i in self.code)

    def per_request(self, name: str) -> float:
        return getattr(self, name) / self.requests

    @property
    def ways(self) -> float:
        return self.wavefronts / (self.wavefronts - self.conflicts)


def of(launch: Launch, *names: str, line: int | None = None) -> Sum:
    """Instructions that ran whose opcode starts with one of `names`, of one line or of all."""
    return Sum(
        [
            i
            for i in launch.instructions
            if i.executed and opcode_of(i.sass).startswith(names) and line in (None, i.line)
        ]
    )


def blocks(launch: Launch) -> int:
    return math.prod(launch.grid)


def threads(launch: Launch) -> int:
    return blocks(launch) * math.prod(launch.block)


def warps(launch: Launch) -> int:
    return blocks(launch) * -(-math.prod(launch.block) // 32)


def kernel(report: Report, launch: Launch | None = None) -> KernelInfo:
    assert report.compile is not None
    if launch is None:
        return next(iter(report.compile.kernels.values()))
    return report.compile.kernels[launch.mangled]


def found(launch: Launch, key: str) -> Diagnosis:
    return next(each for each in launch.diagnoses if each.key == key)


def named(report: Report, name: str) -> Launch:
    return next(launch for launch in report.launches if launch.kernel.startswith((name, f"void {name}")))


def useful_pct(launch: Launch) -> float:
    loads = next(each for each in launch.traffic if each.name == "global loads")
    return 100 * loads.bytes / (loads.sectors * 32)


def error(report: Report) -> int:
    """The CUDA error that the program met first, 0 when none; a runtime call returns errors below 1000."""
    return next(
        (
            call.result
            for call in report.api
            if 0 < call.result < 1000 and call.call.strip("_").startswith("cuda")
        ),
        0,
    )


def busy_sms(launch: Launch) -> int:
    return sum(1 for count in launch.sm_blocks if count)


def by_position(report: Report, names: Iterable[str], read: Callable[[Launch], Any]) -> dict[str, Any]:
    """One figure a launch, for a program that launches once for each of `names`."""
    return {name: read(launch) for name, launch in zip(names, report.launches, strict=True)}


def loads(name: str) -> Callable[[Launch], float]:
    return lambda launch: of(launch, "LDG").per_request(name)


def stores(name: str) -> Callable[[Launch], float]:
    return lambda launch: of(launch, "STG").per_request(name)


def floors(reports: Reports) -> dict[str, float]:
    size = reports.first.floor_bytes
    return {"rtx4090_1008GBs": size / 1008e3, "h100_3350GBs": size / 3350e3, "h200_4800GBs": size / 4800e3}


def limiter(reports: Reports) -> str:
    names = {"shared_mem": "shared memory", "blocks": "blocks"}
    return " and ".join(names[name] for name in reports.first.occupancy.limiter)


def occupancy(name: str) -> Callable[[Reports], dict[str, Any]]:
    return lambda r: r.both(lambda report: getattr(report.launches[0].occupancy, name))


def occupancy_pct(reports: Reports) -> dict[str, float]:
    def share(report: Report) -> float:
        occ = report.launches[0].occupancy
        return 100 * occ.warps_per_sm / occ.max_warps_per_sm

    return reports.both(share)


def fault(name: str) -> Callable[[Reports], Any]:
    return lambda r: getattr(r.checked.faults[0], name)


def cells(reports: Reports) -> dict[str, float]:
    """Sectors a request of the loads left of, at, and right of the cell: in the order of the source."""
    sectors = sorted({load.sectors / load.requests for load in of(reports.first, "LDG").code})
    assert sectors == [1, 2]
    return {"-1": sectors[1], "0": sectors[0], "1": sectors[1]}


def levels(launch: Launch) -> Iterator[InstructionInfo]:
    """The one store of each up-sweep step, on its own line."""
    return (i for i in of(launch, "STS", line=18).code)


def stuck(reports: Reports) -> list[int]:
    """Threads still in the loop, as the note on the loop names them."""
    loop = next(note for note in reports.checked.faults[0].notes if note.startswith("The loop at "))
    return [int(thread) for thread in re.findall(r"thread (\d+)", loop)]


def wrong_image(reports: Reports) -> int:
    return error(
        reports.made("run", "rtx4090", "--functional", "--quiet", program=build_for([reports.source], [90]))
    )


STRIDES = ("1", "2", "4", "8", "32")
OFFSETS = ("0", "1", "8", "17")
BANK_STRIDES = ("1", "2", "4", "8", "16", "32", "33")
GRIDS = ("64", "128", "129", "132", "264", "265")

READINGS: dict[str, dict[str, Callable[[Reports], Any]]] = {
    "c01_vadd_bandwidth": {
        "load_sectors_per_request": lambda r: loads("sectors")(r.first),
        "store_sectors_per_request": lambda r: stores("sectors")(r.first),
        "load_requests": lambda r: of(r.first, "LDG").requests,
        "store_requests": lambda r: of(r.first, "STG").requests,
        "load_sectors": lambda r: of(r.first, "LDG").sectors,
        "store_sectors": lambda r: of(r.first, "STG").sectors,
        "useful_bytes_pct": lambda r: useful_pct(r.first),
        "waves": occupancy("waves"),
        "dram_read_floor_us": floors,
    },
    "c03_empty_kernel_launch": {
        "launches": lambda r: len(r.ada.launches),
        "sass_instructions_nothing": lambda r: r.both(lambda x: len(of(named(x, "nothing"), "").code)),
    },
    "c04_strided_read": {
        "load_sectors_per_request": lambda r: by_position(r.ada, STRIDES, loads("sectors")),
        "load_lines_per_request": lambda r: by_position(r.ada, STRIDES, loads("lines")),
        "useful_pct": lambda r: by_position(r.ada, STRIDES, useful_pct),
        "load_requests_per_launch": lambda r: of(r.first, "LDG").requests,
        "store_sectors_per_request": lambda r: stores("sectors")(r.first),
    },
    "c06_float3_vs_float4": {
        "scale3_load_instructions": lambda r: len(of(named(r.ada, "scale3"), "LDG").code),
        "scale3_sectors_per_request": lambda r: loads("sectors")(named(r.ada, "scale3")),
        "scale3_useful_pct_per_request": lambda r: useful_pct(named(r.ada, "scale3")),
        "scale4_load_instructions": lambda r: len(of(named(r.ada, "scale4"), "LDG").code),
        "scale4_sectors_per_request": lambda r: loads("sectors")(named(r.ada, "scale4")),
    },
    "c07_offset_copy": {
        "load_sectors_per_request": lambda r: by_position(r.ada, OFFSETS, loads("sectors")),
        "load_lines_per_request": lambda r: by_position(r.ada, OFFSETS, loads("lines")),
        "store_sectors_per_request": lambda r: stores("sectors")(r.first),
    },
    "c08_transpose_naive": {
        "load_sectors_per_request": lambda r: loads("sectors")(r.first),
        "store_sectors_per_request": lambda r: stores("sectors")(r.first),
        "load_requests": lambda r: of(r.first, "LDG").requests,
        "store_requests": lambda r: of(r.first, "STG").requests,
    },
    "c10_transpose_padded": {
        "load_sectors_per_request": lambda r: loads("sectors")(r.first),
        "store_sectors_per_request": lambda r: stores("sectors")(r.first),
        "lds_ways": lambda r: of(r.first, "LDS").ways,
        "sts_ways": lambda r: of(r.first, "STS").ways,
        "static_smem": lambda r: kernel(r.ada).static_shared,
    },
    "c11_bank_stride": {
        "lds_ways": lambda r: by_position(r.ada, BANK_STRIDES, lambda x: of(x, "LDS").ways),
        "lds_per_launch": lambda r: of(r.first, "LDS").requests,
    },
    "c13_tail_wave": {
        "rounds_sm_89": lambda r: by_position(r.ada, GRIDS, lambda x: math.ceil(x.occupancy.waves)),
        "resident_blocks": lambda r: r.both(lambda x: x.gpu.sms * x.launches[0].occupancy.blocks_per_sm),
        "max_blocks_on_one_sm_sm_90": lambda r: by_position(r.hopper, GRIDS, lambda x: max(x.sm_blocks)),
    },
    "c14_l2_resident": {
        "working_set_bytes": lambda r: named(r.ada, "fill").flow.written_bytes,
        "loads_per_thread": lambda r: (
            of(named(r.ada, "partial"), "LDG", line=16).thread_executed / threads(named(r.ada, "partial"))
        ),
        "sectors_per_request": lambda r: loads("sectors")(named(r.ada, "partial")),
        "dram_read_bytes_expected_after_fill": lambda r: r.clocked.launches[-1].counters[
            "dram__bytes_read.sum"
        ],
    },
    "c15_histogram_global_atomics": {
        "red_requests": lambda r: of(r.first, "RED").requests,
        "sectors_per_request_spread_avg": lambda r: of(r.first, "RED").per_request("sectors"),
        "sectors_per_request_one_value": lambda r: of(r.ada.launches[1], "RED").per_request("sectors"),
        "distinct_addresses_per_request": lambda r: by_position(
            r.ada, ("spread", "one_value"), lambda x: of(x, "RED").per_request("words")
        ),
    },
    "c16_histogram_shared_atomics": {
        "bank_ways_spread": lambda r: of(r.first, "ATOMS").ways,
        "same_address_lanes_one_value": lambda r: (
            of(r.ada.launches[1], "ATOMS").thread_executed / of(r.ada.launches[1], "ATOMS").words
        ),
        "global_red_lanes_one_value": lambda r: of(r.ada.launches[1], "RED").thread_executed,
        "static_smem": lambda r: kernel(r.ada).static_shared,
    },
    "c18_mandelbrot": {
        "iterations": lambda r: of(r.first, "IADD3", line=15).thread_executed,
        "lane_slots": lambda r: 32 * of(r.first, "IADD3", line=15).executed,
        "simt_efficiency_pct": lambda r: (
            100
            * of(r.first, "IADD3", line=15).thread_executed
            / (32 * of(r.first, "IADD3", line=15).executed)
        ),
    },
    "c19_local_array": {
        "stack_bytes": lambda r: kernel(r.ada).stack,
        "spill_stores": lambda r: kernel(r.ada).spill_stores,
        "spill_loads": lambda r: kernel(r.ada).spill_loads,
        "registers": lambda r: kernel(r.ada).registers,
        "distinct_local_lines_first_access_avg": lambda r: Sum(of(r.first, "LDL").code[:1]).per_request(
            "lines"
        ),
    },
    "c22_occupancy_smem_limit": {
        "static_smem": lambda r: kernel(r.ada).static_shared,
        "blocks_per_sm": occupancy("blocks_per_sm"),
        "warps_per_sm": occupancy("warps_per_sm"),
        "occupancy_pct": occupancy_pct,
        "limiter": limiter,
    },
    "c23_occupancy_block_limit": {
        "blocks_per_sm": occupancy("blocks_per_sm"),
        "occupancy_pct": occupancy_pct,
        "limiter": limiter,
    },
    "c24_fp64_literal": {
        "dfma_per_thread": lambda r: found(r.first, "hidden_fp64").figures["fp64_per_thread"],
        "f2f_per_thread": lambda r: found(r.first, "hidden_fp64").figures["conversions_per_thread"],
        "ffma_per_thread_float": lambda r: (
            of(named(r.ada, "relax_float"), "FFMA").thread_executed / threads(r.first)
        ),
        "fp64_fma_per_clk_sm": lambda r: r.both(
            lambda x: found(x.launches[0], "hidden_fp64").figures["fp64_per_clk_sm"]
        ),
    },
    "c26_pointer_chase": {
        "loads": lambda r: of(r.first, "LDG", line=11).requests,
        "sectors_per_request": lambda r: loads("sectors")(r.first),
        "active_sms": lambda r: busy_sms(r.first),
        "dominant_stall": lambda r: max(r.clocked.launches[0].stalls.items(), key=lambda item: item[1])[0],
    },
    "c27_param_layout": {
        "offsets": lambda r: dict(
            zip(("c", "d", "s", "b", "f", "out"), (p.offset for p in r.first.params), strict=True)
        ),
        "param_bytes": lambda r: r.first.params[-1].offset + r.first.params[-1].size,
        "base": lambda r: r.both(lambda x: x.launches[0].param_base),
    },
    "c28_pageable_vs_pinned": {
        "bytes_each_way": lambda r: (
            next(c.bytes for c in r.ada.copies.values()) // 2
        ),  # one pageable, one pinned
    },
    "c29_graph_vs_stream": {
        "nodes": lambda r: (len(r.ada.launches) - 200) / sum(c.call == "cudaGraphLaunch" for c in r.ada.api),
        "replays": lambda r: sum(c.call == "cudaGraphLaunch" for c in r.ada.api),
    },
    "c30_first_launch": {"red_per_launch": lambda r: of(r.first, "RED", "ATOM").thread_executed},
    "c31_oob_far": {
        "error": lambda r: error(r.checked),
        "block": fault("block"),
        "thread": fault("thread"),
        "access": fault("access"),
        "size": fault("size"),
        "offset_bytes": lambda r: r.checked.faults[0].allocation.offset,
    },
    "c32_oob_by_one": {
        "error": lambda r: error(r.checked),
        "block": fault("block"),
        "thread": fault("thread"),
        "access": fault("access"),
        "size": fault("size"),
        "bytes_past_end": lambda r: (
            r.checked.faults[0].allocation.offset - r.checked.faults[0].allocation.size
        ),
        "allocation_bytes": lambda r: r.checked.faults[0].allocation.size,
    },
    "c34_sticky_error": {
        "error": lambda r: error(r.checked),
        "culprit": lambda r: r.checked.faults[0].kernel.split("(")[0],
        "sticky": lambda r: sum(call.result == 700 for call in r.checked.api) > 1,
    },
    "c35_too_many_resources": {
        "error": lambda r: error(r.ada),
        "registers": lambda r: kernel(r.ada).registers,
        "max_threads_per_block": lambda r: _number(r.ada, "blocks of up to ", " threads"),
    },
    "c37_no_kernel_image": {"error": wrong_image},
    "c38_infinite_loop": {
        "stuck_threads": stuck,
        "block": fault("block"),
        "watchdog_error": lambda r: error(r.checked),
    },
    "c39_divergent_barrier_deadlock": {
        "warps_at_barrier": lambda r: [_number(r.checked, "come to barrier 0 (warps ", ")")],
        "spinning_warps": lambda r: [_number(r.checked, "they wait for warp ", " of ")],
        "watchdog_error": lambda r: error(r.checked),
    },
    "c40_race_missing_barrier": {
        "raw_hazard_words": fault("count"),
        "warp_pairs": lambda r: [
            [int(warp) for warp in pair.split(" and ")]
            for pair in _between(_said(r.checked), "Between warps ", ".\n").split(", ")
        ],
    },
    "c42_spinlock_in_warp": {
        "value": lambda r: int(_between(r.ada.program.stdout + "\n", "value=", " ") or 0),
        "successful_cas": lambda r: found(r.first, "serialised_lock").figures["successful_cas"],
    },
    "c43_cooperative_too_large": {
        "error": lambda r: error(r.ada),
        "max_blocks": lambda r: r.both(lambda x: _number(x, "each: ", "\n")),
    },
    "c46_forgotten_dynamic_smem": {
        "error_any_of": lambda r: error(r.checked),
        "dynamic_smem": lambda r: _number(r.checked, "dynamic ", ")"),
    },
    "c47_device_assert": {
        "error": lambda r: error(r.checked),
        "block": fault("block"),
        "thread": fault("thread"),
    },
    "c48_reduce_shared": {
        "load_sectors_per_request": lambda r: loads("sectors")(r.first),
        "lds_ways": lambda r: of(r.first, "LDS").ways,
        "barriers_per_block": lambda r: of(r.first, "BAR").executed / warps(r.first),
        "waves": occupancy("waves"),
    },
    "c50_scan_block": {
        "ways_by_level_unpadded": lambda r: [i.wavefronts / i.requests for i in levels(r.first)],
        "upsweep_wavefronts": lambda r: by_position(
            r.ada, ("unpadded", "padded"), lambda x: 2 * sum(i.wavefronts for i in levels(x))
        ),
        "barriers": lambda r: of(r.first, "BAR").executed / warps(r.first),
    },
    "c52_sgemm_naive": {
        "a_sectors_per_request": lambda r: min(i.sectors / i.requests for i in of(r.first, "LDG").code),
        "b_sectors_per_request": lambda r: max(i.sectors / i.requests for i in of(r.first, "LDG").code),
        "loads_per_ffma": lambda r: of(r.first, "LDG").executed / of(r.first, "FFMA").executed,
        "global_loads_per_thread": lambda r: of(r.first, "LDG").thread_executed / threads(r.first),
    },
    "c53_sgemm_tiled": {
        "global_loads_per_thread": lambda r: of(r.first, "LDG").thread_executed / threads(r.first),
        "sectors_per_request": lambda r: loads("sectors")(r.first),
        "lds_per_16_ffma": lambda r: 16 * of(r.first, "LDS").executed / of(r.first, "FFMA").executed,
        "bank_conflicts": lambda r: of(r.first, "LDS", "STS").conflicts,
        "barriers_per_tile": lambda r: (
            of(r.first, "BAR").executed / (of(r.first, "LDG").executed / 2)
        ),  # a tile is one load of a and one of b
    },
    "c55_softmax_row": {
        "passes_over_row": lambda r: of(r.first, "LDG").thread_executed * 4 / r.first.flow.read_bytes,
        "trips": lambda r: math.ceil(_row(r.first) / math.prod(r.first.block)),
        "last_trip_threads": lambda r: _row(r.first) % math.prod(r.first.block),
    },
    "c57_nbody_tile": {
        "active_sms": lambda r: busy_sms(r.first),
        "pairs": lambda r: of(r.first, "MUFU.RSQ").thread_executed,
        "lds128_wavefronts_per_request": lambda r: of(r.first, "LDS.128").ways,  # beyond what the width takes
        "mufu_per_pair": lambda r: of(r.first, "MUFU").thread_executed / threads(r.first) ** 2,
    },
    "c59_spmv_csr": {
        "nnz": lambda r: of(r.first, "FFMA").thread_executed,
        "scalar_lane_efficiency_pct": lambda r: _lanes(named(r.ada, "spmv_scalar")),
        "vector_lane_efficiency_pct": lambda r: _lanes(named(r.ada, "spmv_vector")),
    },
    "c61_matvec": {
        "mv_thread_sectors_per_request": lambda r: max(
            i.sectors / i.requests for i in of(named(r.ada, "mv_thread"), "LDG").code
        ),
        "mv_warp_sectors_per_request": lambda r: loads("sectors")(named(r.ada, "mv_warp")),
        "mv_thread_active_sms": lambda r: busy_sms(named(r.ada, "mv_thread")),
    },
    "c62_game_of_life": {
        "sectors_per_request": cells,
        "loads_per_cell": lambda r: len(of(r.first, "LDG").code),
    },
    "c63_monte_carlo_pi": {
        "hits": lambda r: int(_between(r.ada.program.stdout, "hits=", " ")),
        "global_atomics": lambda r: of(r.first, "RED").requests,
        "active_sms": lambda r: busy_sms(r.first),
    },
    "c65_wmma_tile": {"hmma": lambda r: of(r.first, "HMMA").executed},
    "c66_folded_benchmark": {
        key: lambda r, key=key: found(r.first, "folded_work").figures[key]
        for key in ("source_steps", "executed_imad", "folded_multiplier")
    },
    "c70_managed_first_touch": {"bytes": lambda r: r.first.flow.written_bytes},
}


def _lanes(launch: Launch) -> float:
    """Useful lanes of the multiply-adds, percent."""
    code = of(launch, "FFMA")
    return 100 * code.thread_executed / (32 * code.executed)


def _row(launch: Launch) -> int:
    """Elements of a row: what one block loads in one pass."""
    return launch.flow.read_bytes // 4 // blocks(launch)


def _said(report: Report) -> str:
    """Everything that faults and failed calls were explained with, a line each."""
    notes = [note for each in report.faults for note in each.notes]
    return "".join(f"{line}\n" for line in [*notes, *(call.detail for call in report.api if call.detail)])


def _between(text: str, before: str, after: str) -> str:
    return text.partition(before)[2].partition(after)[0]


def _number(report: Report, before: str, after: str) -> int:
    return int(_between(_said(report), before, after))
