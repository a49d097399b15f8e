"""What each term of a launch's ledger was in that kernel: which instruction, how many sectors, which wave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warpath.account.effects import LABELS
from warpath.account.ledger import Ledger
from warpath.report.model import InstructionInfo, Launch, LedgerTerm
from warpath.report.traffic import KINDS, SECTOR, opcode_of, width
from warpath.units import format_bytes, format_duration_ns

LANES = 32
_ATOMICS = ("global atomics",)
_SHARED = ("shared loads", "shared stores", "shared atomics")

Worst = tuple[InstructionInfo, float] | None


def ledger_terms(launch: Launch, ledger: Ledger) -> list[LedgerTerm]:
    """The ledger's terms with their labels and texts, in order."""
    return [
        LedgerTerm(
            term=term.key,
            label=LABELS[term.key],
            ns=term.ns,
            source=term.source,
            text=_TEXTS[term.key](launch),
        )
        for term in ledger.terms
    ]


def place(instruction: InstructionInfo) -> str:
    """`00d0 FADD (vadd.cu:9)`."""
    name = opcode_of(instruction.sass).split(".")[0]
    source = f" ({instruction.file.rsplit('/', 1)[-1]}:{instruction.line})" if instruction.line else ""
    return f"{instruction.pc:04x} {name}{source}"


def worst(code: Sequence[InstructionInfo], cost: Callable[[InstructionInfo], float]) -> Worst:
    """The instruction with the largest positive cost."""
    best = max(code, key=cost, default=None)
    return (best, cost(best)) if best is not None and cost(best) > 0 else None


def stalled(*reasons: str) -> Callable[[InstructionInfo], float]:
    """Warp cycles an instruction waited for any of `reasons`."""
    return lambda i: sum(i.stalls.get(reason, 0) for reason in reasons)


