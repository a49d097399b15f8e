"""Conversions: rounding, saturation and NaN rules between floats and integers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tests.unit.core_kit import run
from tests.unit.float_reference import BF16, F16, F32, F64, Format

M32 = 0xFFFFFFFF
FLOATS = [
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x3EFFFFFF, 0x3F000000, 0x3F000001, 0xBF000000,
    0x3FC00000, 0x40200000, 0xC0200000, 0x42FE8000, 0x42FF0000, 0x437F8000, 0xC3008000, 0x46FFFF00,
    0x477FFF80, 0x4B000001, 0x4EFFFFFF, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000,
    0x5EFFFFFF, 0x5F000000, 0xDF000000, 0x5F7FFFFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
]  # fmt: skip
ROUND = {"": round, ".FLOOR": math.floor, ".CEIL": math.ceil, ".TRUNC": math.trunc}
INTS = {
    "S8": (8, True),
    "U8": (8, False),
    "S16": (16, True),
    "U16": (16, False),
    "S32": (32, True),
    "U32": (32, False),
}
MODES = ["", ".RM", ".RP", ".RZ"]


def clamp(form: Format, bits: int, width: int, is_signed: bool, mode: str, nan: int) -> int:
    if form.is_nan(bits):
        return nan
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
    if form.is_infinite(bits):
        return low if bits & form.sign else high
    return min(max(ROUND[mode](form.value(bits)), low), high)


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize("kind", INTS)
def test_float_to_int(kind: str, mode: str) -> None:
    got = run(f"F2I.{kind}{mode}.NTZ R20,R10", ["R20"], inputs=[FLOATS]).registers["R20"]
    assert got == [clamp(F32, x, *INTS[kind], mode, 0) & M32 for x in FLOATS]
    flushed = [x & F32.sign if F32.is_tiny(x) else x for x in FLOATS]
    got = run(f"F2I.FTZ.{kind}{mode}.NTZ R20,R10", ["R20"], inputs=[FLOATS]).registers["R20"]
    assert got == [clamp(F32, x, *INTS[kind], mode, 0) & M32 for x in flushed]


@pytest.mark.parametrize("kind", ["S64", "U64"])
def test_float_to_long(kind: str) -> None:
    made = run(f"F2I.{kind}.TRUNC R20,R10", ["R20", "R21"], inputs=[FLOATS])
    want = [clamp(F32, x, 64, kind == "S64", ".TRUNC", 1 << 63) & (1 << 64) - 1 for x in FLOATS]
    assert [a | b << 32 for a, b in zip(made.registers["R20"], made.registers["R21"], strict=True)] == want


def test_double_to_int_marks_nan() -> None:
    doubles = [
        0x41DFFFFFFFC00000,
        0x41E0000000000000,
        0xC1E0000000200000,
        0x7FF8000000000000,
        0x3FE0000000000000,
    ] + [0] * 27
    inputs = [[x & M32 for x in doubles], [x >> 32 for x in doubles]]
    got = run("F2I.F64 R20,R10", ["R20"], inputs=inputs).registers["R20"]
    assert got[:5] == [0x7FFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000000, 0]


WORDS = [
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x1000001,
    0x1000003,
    0x7FFFFFFF,
    0x80000000,
    0x80000081,
    0xFFFFFF7F,
    M32,
    0x7FFFFFC0,
] * 2


def float_of(form: Format, value: int, mode: str) -> int:
    return form.round(Fraction(value), mode[1:] or "RN") if value else 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", INTS)
def test_int_to_float(kind: str, mode: str) -> None:
    width, is_signed = INTS[kind]
    values = [x & ((1 << width) - 1) for x in WORDS]
    values = [x - (1 << width) if is_signed and x >> (width - 1) else x for x in values]
    for name, form in (("", F32), (".F16", F16), (".BF16", BF16)):
        got = run(f"I2F{name}.{kind}{mode} R20,R10", ["R20"], inputs=[WORDS]).registers["R20"]
        assert got == [float_of(form, v, mode) for v in values], name
    if width == 32:
        got = run(f"I2FP.F32.{kind}{mode} R20,R10", ["R20"], inputs=[WORDS]).registers["R20"]
        assert got == [float_of(F32, v, mode) for v in values]
    made = run(f"I2F.F64.{kind}{mode} R20,R10", ["R20", "R21"], inputs=[WORDS])
    got = [a | b << 32 for a, b in zip(made.registers["R20"], made.registers["R21"], strict=True)]
    assert got == [float_of(F64, v, mode) for v in values]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["S64", "U64"])
def test_long_to_float(kind: str, mode: str) -> None:
    longs = [x | y << 32 for x, y in zip(WORDS, reversed(WORDS), strict=True)]
    values = [x - (1 << 64) if kind == "S64" and x >> 63 else x for x in longs]
    inputs = [[x & M32 for x in longs], [x >> 32 for x in longs]]
    for name, form in (("", F32), (".F16", F16), (".BF16", BF16)):
        got = run(f"I2F{name}.{kind}{mode} R20,R10", ["R20"], inputs=inputs).registers["R20"]
        assert got == [float_of(form, v, mode) for v in values], name
    made = run(f"I2F.F64.{kind}{mode} R20,R10", ["R20", "R21"], inputs=inputs)
    got = [a | b << 32 for a, b in zip(made.registers["R20"], made.registers["R21"], strict=True)]
    assert got == [float_of(F64, v, mode) for v in values]


def test_int_to_float_reads_sub_words() -> None:
    got = run("I2F.U8 R20,R10.B2", ["R20"], inputs=[[0x12AB3456] * 32]).registers["R20"]
    assert got == [float_of(F32, 0xAB, "")] * 32
    got = run("I2F.S16 R20,R10.H1", ["R20"], inputs=[[0x80013456] * 32]).registers["R20"]
    assert got == [float_of(F32, 0x8001 - 0x10000, "")] * 32


def narrow(source: Format, target: Format, bits: int, mode: str, nan: int) -> int:
    sign = target.sign if bits & source.sign else 0
    if source.is_nan(bits):
        return nan
    if source.is_infinite(bits):
        return sign | target.infinity
    return target.round(source.value(bits), mode[1:] or "RN") if source.value(bits) else sign


@pytest.mark.parametrize("mode", MODES)
def test_float_to_narrower(mode: str) -> None:
    more = [
        0x33800000,
        0x33000000,
        0x33000001,
        0x387FE000,
        0x387FFFFF,
        0x477FEFFF,
        0x477FF000,
        0x3F801000,
        0x3F803000,
        0xBF801001,
    ]
    words = FLOATS + more + [x ^ F32.sign for x in more] + [0] * 12
    got = run(f"F2F.F16.F32{mode} R20,R10", ["R20"], inputs=[words], block=64).registers["R20"]
    assert got == [narrow(F32, F16, x, mode, 0x7FFF) for x in words]
    got = run(f"F2F.BF16.F32{mode} R20,R10", ["R20"], inputs=[words], block=64).registers["R20"]
    assert got == [narrow(F32, BF16, x, mode, 0x7FFF) for x in words]
    if mode in ("", ".RZ"):
        for name, form in (("F16", F16), ("BF16", BF16)):
            source = (
                f"F2FP.{name}.F32.PACK_AB{mode} R20,R10,-R10\nF2FP.RELU.{name}.F32.PACK_AB{mode} R21,R10,-R10"
            )
            made = run(source, ["R20", "R21"], inputs=[words], block=64)
            upper = [narrow(F32, form, x, mode, 0x7FFF) for x in words]
            lower = [narrow(F32, form, x ^ F32.sign, mode, 0x7FFF) for x in words]
            assert made.registers["R20"] == [h << 16 | x for h, x in zip(upper, lower, strict=True)]
            kept = [[0 if x & 0x8000 and not form.is_nan(x) else x for x in part] for part in (upper, lower)]
            assert made.registers["R21"] == [h << 16 | x for h, x in zip(*kept, strict=True)]


def test_doubles_keep_nan_payloads() -> None:
    words = [0x7FC12345, 0xFF854321, 0x3FC00000, 0x00000001] * 8
    made = run("F2F.F64.F32 R20,R10\nF2F.F32.F64 R22,R20", ["R20", "R21", "R22"], inputs=[words])
    assert [f"{h:08x}{x:08x}" for h, x in zip(made.registers["R21"], made.registers["R20"], strict=True)][:4] == [
        "7ff82468a0000000", "fff8a86420000000", "3ff8000000000000", "36a0000000000000",
    ]  # fmt: skip
    assert made.registers["R22"][:4] == [0x7FC12345, 0xFFC54321, 0x3FC00000, 1]


@pytest.mark.parametrize("mode", ROUND)
def test_rounding_to_integral_values(mode: str) -> None:
    got = run(f"FRND{mode} R20,R10", ["R20"], inputs=[FLOATS]).registers["R20"]
    for bits, result in zip(FLOATS, got, strict=True):
        if F32.is_nan(bits):
            assert result == 0x7FFFFFFF
        elif F32.is_infinite(bits):
            assert result == bits
        else:
            assert F32.value(result) == ROUND[mode](F32.value(bits))
            assert result & F32.sign == bits & F32.sign


def test_saturating_integer_packs() -> None:
    def saturate(x: int, width: int, is_signed: bool) -> int:
        value = x - (1 << 32) if x >> 31 else x
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)
        return min(max(value, low), high)

    other = WORDS[::-1]
    for name, width, is_signed in (("S8", 8, True), ("U8", 8, False), ("S16", 16, True), ("U16", 16, False)):
        got = run(f"I2I.{name}.S32.SAT R20,R10", ["R20"], inputs=[WORDS]).registers["R20"]
        assert got == [saturate(x, width, is_signed) & M32 for x in WORDS]
        mask = (1 << width) - 1
        got = run(f"I2IP.{name}.S32.SAT R20,R10,R11,R12", ["R20"], inputs=[WORDS, other, WORDS]).registers[
            "R20"
        ]
        assert got == [
            (
                c << 2 * width
                | (saturate(a, width, is_signed) & mask) << width
                | saturate(b, width, is_signed) & mask
            )
            & M32
            for a, b, c in zip(WORDS, other, WORDS, strict=True)
        ]


def test_eight_bit_floats_round_trip() -> None:
    for name in ("E4M3", "E5M2"):
        codes = [(2 * i) | (2 * i + 1) << 8 for i in range(128)]
        source = (
            f"F2FP.F16.{name}.UNPACK_B R20,R10\nF2FP.SATFINITE.{name}.F16.UNPACK_B_MERGE_C R21,R20,RZ\n"
            "HADD2.F32 R22,-RZ,R20.H1_H1\nHADD2.F32 R23,-RZ,R20.H0_H0\n"
            f"F2FP.SATFINITE.{name}.F32.PACK_AB_MERGE_C R24,R22,R23,RZ"
        )
        made = run(source, ["R21", "R24"], inputs=[codes], block=128)
        largest = 0x7E if name == "E4M3" else 0x7B

        def back(byte: int, name: str = name, largest: int = largest) -> int:
            magnitude = byte & 0x7F
            if magnitude > (0x7E if name == "E4M3" else 0x7C):
                return 0x7F
            return byte & 0x80 | min(magnitude, largest)

        want = [back(x & 0xFF) | back(x >> 8) << 8 for x in codes]
        assert made.registers["R21"] == want
        assert made.registers["R24"] == want
