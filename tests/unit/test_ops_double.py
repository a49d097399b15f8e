"""binary64 arithmetic against exact fractions, and what becomes of NaN payloads."""

from __future__ import annotations

from itertools import product

import pytest

from tests.unit import float_reference as ref
from tests.unit.core_kit import run
from tests.unit.float_reference import F64

M32 = 0xFFFFFFFF
INVALID, QUIET = 0xFFF8000000000000, 1 << 51
SPECIALS = [
    0, 1 << 63, 1, (1 << 63) + (1 << 52) - 1, 1 << 52, 0x3FEFFFFFFFFFFFFF, 0x3FF0000000000000, 0xBFF0000000000001,
    0x3CA0000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
    0x7FF8123456789ABC, 0x7FF0000000000001, 0xC00921FB54442D18,
]  # fmt: skip
PAIRS = [*product(SPECIALS, SPECIALS)]
A, B = [a for a, _ in PAIRS], [b for _, b in PAIRS]
C = [SPECIALS[(7 * i + 3) % 16] for i in range(256)]
MODES = ["", ".RM", ".RP", ".RZ"]


def words(*columns: list[int]) -> list[list[int]]:
    return [part for column in columns for part in ([x & M32 for x in column], [x >> 32 for x in column])]


def wide(source: str, *columns: list[int]) -> list[int]:
    made = run(source, ["R20", "R21"], inputs=words(*columns), block=256)
    return [low | high << 32 for low, high in zip(made.registers["R20"], made.registers["R21"], strict=True)]


def nan_of(*operands: int) -> int:
    """The first NaN operand, quieted; operands come in the hardware's order of preference."""
    return next((x | QUIET for x in operands if F64.is_nan(x)), INVALID)


def check(got: list[int], want: list[int]) -> None:
    wrong = [(i, hex(x), hex(y)) for i, (x, y) in enumerate(zip(got, want, strict=True)) if x != y]
    assert not wrong, f"(thread, got, want): {wrong[:5]}"


@pytest.mark.parametrize("mode", MODES)
def test_arithmetic(mode: str) -> None:
    rounding = mode[1:] or "RN"
    check(
        wide(f"DADD{mode} R20,R10,R12", A, B), [ref.add(F64, a, b, rounding, nan_of(b, a)) for a, b in PAIRS]
    )
    check(
        wide(f"DMUL{mode} R20,R10,R12", A, B), [ref.mul(F64, a, b, rounding, nan_of(b, a)) for a, b in PAIRS]
    )
    fused = [ref.fma(F64, a, b, c, rounding, nan_of(b, c, a)) for (a, b), c in zip(PAIRS, C, strict=True)]
    check(wide(f"DFMA{mode} R20,R10,R12,R14", A, B, C), fused)


def test_source_modifiers_leave_nans_alone() -> None:
    magnitude = (1 << 63) - 1
    want = [ref.add(F64, a & magnitude, (b & magnitude) ^ F64.sign, "RN", nan_of(b, a)) for a, b in PAIRS]
    check(wide("DADD R20,|R10|,-|R12|", A, B), want)


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("LT", "<"),
        ("EQU", "=?"),
        ("GEU", ">=?"),
        ("NUM", "<=>"),
        ("NAN", "?"),
        ("NE", "<>"),
        ("LEU", "<=?"),
        ("GT", ">"),
    ],
)
def test_comparison(name: str, holds: str) -> None:
    made = run(f"DSETP.{name}.AND P0,P1,R10,-R12,PT", ["P0", "P1"], inputs=words(A, B), block=256)
    want = []
    for a, b in PAIRS:
        if F64.is_nan(a) or F64.is_nan(b):
            want.append("?" in holds)
            continue
        x, y = F64.value(a), -F64.value(b)
        want.append(("<" if x < y else "=" if x == y else ">") in holds)
    assert made.registers["P0"] == [int(x) for x in want]
    assert made.registers["P1"] == [int(not x) for x in want]


@pytest.mark.parametrize(("name", "sign"), [("MIN", 1), ("MAX", -1)])
def test_minimum_selects_with_two_predicates(name: str, sign: int) -> None:
    made = run(f"DSETP.{name}.AND P0,P1,R10,R12,PT", ["P0", "P1"], inputs=words(A, B), block=256)
    for i, (a, b) in enumerate(PAIRS):
        take_a, both = made.registers["P0"][i], made.registers["P1"][i]
        assert both == int(F64.is_nan(a) and F64.is_nan(b))
        if both:
            continue
        chosen, other = (a, b) if take_a else (b, a)
        assert not F64.is_nan(chosen)
        if not F64.is_nan(other):
            assert sign * F64.value(chosen) <= sign * F64.value(other)
        if {a, b} == {0, 1 << 63}:
            assert chosen == (1 << 63 if name == "MIN" else 0)
