"""Branches, convergence, calls and barriers."""

from __future__ import annotations

import struct

import pytest

from tests.unit.core_kit import BASE, CODE_VA, new_memory, run
from warpath import _core

DATA = BASE + (16 << 20)


def pair(value: int) -> list[int]:
    return [value & 0xFFFFFFFF, value >> 32]


def test_both_sides_of_a_branch_run_and_meet() -> None:
    made = run(
        """
        ISETP.LT.U32.AND P0,PT,R0,0xa,PT
        BSSY B0,=join
        @P0 BRA =small
        IADD3 R4,R0,0x100,RZ
        BRA =meet
        small:
        IADD3 R4,R0,0x200,RZ
        meet:
        BSYNC B0
        join:
        VOTE.ANY R5,PT,PT
        """,
        ["R4", "R5"],
    )
    assert made.registers["R4"] == [lane + (0x200 if lane < 10 else 0x100) for lane in range(32)]
    assert made.registers["R5"] == [0xFFFFFFFF] * 32


def test_loop_with_different_trip_counts_reconverges() -> None:
    made = run(
        """
        MOV R4,RZ
        BSSY B0,=out
        loop:
        IADD3 R4,R4,0x1,RZ
        ISETP.LE.U32.AND P0,PT,R4,R0,PT
        @P0 BRA =loop
        BSYNC B0
        out:
        VOTE.ANY R5,PT,PT
        """,
        ["R4", "R5"],
    )
    assert made.registers["R4"] == [lane + 1 for lane in range(32)]
    assert made.registers["R5"] == [0xFFFFFFFF] * 32
    counts = memoryview(made.grid.counters["executed"]).cast("Q")
    threads = memoryview(made.grid.counters["threads"]).cast("Q")
    assert counts[4] == 32  # head has two instructions: the loop body is the fifth
    assert threads[4] == 32 * 33 // 2


def test_threads_that_left_are_not_waited_for() -> None:
    made = run(
        """
        BSSY B0,=out
        ISETP.LT.U32.AND P0,PT,R0,0x4,PT
        @P0 BRA =gone
        BSYNC B0
        BRA =out
        gone:
        BREAK B0
        MOV R6,0x9
        out:
        MOV R4,0x5
        WARPSYNC 0xffffffff
        """,
        ["R4", "R6"],
    )
    assert made.registers["R6"] == [9] * 4 + [0] * 28
    assert made.registers["R4"] == [5] * 32


def test_exited_threads_do_not_hold_up_barriers() -> None:
    made = run(
        """
        BSSY B0,=out
        ISETP.GE.U32.AND P0,PT,R0,0x30,PT
        @P0 EXIT
        BSYNC B0
        out:
        BAR.SYNC 0x0
        MOV R4,0x7
        """,
        ["R4"],
        block=96,
    )
    assert made.state == "done"
    assert made.registers["R4"] == [7] * 48 + [0] * 48


def test_barrier_orders_shared_memory_between_warps() -> None:
    made = run(
        """
        STS [R0.X4],R0
        BAR.SYNC.DEFER_BLOCKING 0x0
        LOP3.LUT R5,R0,0xff,RZ,0x3c,!PT
        LDS R4,[R5.X4]
        """,
        ["R4"],
        block=256,
    )
    assert made.registers["R4"] == [thread ^ 255 for thread in range(256)]


def test_barrier_reductions() -> None:
    made = run(
        """
        ISETP.LT.U32.AND P0,PT,R0,0x25,PT
        BAR.RED.POPC.DEFER_BLOCKING 0x0,P0
        B2R.RESULT R4
        BAR.RED.AND 0x0,P0
        B2R.RESULT RZ,P1
        BAR.RED.OR 0x0,P0
        B2R.RESULT RZ,P2
        BAR.RED.POPC 0x3,0x80,!P0
        B2R.RESULT R5
        """,
        ["R4", "R5", "P1", "P2"],
        block=128,
    )
    assert set(made.registers["R4"]) == {0x25}
    assert set(made.registers["R5"]) == {128 - 0x25}
    assert set(made.registers["P1"]) == {0}
    assert set(made.registers["P2"]) == {1}


def test_producers_arrive_and_consumers_wait() -> None:
    # Warps 1 and 2 produce and do not wait; warp 0 waits for all 96 threads at barrier 4 (number and count packed).
    made = run(
        """
        MOV R6,0x600004
        ISETP.LT.U32.AND P0,PT,R0,0x20,PT
        @P0 BRA =consume
        IADD3 R5,R0,0x1,RZ
        STS [R0.X4],R5
        BAR.ARV R6,R6
        BRA =done
        consume:
        BAR.SYNC R6,R6
        LDS R4,[R0.X4+0x80]
        LDS R7,[R0.X4+0x100]
        done:
        NOP
        """,
        ["R4", "R7"],
        block=96,
    )
    assert made.registers["R4"][:32] == [33 + lane for lane in range(32)]
    assert made.registers["R7"][:32] == [65 + lane for lane in range(32)]


