"""A timed grid's result under Nsight Compute's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpath.frontend.launch import Launch
from warpath.gpu.spec import Gpu

SECTOR = 32
# The units that the issue classes of the board files name by number; the last stands for none.
_UNITS = ("alu", "fma_heavy", "fma_lite", "fp64", "xu", "uniform", "tensor", "branch", "fp16")
_STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
_L1 = (
    ("global_ld", "global_op_ld"),
    ("global_st", "global_op_st"),
    ("global_atom", "global_op_atom"),
    ("global_red", "global_op_red"),
    ("local_ld", "local_op_ld"),
    ("local_st", "local_op_st"),
)


def collect(
    result: Mapping[str, Any], counters: Mapping[str, Any], launch: Launch, spec: Gpu, khz: int
) -> dict[str, float]:
    """Whole-launch metrics. `khz` is the SM clock."""
    found: dict[str, float] = {}
    found.update(_time(result, counters, spec, khz))
    found.update(_issue(result, counters, launch, spec))
    found.update(_l1(result["l1"]))
    found.update(_shared(result["shared"]))
    found.update(_l2(result["memory"]))
    return found


def utilization(result: Mapping[str, Any], spec: Gpu, values: Mapping[str, int]) -> dict[str, float]:
    """Percent of its peak, over the whole duration, that each resource was used; `values` are timing parameters."""
    cycles = max(result["cycles"], 1)
    parts = cycles * spec.sms * spec.sm.sub_partitions
    memory = result["memory"]
    dram = (memory["dram_read_bytes"] + memory["dram_write_bytes"]) / (cycles / values["sm_clock_khz"] * 1e6)
    units = dict(zip(_UNITS, result["unit_cycles"], strict=False))
    busy = {name: count / parts for name, count in units.items()}
    busy["fma"] = (busy.pop("fma_heavy") + busy.pop("fma_lite")) / 2
    return {
        "dram": 100 * dram / spec.dram_sustained_gbs,
        "l2": 100 * memory["slice_cycles"] / (cycles * values["l2_slices"]),
        "crossbar": 100 * memory["reply_bytes"] / (cycles * spec.sms * values["reply_port_bytes"]),
        "lsu": 100 * result["lsu_cycles"] / (cycles * spec.sms),
        "issue": 100 * result["issued"] / parts,
        **{name: 100 * share for name, share in busy.items()},
    }


def stall_ratio(reason: str) -> str:
    """The metric of one stall reason."""
    return _STALLED.format(reason)


def _time(result: Mapping[str, Any], counters: Mapping[str, Any], spec: Gpu, khz: int) -> dict[str, float]:
    memory = result["memory"]
    seconds = result["cycles"] / (khz * 1000)
    bytes_per_second = (memory["dram_read_bytes"] + memory["dram_write_bytes"]) / seconds
    return {
        "gpu__time_duration.sum": counters["duration_ns"],
        "gpc__cycles_elapsed.max": result["cycles"],
        "gpc__cycles_elapsed.avg.per_second": khz * 1000,
        "sm__cycles_active.avg": result["active_cycles"] / spec.sms,
        "dram__bytes_read.sum": memory["dram_read_bytes"],
        "dram__bytes_write.sum": memory["dram_write_bytes"],
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 100
        * bytes_per_second
        / (spec.dram_sustained_gbs * 1e9),
    }


def _issue(
    result: Mapping[str, Any], counters: Mapping[str, Any], launch: Launch, spec: Gpu
) -> dict[str, float]:
    schedulers = spec.sms * spec.sm.sub_partitions
    executed = counters["inst_executed"]
    issued = max(result["issued"], 1)
    active = max(result["active_cycles"], 1)
    stalls = result["stalls"]
    eligible = stalls["selected"] + stalls["not_selected"]
    per_scheduler = active * spec.sm.sub_partitions
    found: dict[str, float] = {
        "smsp__inst_executed.sum": executed,
        "smsp__inst_executed.avg": executed / schedulers,
        "smsp__inst_issued.sum": result["issued"],
        "smsp__inst_issued.avg": result["issued"] / schedulers,
        "smsp__issue_active.avg.per_cycle_active": result["issued"] / per_scheduler,
        "smsp__issue_active.avg.pct_of_peak_sustained_active": 100 * result["issued"] / per_scheduler,
        "smsp__warps_active.avg.per_cycle_active": result["warp_cycles"] / per_scheduler,
        "smsp__warps_eligible.avg.per_cycle_active": eligible / per_scheduler,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 100
        * result["warp_cycles"]
        / (active * spec.sm.max_warps),
        "smsp__average_warp_latency_per_inst_issued.ratio": result["warp_cycles"] / issued,
        "smsp__thread_inst_executed_per_inst_executed.ratio": counters["thread_inst_executed"]
        / max(executed, 1),
        "launch__waves_per_multiprocessor": _volume(launch.work.grid)
        / (spec.sms * launch.occupancy.blocks_per_sm),
        "sm__maximum_warps_per_active_cycle_pct": 100 * launch.occupancy.warps_per_sm / spec.sm.max_warps,
    }
    for reason, cycles in stalls.items():
        found[stall_ratio(reason)] = cycles / issued
    return found


def _l1(l1: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    found: dict[str, float] = {}
    hits = sectors = 0
    for own, ncu in _L1:
        counts = l1[own]
        name = f"pipe_lsu_mem_{ncu}"
        found[f"l1tex__t_requests_{name}.sum"] = counts["requests"]
        found[f"l1tex__t_sectors_{name}.sum"] = counts["sectors"]
        found[f"l1tex__t_sectors_{name}_lookup_hit.sum"] = counts["hits"]
        found[f"l1tex__t_sectors_{name}_lookup_miss.sum"] = counts["sectors"] - counts["hits"]
        found[f"l1tex__t_output_wavefronts_{name}.sum"] = counts["wavefronts"]
        hits += counts["hits"]
        sectors += counts["sectors"]
    found["l1tex__t_sector_hit_rate.pct"] = 100 * hits / max(sectors, 1)
    return found


def _shared(shared: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for part, prefix in (
        ("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared"),
        ("conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"),
    ):
        for op, counts in shared.items():
            found[f"{prefix}_op_{op}.sum"] = counts[part]
        found[f"{prefix}.sum"] = sum(counts[part] for counts in shared.values())
    return found


def _l2(memory: Mapping[str, int]) -> dict[str, float]:
    hits = memory["read_hits"] + memory["write_hits"] + memory["other_hits"]
    misses = memory["read_misses"] + memory["other_sectors"] - memory["other_hits"]
    sectors = memory["read_sectors"] + memory["write_sectors"] + memory["other_sectors"]
    return {
        "lts__t_sectors.sum": memory["l2_sectors"],
        "lts__t_sectors_srcunit_tex.sum": sectors,
        "lts__t_sectors_srcunit_tex_lookup_hit.sum": hits,
        "lts__t_sectors_srcunit_tex_lookup_miss.sum": misses,
        "lts__t_sectors_srcunit_tex_op_read.sum": memory["read_sectors"],
        "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum": memory["read_hits"],
        "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum": memory["read_misses"],
        "lts__t_sectors_srcunit_tex_op_write.sum": memory["write_sectors"],
        "lts__t_requests_srcunit_tex_op_read.sum": memory["read_requests"],
        "lts__t_requests_srcunit_tex_op_write.sum": memory["write_requests"],
        "lts__t_requests_srcunit_tex_op_red.sum": memory["reduce_requests"],
        "lts__t_requests_srcunit_tex_op_atom_dot_alu.sum": memory["atomic_requests"],
        "lts__t_requests_srcunit_tex_op_atom_dot_cas.sum": memory["cas_requests"],
    }


def _volume(shape: tuple[int, int, int]) -> int:
    x, y, z = shape
    return x * y * z
