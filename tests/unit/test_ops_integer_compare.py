"""Integer comparison, selection by order, packed arithmetic and dot products."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product

import pytest

from tests.unit.core_kit import run

M32 = 0xFFFFFFFF
EDGES = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x80007FFF, 0x7FFF8000, 0xFF017F80]
PAIRS = [*product(EDGES, EDGES)]
A, B = [a for a, _ in PAIRS], [b for _, b in PAIRS]
C = [(0x9E3779B9 * i + 0x7FFFFFFF) & M32 for i in range(64)]
TESTS: dict[str, Callable[[int, int], bool]] = {
    "LT": operator.lt,
    "EQ": operator.eq,
    "LE": operator.le,
    "GT": operator.gt,
    "NE": operator.ne,
    "GE": operator.ge,
}
JOINS: dict[str, Callable[[int, int], int]] = {"AND": operator.and_, "OR": operator.or_, "XOR": operator.xor}


def signed(x: int, bits: int = 32) -> int:
    return x - (1 << bits) if x >> (bits - 1) else x


def one(source: str, *inputs: list[int]) -> list[int]:
    return run(source, ["R20"], inputs=inputs, block=64).registers["R20"]


@pytest.mark.parametrize("join", JOINS)
@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("kind", ["", ".U32"])
def test_isetp_and_its_complement(kind: str, test: str, join: str) -> None:
    source = f"ISETP.LT.U32.AND P2,PT,R0,0x15,PT\nISETP.{test}{kind}.{join} P0,P1,R10,R11,!P2"
    made = run(source, ["P0", "P1"], inputs=[A, B], block=64)
    for lane, (a, b) in enumerate(PAIRS):
        hit = TESTS[test](a, b) if kind else TESTS[test](signed(a), signed(b))
        other = int(lane >= 0x15)
        want = (JOINS[join](int(hit), other), JOINS[join](int(not hit), other))
        assert (made.registers["P0"][lane], made.registers["P1"][lane]) == want


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("is_signed", [True, False])
def test_64_bit_comparison_two_ways(test: str, is_signed: bool) -> None:
    high, wide = ("", ".S64") if is_signed else (".U32", ".U64")
    source = (
        f"ISETP.{test}.U32.AND P0,PT,R10,R12,PT\nISETP.{test}{high}.AND.EX P1,PT,R11,R13,PT,P0\n"
        f"ISETP.{test}{wide}.AND P2,PT,R10,R12,PT"
    )
    made = run(source, ["P1", "P2"], inputs=[A, B, C, A], block=64)
    for lane, (a, b) in enumerate(PAIRS):
        x, y = b << 32 | a, a << 32 | C[lane]
        hit = TESTS[test](signed(x, 64), signed(y, 64)) if is_signed else TESTS[test](x, y)
        assert (made.registers["P1"][lane], made.registers["P2"][lane]) == (int(hit), int(hit)), lane


def fields(word: int, bits: int, is_signed: bool) -> list[int]:
    parts = [word >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]
    return [signed(x, bits) for x in parts] if is_signed else parts


def join_fields(parts: list[int], bits: int) -> int:
    return sum((x & ((1 << bits) - 1)) << (bits * i) for i, x in enumerate(parts))


KINDS = {"S32": (32, True), "U32": (32, False), "S16x2": (16, True), "U16x2": (16, False)}


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pick", ["PT", "!PT", "P3"])
def test_minimum_and_maximum(pick: str, kind: str, relu: bool) -> None:
    bits, is_signed = KINDS[kind]
    if relu and not is_signed:
        return
    suffix = f".{kind}" + (".RELU" if relu else "")
    source = (
        "ISETP.LT.U32.AND P3,PT,R0,0x21,PT\n"
        f"VIMNMX{suffix} R20,R10,R11,{pick}\nVIMNMX3{suffix} R21,R10,R11,R12,{pick}\n"
        f"VIADDMNMX{suffix} R22,R10,R11,R12,{pick}\nVIMNMX{suffix} R23,PT,PT,R10,R11,{pick}"
    )
    made = run(source, ["R20", "R21", "R22", "R23"], inputs=[A, B, C], block=64)
    for lane, (a, b) in enumerate(PAIRS):
        best = min if pick == "PT" or (pick == "P3" and lane < 0x21) else max
        x, y, z = (fields(w, bits, is_signed) for w in (a, b, C[lane]))
        sums = fields(join_fields([p + q for p, q in zip(x, y, strict=True)], bits), bits, is_signed)

        def packed(parts: list[int]) -> int:
            return join_fields([max(p, 0) if relu else p for p in parts], bits)

        two = packed([best(p, q) for p, q in zip(x, y, strict=True)])
        three = packed([best(p, q, r) for p, q, r in zip(x, y, z, strict=True)])
        added = packed([best(p, q) for p, q in zip(sums, z, strict=True)])
        assert [made.registers[f"R{20 + i}"][lane] for i in range(4)] == [two, three, added, two]


def test_packed_maximum_tells_which_half_won() -> None:
    made = run("VIMNMX.S16x2 R20,P0,P1,R10,R11,!PT", ["P0", "P1"], inputs=[A, B], block=64)
    for lane, (a, b) in enumerate(PAIRS):
        won = [int(x >= y) for x, y in zip(fields(a, 16, True), fields(b, 16, True), strict=True)]
        assert [made.registers["P0"][lane], made.registers["P1"][lane]] == won


def test_64_bit_minimum() -> None:
    source = "IMNMX.S64 PT,PT,R20,R10,R12,PT,!PT\nIMNMX.U64 PT,PT,R22,R10,R12,!PT,!PT"
    made = run(source, ["R20", "R21", "R22", "R23"], inputs=[A, B, C, A], block=64)
    for lane, (a, b) in enumerate(PAIRS):
        x, y = b << 32 | a, a << 32 | C[lane]
        low = min(signed(x, 64), signed(y, 64)) & (1 << 64) - 1
        row = [made.registers[f"R{20 + i}"][lane] for i in range(4)]
        assert row == [low & M32, low >> 32, max(x, y) & M32, max(x, y) >> 32]


def test_absolute_values_and_differences() -> None:
    assert one("IABS R20,R10", A) == [abs(signed(a)) & M32 for a in A]
    assert one("VABSDIFF R20,R10,R11,R12", A, B, C) == [
        (abs(signed(a) - signed(b)) + c) & M32 for a, b, c in zip(A, B, C, strict=True)
    ]
    assert one("VABSDIFF.U32 R20,R10,R11,R12", A, B, C) == [
        (abs(a - b) + c) & M32 for a, b, c in zip(A, B, C, strict=True)
    ]
    apart = [
        [abs(x - y) for x, y in zip(fields(a, 8, False), fields(b, 8, False), strict=True)] for a, b in PAIRS
    ]
    assert one("VABSDIFF4.U8 R20,R10,R11,R12", A, B, C) == [join_fields(d, 8) for d in apart]
    assert one("VABSDIFF4.U8.ACC R20,R10,R11,R12", A, B, C) == [
        (sum(d) + c) & M32 for d, c in zip(apart, C, strict=True)
    ]


def test_packed_and_saturating_sums() -> None:
    for opcode, bits in (("VIADD.16x2", 16), ("VIADD.U8x4", 8)):
        want = [
            join_fields(
                [x - y for x, y in zip(fields(a, bits, False), fields(b, bits, False), strict=True)], bits
            )
            for a, b in PAIRS
        ]
        assert one(f"{opcode} R20,R10,-R11", A, B) == want
    assert one("VIADD R20,R10,-0x3", A) == [(a - 3) & M32 for a in A]
    clamped = [min(max(signed(a) - signed(b), -(1 << 31)), (1 << 31) - 1) & M32 for a, b in PAIRS]
    assert one("VIADD.S32.ISAT R20,R10,-R11", A, B) == clamped


@pytest.mark.parametrize("b_type", ["S8", "U8"])
@pytest.mark.parametrize("a_signed", [True, False])
def test_dot_products(a_signed: bool, b_type: str) -> None:
    letter, b_signed = ("S" if a_signed else "U"), b_type[0] == "S"
    source = (
        f"IDP.4A.{letter}8.{b_type} R20,R10,R11,R12\nIDP.2A.LO.{letter}16.{b_type} R21,R10,R11,R12\n"
        f"IDP.2A.HI.{letter}16.{b_type} R22,R10,R11,R12"
    )
    made = run(source, ["R20", "R21", "R22"], inputs=[A, B, C], block=64)
    for lane, (a, b) in enumerate(PAIRS):
        narrow, wide, right = fields(a, 8, a_signed), fields(a, 16, a_signed), fields(b, 8, b_signed)
        want = [
            sum(x * y for x, y in zip(narrow, right, strict=True)),
            sum(x * y for x, y in zip(wide, right[:2], strict=True)),
            sum(x * y for x, y in zip(wide, right[2:], strict=True)),
        ]
        assert [made.registers[f"R{20 + i}"][lane] for i in range(3)] == [(w + C[lane]) & M32 for w in want]
