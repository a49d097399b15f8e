"""Integer sums and products with carries: IADD3, IADD, LEA, IMAD and their wide forms."""

from __future__ import annotations

from itertools import product

import pytest

from tests.unit.core_kit import run

M32, M64 = 0xFFFFFFFF, (1 << 64) - 1
EDGES = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF]
PAIRS = [*product(EDGES, EDGES)]  # 64 threads
A, B = [a for a, _ in PAIRS], [b for _, b in PAIRS]
C = [(0x9E3779B9 * i + 0x7FFFFFFF) & M32 for i in range(64)]


def signed(x: int, bits: int = 32) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def columns(source: str, outputs: list[str], *inputs: list[int]) -> list[tuple[int, ...]]:
    made = run(source, outputs, inputs=inputs, block=len(inputs[0]))
    return list(zip(*(made.registers[name] for name in outputs), strict=True))


def test_iadd3_adds_three_with_signs() -> None:
    got = columns("IADD3 R20,-R10,R11,-R12", ["R20"], A, B, C)
    assert got == [((-a + b - c) & M32,) for a, b, c in zip(A, B, C, strict=True)]


def test_iadd3_carries_out_twice() -> None:
    got = columns("IADD3 R20,P0,P1,R10,R11,R12", ["R20", "P0", "P1"], A, B, C)
    sums = [a + b + c for a, b, c in zip(A, B, C, strict=True)]
    assert got == [(s & M32, int(s >> 32 >= 1), int(s >> 32 >= 2)) for s in sums]
    assert {row[2] for row in got} == {0, 1}


def test_subtraction_carries_out_when_it_does_not_borrow() -> None:
    got = columns("IADD3 R20,P0,R10,-R11,RZ", ["R20", "P0"], A, B)
    assert got == [((a - b) & M32, int(a >= b)) for a, b in PAIRS]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("IADD3 R20,P0,R10,R12,RZ", "IADD3.X R21,R11,R13,RZ,P0,!PT"),
        ("IADD3 R20,P0,PT,R10,R12,RZ", "IADD3.X R21,PT,PT,R11,R13,RZ,P0,!PT"),
        ("IADD3 R20,P0,R10,R12,RZ", "IMAD.X R21,R11,0x1,R13,P0"),
        ("IADD R20,P0,R10,R12", "IADD.X R21,R11,R13,P0"),
        ("MOV R22,RZ", "IADD.64 R20,R10,R12"),
        ("LEA R20,P0,R10,R12,0x0", "LEA.HI.X R21,R10,R13,R11,0x0,P0"),
    ],
)
def test_64_bit_sums(low: str, high: str) -> None:
    got = columns(f"{low}\n{high}", ["R20", "R21"], A, B, B, A)
    for (x, y), (low_word, high_word) in zip(PAIRS, got, strict=True):
        total = (x | y << 32) + (y | x << 32) & M64
        assert (low_word, high_word) == (total & M32, total >> 32)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("IADD3 R20,P0,R10,-R12,RZ", "IADD3.X R21,R11,~R13,RZ,P0,!PT"),
        ("IADD R20,P0,R10,-R12", "IADD.X R21,R11,~R13,P0"),
        ("IADD3 R20,P0,R10,-R12,RZ", "IMAD.X R21,R11,0x1,~R13,P0"),
        ("MOV R22,RZ", "IADD.64 R20,R10,-R12"),
    ],
)
def test_64_bit_differences(low: str, high: str) -> None:
    got = columns(f"{low}\n{high}", ["R20", "R21"], A, B, B, A)
    for (x, y), (low_word, high_word) in zip(PAIRS, got, strict=True):
        total = (x | y << 32) - (y | x << 32) & M64
        assert (low_word, high_word) == (total & M32, total >> 32)


