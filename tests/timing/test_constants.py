"""Constants: the level that the SMs of a GPC share, what a launch brings, registers of two banks, DRAM's order."""

from __future__ import annotations

import pytest

from tests.timing.bench import EXIT, Bench, Line

OPERAND = [Line("NOP")] * 403 + [Line("IADD3 R1, R1, c[0x0][0x210], RZ"), EXIT]  # long after the launch began


def imc_miss(bench: Bench, grid: int, warps: int) -> float:
    """Cycles that a warp waits for the constant, on average."""
    run = bench.run(OPERAND, grid=grid, threads=32 * warps)
    return run.stalls(403)["imc_miss"] / grid / warps


def test_a_constant_that_is_not_there_costs_its_latency_and_the_second_issue() -> None:
    bench = Bench()
    stalls = bench.run(OPERAND).stalls(403)
    assert stalls["imc_miss"] == bench.params["imc_latency"]
    assert stalls["no_instruction"] == bench.params["imc_refetch"]
    assert stalls["wait"] >= bench.params["imc_again"]


@pytest.mark.parametrize(("warps", "more"), [(1, 15), (4, 46)])
def test_sub_partitions_of_a_gpc_queue_for_a_constant(warps: int, more: int) -> None:
    """On an H200 the wait of one warp an SM is 6 cycles longer on 132 SMs than on one, of four 52 (probe `first`)."""
    alone, among = (imc_miss(Bench(), grid, warps) for grid in (1, 132))
    assert alone == pytest.approx(Bench().params["imc_latency"], abs=6)
    assert among - alone == pytest.approx(more, abs=12)


def test_what_a_launch_brings_comes_later_after_a_flush() -> None:
    bench = Bench()
    lines = [Line("IADD3 R1, R1, c[0x0][0x210], RZ"), EXIT]
    bench.run(lines)
    near = bench.run(lines).stalls(0)["imc_miss"]
    bench.system.drop_copies()
    assert near == bench.params["imc_latency"]
    assert bench.run(lines).stalls(0)["imc_miss"] > near + 50


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


def test_dram_out_of_turn_changes_who_waits_and_not_how_long_all_take() -> None:
    """512 CTAs that each read lines of their own."""
    lines = [
        Line("S2R R0, SR_TID.X", writes=0),
        Line("S2R R1, SR_CTAID.X", writes=0),
        Line("IMAD R0, R1, 0x100, R0", stall=6, waits=[0]),
        Line("MOV R2, 0x400000", stall=5),
        Line("MOV R3, 0x7f00", stall=5),
        Line("IMAD.WIDE.U32 R2, R0, 0x4, R2", stall=6),
        Line("LDG.E R4, [R2.64]", writes=1),
        Line("NOP", waits=[1]),
        EXIT,
    ]

    def waits(percent: int) -> int:
        run = Bench({"dram_reorder_percent": percent}).run(lines, grid=512, threads=256)
        return run.stalls(7)["long_scoreboard"]

    in_turn, out_of_turn = waits(0), waits(80)
    assert in_turn != out_of_turn
    assert out_of_turn == pytest.approx(in_turn, rel=0.03)