def test_half_a_warp_counts_as_a_warp_at_a_counted_barrier() -> None:
    made = run("BAR.SYNC 0x1,0x40\nMOV R4,0x1", ["R4"], block=48)
    assert made.state == "done"


def test_barrier_that_nobody_can_complete_is_a_hang() -> None:
    made = run(
        "ISETP.LT.U32.AND P0,PT,R0,0x20,PT\n@P0 BAR.SYNC 0x1\n@!P0 BAR.SYNC 0x2",
        block=64,
    )
    assert made.state == "fault"
    assert made.grid.fault is not None
    assert made.grid.fault["kind"] == "hang"
    waiting = {(group["warp"], group["text"], group["state"]) for group in made.grid.groups()}
    assert waiting == {(0, "@P0 BAR.SYNC 0x1", "barrier"), (1, "@!P0 BAR.SYNC 0x2", "barrier")}


def test_convergence_that_cannot_complete_is_a_hang() -> None:
    made = run("ISETP.EQ.U32.AND P0,PT,R0,RZ,PT\nBSSY B1,=out\n@P0 WARPSYNC 0x2\n@!P0 BSYNC B1\nout:\nNOP")
    assert made.grid.fault is not None
    assert made.grid.fault["kind"] == "hang"


def test_spin_lock_inside_a_warp_finishes() -> None:
    memory = new_memory()
    memory.alloc(DATA, 256, 1)
    made = run(
        """
        MOV R2,c[0x0][0x160]
        MOV R3,c[0x0][0x164]
        MOV R8,RZ
        MOV R9,0x1
        again:
        YIELD
        ATOMG.E.CAS.STRONG.GPU PT,R4,[R2],R8,R9
        BSSY B0,=out
        ISETP.NE.AND P0,PT,R4,RZ,PT
        @P0 BRA =join
        LDG.E.STRONG.SYS R5,[R2.64+0x4]
        IADD3 R5,R5,0x1,RZ
        STG.E.STRONG.SYS [R2.64+0x4],R5
        MEMBAR.SC.GPU
        ATOMG.E.EXCH.STRONG.GPU PT,RZ,[R2.64],RZ
        join:
        BSYNC B0
        out:
        @P0 BRA =again
        """,
        memory=memory,
        words=pair(DATA),
        block=64,
        grid=5,
        threads=2,
    )
    assert made.state == "done"
    assert memory.read(DATA, 8) == struct.pack("<II", 0, 320)


@pytest.mark.parametrize(("mark", "state"), [("", "done"), (".RECONVERGENT", "running")])
def test_only_unmarked_barriers_let_the_holder_of_a_lock_pass(mark: str, state: str) -> None:
    memory = new_memory()
    memory.alloc(DATA, 256, 1)
    made = run(
        f"""
        MOV R2,c[0x0][0x160]
        MOV R3,c[0x0][0x164]
        MOV R8,RZ
        MOV R9,0x1
        BSSY{mark} B0,=out
        again:
        YIELD
        ATOMG.E.CAS.STRONG.GPU PT,R4,[R2],R8,R9
        ISETP.NE.AND P0,PT,R4,RZ,PT
        @P0 BRA =again
        BSYNC{mark} B0
        out:
        LDG.E.STRONG.SYS R5,[R2.64+0x4]
        IADD3 R5,R5,0x1,RZ
        STG.E.STRONG.SYS [R2.64+0x4],R5
        ATOMG.E.EXCH.STRONG.GPU PT,RZ,[R2.64],RZ
        """,
        memory=memory,
        words=pair(DATA),
        budget=1000,
        sm=100,
    )
    assert made.state == state
    assert memory.read(DATA + 4, 4) == struct.pack("<I", 32 if state == "done" else 0)


def test_waiting_for_another_group_without_a_yield_finishes() -> None:
    # Lane 0 waits at the lower pc for a word that the others store behind the loop.
    made = run(
        """
        ISETP.NE.U32.AND P0,PT,R0,RZ,PT
        STS [0x40],RZ
        @P0 BRA =store
        wait:
        LDS R4,[0x40]
        ISETP.EQ.U32.AND P1,PT,R4,RZ,PT
        @P1 BRA =wait
        BRA =done
        store:
        MOV R4,0x3
        STS [0x40],R4
        done:
        WARPSYNC.ALL
        """,
        ["R4"],
    )
    assert made.registers["R4"] == [3] * 32


