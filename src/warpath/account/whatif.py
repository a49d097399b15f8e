"""What a launch would take with one thing changed: each effect of the ledger alone, and what a user can change.

Every answer is a replay of the recorded stream. What needs other instructions than those that ran (another algorithm)
is not here; a block size or a vector width is answered by dealing the same warps out differently, and says so, or is
named with the reason why no replay can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from warpath.account.effects import effects
from warpath.frontend.launch import Launch
from warpath.gpu import timing
from warpath.gpu.occupancy import Occupancy, occupancy
from warpath.gpu.spec import Gpu

_WAYS = (2, 4)  # vector widths tried
_WIDEST_BLOCK = 1024
_LEAST_BLOCK = 32
_MEMORY_CLOCK = 1.1  # a change of memory clock that overclockers reach
_DRAM = ("dram_access_256", "dram_write_256", "dram_turnaround_256")
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
_NEEDS_RUN = "needs a run: warpath sweep --set"


@dataclass(frozen=True, slots=True)
class Change:
    """One change and the duration with it; None when it could not be had, and `text` says why."""

    key: str
    kind: str  # `effect` or `user`
    label: str
    duration_ns: int | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Trial:
    key: str
    kind: str
    label: str
    stream: Any
    values: Mapping[str, int]
    text: str = ""
    ideal: Mapping[str, bool] = field(default_factory=dict[str, bool])
    blocks_per_sm: int = 0


def changes(
    stream: Any,
    values: Mapping[str, int],
    gpu: Gpu,
    launch: Launch,
    *,
    boards: tuple[Gpu, ...] = (),
    threads: int = 1,
    advance: Callable[[], None] = lambda: None,
) -> tuple[Change, ...]:
    """All changes, effects first. Durations of partly recorded launches are scaled to the whole."""
    trials = [
        *_effects(stream, values, gpu),
        *_clocks(stream, values, gpu),
        *_boards(stream, gpu, launch, boards),
    ]
    trials += _residency(stream, values, gpu, launch)
    trials += _padding(stream, values, launch)
    shapes, why = _blocks(stream, values, gpu, launch)
    trials += shapes
    widths, why_not = _widths(stream, values)
    trials += widths
    found: list[Change] = []
    scale = 1.0 if stream.whole else launch.counters["cycles"] / stream.replay(dict(values))["cycles"]
    with ThreadPoolExecutor(threads) as pool:
        for trial, cycles in zip(trials, pool.map(_cycles, trials), strict=True):
            ns = cycles * 1e6 / trial.values["sm_clock_khz"] * scale
            found.append(Change(trial.key, trial.kind, trial.label, round(ns), trial.text))
            advance()
    return (*found, *why, *why_not)


def _cycles(trial: _Trial) -> int:
    result = trial.stream.replay(dict(trial.values), blocks_per_sm=trial.blocks_per_sm, **trial.ideal)
    return result["cycles"]


def _effects(stream: Any, values: Mapping[str, int], gpu: Gpu) -> list[_Trial]:
    return [
        _Trial(
            effect.key,
            "effect",
            f"without {effect.label}",
            stream,
            {**values, **effect.changes},
            ideal=dict.fromkeys(effect.ideal, True),
        )
        for effect in effects(gpu, values)
    ]


def _clocks(stream: Any, values: Mapping[str, int], gpu: Gpu) -> list[_Trial]:
    fast = {name: round(values[name] / _MEMORY_CLOCK) for name in _DRAM}
    label = f"memory clock {_MEMORY_CLOCK - 1:+.0%}"
    found = [_Trial("memory_clock", "user", label, stream, {**values, **fast})]
    base = gpu.clock_base_mhz
    if base is not None and base * 1000 != values["sm_clock_khz"]:
        label = f"SM clock at its base, {base} MHz"
        found.append(_Trial("sm_clock_base", "user", label, stream, timing.at_clock(values, base * 1000)))
    return found


def _boards(stream: Any, gpu: Gpu, launch: Launch, boards: tuple[Gpu, ...]) -> list[_Trial]:
    """Boards that run the same SASS; with something in L2 the replay would not know what the other's holds."""
    if launch.counters["cache"] != "cold":
        return []
    return [
        _Trial(
            f"board_{board.name}",
            "user",
            f"on {board.name}",
            stream,
            timing.resolve(board).values,
            "the same SASS",
        )
        for board in boards
        if board.sm.name == gpu.sm.name and board.name != gpu.name
    ]


