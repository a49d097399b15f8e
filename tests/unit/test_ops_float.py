"""binary32 arithmetic against exact fractions, in every rounding, and the rules for NaN, zero and denormals."""

from __future__ import annotations

import struct
from itertools import product

import pytest

from tests.unit import float_reference as ref
from tests.unit.core_kit import run
from tests.unit.float_reference import F32

NAN = 0x7FFFFFFF
# zeros, denormals, the smallest normals, ones and neighbours, halves for ties, the largest, infinities, NaNs
SPECIALS = [
    0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x80800001, 0x3F7FFFFF, 0x3F800000,
    0xBF800001, 0x33800000, 0x4B7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC12345,
]  # fmt: skip
PAIRS = [*product(SPECIALS, SPECIALS)]  # 256 threads
A, B = [a for a, _ in PAIRS], [b for _, b in PAIRS]
C = [(0x2545F491 * (i + 3)) & 0xFFFFFFFF if i % 3 else SPECIALS[i // 3 % 16] for i in range(256)]
MODES = ["", ".RM", ".RP", ".RZ"]


def one(source: str, *inputs: list[int]) -> list[int]:
    return run(source, ["R20"], inputs=inputs, block=256).registers["R20"]


def check(got: list[int], want: list[int], *inputs: list[int]) -> None:
    wrong = [
        (i, *(hex(column[i]) for column in inputs), hex(x), hex(y))
        for i, (x, y) in enumerate(zip(got, want, strict=True))
        if x != y
    ]
    assert not wrong, f"(thread, inputs, got, want): {wrong[:5]}"


@pytest.mark.parametrize("sat", [False, True])
@pytest.mark.parametrize("ftz", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_arithmetic(mode: str, ftz: bool, sat: bool) -> None:
    suffix = (".FTZ" if ftz else "") + mode + (".SAT" if sat else "")
    rounding = mode[1:] or "RN"

    def finish(bits: int) -> int:
        return ref.saturate(F32, bits) if sat else bits

    sums = [finish(ref.add(F32, a, b ^ F32.sign, rounding, NAN, ftz)) for a, b in PAIRS]
    check(one(f"FADD{suffix} R20,R10,-R11", A, B), sums, A, B)
    products = [finish(ref.mul(F32, a, b, rounding, NAN, ftz)) for a, b in PAIRS]
    check(one(f"FMUL{suffix} R20,R10,R11", A, B), products, A, B)
    fused = [finish(ref.fma(F32, a, b, c, rounding, NAN, ftz)) for (a, b), c in zip(PAIRS, C, strict=True)]
    check(one(f"FFMA{suffix} R20,R10,R11,R12", A, B, C), fused, A, B, C)


def test_source_modifiers() -> None:
    want = [ref.add(F32, a & 0x7FFFFFFF, b | F32.sign, "RN", NAN) for a, b in PAIRS]
    check(one("FADD R20,|R10|,-|R11|", A, B), want, A, B)


def test_smallest_normal_is_flushed_when_rounding_made_it() -> None:
    a, b = [0x00800000] * 32, [0x3F7FFFFF] * 32
    assert run("FMUL.FTZ.RP R20,R10,R11", ["R20"], inputs=[a, b]).registers["R20"] == [0] * 32
    assert run("FMUL.RP R20,R10,R11", ["R20"], inputs=[a, b]).registers["R20"] == [0x00800000] * 32
    # exact value just below 2^-126, which 24 bits round up to it: not tiny
    a, b, c = [0x89D812C8] * 32, [0x8AC6E5FE] * 32, [0x80800000] * 32
    assert run("FFMA.FTZ R20,R10,R11,R12", ["R20"], inputs=[a, b, c]).registers["R20"] == [0x80800000] * 32


@pytest.mark.parametrize("suffix", ["", ".RM", ".FTZ", ".FTZ.RZ"])
def test_packed_pairs(suffix: str) -> None:
    source = (
        f"FADD2{suffix} R20,R10.F32x2.HI_LO,-R12.F32x2.HI_LO\nFMUL2{suffix} R22,R10.F32x2.HI_LO,R12.F32x2.HI_LO\n"
        f"FFMA2{suffix} R24,R10.F32x2.HI_LO,R12.F32x2.HI_LO,R14.F32x2.HI_LO"
    )
    made = run(source, [f"R{20 + i}" for i in range(6)], inputs=[A, B, B, C, C, A], block=256)
    ftz, mode = ".FTZ" in suffix, suffix.replace(".FTZ", "")[1:] or "RN"
    for half, (x, y, z) in enumerate([(A, B, C), (B, C, A)]):
        added = [ref.add(F32, a, b ^ F32.sign, mode, NAN, ftz) for a, b in zip(x, y, strict=True)]
        check(made.registers[f"R{20 + half}"], added, x, y)
        times = [ref.mul(F32, a, b, mode, NAN, ftz) for a, b in zip(x, y, strict=True)]
        check(made.registers[f"R{22 + half}"], times, x, y)
        fused = [ref.fma(F32, a, b, c, mode, NAN, ftz) for a, b, c in zip(x, y, z, strict=True)]
        check(made.registers[f"R{24 + half}"], fused, x, y, z)


def key(bits: int) -> int:
    """Order with -0 below +0."""
    return -(bits & 0x7FFFFFFF) - 1 if bits & F32.sign else bits


def extreme(a: int, b: int, smaller: bool, propagate: bool, ftz: bool) -> int:
    if ftz:
        a, b = (x & F32.sign if F32.is_tiny(x) else x for x in (a, b))
    if F32.is_nan(a) or F32.is_nan(b):
        both = F32.is_nan(a) and F32.is_nan(b)
        return NAN if both or propagate else (b if F32.is_nan(a) else a)
    return (min if smaller else max)(a, b, key=key)


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("ftz", [False, True])
def test_minimum_and_maximum(ftz: bool, nan: bool) -> None:
    suffix = (".FTZ" if ftz else "") + (".NAN" if nan else "")
    source = (
        f"ISETP.LT.U32.AND P0,PT,R0,0x71,PT\nFMNMX{suffix} R20,R10,R11,P0\nFMNMX3{suffix} R21,R10,R11,R12,!PT\n"
        f"FMNMX{suffix}.XORSIGN R22,|R10|,|R11|,PT"
    )
    made = run(source, ["R20", "R21", "R22"], inputs=[A, B, C], block=256)
    two = [extreme(a, b, i < 0x71, nan, ftz) for i, (a, b) in enumerate(PAIRS)]
    check(made.registers["R20"], two, A, B)
    three = [
        extreme(extreme(a, b, False, nan, ftz), c, False, nan, ftz)
        for (a, b), c in zip(PAIRS, C, strict=True)
    ]
    check(made.registers["R21"], three, A, B, C)
    signs = []
    for a, b in PAIRS:
        value = extreme(a & 0x7FFFFFFF, b & 0x7FFFFFFF, True, nan, ftz)
        signs.append(value if F32.is_nan(value) else value & 0x7FFFFFFF | (a ^ b) & F32.sign)
    check(made.registers["R22"], signs, A, B)


COMPARISONS = {
    "LT": "<", "EQ": "=", "LE": "<=", "GT": ">", "NE": "<>", "GE": ">=", "NUM": "<=>", "NAN": "?",
    "LTU": "<?", "EQU": "=?", "LEU": "<=?", "GTU": ">?", "NEU": "<>?", "GEU": ">=?",
}  # fmt: skip


@pytest.mark.parametrize("ftz", [False, True])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str, ftz: bool) -> None:
    suffix = f"{name}{'.FTZ' if ftz else ''}"
    source = (
        f"FSETP.{suffix}.AND P0,P1,R10,|R11|,PT\n"
        f"FSET.BF.{suffix}.AND R20,R10,|R11|,PT\nFSET.{suffix}.AND R21,R10,|R11|,PT"
    )
    made = run(source, ["P0", "P1", "R20", "R21"], inputs=[A, B], block=256)

    def hit(a: int, b: int) -> bool:
        if F32.is_nan(a) or F32.is_nan(b):
            return "?" in COMPARISONS[name]
        if ftz:
            a, b = (0 if F32.is_tiny(x) else x for x in (a, b))
        x, y = F32.value(a), F32.value(b)  # infinities compare as larger than every finite value
        return ("<" if x < y else "=" if x == y else ">") in COMPARISONS[name]

    want = [hit(a, b & 0x7FFFFFFF) for a, b in PAIRS]
    assert made.registers["P0"] == [int(x) for x in want]
    assert made.registers["P1"] == [int(not x) for x in want]
    assert made.registers["R20"] == [0x3F800000 if x else 0 for x in want]
    assert made.registers["R21"] == [0xFFFFFFFF if x else 0 for x in want]


def test_selection_keeps_bits() -> None:
    got = one("ISETP.LT.U32.AND P0,PT,R0,0x40,PT\nFSEL R20,R10,-R11,P0", A, B)
    assert got == [a if i < 0x40 else b ^ F32.sign for i, (a, b) in enumerate(PAIRS)]


def test_division_check_sends_hard_cases_to_the_slow_path() -> None:
    a, b = [0x40400000, 0x7F800000, 0x3F800000, 0x3F800000, 0x00000001, 0x7E800000, 0x40400000, 0x00FFFFFF] * 4, [
        0x40000000, 0x3F800000, 0x00000001, 0x7F800000, 0x3F800000, 0x00900000, 0x7F000000, 0x7E000000] * 4  # fmt: skip
    assert run("FCHK P0,R10,R11", ["P0"], inputs=[a, b]).registers["P0"] == [0, 1, 1, 1, 1, 1, 1, 1] * 4


SCALES = {"D2": 0.5, "D4": 0.25, "D8": 0.125, "M2": 2.0, "M4": 4.0, "M8": 8.0}


@pytest.mark.parametrize(("scale", "factor"), SCALES.items())
def test_products_are_scaled_before_the_only_rounding(scale: str, factor: float) -> None:
    want = [scaled(a, b, factor) for a, b in PAIRS]
    check(one(f"FMUL.{scale} R20,R10,R11", A, B), want, A, B)


def scaled(a: int, b: int, factor: float) -> int:
    """a * b * factor: exact in binary64, then rounded once by `struct`."""
    x, y = struct.unpack("<2f", struct.pack("<2I", a, b))
    value = x * y * factor
    if value != value:
        return NAN
    try:
        return int.from_bytes(struct.pack("<f", value), "little")
    except OverflowError:
        return 0x7F800000 | (0x80000000 if value < 0 else 0)