def test_calls_return_to_their_own_callers() -> None:
    made = run(
        """
        ISETP.LT.U32.AND P0,PT,R0,0x10,PT
        MOV R21,RZ
        MOV R20,=one
        @P0 MOV R20,=two
        MOV R4,R0
        CALL.REL.NOINC =double
        one:
        IADD3 R4,R4,0x1,RZ
        BRA =end
        two:
        IADD3 R4,R4,0x2,RZ
        BRA =end
        double:
        IADD3 R4,R4,R4,RZ
        RET.REL.NODEC R20,0x0
        end:
        WARPSYNC.ALL
        """,
        ["R4"],
    )
    assert made.registers["R4"] == [2 * lane + (2 if lane < 16 else 1) for lane in range(32)]


def test_call_of_an_absolute_address() -> None:
    made = run(f"MOV R4,0x1\nCALL.ABS.NOINC {CODE_VA + 5 * 16:#x}\nMOV R4,0x2\nNOP", ["R4"])
    assert made.registers["R4"] == [1] * 32


@pytest.mark.parametrize("operands", ["R6", "R6,0x0"])
def test_return_to_an_absolute_address(operands: str) -> None:
    made = run(
        f"MOV R6,c[0x0][0x160]\nMOV R7,c[0x0][0x164]\nRET.ABS.NODEC {operands}\nMOV R4,0x2\nNOP",
        ["R4"],
        words=pair(CODE_VA + 6 * 16),
    )
    assert made.registers["R4"] == [0] * 32


@pytest.mark.parametrize("form", ["CALL.REL.NOINC R6,0x0", "CALL.ABS.NOINC R6", "BRX R6,=back"])
def test_jumps_through_a_table_of_functions(form: str) -> None:
    absolute = "ABS" in form
    source = f"""
        ISETP.LT.U32.AND P0,PT,R0,0x8,PT
        MOV R7,{CODE_VA >> 32 if absolute else 0:#x}
        MOV R6,=first
        @P0 MOV R6,=second
        {"IADD3 R6,R6,c[0x0][0x160],RZ" if absolute else "NOP"}
        LEPC R8
        {form}
        next:
        first:
        MOV R4,0x11
        BRA =end
        second:
        MOV R4,0x22
        end:
        WARPSYNC.ALL
    """
    # BRX adds the pc behind it: take that off again.
    made = run(source.replace("=back", "-0x90"), ["R4", "R8"], words=[CODE_VA & 0xFFFFFFFF])
    assert made.registers["R4"] == [0x22] * 8 + [0x11] * 24
    assert made.registers["R8"] == [(CODE_VA + 7 * 16) & 0xFFFFFFFF] * 32


def test_branch_out_of_the_program_faults() -> None:
    made = run("BRA 0x10000")
    assert made.grid.fault is not None
    assert made.grid.fault["kind"] == "illegal_instruction"
    made = run("MOV R4,0x7fff0\nMOV R5,0x1\nRET.ABS.NODEC R4")
    assert made.grid.fault is not None
    assert made.grid.fault["kind"] == "illegal_instruction"


def test_convergence_branches_ask_who_is_here() -> None:
    made = run(
        """
        BSSY B0,=out
        ISETP.LT.U32.AND P0,PT,R0,0x8,PT
        @P0 BRA =meet
        BRA.CONV ~URZ,=wrong
        UMOV UR4,0xffffff00
        BRA.DIV UR4,=wrong
        BRA.DIV ~URZ,=right
        wrong:
        MOV R4,0x1
        BRA =meet
        right:
        MOV R4,0x2
        meet:
        BSYNC B0
        out:
        BRA.CONV ~URZ,=good
        MOV R4,0x3
        good:
        NOP
        """,
        ["R4"],
    )
    assert made.registers["R4"] == [0] * 8 + [2] * 24


def test_exclusive_warpsync_separates_sets() -> None:
    made = run(
        """
        LOP3.LUT R5,R0,0x1,RZ,0xc0,!PT
        MOV R6,0x55555555
        ISETP.NE.U32.AND P0,PT,R5,RZ,PT
        @P0 MOV R6,0xaaaaaaaa
        BSSY B0,=out
        WARPSYNC.EXCLUSIVE R6
        REDUX.SUM UR4,R0
        MOV R4,UR4
        VOTE.ANY R7,PT,PT
        BSYNC B0
        out:
        VOTE.ANY R8,PT,PT
        """,
        ["R4", "R7", "R8"],
    )
    assert made.registers["R4"] == [240, 256] * 16
    assert made.registers["R7"] == [0x55555555, 0xAAAAAAAA] * 16
    assert made.registers["R8"] == [0xFFFFFFFF] * 32


