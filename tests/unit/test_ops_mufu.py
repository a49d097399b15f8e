"""The multi-function unit against the mathematical functions; the hardware's bits are in the device recordings."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import pytest

from tests.unit.core_kit import run

NAN, INF, MINUS = 0x7FFFFFFF, 0x7F800000, 0x80000000


def single(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


def value(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def mufu(name: str, words: list[int]) -> list[int]:
    return run(f"MUFU.{name} R20,R10", ["R20"], inputs=[words], block=len(words)).registers["R20"]


# name: (function, relative bound, absolute bound, smallest and largest argument); the bounds are CUDA's tables
FUNCTIONS: dict[str, tuple[Callable[[float], float], float, float, float, float]] = {
    "RCP": (lambda x: 1 / x, 2**-23, 0, 1e-30, 1e30),
    "RSQ": (lambda x: 1 / math.sqrt(x), 2**-22, 0, 1e-30, 1e30),
    "SQRT": (math.sqrt, 2**-22, 0, 1e-30, 1e30),
    "EX2": (lambda x: 2.0**x, 2**-22, 0, -120, 120),
    "LG2": (math.log2, 2**-22, 2**-21, 1e-30, 1e30),
    "SIN": (lambda x: math.sin(2 * math.pi * x), 0, 2**-20.5, -0.5, 0.5),
    "COS": (lambda x: math.cos(2 * math.pi * x), 0, 2**-20.5, -0.5, 0.5),
    "TANH": (math.tanh, 2**-10.5, 0, -8, 8),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_the_documented_bound(name: str) -> None:
    function, relative, absolute, low, high = FUNCTIONS[name]
    if low > 0:
        words = [single(low * (high / low) ** (i / 255)) for i in range(256)]
    else:
        words = [single(low + (high - low) * (i + 0.3) / 256) for i in range(256)]
    for bits, result in zip(words, mufu(name, words), strict=True):
        want = function(value(bits))
        assert abs(value(result) - want) <= max(relative * abs(want), absolute), (name, hex(bits))


SPECIAL = {
    "RCP": [
        (0, INF),
        (MINUS, INF | MINUS),
        (1, INF),
        (INF, 0),
        (INF | MINUS, MINUS),
        (0x7FC00001, NAN),
        (0x7F000001, 0),
    ],
    "RSQ": [(0, INF), (MINUS, INF | MINUS), (INF, 0), (0xBF800000, NAN), (0x3F800000, 0x3F800000)],
    "SQRT": [(0, 0), (MINUS, MINUS), (INF, INF), (0xBF800000, NAN)],
    "EX2": [
        (0, 0x3F800000),
        (INF, INF),
        (INF | MINUS, 0),
        (0xC3000000, 0),
        (0x40000000, 0x40800000),
        (NAN, NAN),
    ],
    "LG2": [
        (0, INF | MINUS),
        (1, INF | MINUS),
        (INF, INF),
        (0xBF800000, NAN),
        (0x3F800000, 0),
        (0x41000000, 0x40400000),
    ],
    "SIN": [(0, 0), (MINUS, MINUS), (INF, NAN), (0x3E800000, 0x3F800000), (0x3F800000, 0)],
    "COS": [(0, 0x3F800000), (INF | MINUS, NAN), (0x3F000000, 0xBF800000)],
    "TANH": [(0, 0), (MINUS, MINUS), (INF, 0x3F800000), (INF | MINUS, 0xBF800000), (NAN, NAN)],
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str) -> None:
    cases = SPECIAL[name]
    words = [x for x, _ in cases] + [0x3F800000] * (32 - len(cases))
    got = mufu(name, words)[: len(cases)]
    assert [hex(x) for x in got] == [hex(y) for _, y in cases]


def test_upper_words_of_doubles() -> None:
    words = [struct.unpack("<Q", struct.pack("<d", 1.5 ** (i - 16)))[0] >> 32 for i in range(32)]
    for name, function in (("RCP64H", lambda x: 1 / x), ("RSQ64H", lambda x: 1 / math.sqrt(x))):
        for word, result in zip(words, mufu(name, words), strict=True):
            x, y = (struct.unpack("<d", struct.pack("<Q", w << 32))[0] for w in (word, result))
            assert y == pytest.approx(function(x), rel=2**-19)


def test_halves() -> None:
    words = [0x3C00 << 16 | 0x4000] * 32  # 1 above 2
    made = run(
        "MUFU.EX2.F16 R20,R10\nMUFU.EX2.F16 R21,R10.H1\nMUFU.TANH.BF16 R22,R11",
        ["R20", "R21", "R22"],
        inputs=[words, [0x3F80] * 32],
    )
    assert made.registers["R20"] == [0x4400] * 32
    assert made.registers["R21"] == [0x4000] * 32
    assert made.registers["R22"] == [0x3F42] * 32