def _fits(gpu: Gpu, launch: Launch, threads: int, registers: int) -> Occupancy:
    shared = max(launch.work.shared - gpu.sm.shared_reserved_bytes, 0)
    return occupancy(gpu.sm, threads, registers, shared, barriers=max(launch.work.barriers, 1))


def _residency(stream: Any, values: Mapping[str, int], gpu: Gpu, launch: Launch) -> list[_Trial]:
    """Fewer registers, when registers are what keeps another CTA off the SM."""
    if "registers" not in launch.occupancy.limiter:
        return []
    now = launch.occupancy.blocks_per_sm
    for registers in range(launch.work.registers - 1, 15, -1):
        found = _fits(gpu, launch, launch.threads, registers)
        if found.blocks_per_sm > now:
            text = f"{found.blocks_per_sm} blocks an SM instead of {now}, if the compiler needs no spills"
            label = f"{registers} registers a thread instead of {launch.work.registers}"
            return [
                _Trial("registers", "user", label, stream, values, text, blocks_per_sm=found.blocks_per_sm)
            ]
    return []


def _padding(stream: Any, values: Mapping[str, int], launch: Launch) -> list[_Trial]:
    """No two words of a shared access in one bank: what padding can reach at best."""
    if not launch.counters["metrics"].get(CONFLICTS, 0):
        return []
    text = "as if no access had a bank conflict; room for the padding not counted"
    return [_Trial("pad_shared", "user", "pad the shared array", stream, values, text, ideal={"banks": True})]


def _blocks(
    stream: Any, values: Mapping[str, int], gpu: Gpu, launch: Launch
) -> tuple[list[_Trial], list[Change]]:
    """The same warps in blocks of half and twice the size, and the sizes that only another run can tell of."""
    trials: list[_Trial] = []
    untold: list[Change] = []
    for threads in (launch.threads // 2, launch.threads * 2):
        if threads % _LEAST_BLOCK or not _LEAST_BLOCK <= threads <= _WIDEST_BLOCK:
            continue
        fit = _fits(gpu, launch, threads, launch.work.registers)
        if fit.blocks_per_sm == 0:
            continue
        key, label = f"block_{threads}", f"blocks of {threads} threads instead of {launch.threads}"
        if launch.work.shared > gpu.sm.shared_reserved_bytes:
            why = "its shared memory is laid out for this block size"
            untold.append(Change(key, "user", label, None, f"{_NEEDS_RUN}; {why}"))
        elif (other := stream.regroup(threads // _LEAST_BLOCK)) is None:
            why = "warps of a block wait for each other"
            untold.append(Change(key, "user", label, None, f"{_NEEDS_RUN}; {why}"))
        else:
            per_sm = fit.blocks_per_sm
            text = f"{per_sm} blocks an SM; the same warps, dealt out differently"
            trials.append(_Trial(key, "user", label, other, values, text, blocks_per_sm=per_sm))
    return trials, untold


def _widths(stream: Any, values: Mapping[str, int]) -> tuple[list[_Trial], list[Change]]:
    """Accesses 2 and 4 times as wide, each thread doing that much more; arithmetic is counted once."""
    trials: list[_Trial] = []
    for ways in _WAYS:
        wide = stream.widen(ways)
        if wide is not None:
            text = f"{ways} elements a thread with accesses {ways} times as wide; arithmetic counted once"
            trials.append(_Trial(f"vector_{ways}", "user", f"vector accesses x{ways}", wide, values, text))
    if trials:
        return trials, []
    why = "its warps meet, part ways, or do not read and write side by side"
    return [], [Change("vector", "user", "vector accesses", None, f"{_NEEDS_RUN}; {why}")]
