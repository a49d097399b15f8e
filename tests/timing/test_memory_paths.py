"""What a memory instruction waits for on its way: tags, banks, ways out, L2's units, indexed constants."""

from __future__ import annotations

import pytest

from tests.timing.bench import DATA, EXIT, Bench, Line

LOW, HIGH = DATA & 0xFFFFFFFF, DATA >> 32
LOAD = Line("LDG.E R4, [R2.64]", writes=1)
USE = Line("FADD R5, R4, R4", waits=[1])
COMMIT = Line("LDGDEPBAR", writes=0)


def address(scale: int, offset: int = 0) -> list[Line]:
    """R2:R3 = DATA + offset + tid * scale."""
    return [
        Line("S2R R0, SR_TID.X", writes=0),
        Line(f"IMAD.MOV.U32 R3, RZ, RZ, {HIGH:#x}", stall=5),
        Line(f"IMAD R2, R0, {scale:#x}, RZ", stall=5, waits=[0]),
        Line(f"IADD3 R2, R2, {LOW + offset:#x}, RZ", stall=6),
    ]


def second_wait(bench: Bench, lines: list[Line]) -> int:
    """Cycles that the second of two equal loads, which hits in L1, is waited for."""
    program = [*lines, LOAD, USE, LOAD, USE, EXIT]
    return bench.run(program).stalls(len(program) - 2)["long_scoreboard"]


@pytest.mark.parametrize(("line", "wavefronts"), [(6, 1), (7, 2), (15, 1), (23, 2)])
def test_two_lines_of_one_tag_bank_take_two_wavefronts(line: int, wavefronts: int) -> None:
    """Lines 7 and 8 lie in one bank on an H200, lines 6 and 7 do not."""
    run = Bench().run([*address(8, line * 128), LOAD, USE, EXIT])
    assert run.result["l1"]["global_ld"]["wavefronts"] == wavefronts


def test_lines_wait_for_banks_not_for_each_other() -> None:
    """32 lines: a word of one bank each, against a word of a bank of its own each."""
    bench = Bench()
    dense, one_bank, own_banks = (second_wait(bench, address(scale)) for scale in (4, 128, 132))
    assert one_bank - dense == 62
    assert own_banks - dense < 12


def copies(wait: int) -> list[Line]:
    """Two groups of asynchronous copies; then a wait until `wait` of them are left, and an instruction."""
    copy = Line("LDGSTS.E [R6], [R2.64]", stall=2)
    return [
        *address(4),
        Line("IMAD R6, R0, 0x4, RZ", stall=6),
        copy,
        COMMIT,
        copy,
        COMMIT,
        Line(f"DEPBAR.LE SB0, {wait:#x}", stall=2),
        Line("NOP"),
        EXIT,
    ]


def test_asynchronous_copies_are_waited_for_by_group() -> None:
    def waited(left: int) -> int:
        run = Bench().run(copies(left), shared=1024)
        assert run.memory["read_sectors"] == 4
        return run.stalls(len(copies(left)) - 3)["long_scoreboard"]

    assert waited(2) == 0
    assert waited(0) >= waited(1) > 300


def test_a_fence_waits_for_stores_and_then_for_l2() -> None:
    bench = Bench()
    fence = Line("MEMBAR.SC.GPU", stall=2)
    bare = bench.run([*address(4), fence, Line("NOP"), EXIT]).stalls(5)["membar"]
    after_store = bench.run([*address(4), Line("STG.E [R2.64], R0"), fence, Line("NOP"), EXIT]).stalls(6)[
        "membar"
    ]
    assert bare == pytest.approx(bench.params["membar_latency"], abs=4)
    assert after_store > bare + 200


def test_words_of_an_indexed_constant_come_one_after_another() -> None:
    bench = Bench()

    def wait(scale: int) -> int:
        lines = [
            Line("S2R R0, SR_TID.X", writes=0),
            Line(f"IMAD R2, R0, {scale:#x}, RZ", stall=6, waits=[0]),
            Line("LDC R4, c[0x0][R2]", writes=1),
            USE,
            Line("LDC R4, c[0x0][R2]", writes=1),
            USE,
            EXIT,
        ]
        return bench.run(lines).stalls(5)["short_scoreboard"]

    assert wait(4) - wait(0) == 31 * bench.params["constant_pass_latency"]