def test_collective_warpsync_of_all_waits_for_every_living_lane() -> None:
    made = run(
        """
        ISETP.GE.U32.AND P1,PT,R0,0x18,PT
        @P1 EXIT
        ISETP.LT.U32.AND P0,PT,R0,0x8,PT
        @P0 BRA =late
        BRA =meet
        late:
        MOV R4,0x1
        meet:
        WARPSYNC.COLLECTIVE.ALL =out
        VOTE.ANY R5,PT,PT
        ENDCOLLECTIVE
        out:
        NOP
        """,
        ["R4", "R5"],
    )
    assert made.state == "done"
    assert made.registers["R4"] == [1] * 8 + [0] * 24
    assert made.registers["R5"] == [0xFFFFFF] * 24 + [0] * 8


def test_a_late_lane_does_not_wait_for_those_that_an_unmarked_barrier_let_go() -> None:
    """What ptxas makes of grid.sync() on sm_100 and later: one thread spins, then the whole warp meets."""
    made = run(
        """
        STS [0x10],RZ
        BAR.SYNC.DEFER_BLOCKING 0x0
        ISETP.LT.U32.AND P0,PT,R0,0x20,PT
        @P0 BRA =other
        BSSY B0,=meet
        ISETP.NE.U32.AND P1,PT,R0,0x20,PT
        @P1 BRA =join
        spin:
        LDS R4,[0x10]
        YIELD
        ISETP.EQ.U32.AND P1,PT,R4,RZ,PT
        @P1 BRA =spin
        join:
        BSYNC B0
        meet:
        WARPSYNC.COLLECTIVE.ALL =out
        VOTE.ANY R5,PT,PT
        ENDCOLLECTIVE
        out:
        BRA =end
        other:
        MOV R4,0x1
        STS [0x10],R4
        end:
        NOP
        """,
        ["R5"],
        block=64,
        sm=120,
    )
    assert made.state == "done"
    assert made.registers["R5"] == [0] * 32 + [0xFFFFFFFF] * 32


def test_warpsync_takes_a_target_only_when_collective() -> None:
    text = [
        ("", "WARPSYNC.COLLECTIVE.ALL", ""),
        ("", "WARPSYNC.COLLECTIVE.ALL", "R4,0x10"),
        ("", "WARPSYNC.COLLECTIVE", "0x10"),
        ("", "WARPSYNC.ALL", "0x10"),
        ("", "WARPSYNC.COLLECTIVE.ALL", "0x10"),
        ("", "WARPSYNC.COLLECTIVE", "R4,0x10"),
        ("", "WARPSYNC.ALL", ""),
    ]
    refused = _core.Program(120, 0, bytes(16 * len(text)), text).undeclared()
    assert [row["pc"] // 16 for row in refused] == [0, 1, 2, 3]


def test_barriers_survive_a_save_and_restore() -> None:
    made = run(
        """
        BSSY B6,=out
        BMOV.32.CLEAR R4,B6
        ISETP.LT.U32.AND P0,PT,R0,0x3,PT
        @P0 BRA =few
        BSSY B6,=inner
        BSYNC B6
        inner:
        BRA =both
        few:
        MOV R5,0x1
        both:
        BMOV.32 B6,R4
        BSYNC B6
        out:
        VOTE.ANY R6,PT,PT
        """,
        ["R4", "R6"],
    )
    assert made.registers["R4"] == [0xFFFFFFFF] * 32
    assert made.registers["R6"] == [0xFFFFFFFF] * 32


def test_trap() -> None:
    made = run("ISETP.EQ.U32.AND P0,PT,R0,0x21,PT\n@P0 BPT.TRAP 0x1", block=64)
    assert made.grid.fault is not None
    assert (made.grid.fault["kind"], made.grid.fault["thread"]) == ("trap", (33, 0, 0))


def test_exit_takes_one_more_condition() -> None:
    memory = new_memory()
    memory.alloc(DATA, 128, 1)
    memory.write(DATA, bytes(128))
    source = """
        ISETP.GE.U32.AND P1,PT,R0,0x8,PT
        ISETP.LT.U32.AND P2,PT,R0,0x10,PT
        IMAD.WIDE.U32 R4,R0,0x4,c[0x0][0x160]
        MOV R20,0x1
        @P1 EXIT P2
        STG.E [R4.64],R20
        """
    made = run(source, memory=memory, words=[DATA & 0xFFFFFFFF, DATA >> 32])
    assert made.state == "done"
    stored = struct.unpack("<32I", memory.read(DATA, 128))
    assert stored == tuple(int(not 8 <= lane < 16) for lane in range(32))
