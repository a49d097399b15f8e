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
    bench.system.put_back()
    assert near == bench.params["imc_latency"]
    assert bench.run(lines).stalls(0)["imc_miss"] > near + 50
