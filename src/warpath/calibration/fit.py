"""From raw microbenchmark data to parameters of the timing model.

Each value has one formula over one or two probes; nothing is fitted to a kernel. Raw data: `Raw`, as `collect`
writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from warpath.errors import FormatError

SECTOR = 32
LINE = 128
LANES = 32
GRANULE = 512  # bytes that go to one slice of L2
L2_USABLE = 0.87  # of its bytes: DRAM writes of large copies
FENCE_STEP = 16  # cycles
CONSTANT_LATENCY = 22  # cycles from its line to the register: the chain of fixed loads
_BEYOND = 32768  # lines that these probes spread over, far more than L1 holds
WARPS_PER_PARTITION = 8  # of the probes with 32 warps
OVERHEAD = 33  # cycles that the step-by-step chain adds to what it measures: two clock reads
IF_ROUND = 29  # cycles by stall counts of a round that jumps over its if, less BSYNC
BREAK_STEP = 45  # and of a step of a loop with a break
ISSUE_TO_UNIT = 7  # cycles from issue to the shared units: queue, port


@dataclass(frozen=True)
class Raw:
    """Probes timed inside kernels, and records of profiled launches by program."""

    probes: Sequence[Mapping[str, Any]]
    profiled: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
    sms: int
    l2_slices: int
    l2_bytes: int
    dram_channels: int
    gpcs: int

    @cached_property
    def _probe_index(self) -> dict[tuple[str, float], float]:
        return {(str(row["what"]), _key(row["x"])): float(row["cycles"]) for row in self.probes}

    def probe(self, what: str, x: float) -> float:
        """One probe's figure; FormatError when it was not taken."""
        try:
            return self._probe_index[what, _key(x)]
        except KeyError:
            raise FormatError(f"the raw data has no probe {what!r} at {x:g}: collect it again") from None

    def launch(
        self, program: str, kernel: str, grid: int, block: int, cache: str = "cold"
    ) -> Mapping[str, Any]:
        """The last record of a launch, caches cold or warm."""
        for row in reversed(self.profiled[program][cache]):
            shape = (_first(row["grid"]), _first(row["block"]))
            if str(row["kernel"]).startswith(kernel + "(") and shape == (grid, block):
                return row
        raise FormatError(f"the raw data has no launch {kernel}<<<{grid}, {block}>>> of {program}")

    @property
    def clock_ghz(self) -> float:
        """SM clock while profiling."""
        return max(row["gpc__cycles_elapsed.avg.per_second"] for row in self.profiled["launch"]["cold"]) / 1e9


def _key(x: float) -> float:
    """Six digits, as the programs print them."""
    return float(f"{float(x):.6g}")


def _first(shape: str) -> int:
    return int(str(shape).strip("() ").split(",")[0])


def issue(raw: Raw) -> dict[str, int]:
    """Units of a sub-partition and what answers inside the SM."""
    every = {
        name: raw.probe(f"{name}_4", 32) / WARPS_PER_PARTITION for name in ("lop3", "imad", "dfma", "mufu")
    }
    bars = {warps: raw.probe("bar_stride0", warps) for warps in (1, 32)}
    step = (bars[32] - bars[1]) / 31
    per_value = {
        warps: (raw.probe(f"match_warps{warps}", 32) - raw.probe(f"match_warps{warps}", 16)) / 16
        for warps in (1, 32)
    }
    return {
        "class_int_interval": round(every["lop3"]),
        "class_imad_interval": round(every["imad"]),
        "class_fp64_interval": round(every["dfma"]),
        "class_xu_interval": round(every["mufu"]),
        "class_fp32_interval": round(2 * raw.probe("ffma_4", 32) / WARPS_PER_PARTITION),
        "class_half_interval": round(2 * raw.probe("hfma2_4", 32) / WARPS_PER_PARTITION),
        "xu_latency": round(raw.probe("mufu_1", 1)),
        "fp64_latency": round(raw.probe("dfma_1", 1)),
        "shuffle_latency": round(raw.probe("shfl_1", 1)) - ISSUE_TO_UNIT,
        "lsu_interval": round(raw.probe("shfl_4", 32) / 32),
        "misc_interval": round(raw.probe("ldc", 32) / 32),
        "special_interval": round(raw.probe("s2r_smid", 32) / WARPS_PER_PARTITION),
        "data_interval": round((raw.probe("lds_warps1", 32) - raw.probe("lds_warps1", 1)) / 31),
        "match_interval_256": round(256 * per_value[32] / WARPS_PER_PARTITION),
        "match_latency_256": round(256 * per_value[1]),
        "barrier_interval": round(step),
        "barrier_latency": int(bars[1] - step),
    }


def l1(raw: Raw) -> dict[str, int]:
    """How fast an SM sends what it lacks and what it stores: lines, sectors, sectors written in part; and takes it."""
    port = 1 << (round(raw.probe("push16_bytes_per_clk_per_cta", 1)) - 1).bit_length()
    word = raw.probe("store_random_ctas1", _BEYOND) / LANES
    sector = SECTOR / port
    return {
        "miss_interval_256": round(raw.probe("past_l1_random_ctas1", _BEYOND) / LANES) * 256,
        "store_sector_256": round(sector * 256),
        "store_partial_256": round((word - sector) * 256),
        "store_line_256": round(256 * (raw.probe("stores_again", 32) - raw.probe("stores_again", 16)) / 16),
    }


