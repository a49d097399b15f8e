"""The effects that stand between a launch and its floor, and what taking one away means for the clock.

An effect is taken away by changing the clock's parameters (see `[timing]` of the board files) and by idealising what
no parameter holds: stall counts, shared-memory banks, the placement of lanes. The order is fixed: each effect's cost
is the difference its removal makes after those before it are gone, so costs of effects that overlap go to the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warpath.gpu.spec import Gpu

# Beyond every amount that a launch can ask for, and within 32 bits whatever the core multiplies it by.
_UNLIMITED = 1 << 20
_QUEUE = 256  # entries: more than all warps of a sub-partition can have under way

# What needs no replay: the front end's set-up before the first CTA; and what is left between the last replay and the
# floor, told apart by arithmetic.
FRONT_END = "front_end"
STORE_DRAIN = "store_drain"
COLD_FETCH = "cold_fetch"
L2_KEPT = "l2_kept"
EXTRA_DRAM = "extra_dram"
TAIL = "imbalance_tail"

_CLASSES = (
    "fp32", "int", "imad", "imad_wide", "half", "half_mma", "fp64", "xu", "uniform", "branch", "tensor",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Effect:
    """One term of the ledger. `ideal` names arguments of the core's replay that are set to true."""

    key: str
    label: str
    changes: Mapping[str, int] = field(default_factory=dict[str, int])
    ideal: tuple[str, ...] = ()


def _zero(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 0)


def _one(*names: str) -> dict[str, int]:
    return dict.fromkeys(names, 1)


# SMs run side by side for a quantum; with latencies gone it must be short, or it becomes one itself.
_SHORT_QUANTUM = {"quantum": 8}

_EFFECTS = (
    Effect(
        "block_ramp",
        "block ramp",
        _zero(
            "launch_interval_256",
            "complete_interval_256",
            "complete_latency",
            "dispatch_latency",
            "warp_launch_interval",
        )
        | _SHORT_QUANTUM,
    ),
    Effect(
        COLD_FETCH,
        "cold instruction and constant fetch",
        _zero(
            "l1i_latency", "l2i_latency", "dram_i_latency", "prefetch_interval", "prefetch_shared_interval",
            "imc_latency", "imc_refetch", "imc_again", "idc_latency", "idc_miss_latency", "idc_interval",
            "constant_line_256", "constant_launch_latency", "constant_l2_latency", "constant_dram_latency",
        ),
    ),
    Effect(
        "fixed_latency",
        "fixed latencies",
        _zero(
            "branch_redirect", "call_redirect", "reconvergence", "divergence_taken", "divergence_passed",
            "divergence_deeper", "divergence_interval", "exit_resolve", "barrier_latency", "barrier_interval",
            "membar_latency", "constant_pass_latency", "match_latency_256",
        )
        | _one(
            "special_latency", "uniform_special_latency",
            "constant_latency", "fixed_constant_latency", "shuffle_latency", "shared_latency", "shared_atomic_latency",
            "xu_latency", "tensor_latency", "fp64_latency", "uniform_latency", "source_release", "mio_latency",
        ),
        ("stalls",),
    ),
    Effect(
        "memory_latency",
        "memory latency",
        _zero("request_latency", "reply_latency", "distance_spread", "l2_fabric_latency", "dram_latency")
        | _zero("dram_spread", "l1_miss_latency", "atomic_latency")
        | _one("l1_latency"),
    ),
    Effect("bank_conflicts", "bank conflicts", ideal=("banks",)),
    Effect("uncoalesced", "uncoalesced sectors", ideal=("sectors",)),
    Effect(
        "l1_lsu_mio",
        "L1, LSU and MIO limits",
        _zero(
            "mio_interval", "operand_interval_256", "misc_interval", "special_interval", "match_interval_256",
            "data_interval", "lsu_interval", "store_sector_256", "store_partial_256", "store_line_256",
            "store_hold_256", "miss_interval_256",
        )
        | {"mio_credits": _QUEUE, "lg_credits": _QUEUE, "lsu_credits": _QUEUE, "store_buffer_cycles": _UNLIMITED},
    ),
    Effect(
        "crossbar_l2",
        "crossbar and L2 limits",
        _zero(
            "l2_read_256", "l2_fill_256", "l2_sector_256", "l2_write_sector_256", "l2_partial_256", "l2_merging_256",
            "atomic_base_256", "atomic_again_256", "atomic_sector_256", "atomic_pass_256", "atomic_float_256",
            "atomic_return_256",
        )
        | {"reply_port_bytes": _UNLIMITED, "gpc_port_bytes": _UNLIMITED, "l2_fabric_write_bytes": _UNLIMITED},
    ),
    Effect(
        "dram_inefficiency",
        "DRAM inefficiency",
        _zero("dram_turnaround_256", "dram_refresh_percent", "dram_row_256", "dram_reorder_percent"),
    ),
    Effect("issue", "register bank conflicts", {"register_reads": _QUEUE}),
    Effect("math_pipes", "math pipe limits", _one(*(f"class_{name}_interval" for name in _CLASSES))),
    Effect(
        STORE_DRAIN,
        "store drain and completion",
        _zero("exit_drain") | {"store_credits": 4096},
    ),
)  # fmt: skip

LABELS = {effect.key: effect.label for effect in _EFFECTS} | {
    "floor": "floor",
    FRONT_END: "front end and set-up",
    L2_KEPT: "bytes that L2 kept away from DRAM",
    EXTRA_DRAM: "DRAM traffic beyond the compulsory",
    TAIL: "load imbalance and tail",
}


def effects(gpu: Gpu, values: Mapping[str, int]) -> list[Effect]:
    """The effects in order, for a board with the timing parameters `values`."""
    found = list(_EFFECTS)
    at = next(i for i, effect in enumerate(found) if effect.key == "dram_inefficiency")
    dram = found[at]
    found[at] = Effect(dram.key, dram.label, dict(dram.changes) | _paper_rate(gpu, values), dram.ideal)
    return found


def _paper_rate(gpu: Gpu, values: Mapping[str, int]) -> dict[str, int]:
    """A DRAM access at the board's paper bandwidth, in 256ths of an SM cycle on one channel."""
    bytes_per_cycle = gpu.dram_gbs * 1e6 / values["sm_clock_khz"]
    access = values["dram_access_bytes"] * values["dram_channels"] / bytes_per_cycle * 256
    return dict.fromkeys(("dram_access_256", "dram_write_256"), round(access))
