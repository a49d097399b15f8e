"""Recorded streams: a replay under the same parameters is the launch again, cycle for cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.timing.bench import EXIT, Bench, Line
from tests.timing.test_memory import LOAD, USE, address
from warpath import _core

ALL = 1 << 40
BARRIER = Line("BAR.SYNC.DEFER_BLOCKING 0x0", stall=5)


def record(bench: Bench, lines: Sequence[Line], **shape: int) -> tuple[Any, Any]:
    """The result of a launch and what was recorded of it."""
    launch, _ = bench.start(lines, **shape)
    timed = _core.TimedGrid(launch, bench.system, 224 << 10, 1, ALL)
    while timed.step(1 << 30, 1) == "running":
        pass
    return timed.result(), timed.stream()


PROGRAMS: dict[str, tuple[list[Line], dict[str, int]]] = {
    "loads": ([*address(2), LOAD, USE, EXIT], {"grid": 40, "threads": 256}),
    "strided": ([*address(7), LOAD, USE, EXIT], {"grid": 10, "threads": 128}),
    "barriers": ([*address(2), BARRIER, LOAD, USE, BARRIER, USE, EXIT], {"grid": 9, "threads": 192}),
    "conflicts": (
        [
            Line("S2R R0, SR_TID.X", writes=0),
            Line("IMAD R2, R0, 0x80, RZ", stall=5, waits=[0]),
            Line("STS [R2], R0", reads=1),
            Line("LDS R4, [R2]", writes=1, waits=[1]),
            USE,
            EXIT,
        ],
        {"grid": 3, "threads": 32, "shared": 4096},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_replay_is_the_launch_again(name: str) -> None:
    lines, shape = PROGRAMS[name]
    bench = Bench()
    result, stream = record(bench, lines, **shape)
    again = stream.replay(bench.params)
    assert again["cycles"] == result["cycles"]
    assert again["stalls"] == result["stalls"]
    assert again["memory"] == result["memory"]
    assert again["instructions"] == result["instructions"]


def test_what_was_in_l2_before_the_launch_is_there_in_its_replay() -> None:
    bench = Bench()
    lines, shape = PROGRAMS["loads"]
    cold, _ = record(bench, lines, **shape)
    warm, stream = record(bench, lines, **shape)
    assert warm["cycles"] < cold["cycles"]
    assert stream.replay(bench.params)["cycles"] == warm["cycles"]


def test_effects_taken_away() -> None:
    bench = Bench()
    result, conflicts = record(bench, *(PROGRAMS["conflicts"][:1]), **PROGRAMS["conflicts"][1])
    assert result["shared"]["ld"]["conflicts"] > 0
    better = conflicts.replay(bench.params, banks=True)
    assert better["shared"]["ld"]["conflicts"] == 0
    assert better["cycles"] < result["cycles"]
    result, strided = record(bench, PROGRAMS["strided"][0], **PROGRAMS["strided"][1])
    better = strided.replay(bench.params, sectors=True)
    assert better["l1"]["global_ld"]["sectors"] * 8 == result["l1"]["global_ld"]["sectors"]
    assert strided.replay(bench.params, stalls=True)["cycles"] <= result["cycles"]


def test_a_barrier_holds_in_a_replay_with_other_latencies() -> None:
    """The warp that came last when the stream was recorded is not the one the others wait for without its load."""
    bench = Bench()
    lines, shape = PROGRAMS["barriers"]
    result, stream = record(bench, lines, **shape)
    faster = dict(bench.params) | {"dram_latency": 0, "request_latency": 0, "reply_latency": 0, "quantum": 8}
    again = stream.replay(faster)
    assert again["issued"] == result["issued"]
    assert again["cycles"] < result["cycles"]


def test_other_shapes() -> None:
    bench = Bench()
    lines, shape = PROGRAMS["loads"]
    result, stream = record(bench, lines, **shape)
    halves = stream.regroup(4)
    assert (halves.recorded, halves.blocks) == (80, 80)
    assert halves.replay(bench.params)["issued"] == result["issued"]
    wide = stream.widen(4)
    again = wide.replay(bench.params)
    assert again["issued"] * 4 == result["issued"]
    assert again["l1"]["global_ld"]["sectors"] == result["l1"]["global_ld"]["sectors"]
    assert again["l1"]["global_ld"]["requests"] * 4 == result["l1"]["global_ld"]["requests"]


def test_shapes_that_cannot_be_had() -> None:
    bench = Bench()
    _, barriers = record(bench, PROGRAMS["barriers"][0], **PROGRAMS["barriers"][1])
    assert barriers.regroup(2) is None
    assert barriers.widen(2) is None
    _, strided = record(bench, PROGRAMS["strided"][0], **PROGRAMS["strided"][1])
    assert strided.widen(2) is None, "neighbours that are far apart are no vector"
    assert strided.regroup(3) is None, "40 warps do not come in threes"
