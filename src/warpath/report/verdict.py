"""One line that says what a launch took, what paper says, where the rest went, what binds, and what would help.

The wording is chosen by rules over the launch's record; every figure in it is one of the record's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warpath.report.model import GpuInfo, Launch
from warpath.report.terms import PIPES, duration, excess_sectors, per_group, place, stalled, worst
from warpath.report.traffic import opcode_of
from warpath.units import format_bytes, format_duration_ns

# A resource used more than this share of the time is what binds. The speed-of-light rules of ncu draw the line at 60 %;
# the model's utilizations are within some percent of ncu's, and no reference lies between 50 and 57 %.
BINDING_PERCENT = 55.0
# Front end and completion are paid by every launch; a kernel that takes little else is bound by launching.
LAUNCH_SHARE = 0.5
# Parts of the duration below this share are lumped together.
_SMALL = 0.03
_MEMORY = ("dram", "l2", "crossbar", "lsu")

GROUPS: dict[str, tuple[str, ...]] = {
    "start-up": ("front_end", "block_ramp", "cold_fetch"),
    "latency": ("fixed_latency", "memory_latency"),
    "bank conflicts": ("bank_conflicts",),
    "uncoalesced sectors": ("uncoalesced",),
    "L1 and LSU": ("l1_lsu_mio",),
    "crossbar and L2": ("crossbar_l2",),
    "DRAM efficiency": ("dram_inefficiency", "extra_dram"),
    "kept by L2": ("l2_kept",),
    "pipes": ("issue", "math_pipes"),
    "tail and drain": ("store_drain", "imbalance_tail"),
}

# What each stall reason says of the kernel that waits for nothing else.
_WAITS = {
    "long_scoreboard": "memory latency",
    "short_scoreboard": "shared-memory latency",
    "wait": "fixed latencies",
    "barrier": "barriers",
    "membar": "memory fences",
    "lg_throttle": "the LSU queue",
    "mio_throttle": "the MIO queue",
    "tex_throttle": "the TEX queue",
    "math_pipe_throttle": "a math pipe",
    "no_instruction": "instruction fetch",
    "imc_miss": "constant misses",
    "branch_resolving": "branches",
    "drain": "store drain",
    "sleeping": "its own sleeps",
    "dispatch_stall": "dispatch",
    "not_selected": "issue slots",
    "misc": "miscellaneous waits",
}
_NAMES = {"dram": "DRAM", "l2": "L2", "crossbar": "the crossbar", "lsu": "the LSU", "issue": "issue slots"}


@dataclass(frozen=True, slots=True)
class Bound:
    """The binding resource: a key (`dram`, `l2`, `fma`, `launch`, or `latency`) and, for latency, the stall reason."""

    key: str
    reason: str = ""


def top_stall(launch: Launch) -> str:
    """The reason warps waited for longest; empty when the clock did not run."""
    waits = {reason: cycles for reason, cycles in launch.stalls.items() if reason != "selected"}
    return max(waits, key=lambda reason: waits[reason], default="")


def bound(launch: Launch) -> Bound:
    """What binds the launch: a resource near its peak, else launching itself, else what its warps wait for."""
    use = launch.utilization
    busiest = max(use, key=lambda name: use[name], default="")
    if busiest and use[busiest] >= BINDING_PERCENT:
        return Bound(busiest)
    ledger = {term.term: term.ns for term in launch.ledger}
    fixed = ledger.get("front_end", 0) + ledger.get("store_drain", 0)
    if launch.duration_ns and fixed >= LAUNCH_SHARE * launch.duration_ns:
        return Bound("launch")
    return Bound("latency", top_stall(launch)) if top_stall(launch) else Bound("")


def verdict(launch: Launch, gpu: GpuInfo) -> str:
    """The verdict line, or nothing when the clock did not run."""
    if launch.duration_ns is None or not launch.ledger:
        return ""
    parts = [floor_text(launch, gpu), *_shares(launch)]
    name = launch.kernel.split("(")[0]
    line = f"{name}: {format_duration_ns(launch.duration_ns)}; {parts[0]}"
    if len(parts) > 1:
        line += "; " + ", ".join(parts[1:])
    return f"{line}. {_bound_text(launch)}"


def floor_text(launch: Launch, gpu: GpuInfo) -> str:
    """The floor and what it is made of."""
    floor = f"floor {format_duration_ns(launch.floor_ns)}"
    if launch.floor_kind == "issue":
        executed = launch.counters["smsp__inst_executed.sum"]
        return f"issue {floor} ({executed:,.0f} warp instructions at one a cycle and scheduler)"
    stored = next((what.bytes for what in launch.traffic if what.name == "global stores"), 0)
    kept = ""
    written = launch.counters.get("dram__bytes_write.sum", 0)
    if stored and written < stored / 2:
        kept = f"; the {format_bytes(stored)} of stores stayed in the {_mib(gpu.l2_bytes)} L2"
    return (
        f"DRAM {floor} ({format_bytes(launch.floor_bytes)} of loads at {gpu.dram_bandwidth_gbs:g} GB/s{kept})"
    )


def _mib(count: int) -> str:
    return f"{count / (1 << 20):g} MB"


def _shares(launch: Launch) -> list[str]:
    """`+1.10 us start-up`: groups of terms that matter, and the rest in one; they sum to duration less floor."""
    costs = per_group(launch.ledger, GROUPS)
    shown = {
        name: ns for name, ns in costs.items() if abs(ns) >= _SMALL * (launch.duration_ns or 0) and ns != 0
    }
    rest = sum(costs.values()) - sum(shown.values())
    found = [f"{duration(ns)} {name}" for name, ns in shown.items()]
    return [*found, f"{duration(rest)} other"] if round(rest) else found


def _bound_text(launch: Launch) -> str:
    found = bound(launch)
    return " ".join(filter(None, (_WHAT.get(found.key, _pipe_bound)(launch, found), _work(launch, found))))


def _memory_bound(launch: Launch, found: Bound) -> str:
    use = f"{_NAMES[found.key]} at {launch.utilization[found.key]:.0f} % of its peak"
    return f"Memory bound: {use}, {intensity(launch)}; {_occupancy(launch)}."


def _pipe_bound(launch: Launch, found: Bound) -> str:
    if not found.key:
        return ""
    name = _NAMES.get(found.key, f"the {found.key.upper()} pipe")
    return (
        f"Compute bound: {name} at {launch.utilization[found.key]:.0f} % of its peak; {_occupancy(launch)}."
    )


def _launch_bound(launch: Launch, found: Bound) -> str:
    fixed = sum(term.ns for term in launch.ledger if term.term in ("front_end", "store_drain"))
    share = 100 * fixed / (launch.duration_ns or 1)
    return f"Launch bound: {share:.0f} % of it is front end and completion, the same for any kernel."


def _latency_bound(launch: Launch, found: Bound) -> str:
    total = sum(launch.stalls.values()) or 1.0
    share = 100 * launch.stalls[found.reason] / total
    at = worst(launch.instructions, stalled(found.reason))
    where = f", most at {place(at[0])}" if at else ""
    waits = _WAITS.get(found.reason, found.reason)
    return (
        f"Latency bound: no resource is near its peak; warps wait for {waits} ({found.reason}) "
        f"{share:.0f} % of their cycles{where}; {_occupancy(launch)}."
    )


_WHAT: dict[str, Callable[[Launch, Bound], str]] = {
    **dict.fromkeys(_MEMORY, _memory_bound),
    "launch": _launch_bound,
    "latency": _latency_bound,
}


def _occupancy(launch: Launch) -> str:
    occ = launch.occupancy
    warps = f"{occ.warps_per_sm} of {occ.max_warps_per_sm} warps"
    if occ.warps_per_sm == occ.max_warps_per_sm:
        return f"occupancy is not the limit ({warps})"
    return f"occupancy allows {warps}, limited by {' and '.join(occ.limiter)}"


# Floating-point operations of one lane of an instruction.
_FLOPS = {
    "FADD": 1,
    "FMUL": 1,
    "FFMA": 2,
    "DADD": 1,
    "DMUL": 1,
    "DFMA": 2,
    "HADD2": 2,
    "HMUL2": 2,
    "HFMA2": 4,
}


def flops(launch: Launch) -> int:
    """Floating-point operations of all lanes, tensor instructions left out."""
    return sum(
        i.thread_executed * _FLOPS.get(opcode_of(i.sass).split(".")[0], 0) for i in launch.instructions
    )


def intensity(launch: Launch) -> str:
    """`1 flop per 12 bytes` of global memory asked for."""
    count = flops(launch)
    size = sum(what.bytes for what in launch.traffic if what.name.startswith("global"))
    if not count:
        return "no floating-point work"
    if not size:
        return f"{count:,} flops and no global memory"
    return f"1 flop per {size / count:.3g} bytes" if size > count else f"{count / size:.3g} flops a byte"


def _work(launch: Launch, found: Bound) -> str:
    """What would help, from what binds and the largest term that a user can change."""
    if found.key == "launch":
        return "Only fewer launches help: batch the work, fuse kernels, or use a graph."
    ledger = {term.term: term for term in launch.ledger}
    named = [ledger[key] for key in ("uncoalesced", "bank_conflicts") if key in ledger]
    layout = max(named, key=lambda term: term.ns, default=None)
    if layout is not None and layout.ns >= 0.1 * (launch.duration_ns or 0):
        return f"Better laid out accesses would help: {layout.text}."
    idle = sum(1 for count in launch.sm_blocks if not count)
    if launch.sm_blocks and idle > len(launch.sm_blocks) // 4:
        return f"{idle} of {len(launch.sm_blocks)} SMs have nothing to do: more, smaller blocks would help."
    if found.key == "dram":
        wasted = worst(launch.instructions, excess_sectors)
        if wasted is None or wasted[1] < 0.05 * sum(what.sectors for what in launch.traffic):
            return "Only moving fewer bytes helps, e.g. fusing with a neighbour."
    if found.key in PIPES or found.key == "issue":
        return "Only fewer or cheaper instructions help."
    if found.reason == "long_scoreboard":
        return "More loads under way would help: more warps, or independent loads in each thread."
    return ""
