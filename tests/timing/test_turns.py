"""Which warp a scheduler lets issue next, and what an instruction of two passes keeps from the others.

The orders are those of warps on an H200 that noted the clock between their instructions (calibration program `turns`).
"""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.timing.bench import EXIT, Bench, Line, rows
from warpath import _core

SELECTED = _core.STALLS.index("selected")
ADD = "FADD R1, R2, R3"
LOGIC = "LOP3.LUT R1, R2, R3, RZ, 0xc0, !PT"
HIGH = "IMAD.HI.U32 R4, R2, R3, RZ"


def order(lines: list[Line], *, warps: int, ctas: int = 1, **changes: int) -> list[int]:
    """Who issued, one after another, on a scheduler with `warps` warps of each of `ctas` CTAs: CTA, then warp."""
    bench = Bench(changes)
    shape = {"grid": 132 * ctas, "threads": 128 * warps}
    bench.run([*lines, EXIT], **shape)
    run = bench.run([*lines, EXIT], **shape, timeline=True)
    stretches = rows(run, "stretches", 7)
    mine = [row for row in stretches if row[2] == 0 and row[4] == SELECTED and row[3] < len(lines)]
    return [row[0] * warps + row[1] // 4 for row in sorted(mine, key=lambda row: row[5])]


def runs(issued: list[int]) -> list[int]:
    """How often each warp issued in a row."""
    return [len(list(group)) for _, group in groupby(issued)]


def sharing(issued: list[int], at: int = 100, window: int = 60) -> int:
    """How many warps issued around one time."""
    return len(set(issued[at : at + window]))


@pytest.mark.parametrize("text", [ADD, LOGIC, HIGH])
def test_a_warp_goes_on_while_it_does_not_yield(text: str) -> None:
    """Also where its instructions take their unit for two or four cycles; a line of code not there yet ends a run."""
    assert min(runs(order([Line(text)] * 40, warps=4))) >= 8


def test_a_warp_that_yields_takes_turns() -> None:
    issued = order([Line(ADD, yield_=True)] * 40, warps=4)
    assert max(runs(issued[20:120])) <= 2
    assert sharing(issued, 60, 20) == 4


def test_a_warp_that_waits_longer_than_any_unit_is_taken_does_not_go_on() -> None:
    lines = [Line("NOP"), *[Line(HIGH)] * 40]
    assert len(runs(order(lines, warps=4))) <= 10
    assert max(runs(order(lines, warps=4, greedy_window=3)[40:120])) <= 2


@pytest.mark.parametrize(("yields", "together"), [(False, (4, 5)), (True, (8,))])
def test_warps_that_stay_go_before_those_that_have_yielded(yields: bool, together: tuple[int, ...]) -> None:
    """Of eight warps that issue every fourth cycle four or five share the port first, as on an H200."""
    lines = [Line(LOGIC, yield_=True, stall=5), *[Line(ADD, stall=4, yield_=yields)] * 100]
    assert sharing(order(lines, warps=8), 150) in together


def test_the_older_cta_goes_first() -> None:
    """Each turn of four cycles is the oldest CTAs'; within a CTA it goes round."""
    issued = order([Line(ADD, stall=4, yield_=True)] * 100, warps=1, ctas=8)
    assert sharing(issued, 120) <= 5
    last = {warp: max(i for i, one in enumerate(issued) if one == warp) for warp in set(issued)}
    assert [warp for warp, _ in sorted(last.items(), key=lambda item: item[1])] == sorted(set(issued))


@pytest.mark.parametrize(("stall", "wait", "held"), [(1, 0, 2), (2, 3, 0), (4, 5, 0)])
def test_the_stall_count_of_two_passes_starts_from_the_second(stall: int, wait: int, held: int) -> None:
    """IMAD.HI and LOP3 of one warp: three cycles apart at stall 1, when nothing else can issue either."""
    bench = Bench()
    lines = [Line(HIGH, stall=stall), Line(LOGIC), EXIT]
    bench.run(lines)
    found = bench.run(lines).stalls(1)
    assert (found["wait"], found["dispatch_stall"]) == (wait, held)


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ("IMAD.MOV.U32 R4, RZ, RZ, R2", "VIADD R5, R3, 0x2", 1),
        ("IMAD.MOV.U32 R4, RZ, RZ, R2", LOGIC, 0),
        ("HMUL2 R4, R2, R3", ADD, 1),
        ("HMUL2 R4, R2, R3", LOGIC, 0),
        ("HADD2.F32 R4, -RZ, R2.H0_H0", ADD, 0),
        ("HADD2.F32 R4, -RZ, R2.H0_H0", "IMAD.MOV.U32 R5, RZ, RZ, R2", 1),
        ("HFMA2.MMA R4, -RZ, RZ, 0, 0", ADD, 0),
        ("HFMA2.MMA R4, -RZ, RZ, 0, 0", "HFMA2.MMA R5, -RZ, RZ, 0, 0", 1),
    ],
)
def test_which_instructions_share_a_unit(first: str, second: str, waits: int) -> None:
    """VIADD and what widens to FP32 take the heavy half of the FMA pipe, packed arithmetic both,
    HFMA2.MMA a unit of its own.
    """
    bench = Bench()
    lines = [Line(first), Line(second), EXIT]
    bench.run(lines)
    assert bench.run(lines).stalls(1)["math_pipe_throttle"] == waits