def test_128_bit_sum_through_iadd64() -> None:
    source = "IADD.64 R20,P0,R10,R12\nIADD.64.X R22,P1,R10,R12,P0"
    got = columns(source, ["R20", "R21", "R22", "R23", "P0", "P1"], A, B, B, A)
    for (x, y), row in zip(PAIRS, got, strict=True):
        first = (x | y << 32) + (y | x << 32)
        second = first + (first >> 64)
        words = [first & M32, first >> 32 & M32, second & M32, second >> 32 & M32]
        assert row == (*words, first >> 64, second >> 64)


def test_pair_destination_may_overlap_its_sources() -> None:
    got = columns("IADD.64 R11,R10,R12", ["R11", "R12"], A, B, B, A)
    for (x, y), row in zip(PAIRS, got, strict=True):
        total = (x | y << 32) + (y | x << 32) & M64
        assert row == (total & M32, total >> 32)


@pytest.mark.parametrize("shift", [0, 1, 3, 31])
def test_lea(shift: int) -> None:
    got = columns(
        f"LEA R20,P0,R10,-R11,{shift:#x}\nLEA.HI R21,R10,R11,R12,{shift:#x}\nLEA.HI.SX32 R22,R10,R11,{shift:#x}",
        ["R20", "P0", "R21", "R22"],
        A,
        B,
        C,
    )
    for a, b, c, row in zip(A, B, C, got, strict=True):
        shifted = a << shift & M32
        high = (c << 32 | a) << shift >> 32 & M32
        extended = (signed(a) << shift >> 32) & M32
        want = ((shifted - b) & M32, int(shifted >= b), (high + b) & M32, (extended + b) & M32)
        assert row == want


@pytest.mark.parametrize("kind", ["", ".U32"])
def test_wide_products_with_carry(kind: str) -> None:
    source = f"IMAD.WIDE{kind} R20,P0,R10,R11,R12\nIMAD.WIDE{kind}.X R22,R10,R11,R12,P0\nIMAD.HI{kind} R24,R10,R11,R12"
    got = columns(source, ["R20", "R21", "P0", "R22", "R23", "R24"], A, B, C, A)
    for a, b, c, row in zip(A, B, C, got, strict=True):
        full = (a * b if kind else signed(a) * signed(b)) & M64
        total = full + (c | a << 32)
        again = full + (c | a << 32) + (total >> 64) & M64
        want = (total & M32, total >> 32 & M32, total >> 64, again & M32, again >> 32, total >> 32 & M32)
        assert row == want


@pytest.mark.parametrize("opcode", ["IMAD", "IMAD.U32", "IMAD.SHL.U32", "IMAD.IADD", "IMAD.MOV.U32"])
def test_low_products_are_the_same_in_every_spelling(opcode: str) -> None:
    got = columns(f"{opcode} R20,R10,R11,-R12", ["R20"], A, B, C)
    assert got == [((a * b - c) & M32,) for a, b, c in zip(A, B, C, strict=True)]


def test_lanes_outside_the_guard_keep_their_values() -> None:
    source = (
        "ISETP.LT.U32.AND P0,PT,R0,0x5,PT\nMOV R20,R11\nMOV R21,R11\n"
        "@P0 IADD.64 R20,R10,R12\n@P0 IADD3 R11,R10,R10,RZ"
    )
    got = columns(source, ["R20", "R21", "R11"], A, B, B, A)
    for lane, ((x, y), row) in enumerate(zip(PAIRS, got, strict=True)):
        total = (x | y << 32) + (y | x << 32) & M64
        assert row == ((total & M32, total >> 32, 2 * x & M32) if lane < 5 else (y, y, y))


@pytest.mark.parametrize("shift", [0, 2, 30])
def test_lea_with_a_negated_operand_carries_as_a_subtraction_does(shift: int) -> None:
    got = columns(f"LEA R20,P0,-R10,R11,{shift:#x}", ["R20", "P0"], A, B)
    for a, b, row in zip(A, B, got, strict=True):
        shifted = a << shift & M32
        assert row == ((b - shifted) & M32, int(b >= shifted))
