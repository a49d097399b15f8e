"""Launches: how CTAs come and go, and that nothing depends on host threads."""

from __future__ import annotations

import pytest

from tests.timing.bench import EXIT, Bench, Line
from tests.timing.test_memory import LOAD, USE, address
from warpath.gpu import spec, timing


def test_completions_limit_a_grid_of_empty_ctas() -> None:
    bench = Bench()
    bench.run([EXIT], grid=1)
    some, more = (bench.run([EXIT], grid=grid).cycles for grid in (2000, 4000))
    assert more - some == pytest.approx(2000 * bench.params["complete_interval_256"] / 256, rel=0.02)


def test_the_duration_is_front_end_execution_and_drain() -> None:
    run = Bench().run([EXIT])
    result = run.result
    execution = result["cycles"] - result["front_cycles"] - result["drain_cycles"]
    assert 0 < execution < 1000
    assert result["active_cycles"] <= execution


@pytest.mark.parametrize("host_threads", [2, 3])
def test_host_threads_change_nothing(host_threads: int) -> None:
    lines = [*address(3), LOAD, USE, Line("STG.E [R2.64], R5"), EXIT]
    alone = Bench().run(lines, grid=700, threads=128)
    together = Bench().run(lines, grid=700, threads=128, host_threads=host_threads)
    assert alone.status == together.status == "done"
    assert alone.result == together.result


def test_steps_of_any_size_give_the_same_result() -> None:
    lines = [*address(3), LOAD, USE, EXIT]
    whole = Bench().run(lines, grid=300, threads=128)
    parts = Bench().run(lines, grid=300, threads=128, budget=50)
    assert parts.result == whole.result


def test_warps_that_wait_for_nobody_are_a_hang() -> None:
    lines = [
        Line("S2R R0, SR_TID.X", writes=0),
        Line("ISETP.GT.AND P0, PT, R0, 0x1f, PT", stall=13, waits=[0]),
        Line("@P0 BAR.SYNC 0x1, 0x80", stall=5),
        EXIT,
    ]
    run = Bench().run(lines, threads=64)
    assert run.status == "fault"
    assert run.grid.fault["kind"] == "hang"


@pytest.mark.parametrize("board", spec.names())
def test_every_board_resolves_to_parameters_the_core_takes(board: str) -> None:
    from warpath import _core

    resolved = timing.resolve(spec.load(board))
    _core.MemorySystem(dict(resolved.values))
    assert (resolved.inherited == []) == (board == timing.REFERENCE)


def test_a_copy_larger_than_l2_keeps_only_its_last_lines_dirty() -> None:
    bench = Bench()
    bench.system.copied(1 << 40, bench.params["l2_bytes"])
    run = bench.run([*address(3), LOAD, USE, EXIT], grid=100, threads=128)
    assert run.memory["dram_read_bytes"] > 0
    assert (
        run.memory["dram_write_bytes"] == 0
    )  # what makes room is old, and was written back while the copy went on
