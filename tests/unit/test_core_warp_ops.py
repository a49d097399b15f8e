"""Instructions that look across lanes, against plain Python; and special registers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.core_kit import SHARED_WINDOW, run

VALUES = [(0x9E3779B9 * (i + 1)) & 0xFFFFFFFF for i in range(32)]


def shuffle(mode: str, lane: int, by: int, bounds: int) -> tuple[int, bool]:
    """(source lane, in range), as the PTX manual writes shfl.sync."""
    segment, clamp = bounds >> 8 & 31, bounds & 31
    last = (lane & segment) | (clamp & ~segment)
    by &= 31
    source = {
        "UP": lane - by,
        "DOWN": lane + by,
        "BFLY": lane ^ by,
        "IDX": (lane & segment) | (by & ~segment),
    }[mode]
    good = source >= last if mode == "UP" else source <= last
    return (source if good else lane), good


@pytest.mark.parametrize("mode", ["UP", "DOWN", "BFLY", "IDX"])
@pytest.mark.parametrize("by", [0, 1, 5, 31])
@pytest.mark.parametrize("width", [32, 8, 2])
def test_shuffle(mode: str, by: int, width: int) -> None:
    bounds = (32 - width) << 8 | (0 if mode == "UP" else 31)
    made = run(f"MOV R6,R10\nSHFL.{mode} P0,R6,R10,{by:#x},{bounds:#x}", ["R6", "P0"], inputs=[VALUES])
    expected = [shuffle(mode, lane, by, bounds) for lane in range(32)]
    assert made.registers["R6"] == [VALUES[source] for source, _ in expected]
    assert made.registers["P0"] == [int(good) for _, good in expected]


def test_shuffle_with_lanes_from_a_register() -> None:
    made = run("MOV R4,0x1f\nSHFL.IDX PT,R5,R0,R10,R4", ["R5"], inputs=[VALUES])
    assert made.registers["R5"] == [value & 31 for value in VALUES]


@pytest.mark.parametrize(
    ("mode", "test"),
    [
        ("ANY", lambda on, all_: bool(on)),
        ("ALL", lambda on, all_: on == all_),
        ("EQ", lambda on, all_: on in (0, all_)),
    ],
)
@pytest.mark.parametrize("limit", [0, 9, 32])
def test_vote(mode: str, test: Callable[[int, int], bool], limit: int) -> None:
    made = run(
        f"""
        ISETP.LT.U32.AND P0,PT,R0,{limit:#x},PT
        ISETP.GE.U32.AND P1,PT,R0,0x4,PT
        MOV R4,0x1234
        @P1 VOTE.{mode} R4,P2,P0
        @P1 VOTE.{mode} P3,!P0
        VOTEU.ANY UR4,UPT,P0
        MOV R5,UR4
        """,
        ["R4", "P2", "P3", "R5"],
    )
    running = 0xFFFFFFF0
    ballot = ((1 << limit) - 1) & running
    answer = int(test(ballot, running))
    negated = int(test(running & ~ballot, running))
    assert made.registers["R4"] == [0x1234] * 4 + [ballot] * 28
    assert made.registers["P2"] == [0] * 4 + [answer] * 28
    assert made.registers["P3"] == [0] * 4 + [negated] * 28
    assert made.registers["R5"] == [(1 << limit) - 1] * 32


def test_match() -> None:
    keys = [i % 3 for i in range(32)]
    made = run(
        """
        MOV R11,R0
        MATCH.ANY R4,R10
        MATCH.ANY.U64 R5,R10
        MATCH.ALL P0,R6,R10
        ISETP.EQ.U32.AND P1,PT,R10,0x1,PT
        @P1 MATCH.ALL P2,R7,R10
        """,
        ["R4", "R5", "R6", "R7", "P0", "P2"],
        inputs=[keys],
    )
    groups = [sum(1 << i for i in range(32) if keys[i] == key) for key in keys]
    assert made.registers["R4"] == groups
    assert made.registers["R5"] == [1 << lane for lane in range(32)]
    assert made.registers["R6"] == [0] * 32
    assert made.registers["P0"] == [0] * 32
    assert made.registers["R7"] == [group if key == 1 else 0 for key, group in zip(keys, groups, strict=True)]
    assert made.registers["P2"] == [int(key == 1) for key in keys]


def test_reductions_into_uniform_registers() -> None:
    made = run(
        """
        ISETP.GE.U32.AND P1,PT,R0,0x3,PT
        @P1 REDUX.SUM UR4,R10
        @P1 REDUX.MIN.S32 UR5,R10
        @P1 REDUX.MAX UR6,R10
        @P1 REDUX UR7,R10
        @P1 REDUX.OR UR8,R10
        @P1 REDUX.XOR UR9,R10
        MOV R4,UR4
        MOV R5,UR5
        MOV R6,UR6
        MOV R7,UR7
        MOV R8,UR8
        MOV R9,UR9
        """,
        ["R4", "R5", "R6", "R7", "R8", "R9"],
        inputs=[VALUES],
    )
    values = VALUES[3:]
    low = min(value - (value >> 31 << 32) for value in values) & 0xFFFFFFFF
    conjunction, union, parity = 0xFFFFFFFF, 0, 0
    for value in values:
        conjunction, union, parity = conjunction & value, union | value, parity ^ value
    got = [made.registers[name][0] for name in ("R4", "R5", "R6", "R7", "R8", "R9")]
    assert got == [sum(values) & 0xFFFFFFFF, low, max(values), conjunction, union, parity]


def test_elect_and_first_lane() -> None:
    made = run(
        """
        ISETP.GE.U32.AND P1,PT,R0,0x6,PT
        @P1 ELECT P0,UR4,PT
        @P1 R2UR UR5,R10
        MOV R4,UR4
        MOV R5,UR5
        """,
        ["R4", "R5", "P0"],
        inputs=[VALUES],
    )
    assert made.registers["R4"] == [6] * 32
    assert made.registers["R5"] == [VALUES[6]] * 32
    assert made.registers["P0"] == [int(lane == 6) for lane in range(32)]


@pytest.mark.parametrize("same", [True, False])
def test_first_lane_says_whether_all_agree(same: bool) -> None:
    values = [7] * 32 if same else VALUES
    made = run("R2UR P0,UR5,R10\nMOV R5,UR5", ["R5", "P0"], inputs=[values])
    assert made.registers["R5"] == [values[0]] * 32
    assert made.registers["P0"] == [int(same)] * 32


def test_matrix_transpose_between_lanes() -> None:
    made = run("MOVM.16.MT88 R4,R10", ["R4"], inputs=[VALUES])
    halves = [
        [VALUES[row * 4 + column // 2] >> (column % 2 * 16) & 0xFFFF for column in range(8)]
        for row in range(8)
    ]
    expected = [
        halves[lane % 4 * 2][lane // 4] | halves[lane % 4 * 2 + 1][lane // 4] << 16 for lane in range(32)
    ]
    assert made.registers["R4"] == expected


def test_special_registers() -> None:
    made = run(
        """
        S2R R1,SR_LANEID
        S2R R2,SR_LTMASK
        S2R R3,SR_EQMASK
        S2R R4,SR_GEMASK
        S2R R5,SR_LEMASK
        S2R R6,SR_GTMASK
        S2UR UR4,SR_SMEMSZ
        MOV R7,UR4
        S2R R8,SR_SWINHI
        S2R R9,SR_VIRTID
        CS2R R10,SRZ
        CS2R.32 R12,SR_CgaSize
        S2R R13,SR_TID.X
        """,
        [f"R{i}" for i in range(1, 14)],
        block=64,
        shared_bytes=1024,
        shared_reserved=1024,
    )
    registers = made.registers
    for thread in range(64):
        lane = thread % 32
        bit = 1 << lane
        assert registers["R1"][thread] == lane
        assert registers["R2"][thread] == bit - 1
        assert registers["R3"][thread] == bit
        assert registers["R4"][thread] == 0xFFFFFFFF & ~(bit - 1)
        assert registers["R5"][thread] == bit | bit - 1
        assert registers["R6"][thread] == 0xFFFFFFFF & ~(bit | bit - 1)
        assert registers["R9"][thread] == thread // 32 << 8
        assert registers["R13"][thread] == thread
    assert set(registers["R7"]) == {2048}
    assert set(registers["R8"]) == {SHARED_WINDOW >> 32}
    assert set(registers["R10"]) | set(registers["R11"]) | set(registers["R12"]) == {0}


def test_clock_moves_forward_and_sleep_moves_it_more() -> None:
    made = run(
        "CS2R R4,SR_CLOCKLO\nNOP\nCS2R R6,SR_CLOCKLO\nMOV R8,0x2710\nNANOSLEEP R8\nCS2R.32 R7,SR_CLOCKLO",
        ["R4", "R6", "R7"],
    )
    first, second, third = (made.registers[name][0] for name in ("R4", "R6", "R7"))
    assert 0 < second - first < 10
    assert third - second >= 10000
