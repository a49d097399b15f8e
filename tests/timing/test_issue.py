"""Issue: stall counts, scoreboards and units at their last illegal and first legal cycle."""

from __future__ import annotations

import pytest

from tests.timing.bench import EXIT, Bench, Line

MUFU = Bench().params["xu_latency"]


def waiting(lines: list[Line], at: int) -> dict[str, int]:
    """Stall cycles at one instruction of a warm single-warp run, without the empty ones."""
    bench = Bench()
    bench.run(lines)
    return {reason: cycles for reason, cycles in bench.run(lines).stalls(at).items() if cycles}


@pytest.mark.parametrize("stall", [1, 2, 7, 15])
def test_the_stall_count_is_the_distance_to_the_next_issue(stall: int) -> None:
    lines = [Line("IADD3 R1, R2, R3, RZ", stall=stall), Line("IADD3 R4, R5, R6, RZ"), EXIT]
    found = waiting(lines, 1)
    assert found.get("wait", 0) == stall - 1
    assert found["selected"] == 1


def test_a_solo_warp_loses_a_cycle_to_yield() -> None:
    lines = [Line("NOP", yield_=True), Line("NOP"), EXIT]
    assert waiting(lines, 1) == {"wait": 1, "selected": 1}


@pytest.mark.parametrize(("gap", "waits"), [(MUFU - 2, 2), (MUFU - 1, 1), (MUFU, 0), (MUFU + 1, 0)])
def test_a_scoreboard_holds_until_the_answer_and_not_longer(gap: int, waits: int) -> None:
    first, second = (15, gap - 15) if gap > 15 else (gap - 1, 1)
    lines = [
        Line("MUFU.EX2 R1, R2", stall=first, writes=0),
        Line("NOP", stall=second),
        Line("FADD R3, R1, R1", waits=[0]),
        EXIT,
    ]
    assert waiting(lines, 2).get("short_scoreboard", 0) == waits


def test_a_unit_takes_the_next_instruction_when_its_interval_is_over() -> None:
    bench = Bench({"xu_ahead": 0})
    lines = [Line("MUFU.EX2 R1, R2", writes=0), Line("MUFU.EX2 R3, R4", writes=1), EXIT]
    bench.run(lines)
    found = bench.run(lines).stalls(1)
    assert found["mio_throttle"] == bench.params["class_xu_interval"] - 1


def test_fp32_uses_both_halves_of_the_fma_pipe_and_integers_one_unit() -> None:
    bench = Bench()
    pairs = {"FADD": "FADD R1, R2, R3", "LOP3": "LOP3.LUT R1, R2, R3, RZ, 0xc0, !PT"}
    waits = {}
    for name, text in pairs.items():
        lines = [Line(text), Line(text), Line(text), EXIT]
        bench.run(lines)
        waits[name] = sum(bench.run(lines).stalls(i)["math_pipe_throttle"] for i in range(3))
    assert waits == {"FADD": 0, "LOP3": 2}


def test_registers_of_one_bank_cost_a_cycle_each_unless_reused() -> None:
    """FFMA of three even registers: the port is held; a reuse flag on the one before frees it."""
    bench = Bench({"class_fp32_interval": 1})

    def cycles(reuse: int) -> int:
        lines = [Line("FFMA R1, R2, R4, R6", reuse=reuse)] * 8 + [EXIT]
        bench.run(lines)
        return bench.run(lines).cycles

    assert cycles(0) - cycles(7) == 14  # seven later instructions, two cycles each


def test_a_taken_branch_redirects_and_an_untaken_one_does_not() -> None:
    bench = Bench()
    taken = [Line("BRA 0x30", stall=5), Line("NOP"), Line("NOP"), EXIT]
    passed = [Line("@!PT BRA 0x30", stall=5), Line("NOP"), Line("NOP"), EXIT]
    found = {}
    for name, lines, at in (("taken", taken, 3), ("passed", passed, 1)):
        bench.run(lines)
        found[name] = bench.run(lines).stalls(at)["branch_resolving"]
    assert found == {"taken": bench.params["branch_redirect"] - 5, "passed": 0}


def test_lanes_that_part_cost_more_than_a_jump_and_bsync_more_than_its_stall() -> None:
    """An if of which all lanes, half of them and none take the jump round its inside."""
    bench = Bench()

    def resolving(first: int, at: int) -> int:
        """Of warps whose lanes from `first` on jump: cycles before the instruction at `at`."""
        lines = [
            Line("S2R R4, SR_LANEID", writes=0),
            Line(f"ISETP.GE.AND P0, PT, R4, {first:#x}, PT", stall=13, waits=(0,)),
            Line("BSSY B0, 0x50"),
            Line("@P0 BRA 0x50", stall=5),
            Line("IADD3 R5, R4, 0x1, RZ", stall=5),
            Line("BSYNC B0", stall=5),
            Line("IADD3 R6, R4, 0x2, RZ"),
            EXIT,
        ]
        bench.run(lines)
        return bench.run(lines).stalls(at)["branch_resolving"]

    own = bench.params["reconvergence"] - 5
    assert [resolving(first, 6) for first in (0, 16, 32)] == [own] * 3
    assert [resolving(first, 4) for first in (16, 32)] == [bench.params["divergence_passed"], 0]


def test_a_missing_or_unknown_parameter_is_named() -> None:
    bench = Bench()
    from warpath import _core

    without = {name: value for name, value in bench.params.items() if name != "quantum"}
    with pytest.raises(ValueError, match="quantum"):
        _core.MemorySystem(without)
    with pytest.raises(ValueError, match="does not know"):
        _core.MemorySystem(bench.params | {"speed_of_light": 1})


def test_banks_that_fall_behind_hold_the_issue_port() -> None:
    """Three registers of one bank take three cycles; one that is named twice is read once."""
    bench = Bench()

    def dispatch(text: str) -> int:
        lines = [Line(text)] * 16 + [EXIT]
        bench.run(lines)
        run = bench.run(lines)
        return sum(run.stalls(i)["dispatch_stall"] for i in range(16))

    assert dispatch("FFMA R1, R2, R4, R6") == pytest.approx(2 * 15, abs=3)
    assert dispatch("FFMA R1, R2, R2, R4") == pytest.approx(15, abs=3)
    assert dispatch("FFMA R1, R2, R3, R3") == 0


def test_lanes_that_look_for_their_like_take_a_turn_for_each_value() -> None:
    """MATCH.ANY of `1 << shift` lanes a value: its unit and its answer take as long as there are values."""
    bench = Bench()

    def wait(shift: int) -> int:
        lines = [
            Line("S2R R0, SR_TID.X", writes=0),
            Line(f"SHF.R.U32.HI R1, RZ, {shift:#x}, R0", stall=6, waits=[0]),
            Line("MATCH.ANY R2, R1", writes=1, stall=2),
            Line("NOP", waits=[1]),
            EXIT,
        ]
        bench.run(lines)
        return bench.run(lines).stalls(3)["short_scoreboard"]

    one, two, all_different = wait(5), wait(4), wait(0)
    assert two - one == pytest.approx(bench.params["match_latency_256"] / 256, abs=1)
    assert all_different - one == pytest.approx(31 * bench.params["match_latency_256"] / 256, abs=1)