def test_sums_of_floating_point_numbers_on_one_word_take_longer() -> None:
    def cycles(opcode: str) -> int:
        return Bench().run([*address(0), Line(f"{opcode} [R2.64], R0"), EXIT], grid=132).cycles

    integer, floating = cycles("RED.E.ADD"), cycles("RED.E.ADD.F32.FTZ.RN")
    params = Bench().params
    passes = 132 * 32
    assert floating - integer == pytest.approx(
        passes * (params["atomic_float_256"] - params["atomic_pass_256"]) / 256, rel=0.1
    )


def test_warps_leave_once_the_network_holds_their_stores() -> None:
    """32 lines a warp, each in part: without room for them a warp stays until L2 is done."""

    def drain(credits: int) -> int:
        bench = Bench({"store_credits": credits})
        lines = [*address(128), Line("STG.E [R2.64], R0"), EXIT]
        return bench.run(lines).stalls(len(lines))["drain"]

    assert drain(1) > drain(200) + 200
    assert drain(200) < 100


def test_a_grid_ends_when_its_stores_are_done() -> None:
    """Reductions of all SMs on one word: the CTAs are gone long before."""
    lines = [*address(0), Line("RED.E.ADD [R2.64], R0"), EXIT]
    run = Bench().run(lines, grid=132)
    assert run.stalls(len(lines))["drain"] < 132 * 100
    assert run.cycles > 132 * 32 * run_pass(Bench())


def run_pass(bench: Bench) -> float:
    """Cycles of an atomic's further lane on the same word."""
    return bench.params["atomic_pass_256"] / 256


def test_rows_of_dram_cost_scattered_reads() -> None:
    def cycles(cost: int) -> int:
        bench = Bench({"dram_row_256": cost, "dram_banks": 1, "dram_refresh_percent": 0})
        return bench.run([*address(4096), LOAD, USE, EXIT], grid=1, threads=1024).cycles

    assert cycles(51200) > cycles(0) + 200


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


def behind(bench: Bench, stores: int, grid: int = 1) -> float:
    """Cycles that a warp waits for a load of what L2 has, behind stores to 32 lines each; eight warps an SM."""
    lines = [
        Line("S2R R1, SR_CTAID.X", writes=1),
        *address(128),
        Line("IMAD R2, R1, 0x8000, R2", stall=6, waits=[1]),
        *[Line(f"STG.E [R2.64+{word * 4:#x}], R0", reads=2, stall=2) for word in range(1, stores + 1)],
        Line("LDG.E.STRONG.GPU R4, [R2.64]", writes=3, stall=2),
        Line("FADD R5, R4, R4", waits=[3]),
        EXIT,
    ]
    for _ in range(2):
        run = bench.run(lines, grid=grid, threads=256)
    return run.stalls(len(lines) - 2)["long_scoreboard"] / (grid * 8)


def test_loads_do_not_overtake_stores() -> None:
    """One SM: two stores more of eight warps take 2.1 cycles a line, which loads wait for in part; all SMs: longer."""
    alone = [behind(Bench(), stores) for stores in (0, 2, 4)]
    store = 8 * 32 * (Bench().params["store_sector_256"] + Bench().params["store_partial_256"]) / 256
    assert store < alone[2] - alone[1] < 2 * store
    assert behind(Bench(), 4, grid=132) > 1.3 * alone[2]


def test_sources_of_stores_are_free_before_their_turn() -> None:
    """The last of four stores of each warp waits for many; what overwrites its data does not."""
    lines = [
        *address(128),
        *[Line(f"STG.E [R2.64+{word * 4:#x}], R0", reads=2, stall=2) for word in range(4)],
        Line("IADD3 R0, R0, 0x1, RZ", waits=[2]),
        EXIT,
    ]
    bench = Bench()
    bench.run(lines, threads=256)
    waits = bench.run(lines, threads=256).stalls(len(lines) - 2)
    assert waits["long_scoreboard"] / 8 < 67  # what one store takes