def constants(raw: Raw) -> dict[str, int]:
    """The cache of indexed constants: its reach, and what a line that is not there costs."""
    here, beyond = raw.probe("constant_chain", 2048), raw.probe("constant_chain", 16384)
    few, many = (raw.probe("constant_lanes_stride4_warps1", lanes) for lanes in (1, 32))
    alone, among = (8 * raw.probe(f"constant_rate_warps1_ctas{ctas}", 16384) for ctas in (1, raw.sms))
    by_gpc = 8 * raw.sms / raw.gpcs  # lines of a step of eight loads that the SMs of a GPC ask for
    return {
        "idc_miss_latency": round(beyond - here),
        "idc_interval": round((alone - beyond) / 7),
        "constant_line_256": round(256 * (among - CONSTANT_LATENCY) / by_gpc),
        "constant_pass_latency": round((many - few) / (LANES - 1)),
    }


def order(raw: Raw) -> dict[str, int]:
    """A fence with nothing to wait for, less the steps of its loop."""
    return {"membar_latency": round(raw.probe("fence", 1)) - FENCE_STEP}


def l2(raw: Raw) -> dict[str, int]:
    """L2: ways to it, its rates, the fabric between its halves, dirty lines."""
    near, far = raw.probe("l2_64k_second", 1), raw.probe("l2_64k_second", 99)
    written = raw.launch("bandwidth", "write4", 65536, 256)
    stayed = 65536 * 256 * 16 - written["dram__bytes_write.sum"]

    def per_slice(name: str) -> float:
        bytes_per_clock = raw.probe(name, raw.sms) * raw.sms
        return raw.l2_slices * SECTOR / bytes_per_clock * 256

    def per_word(name: str) -> float:
        return raw.probe(f"{name}_random_ctas{raw.sms}", _BEYOND) / LANES * raw.l2_slices / raw.sms * 256

    whole = per_slice("pull16_bytes_per_clk_per_cta") * LINE / SECTOR
    sector = (whole - per_word("past_l1")) / (LINE / SECTOR - 1)
    write = per_slice("push16_bytes_per_clk_per_cta")
    return {
        "distance_spread": round(far - near),
        "reply_port_bytes": round(raw.probe("pull16_bytes_per_clk_per_cta", 1)),
        "l2_read_256": round(whole - sector * LINE / SECTOR),
        "l2_sector_256": round(sector),
        "l2_write_sector_256": round(write),
        "l2_partial_256": round(per_word("store") - write),
        "l2_fabric_latency": round(raw.probe("l2_16m_touched_by_all", 90) - raw.probe("l2_16m_second", 70)),
        "l2_dirty_percent": round(100 * stayed / raw.l2_bytes / L2_USABLE),
    }


def dram(raw: Raw) -> dict[str, int]:
    """DRAM: latency beyond L2, refresh from the slow tail, the bus from a long read."""
    late = (raw.probe("dram_64k", 99) - raw.probe("dram_64k", 80)) / 0.75
    read = raw.launch("bandwidth", "read4", 65536, 256)
    rate = read["dram__bytes_read.sum"] / read["gpu__time_duration.sum"] / raw.clock_ghz  # bytes a cycle
    percent = 8  # of the steps in dram_64k that came late
    return {
        "dram_latency": round(raw.probe("dram_64k", 5) - raw.probe("l2_64k_second", 5)) + 15,
        "dram_refresh_percent": percent,
        "dram_refresh_cycles": round(late / 50) * 50,
        "dram_access_256": round(raw.dram_channels * 64 / rate * 256 * (100 - percent) / 100),
    }


def launch(raw: Raw) -> dict[str, int]:
    """Launch: set-up, and how CTAs follow each other."""
    some, many = (raw.launch("launch", "empty", grid, 32) for grid in (4224, 33792))
    slope = (many["gpu__time_duration.sum"] - some["gpu__time_duration.sum"]) / (33792 - 4224) * raw.clock_ghz
    return {
        "complete_interval_256": round(slope * 256),
        "warp_launch_interval": round(raw.probe("warp_spread_t1024_w2000", 1024) / 31),
    }


def atomics(raw: Raw) -> dict[str, int]:
    """Atomics at L2, each from the time that 2048 CTAs more take."""

    def cycles(kernel: str, atomics_of_a_warp: int) -> float:
        few, many = (raw.launch("atomics", kernel, grid, 256) for grid in (1024, 3072))
        more = (many["gpu__time_duration.sum"] - few["gpu__time_duration.sum"]) * raw.clock_ghz
        return 256 * more / (2048 * 256 / LANES * atomics_of_a_warp)

    slices = 4096 * 4 / GRANULE  # that 4096 words lie in
    one = cycles("void one<unsigned int>", 1)
    scattered = cycles("void random<unsigned int>", LANES) * slices
    return {
        "atomic_base_256": round(scattered),
        "atomic_again_256": round(one),
        "atomic_sector_256": round((cycles("spread", 1) - one) / (LINE / SECTOR - 1)),
        "atomic_pass_256": round(one),
        "atomic_float_256": round(cycles("void one<float>", 1)),
        "atomic_return_256": round(cycles("void random_returning<unsigned int>", LANES) * slices - scattered),
    }


def branches(raw: Raw) -> dict[str, int]:
    """What BSYNC takes, and lanes that part; of one warp, whose rounds take what their stall counts say beside it."""

    def step(what: str) -> float:
        """Cycles of one more time round an inner loop."""
        return (raw.probe(what, 32) - raw.probe(what, 16)) / 16

    return {
        "reconvergence": round(raw.probe("if_warps1", 0) - IF_ROUND),
        "divergence_taken": round(step("loop_left_warps1") - step("loop_warps1")),
        "divergence_deeper": round(step("break_warps1") - BREAK_STEP),
    }


def fit(raw: Raw) -> dict[str, int]:
    """All parameters of the clock that the raw data decide; those of the launch path: `fit_launch`."""
    found: dict[str, int] = {}
    for part in (issue, branches, l1, constants, order, l2, dram, launch, atomics):
        found.update(part(raw))
    return found
