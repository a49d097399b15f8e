"""The ledger: a launch's duration as its floor and what each effect costs beyond it, summing exactly.

One recorded stream is replayed with one effect after another taken away, in the order of `effects`; a term is the
difference between two replays. What is left between the last replay and the floor is told apart by arithmetic: bytes
that DRAM moved beyond or below the compulsory ones, and imbalance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from warpath.account.effects import (
    COLD_FETCH,
    EXTRA_DRAM,
    FRONT_END,
    L2_KEPT,
    STORE_DRAIN,
    TAIL,
    Effect,
    effects,
)
from warpath.account.floor import Floor
from warpath.gpu.spec import Gpu


@dataclass(frozen=True, slots=True)
class Term:
    """One line: a stable key and nanoseconds; `source` as in the report."""

    key: str
    ns: int
    source: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """Terms that sum to the duration; `replayed` of `blocks` CTAs were replayed and the rest scaled.

    `share` of the warp instructions was replayed: less than those CTAs have when they were too long to keep.
    """

    terms: tuple[Term, ...]
    replayed: int
    blocks: int
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Variant:
    """A replay: changed parameters, and arguments of the core's replay."""

    changes: Mapping[str, int]
    ideal: frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a replay took (SM cycles) and moved."""

    cycles: int
    dram_bytes: int


Replay = Callable[[Variant], Outcome]


def replayer(stream: Any, values: Mapping[str, int]) -> Replay:
    """Replays of `stream` on a board with the timing parameters `values`."""

    def replay(variant: Variant) -> Outcome:
        result = stream.replay(dict(values) | dict(variant.changes), **dict.fromkeys(variant.ideal, True))
        memory = result["memory"]
        return Outcome(result["cycles"], memory["dram_read_bytes"] + memory["dram_write_bytes"])

    return replay


def removed(steps: Sequence[Effect]) -> list[Variant]:
    """The variants with the first, the first two, ... of `steps` taken away."""
    changes: dict[str, int] = {}
    ideal: frozenset[str] = frozenset()
    found: list[Variant] = []
    for effect in steps:
        changes |= effect.changes
        ideal |= set(effect.ideal)
        found.append(Variant(dict(changes), ideal))
    return found


def close(
    stream: Any,
    values: Mapping[str, int],
    gpu: Gpu,
    floor: Floor,
    cycles: int,
    *,
    absent: frozenset[str] = frozenset(),
    threads: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> Ledger:
    """The ledger of a launch that took `cycles`. Effects in `absent` are known to cost nothing and are not replayed.

    `threads` replays run at a time; `advance` is called for each, here.
    """
    steps = [effect for effect in effects(gpu, values) if effect.key not in absent]
    share = 1.0 if stream.whole else min(stream.steps / max(floor.instructions, 1), 1.0)
    variants = removed(steps)
    if not stream.whole:
        variants = [Variant({}, frozenset()), *variants]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(threads) as pool:
        for outcome in pool.map(replayer(stream, values), variants):
            outcomes.append(outcome)
            advance()
    first = cycles if stream.whole else outcomes.pop(0).cycles
    khz = values["sm_clock_khz"]
    around = {FRONT_END: _ns(values["front_end"], khz), STORE_DRAIN: _ns(values["back_end"], khz)}
    outside = sum(around.values())
    times = [_ns(first, khz) - outside, *(_ns(outcome.cycles, khz) - outside for outcome in outcomes)]
    costs = {effect.key: times[i] - times[i + 1] for i, effect in enumerate(steps)}
    costs |= _rest(times[-1], outcomes[-1].dram_bytes, floor, gpu, share)
    duration = _ns(cycles, khz)
    if not stream.whole:
        costs = _scale(costs, duration - round(floor.ns) - outside, share)
    costs = {FRONT_END: 0} | costs
    for key, ns in around.items():
        costs[key] += ns
    terms = [Term("floor", round(floor.ns), "computed")]
    terms += [Term(key, ns, "modelled") for key, ns in costs.items() if ns]
    return Ledger(balanced(terms, duration), stream.recorded, stream.blocks, share)


def _ns(cycles: int, khz: int) -> int:
    return round(cycles * 1_000_000 / khz)


def _rest(last: int, dram_bytes: int, floor: Floor, gpu: Gpu, share: float) -> dict[str, int]:
    """What separates the last replay (ns) from the floor of `share` of the launch."""
    left = last - round(floor.ns * share)
    traffic = round((dram_bytes - floor.bytes * share) / gpu.dram_gbs) if floor.kind == "dram" else 0
    if traffic > 0:
        traffic = min(traffic, max(left, 0))  # moved while something else was waited for
    return {EXTRA_DRAM: max(traffic, 0), L2_KEPT: min(traffic, 0), TAIL: left - traffic}


def _scale(costs: Mapping[str, int], total: int, share: float) -> dict[str, int]:
    """Costs of `share` of the launch, for all of it: to sum to `total`, no cost growing more than the instructions.

    Code is fetched once, however long the launch. Where costs nearly cancel out, or the part lies on the other side of
    its floor, their sum says nothing of each.
    """
    once = costs.get(COLD_FETCH, 0)
    part, whole = sum(costs.values()) - once, total - once
    ratio = min(whole / part, 1 / share) if part * whole > 0 else 1.0
    return {key: ns if key == COLD_FETCH else round(ns * ratio) for key, ns in costs.items()}


def balanced(terms: Sequence[Term], duration: int) -> tuple[Term, ...]:
    """The terms with what is left over put into the last, so that they sum to `duration`."""
    kept = [term for term in terms if term.key != TAIL]
    tail = duration - sum(term.ns for term in kept)
    return (*kept, Term(TAIL, tail, "modelled")) if tail else tuple(kept)
