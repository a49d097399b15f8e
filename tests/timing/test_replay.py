"""Recorded streams: a replay under the same parameters is the launch again, cycle for cycle."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.timing.bench import EXIT, Bench, Line
from tests.timing.test_memory import LOAD, LOW, USE, address
from warpath import _core

ALL = 1 << 40
BARRIER = Line("BAR.SYNC.DEFER_BLOCKING 0x0", stall=5)


def record(
    bench: Bench,
    lines: Sequence[Line],
    *,
    keep: int = ALL,
    host_threads: int = 1,
    budget: int = 1 << 30,
    **shape: int,
) -> tuple[Any, Any]:
    """The result of a launch and what was recorded of it."""
    launch, _ = bench.start(lines, **shape)
    timed = _core.TimedGrid(launch, bench.system, 224 << 10, 1, keep)
    while timed.step(budget, host_threads) == "running":
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
    assert strided.widen(3) is None, "40 warps do not come in threes"


def test_a_last_cta_may_have_fewer_warps() -> None:
    bench = Bench()
    lines, shape = PROGRAMS["strided"]
    result, stream = record(bench, lines, **shape)
    threes = stream.regroup(3)
    assert (threes.recorded, threes.blocks) == (14, 14)
    assert threes.replay(bench.params)["issued"] == result["issued"]


def test_the_first_ctas_of_a_long_launch_are_kept() -> None:
    bench = Bench()
    lines, shape = PROGRAMS["loads"]
    result, stream = record(bench, lines, keep=40_000, **{**shape, "grid": 40_000})
    assert not stream.whole
    assert 0 < stream.recorded < stream.blocks == 40_000
    per_cta = result["issued"] // 40_000
    assert stream.steps == stream.recorded * per_cta, "no CTA was cut short"
    assert stream.replay(bench.params)["issued"] == stream.steps


LONG = [*address(2), BARRIER, LOAD, USE, *[BARRIER, USE] * 200, EXIT]


def test_recording_stops_within_ctas_that_are_too_long() -> None:
    """All CTAs start at once, so each is kept up to the same moment."""
    bench = Bench()
    result, stream = record(bench, LONG, grid=264, threads=128, keep=20_000)
    assert not stream.whole
    assert stream.recorded == stream.blocks == 264
    assert 4 * 20_000 <= stream.steps < result["issued"] / 2
    again = stream.replay(bench.params)
    assert again["issued"] == stream.steps
    assert again["cycles"] < result["cycles"]
    nothing = dict.fromkeys(("dram_latency", "request_latency", "reply_latency", "barrier_latency"), 0)
    assert stream.replay(bench.params | nothing | {"quantum": 8})["issued"] == stream.steps


def test_recording_does_not_depend_on_host_threads() -> None:
    kept: list[tuple[int, int]] = []
    for threads in (1, 3):
        bench = Bench()
        _, stream = record(bench, LONG, grid=264, threads=128, keep=20_000, host_threads=threads, budget=5000)
        kept.append((stream.steps, stream.replay(bench.params)["cycles"]))
    assert kept[0] == kept[1]


def test_replays_run_side_by_side_on_one_stream() -> None:
    bench = Bench()
    lines, shape = PROGRAMS["barriers"]
    result, stream = record(bench, lines, **shape)
    with ThreadPoolExecutor(4) as pool:
        cycles = list(pool.map(lambda _: stream.replay(bench.params)["cycles"], range(16)))
    assert set(cycles) == {result["cycles"]}


def test_a_stream_outlives_what_made_it() -> None:
    bench = Bench()
    lines, shape = PROGRAMS["strided"]
    result, stream = record(bench, lines, **shape)
    params = bench.params
    other = stream.regroup(2)
    del bench, stream
    gc.collect()
    assert other.replay(params)["issued"] == result["issued"]


def test_a_warp_stays_until_a_load_that_nobody_waits_for_is_back() -> None:
    """Without launch latencies its slot would go to another warp, whose scoreboards would then be counted down."""
    bench = Bench()
    result, stream = record(bench, [*address(2), LOAD, EXIT], grid=6000, threads=64)
    launch = ("launch_interval_256", "complete_interval_256", "complete_latency", "dispatch_latency")
    faster = dict(bench.params) | dict.fromkeys((*launch, "warp_launch_interval"), 0) | {"quantum": 8}
    assert stream.replay(faster)["issued"] == result["issued"]
    assert result["stalls"]["drain"] > 0


def test_warps_that_do_not_fill_sub_partitions_evenly_find_a_place() -> None:
    """21 CTAs of 3 warps leave one of 64 places free: the emptiest sub-partition and the two after it may be full."""
    bench = Bench()
    run = bench.run([*address(2), LOAD, USE, EXIT], grid=6000, threads=96)
    assert run.status == "done"
    assert run.result["issued"] == 6000 * 3 * 7


def test_lanes_of_an_atomic_on_one_word_are_not_uncoalesced() -> None:
    add = Line("RED.E.ADD.STRONG.GPU [R2.64], R0", stall=2, reads=2)
    word = [*address(2)[:2], Line(f"IADD3 R2, RZ, {LOW:#x}, RZ", stall=6), add, EXIT]
    result, stream = record(Bench(), word, grid=4)
    assert result["excess_sectors"] == 0
    assert stream.replay(Bench().params, sectors=True)["cycles"] == result["cycles"]
    apart, stream = record(Bench(), [*address(7), add, EXIT], grid=4)
    assert apart["excess_sectors"] == 4 * (32 - 4)
    assert stream.replay(Bench().params, sectors=True)["excess_sectors"] == 0


@pytest.mark.parametrize("condition", ["LT", "GE"])
def test_neighbours_of_which_one_reads_nothing_are_no_vector(condition: str) -> None:
    bench = Bench()
    lines = [*address(2), Line(f"ISETP.{condition}.AND P0, PT, R0, 0x20, PT", stall=13)]
    read = Line("@P0 LDG.E R4, [R2.64]", writes=1)
    _, stream = record(bench, [*lines, read, USE, EXIT], grid=4, threads=64)
    assert stream.widen(2) is None