def excess_sectors(i: InstructionInfo) -> float:
    """Sectors of a global or local access beyond those that its lanes would fill side by side.

    Not of atomics: theirs count again for lanes on one word, which no layout helps.
    """
    if not i.requests or not i.sectors or _is(i, _ATOMICS):
        return 0
    lanes = i.thread_executed / max(i.executed, 1)
    return i.sectors - i.requests * max(-(-lanes * width(opcode_of(i.sass)) // SECTOR), 1)


def ideal_sectors(i: InstructionInfo) -> int:
    """Sectors a request would have with its lanes side by side."""
    return max(-(-LANES * width(opcode_of(i.sass)) // SECTOR), 1)


def _floor(launch: Launch) -> str:
    if launch.floor_kind == "issue":
        executed = launch.counters["smsp__inst_executed.sum"]
        return f"{executed:,.0f} warp instructions at one a cycle and scheduler"
    return f"{format_bytes(launch.floor_bytes)} that DRAM must move once, at paper bandwidth"


def _front_end(launch: Launch) -> str:
    return "from reading the QMD to the first CTA; the same for every launch"


def _block_ramp(launch: Launch) -> str:
    x, y, z = launch.grid
    handed_out = "1 CTA" if x * y * z == 1 else f"{x * y * z} CTAs handed out one after another"
    return f"{handed_out}, {launch.occupancy.waves:.2f} waves"


def _cold_fetch(launch: Launch) -> str:
    found = worst(launch.instructions, stalled("no_instruction", "imc_miss"))
    size = 16 * len(launch.instructions)
    where = f"; most at {place(found[0])}" if found else ""
    return f"{format_bytes(size)} of code and its constants, fetched by every SM{where}"


def _fixed_latency(launch: Launch) -> str:
    found = worst(launch.instructions, stalled("wait", "barrier", "short_scoreboard", "branch_resolving"))
    return "stall counts, barriers, branches, shared memory" + (
        f"; most at {place(found[0])}" if found else ""
    )


def _memory_latency(launch: Launch) -> str:
    found = worst(launch.instructions, stalled("long_scoreboard"))
    if found is None:
        return "first bytes on their way"
    waits = [f"{pc:04x}" for pcs in found[0].producers.values() for pc in pcs]
    for_whom = f", which waits for {' and '.join(waits)}" if waits else ""
    return f"most at {place(found[0])}{for_whom}"


def _bank_conflicts(launch: Launch) -> str:
    found = worst(launch.instructions, lambda i: i.wavefronts - i.requests if _is(i, _SHARED) else 0)
    if found is None:
        return "words of one access that lie in one bank"
    i = found[0]
    return f"{i.wavefronts / i.requests:.3g} wavefronts a request at {place(i)}"


def _uncoalesced(launch: Launch) -> str:
    found = worst(launch.instructions, excess_sectors)
    if found is None:
        atomics = worst(launch.instructions, lambda i: i.sectors if _is(i, _ATOMICS) else 0)
        return "lanes that lie apart" + (f"; most of the atomics at {place(atomics[0])}" if atomics else "")
    i = found[0]
    return f"{i.sectors / i.requests:.3g} sectors a request at {place(i)}, where {ideal_sectors(i)} would do"


def _l1_lsu_mio(launch: Launch) -> str:
    found = worst(launch.instructions, stalled("lg_throttle", "mio_throttle"))
    where = f"; most at {place(found[0])}" if found else ""
    return f"LSU busy {launch.utilization.get('lsu', 0):.0f} % of the time{where}"


def _crossbar_l2(launch: Launch) -> str:
    use = launch.utilization
    return f"L2 slices busy {use.get('l2', 0):.0f} %, replies {use.get('crossbar', 0):.0f} % of the crossbar"


def _dram_inefficiency(launch: Launch) -> str:
    return f"rows, turnarounds and refresh: {launch.utilization.get('dram', 0):.0f} % of the peak was reached"


def _extra_dram(launch: Launch) -> str:
    moved = launch.counters.get("dram__bytes_read.sum", 0) + launch.counters.get("dram__bytes_write.sum", 0)
    least = format_bytes(launch.floor_bytes)
    return f"{format_bytes(int(moved))} moved, {least} compulsory: read again, or written back"


def _l2_kept(launch: Launch) -> str:
    read = int(launch.counters.get("dram__bytes_read.sum", 0))
    return f"{format_bytes(max(launch.floor_bytes - read, 0))} were in L2 before the launch"


def _issue(launch: Launch) -> str:
    return "operands of one instruction in one register bank"


def _math_pipes(launch: Launch) -> str:
    pipes = {name: use for name, use in launch.utilization.items() if name in PIPES}
    name = max(pipes, key=lambda pipe: pipes[pipe], default="")
    return f"the {name.upper()} pipe is busiest, {pipes[name]:.0f} % of the time" if name else ""


def _store_drain(launch: Launch) -> str:
    return "the last stores on their way to L2, and completion, which is the same for every launch"


def _imbalance_tail(launch: Launch) -> str:
    busy = [count for count in launch.sm_blocks if count]
    if not busy:
        return "SMs and channels that finish at different times"
    idle = len(launch.sm_blocks) - len(busy)
    spread = f"{min(busy)} to {max(busy)}" if min(busy) != max(busy) else str(max(busy))
    return f"{spread} {'CTA' if spread == '1' else 'CTAs'} an SM" + (
        f", {idle} of {len(launch.sm_blocks)} SMs had none" if idle else ""
    )


def _is(i: InstructionInfo, kinds: Sequence[str]) -> bool:
    return KINDS.get(opcode_of(i.sass).split(".")[0]) in kinds


PIPES = ("alu", "fma", "fp16", "fp64", "xu", "uniform", "tensor", "branch")
_TEXTS: dict[str, Callable[[Launch], str]] = {
    "floor": _floor,
    "front_end": _front_end,
    "block_ramp": _block_ramp,
    "cold_fetch": _cold_fetch,
    "fixed_latency": _fixed_latency,
    "memory_latency": _memory_latency,
    "bank_conflicts": _bank_conflicts,
    "uncoalesced": _uncoalesced,
    "l1_lsu_mio": _l1_lsu_mio,
    "crossbar_l2": _crossbar_l2,
    "dram_inefficiency": _dram_inefficiency,
    "extra_dram": _extra_dram,
    "l2_kept": _l2_kept,
    "issue": _issue,
    "math_pipes": _math_pipes,
    "store_drain": _store_drain,
    "imbalance_tail": _imbalance_tail,
}


def per_group(terms: Sequence[LedgerTerm], groups: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """Nanoseconds by group, in the groups' order."""
    return {name: sum(term.ns for term in terms if term.term in members) for name, members in groups.items()}


def duration(ns: float) -> str:
    """A duration with its sign, for sums."""
    return ("+" if ns >= 0 else "-") + format_duration_ns(abs(ns))
