"""What happened when: the timeline adds up to the counters, and depends on nothing but the program."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

from tests.timing.bench import DATA, EXIT, Bench, Line, column, rows
from tests.timing.test_memory import LOAD, USE, address
from warpath import _core

STORE = Line("STG.E [R2.64], R5")
COPY = [*address(3), LOAD, USE, STORE, EXIT]


def loop(times: int) -> list[Line]:
    """A chain of dependent adds, `times` times round."""
    return [
        Line("MOV R0, RZ", stall=5),
        Line("IADD3 R0, R0, 0x1, RZ", stall=5),
        Line(f"ISETP.NE.AND P0, PT, R0, {times:#x}, PT", stall=13),
        Line("@P0 BRA 0x10", stall=5),
        EXIT,
    ]


def test_nothing_is_kept_unless_asked_for() -> None:
    assert Bench().run([EXIT]).timeline is None


def test_watching_changes_no_result() -> None:
    plain, watched = (Bench().run(COPY, grid=300, threads=128, timeline=on) for on in (False, True))
    assert plain.result == watched.result


def test_bins_sum_to_the_counters() -> None:
    run = Bench().run(COPY, grid=700, threads=128, timeline=True)
    memory = run.memory
    assert sum(column(run, "warp_cycles")) == run.result["warp_cycles"]
    assert sum(column(run, "issued")) == run.result["issued"]
    assert sum(column(run, "l2_sectors")) == memory["l2_sectors"]
    assert sum(column(run, "dram_bytes")) == memory["dram_read_bytes"] + memory["dram_write_bytes"]
    bins = -(-run.cycles // run.timeline["bin_cycles"])
    assert {len(column(run, name)) for name in ("warp_cycles", "issued", "l2_sectors", "dram_bytes")} == {
        bins
    }


@pytest.mark.parametrize(("times", "width"), [(1, 64), (2000, 128), (8000, 512)])
def test_bins_widen_with_the_launch(times: int, width: int) -> None:
    run = Bench().run(loop(times), timeline=True)
    assert run.timeline["bin_cycles"] == width
    assert len(column(run, "issued")) <= 512
    assert width == 64 or run.cycles > 512 * width / 2  # no wider than it must be
    assert sum(column(run, "warp_cycles")) == run.result["warp_cycles"]
    # Resident all the time, so every bin between the first and the last is full.
    full = [cycles for cycles in column(run, "warp_cycles") if cycles]
    assert all(cycles == width for cycles in full[1:-1])


def test_every_cta_has_its_span_on_the_sm_where_it_ran() -> None:
    run = Bench().run(COPY, grid=700, threads=128, timeline=True)
    spans = rows(run, "ctas", 4)
    assert [block for block, *_ in spans] == list(range(700))
    assert all(run.result["front_cycles"] <= start < end <= run.cycles for _, _, start, end in spans)
    by_sm: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for _, sm, start, end in spans:
        by_sm[sm].append((start, end))
    active = memoryview(run.result["sm_active"]).cast("Q").tolist()
    for sm, own in by_sm.items():
        covered, last = 0, 0
        for start, end in sorted(own):
            covered += max(end - max(start, last), 0)
            last = max(last, end)
        assert covered == active[sm]
    assert run.timeline["watched_sm"] == spans[0][1]


def test_stretches_of_a_warp_follow_each_other_without_a_gap() -> None:
    run = Bench().run(COPY, grid=700, threads=128, timeline=True)
    spans = {block: (sm, start, end) for block, sm, start, end in rows(run, "ctas", 4)}
    warps: dict[tuple[int, int], list[list[int]]] = defaultdict(list)
    for stretch in rows(run, "stretches", 7):
        warps[stretch[0], stretch[1]].append(stretch)
    watched = run.timeline["watched_sm"]
    assert {block for block, _ in warps} == {block for block, (sm, *_) in spans.items() if sm == watched}
    for (block, _), own in warps.items():
        assert len({part for _, _, part, *_ in own}) == 1
        assert all(a[6] == b[5] for a, b in pairwise(own))
        assert spans[block][1] <= own[0][5] < own[-1][6] <= spans[block][2]
        issued = [index for *_, index, state, _, _ in own if _core.STALLS[state] == "selected"]
        assert issued == list(range(len(COPY)))


def test_stretches_are_the_stall_counters_when_there_is_one_sm_to_watch() -> None:
    run = Bench().run(COPY, threads=256, timeline=True)
    found: dict[str, int] = defaultdict(int)
    for *_, state, start, end in rows(run, "stretches", 7):
        found[_core.STALLS[state]] += end - start
    assert found == {reason: cycles for reason, cycles in run.result["stalls"].items() if cycles}


def test_what_is_beyond_the_cap_is_counted() -> None:
    few, many = (Bench().run(loop(times), timeline=True) for times in (1000, 9000))
    assert few.timeline["dropped"] == 0
    assert len(rows(many, "stretches", 7)) == 20_000
    # A turn of the loop takes the same number of stretches each time.
    turn = len(rows(few, "stretches", 7)) / 1000
    assert 20_000 + many.timeline["dropped"] == pytest.approx(9000 * turn, rel=0.01)


def test_the_first_request_of_an_instruction_is_its_sample() -> None:
    lines = [
        *address(3),
        Line("ISETP.LT.U32.AND P0, PT, R0, 0x5, PT", stall=13),
        Line("@P0 LDG.E R4, [R2.64]", writes=1),
        Line("IMAD R6, R0, 0x4, RZ", stall=5),
        Line("STS [R6+0x20], R4", waits=[1]),
        EXIT,
    ]
    run = Bench().run(lines, grid=3, threads=64, shared=512, timeline=True)
    samples: dict[int, Any] = run.timeline["samples"]
    assert samples == {
        5: [DATA + 8 * lane if lane < 5 else -1 for lane in range(32)],
        7: [0x20 + 4 * (32 + lane) for lane in range(32)],  # of the second warp: no load holds it back
    }


@pytest.mark.parametrize("host_threads", [2, 3])
def test_host_threads_change_nothing(host_threads: int) -> None:
    alone = Bench().run(COPY, grid=700, threads=128, timeline=True)
    together = Bench().run(COPY, grid=700, threads=128, timeline=True, host_threads=host_threads)
    assert alone.timeline == together.timeline
