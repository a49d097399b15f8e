"""Memory: passes, caches, DRAM pieces, and what stays between launches."""

from __future__ import annotations

from tests.timing.bench import DATA, EXIT, Bench, Line

LOW, HIGH = DATA & 0xFFFFFFFF, DATA >> 32


def address(shift: int) -> list[Line]:
    """R2:R3 = DATA + tid << shift."""
    return [
        Line("S2R R0, SR_TID.X", writes=0),
        Line(f"IMAD.MOV.U32 R3, RZ, RZ, {HIGH:#x}", stall=5),
        Line(f"IMAD R2, R0, {1 << shift:#x}, RZ", stall=5, waits=[0]),
        Line(f"IADD3 R2, R2, {LOW:#x}, RZ", stall=6),
    ]


LOAD = Line("LDG.E R4, [R2.64]", writes=1)
USE = Line("FADD R5, R4, R4", waits=[1])


def load_wait(bench: Bench, lines: list[Line]) -> int:
    """Cycles that the instruction before the last waited for a load."""
    return bench.run(lines).stalls(len(lines) - 2)["long_scoreboard"]


def test_dram_then_l2_then_l1() -> None:
    bench = Bench()
    once = [*address(2), LOAD, USE, EXIT]
    again = [*address(2), LOAD, USE, LOAD, USE, EXIT]
    cold = load_wait(bench, once)
    warm = load_wait(bench, once)
    l1 = load_wait(bench, again)
    assert 450 < cold < 1400
    assert 240 < warm < 330
    assert l1 < 45
    assert cold > warm + bench.params["dram_latency"] - 20


def test_flushing_empties_l2() -> None:
    bench = Bench()
    lines = [*address(2), LOAD, USE, EXIT]
    first = bench.run(lines).memory["dram_read_bytes"]
    assert bench.run(lines).memory["dram_read_bytes"] == 0
    bench.system.flush()
    assert bench.run(lines).memory["dram_read_bytes"] == first


def test_dram_moves_64_bytes_for_a_single_sector() -> None:
    """32 lanes, one sector in each of 32 lines, against 32 consecutive words."""
    spread = Bench().run([*address(7), LOAD, USE, EXIT]).memory
    dense = Bench().run([*address(2), LOAD, USE, EXIT]).memory
    assert (spread["read_sectors"], dense["read_sectors"]) == (32, 4)
    assert spread["dram_read_bytes"] - dense["dram_read_bytes"] == 32 * 64 - 128


def test_lines_of_one_request_come_one_in_two_cycles() -> None:
    """Two loads from L1: one line against 32, which go into the registers at half a pass a cycle."""
    bench = Bench()

    def second(shift: int) -> int:
        lines = [*address(shift), LOAD, USE, LOAD, USE, EXIT]
        return load_wait(bench, lines)

    assert second(7) - second(2) == 62


def test_stores_to_a_line_go_together_while_it_waits() -> None:
    """Two stores of a warp: next to each other one write to L2, a hundred cycles apart two; both times a hit."""
    bench = Bench()
    store = Line("STG.E [R2.64], R0", stall=4)
    pause = [Line("NOP", stall=11)] * 9
    together = bench.run([*address(2), store, store, EXIT])
    apart = bench.run([*address(2), store, *pause, store, EXIT])
    assert (together.memory["write_requests"], apart.memory["write_requests"]) == (1, 2)
    hits = [run.result["l1"]["global_st"]["hits"] for run in (together, apart)]
    assert hits == [4, 4]


def test_a_store_of_more_lines_than_the_buffer_holds_is_not_joined() -> None:
    """28 lines: of 32 in a row the first are gone when the same lines come again."""
    bench = Bench()
    store = Line("STG.E [R2.64], R0", stall=4)
    run = bench.run([*address(7), store, store, EXIT])
    assert run.memory["write_requests"] == 64


def test_stores_stay_in_l2_and_complete_before_the_warp_is_gone() -> None:
    bench = Bench()
    lines = [*address(2), Line("STG.E [R2.64], R0"), EXIT]
    run = bench.run(lines)
    assert run.memory["write_sectors"] == 4
    assert run.memory["dram_write_bytes"] == 0
    assert run.stalls(len(lines))["drain"] >= bench.params["exit_drain"]
    assert bench.run([*address(2), LOAD, USE, EXIT]).memory["dram_read_bytes"] == 0


def test_bank_conflicts_cost_two_cycles_a_pass_to_one_warp() -> None:
    bench = Bench()

    def wait(shift: int) -> int:
        lines = [
            Line("S2R R0, SR_TID.X", writes=0),
            Line(f"IMAD R2, R0, {1 << shift:#x}, RZ", stall=5, waits=[0]),
            Line("LDS R4, [R2]", writes=1),
            Line("FADD R5, R4, R4", waits=[1]),
            EXIT,
        ]
        run = bench.run(lines, shared=8192)
        return run.stalls(3)["short_scoreboard"]

    base = wait(2)
    for ways, shift in ((2, 3), (8, 5), (32, 7)):
        assert wait(shift) - base == (ways - 1) * bench.params["data_interval"]


def test_a_barrier_lets_go_after_the_last_arrival() -> None:
    lines = [Line("BAR.SYNC 0x0", stall=5), EXIT]
    bench = Bench()
    bench.run(lines, threads=64)
    bench.run(lines, threads=1024)
    few, many = (bench.run(lines, threads=t).stalls(1)["barrier"] for t in (64, 1024))
    assert many > few > 0


def test_arithmetic_behind_a_barrier_does_not_wait_for_it() -> None:
    """Memory, and what is behind it, does."""
    bench = Bench()
    late = [
        Line("S2R R0, SR_TID.X", writes=0),
        Line("ISETP.LT.AND P0, PT, R0, 0x20, PT", stall=13, waits=[0]),
    ]
    lines = [
        *late,
        Line("@P0 BRA 0x60", stall=5),
        *[Line("MUFU.EX2 R4, R4", writes=1), Line("MUFU.EX2 R4, R4", writes=1, waits=[1])],
        Line("NOP", waits=[1]),
        Line("BAR.SYNC 0x0", stall=1),
        Line("FADD R5, R6, R7", stall=4),
        Line("FADD R5, R5, R7", stall=4),
        Line("LDS R8, [RZ]", writes=2),
        Line("FADD R9, R9, R9"),
        EXIT,
    ]
    bench.run(lines, threads=64, shared=1024)
    run = bench.run(lines, threads=64, shared=1024)
    waits = [run.stalls(line)["barrier"] for line in range(len(lines))]
    assert [line for line, cycles in enumerate(waits) if cycles] == [9]
    assert waits[9] > 2 * bench.params["xu_latency"]


def test_a_hang_names_the_barrier_that_is_not_complete() -> None:
    lines = [
        Line("S2R R0, SR_TID.X", writes=0),
        Line("ISETP.LT.AND P0, PT, R0, 0x20, PT", stall=13, waits=[0]),
        Line("@P0 EXIT"),
        Line("BAR.SYNC 0x0, 0x40"),
        Line("FADD R5, R6, R7", stall=4),
        EXIT,
    ]
    run = Bench().run(lines, threads=64)
    assert run.status == "fault"
    assert run.grid.fault["pc"] == 3 * 16
