"""Packed binary16 and bfloat16 arithmetic against exact fractions."""

from __future__ import annotations

from itertools import product

import pytest

from tests.unit import float_reference as ref
from tests.unit.core_kit import run
from tests.unit.float_reference import BF16, F16, F32, Format

NAN = 0x7FFF
F16_SPECIALS = [
    0,
    0x8000,
    1,
    0x83FF,
    0x0400,
    0x3BFF,
    0x3C00,
    0xBC01,
    0x1400,
    0x7BFF,
    0xFBFF,
    0x7C00,
    0xFC00,
    0x7E01,
    0x3555,
    0xC248,
]
BF16_SPECIALS = [
    0,
    0x8000,
    1,
    0x807F,
    0x0080,
    0x3F7F,
    0x3F80,
    0xBF81,
    0x3C00,
    0x7F7F,
    0xFF7F,
    0x7F80,
    0xFF80,
    0x7FC1,
    0x3EAB,
    0xC049,
]
SETS = {"": (F16, F16_SPECIALS), ".BF16_V2": (BF16, BF16_SPECIALS)}


def columns(specials: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Words whose lower halves run over all pairs; the upper halves are the lower ones of other threads."""
    pairs = [*product(specials, specials)]
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    c = [specials[(5 * i + 3) % 16] for i in range(256)]
    return tuple(
        [low | column[(i * 37 + 11) % 256] << 16 for i, low in enumerate(column)] for column in (a, b, c)
    )


def halves(column: list[int]) -> list[tuple[int, int]]:
    return [(x & 0xFFFF, x >> 16) for x in column]


def check(got: list[int], want: list[tuple[int, int]]) -> None:
    wrong = [
        (i, hex(x), hex(low | high << 16))
        for i, (x, (low, high)) in enumerate(zip(got, want, strict=True))
        if x != low | high << 16
    ]
    assert not wrong, f"(thread, got, want): {wrong[:5]}"


def one(source: str, *inputs: list[int]) -> list[int]:
    return run(source, ["R20"], inputs=inputs, block=256).registers["R20"]


def finish(form: Format, bits: int, suffix: str) -> int:
    if ".SAT" in suffix:
        return ref.saturate(form, bits)
    return 0 if ".RELU" in suffix and bits & 0x8000 and not form.is_nan(bits) else bits


@pytest.mark.parametrize(
    "suffix", ["", ".SAT", ".FTZ", ".FTZ.SAT", ".RELU", ".FTZ.RELU", ".BF16_V2", ".BF16_V2.RELU", ".MMA"]
)
def test_arithmetic(suffix: str) -> None:
    form, specials = SETS[".BF16_V2" if "BF16" in suffix else ""]
    ftz = ".FTZ" in suffix
    a, b, c = columns(specials)
    rows = list(zip(halves(a), halves(b), halves(c), strict=True))
    fused = [
        tuple(finish(form, ref.fma(form, x[h], y[h], z[h], "RN", NAN, ftz), suffix) for h in (0, 1))
        for x, y, z in rows
    ]
    check(one(f"HFMA2{suffix} R20,R10,R11,R12", a, b, c), fused)
    if "RELU" in suffix or "MMA" in suffix:
        return
    added = [
        tuple(finish(form, ref.add(form, x[h], y[h] ^ 0x8000, "RN", NAN, ftz), suffix) for h in (0, 1))
        for x, y, _ in rows
    ]
    check(one(f"HADD2{suffix} R20,R10,-R11", a, b), added)
    times = [
        tuple(finish(form, ref.mul(form, x[h], y[h], "RN", NAN, ftz), suffix) for h in (0, 1))
        for x, y, _ in rows
    ]
    check(one(f"HMUL2{suffix} R20,R10,R11", a, b), times)


def test_half_selectors() -> None:
    a, b, c = columns(F16_SPECIALS)
    picks = {"H0_H0": (0, 0), "H1_H1": (1, 1)}
    for name, (low, high) in picks.items():
        want = [
            (ref.add(F16, x[low] & 0x7FFF, y[0], "RN", NAN), ref.add(F16, x[high] & 0x7FFF, y[1], "RN", NAN))
            for x, y in zip(halves(a), halves(b), strict=True)
        ]
        check(one(f"HADD2 R20,|R10|.{name},R11", a, b), want)
    crossed = [
        (ref.fma(F16, x[1], y[1] ^ 0x8000, z[0], "RN", NAN), ref.fma(F16, x[1], y[0], z[1], "RN", NAN))
        for x, y, z in zip(halves(a), halves(b), halves(c), strict=True)
    ]
    check(one("HFMA2 R20,R10.H1_H1,R11.H0_NH1,R12", a, b, c), crossed)


def test_out_of_bounds_marker_makes_zero() -> None:
    a, b, c = [0x7FF73C00] * 32, [0xFFF73C00, 0x3C00FFF7] * 16, [0x3C003C00] * 32
    got = run("HFMA2.OOB R20,R10,R11,R12", ["R20"], inputs=[a, b, c]).registers["R20"]
    assert got == [0x00004000, 0x00000000] * 16


def test_binary32_results_and_sources() -> None:
    a, b, _ = columns(F16_SPECIALS)

    def widen(half: int) -> int:
        if F16.is_nan(half):
            return 0x7FFFFFFF
        if F16.is_infinite(half):
            return (half & 0x8000) << 16 | F32.infinity
        return F32.round(F16.value(half)) if half & 0x7FFF else half << 16

    want = [
        ref.add(F32, widen(x[1]), widen(y[0]), "RN", 0x7FFFFFFF)
        for x, y in zip(halves(a), halves(b), strict=True)
    ]
    assert one("HADD2.F32 R20,R10.H1_H1,R11.H0_H0", a, b) == want
    words = [
        0x3F800001,
        0x3F801000,
        0x3F801001,
        0x477FF000,
        0x33000000,
        0x33000001,
        0x00000001,
        0x7F800000,
    ] * 4
    narrow = [F16.infinity if w == F32.infinity else F16.round(F32.value(w)) for w in words]
    got = run("HADD2 R20,R10.F32,-RZ.H0_H0", ["R20"], inputs=[words]).registers["R20"]
    assert [x & 0xFFFF for x in got] == narrow


def key(form: Format, bits: int) -> int:
    return -(bits & 0x7FFF) - 1 if bits & 0x8000 else bits


@pytest.mark.parametrize("suffix", ["", ".NAN", ".FTZ", ".BF16_V2", ".BF16_V2.NAN"])
def test_minimum_maximum_and_comparison(suffix: str) -> None:
    form, specials = SETS[".BF16_V2" if "BF16" in suffix else ""]
    a, b, _ = columns(specials)
    ftz = ".FTZ" in suffix

    def read(x: int) -> int:
        return x & 0x8000 if ftz and form.is_tiny(x) else x

    def smaller(x: int, y: int) -> int:
        if form.is_nan(x) or form.is_nan(y):
            both = form.is_nan(x) and form.is_nan(y)
            return NAN if both or "NAN" in suffix else (y if form.is_nan(x) else x)
        return min(x, y, key=lambda z: key(form, z))

    pairs = list(zip(halves(a), halves(b), strict=True))
    check(
        one(f"HMNMX2{suffix} R20,R10,R11,PT", a, b),
        [tuple(smaller(read(x[h]), read(y[h])) for h in (0, 1)) for x, y in pairs],
    )
    if "NAN" in suffix:
        return
    kind = suffix if "BF16" in suffix else ""
    after = suffix if ftz else ""
    source = f"HSETP2{kind}.GEU{after}.AND P0,P1,R10,R11,PT\nHSET2{kind}.BF.GEU{after}.AND R20,R10,R11,PT"
    made = run(source, ["P0", "P1", "R20"], inputs=[a, b], block=256)

    def at_least(x: int, y: int) -> bool:
        return form.is_nan(x) or form.is_nan(y) or form.value(read(x)) >= form.value(read(y))

    hit = [tuple(at_least(x[h], y[h]) for h in (0, 1)) for x, y in pairs]
    assert made.registers["P0"] == [int(low) for low, _ in hit]
    assert made.registers["P1"] == [int(high) for _, high in hit]
    unit = form.bias << form.fraction_bits
    check(made.registers["R20"], [(unit * low, unit * high) for low, high in hit])


@pytest.mark.parametrize("mode", ["", ".RM", ".RP", ".RZ"])
def test_mixed_arithmetic(mode: str) -> None:
    a, b, _ = columns(F16_SPECIALS)
    c = [(0x2545F491 * (i + 3)) & 0xFFFFFFFF for i in range(256)]

    def widen(half: int) -> int:
        sign = (half & 0x8000) << 16
        if F16.is_nan(half) or F16.is_infinite(half):
            return sign | F32.infinity | (half & 0x3FF) << 13
        return F32.round(F16.value(half)) if half & 0x7FFF else sign

    rows = list(zip(halves(a), halves(b), c, strict=True))
    rounding = mode[1:] or "RN"
    assert one(f"FHADD{mode} R20,R10,R12", a, b, c) == [
        ref.add(F32, widen(x[0]), z, rounding, 0x7FFFFFFF) for x, _, z in rows
    ]
    want = [ref.fma(F32, widen(x[0]), widen(y[0]), z, rounding, 0x7FFFFFFF) for x, y, z in rows]
    assert one(f"FHFMA{mode} R20,R10,R11,R12", a, b, c) == want
