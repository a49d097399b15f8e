"""Predicate logic, predicates in registers, and forms that are refused."""

from __future__ import annotations

import pytest

from tests.unit.core_kit import make_program, run

BITS = [i & 7 for i in range(32)]
SET_UP = "".join(f"LOP3.LUT P{k},RZ,R10,{1 << k:#x},RZ,0xc0,!PT\n" for k in range(3))


def test_plop3_looks_up_lanes() -> None:
    for first in (0x80, 0x08, 0xFE, 0x96, 0x1B, 0x40):
        for second in (0x00, 0x3C, 0xCA):
            source = SET_UP + f"PLOP3.LUT P3,P4,P0,P1,!P2,{first:#x},{second:#x}"
            made = run(source, ["P3", "P4"], inputs=[BITS])
            index = [(b & 1) * 4 + (b >> 1 & 1) * 2 + (1 - (b >> 2 & 1)) for b in BITS]
            assert made.registers["P3"] == [first >> i & 1 for i in index]
            assert made.registers["P4"] == [second >> i & 1 for i in index]


def test_plop3_reads_signs_of_registers() -> None:
    words = [(b & 1) << 31 | 5 for b in BITS]
    made = run("PLOP3.LUT P3,PT,R10.SIGN,R11.SIGN,PT,0x40,0xc0", ["P3"], inputs=[words, [0x80000000] * 32])
    assert made.registers["P3"] == [0] * 32  # 0x40 wants the third source false
    made = run("PLOP3.LUT P3,PT,R10.SIGN,R11.SIGN,!PT,0x40,0x0", ["P3"], inputs=[words, [0x80000000] * 32])
    assert made.registers["P3"] == [b & 1 for b in BITS]


@pytest.mark.parametrize(("byte", "shift"), [("", 0), (".B1", 8), (".B3", 24)])
def test_predicates_to_a_register_and_back(byte: str, shift: int) -> None:
    source = SET_UP + f"P2R{byte} R20,PR,R11,0x5\nPLOP3.LUT P0,P2,PT,PT,PT,0x0,0x0\nR2P PR,R20{byte},0x4"
    made = run(source, ["R20", "P0", "P1", "P2"], inputs=[BITS, [0xFFFFFFFF] * 32])
    keep = 0xFFFFFFFF ^ 5 << shift
    assert made.registers["R20"] == [keep | (b & 5) << shift for b in BITS]
    assert made.registers["P0"] == [0] * 32  # not named by the mask
    assert made.registers["P1"] == [b >> 1 & 1 for b in BITS]
    assert made.registers["P2"] == [b >> 2 & 1 for b in BITS]


def test_writes_to_pt_and_outside_the_guard_are_dropped() -> None:
    source = SET_UP + "@P0 ISETP.NE.AND P1,PT,RZ,RZ,PT\nISETP.NE.AND PT,P3,RZ,RZ,PT\n@PT MOV R20,R10"
    made = run(source, ["P1", "P3", "R20"], inputs=[BITS])
    assert made.registers["P1"] == [0 if b & 1 else b >> 1 & 1 for b in BITS]
    assert made.registers["P3"] == [1] * 32
    assert made.registers["R20"] == BITS


@pytest.mark.parametrize(
    "text",
    [
        "IADD3 R4,R5,R6",
        "IADD3.X R4,R5,R6,R7,P0",
        "LEA.HI R4,-R5,R6,R7,0x2",
        "LOP3.LUT R4,R5,R6,R7,P0",
        "SHF.U32 R4,R5,R6,R7",
        "VIMNMX R4,P0,P1,R5,R6,PT",
        "VIADDMNMX.S16x2 R4,-R5,R6,R7,PT",
        "IMNMX.S64 P0,PT,R4,R6,R8,PT,!PT",
        "FADD2 R4,R6,R8",
        "HADD2.FTZ.BF16_V2 R4,R5,R6",
        "F2F.F32 R4,R5",
        "F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R4,R5,R6,R7",
        "MUFU.RCP.F16 R4,R5",
        "HMMA.16816.F32 R4,R8.COL,R12.COL,R4",
        "IMMA.16816.S8.S4 R4,R8.ROW,R12.COL,R4",
        "FSETP.AND P0,PT,R4,R5,PT",
        "FADD.RELU R4,R5,R6",
        "MOV R4,R5,0x3",
    ],
)
def test_forms_without_known_semantics_are_refused(text: str) -> None:
    assert len(make_program([text, "EXIT"]).undeclared()) == 1
