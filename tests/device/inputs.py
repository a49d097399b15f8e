"""Seeded input rows for the forms: cross products of special values first, then random values.

The generator is part of the recorded data: `VERSION` changes when any row changes, and recordings carry
a checksum of the rows they were made with.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from array import array
from collections.abc import Callable
from functools import cache

from .specials import BF16, F16, F32, F64, SHIFT, U16, U32, U64

VERSION = 1
_SEED = 0x5EED0F5A55


class Rng:
    """splitmix64: the same sequence on every Python."""

    def __init__(self, seed: int) -> None:
        self.state = seed & (1 << 64) - 1

    def bits(self, n: int = 32) -> int:
        """The next n (1..64) random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & (1 << 64) - 1
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & (1 << 64) - 1
        return (z ^ (z >> 31)) >> (64 - n)

    def below(self, n: int) -> int:
        """A number in 0..n-1."""
        return self.bits(48) % n


def _f32(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


def _f64(x: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def _f16(x: float) -> int:
    return struct.unpack("<H", struct.pack("<e", x))[0]


def _random_f32(rng: Rng, previous: list[int]) -> int:
    kind, sign, mantissa = rng.below(8), rng.bits(1) << 31, rng.bits(23)
    if kind < 2:
        return rng.bits(32)
    if kind < 4:
        return sign | (117 + rng.below(21)) << 23 | mantissa
    if kind == 4:
        return _f32((rng.below(4001) - 2000) * 0.25)
    if kind == 5:
        return sign | rng.below(30) << 23 | mantissa
    if kind == 6 and previous:
        return (previous[-1] ^ 0x80000000) + rng.below(9) - 4 & 0xFFFFFFFF
    return sign | (150 + rng.below(16)) << 23 | mantissa


def _random_f64(rng: Rng, previous: list[int]) -> int:
    kind, sign, mantissa = rng.below(8), rng.bits(1) << 63, rng.bits(52)
    if kind < 2:
        return rng.bits(64)
    if kind < 4:
        return sign | (1013 + rng.below(21)) << 52 | mantissa
    if kind == 4:
        return _f64((rng.below(4001) - 2000) * 0.25)
    if kind == 5:
        return sign | rng.below(60) << 52 | mantissa
    if kind == 6 and previous:
        return (previous[-1] ^ 1 << 63) + rng.below(9) - 4 & (1 << 64) - 1
    return sign | (1023 + 20 + rng.below(46)) << 52 | mantissa


def _random_half(rng: Rng, exponent_bits: int, bias: int) -> int:
    mantissa_bits = 15 - exponent_bits
    if rng.below(3) == 0:
        return rng.bits(16)
    exponent = max(0, min((1 << exponent_bits) - 2, bias - 6 + rng.below(13)))
    return rng.bits(1) << 15 | exponent << mantissa_bits | rng.bits(mantissa_bits)


def _random_u32(rng: Rng, previous: list[int]) -> int:
    kind = rng.below(6)
    if kind == 0:
        return rng.below(70)
    if kind == 1:
        return 0xFFFFFFFF - rng.below(70)
    if kind == 2 and previous:
        return previous[-1] + rng.below(3) - 1 & 0xFFFFFFFF
    return rng.bits(32)


def _pair(low: Callable[[Rng], int]) -> Callable[[Rng, list[int]], int]:
    return lambda rng, _: low(rng) | low(rng) << 16


def _spread(values: list[int]) -> list[int]:
    """Packed halves: each special in the low half, a different one in the high half."""
    return [x | values[(i * 7 + 3) % len(values)] << 16 for i, x in enumerate(values)]


# operand type: (words, specials in order of importance, random value)
OPERANDS: dict[str, tuple[int, list[int], Callable[[Rng, list[int]], int]]] = {
    "u32": (1, U32, _random_u32),
    "u16": (1, U16, lambda r, _: r.bits(16)),
    "u64": (2, U64, lambda r, _: r.bits(64) >> (r.below(64) if r.bits(1) else 0)),
    "s64e": (2, U64, lambda r, _: (r.bits(64) >> r.below(64)) * (1 if r.bits(1) else -1) & (1 << 64) - 1),
    "shift": (1, SHIFT, lambda r, _: r.below(70)),
    "f32": (1, F32, _random_f32),
    "f32pos": (1, [x for x in F32 if x < 1 << 31], lambda r, p: _random_f32(r, p) & 0x7FFFFFFF),
    "f64": (2, F64, _random_f64),
    "f16": (1, F16, lambda r, _: _random_half(r, 5, 15)),
    "h2": (1, _spread(F16), _pair(lambda r: _random_half(r, 5, 15))),
    "bf16": (1, BF16, lambda r, _: _random_half(r, 8, 127)),
    "b2": (1, _spread(BF16), _pair(lambda r: _random_half(r, 8, 127))),
    # NaNs that tell the three positions apart, among numbers
    **{
        f"nan64{position}": (
            2,
            [
                base | 0x7FF8 << 48,
                base | 0xFFF8 << 48,
                base | 0x7FF0 << 48,
                base | 0xFFF0 << 48,
                _f64(1.5),
                0,
                0x7FF << 52,
                0xFFF << 52,
            ],
            _random_f64,
        )
        for position, base in (("a", 0xA0001), ("b", 0xB0002), ("c", 0xC0003))
    },
    "byte": (1, list(range(256)), lambda r, _: r.bits(8)),
    "bytes2": (1, [i | (i * 37 + 11 & 255) << 8 for i in range(256)], lambda r, _: r.bits(16)),
    "any": (1, [], lambda r, _: r.bits(32)),
    "lane": (1, [], lambda r, _: r.below(40) if r.below(8) else r.bits(32)),
    "few": (1, [], lambda r, _: r.below(4) * 0x40000001),
    "small": (1, [], lambda r, _: r.below(32)),
    "f32mid": (1, [], lambda r, _: r.bits(1) << 31 | (120 + r.below(16)) << 23 | r.bits(23)),
    "f32int": (1, [], lambda r, _: _f32(r.below(129) - 64)),
    "h2mid": (1, [], _pair(lambda r: r.bits(1) << 15 | (10 + r.below(9)) << 10 | r.bits(10))),
    "h2int": (1, [], _pair(lambda r: _f16(r.below(17) - 8))),
    "b2mid": (1, [], _pair(lambda r: r.bits(1) << 15 | (122 + r.below(9)) << 7 | r.bits(7))),
    "b2int": (1, [], _pair(lambda r: _f32(r.below(17) - 8) >> 16)),
    "f64mid": (2, [], lambda r, _: r.bits(1) << 63 | (1016 + r.below(16)) << 52 | r.bits(52)),
    "f64int": (2, [], lambda r, _: _f64(r.below(129) - 64)),
}


def _mufu_rows() -> list[int]:
    """2^14 points: specials, an even sweep of [1, 4), consecutive runs, every exponent with both signs."""
    rng = Rng(0x3F0)
    points = list(F32)
    points += [0x3F800000 + (i << 11) + rng.bits(11) for i in range(1 << 13)]
    points += [0x3F800000 + i for i in range(512)] + [0x3FB504F3 - 256 + i for i in range(512)]
    points += [0x3F000000 + (i << 12) + rng.bits(12) for i in range(1 << 11)]
    while len(points) < 1 << 14:
        points.append(len(points) % 512 << 23 | rng.bits(23))
    return points


OPERANDS["mufu"] = (1, _mufu_rows(), _random_f32)
OPERANDS["cta64"] = (1, U32, _random_u32)
OPERANDS["all16"] = (1, list(range(1 << 16)), lambda r, _: r.bits(16))
_FIXED_ROWS = {("mufu",): 1 << 14, ("cta64",): 64 * 32, ("all16",): 1 << 16}
_ROWS = {1: 512, 2: 768, 3: 1024}
_CROSS = {2: 580, 3: 730}


def _words(value: int, words: int) -> tuple[int, ...]:
    return tuple(value >> 32 * i & 0xFFFFFFFF for i in range(words))


def word_count(inputs: tuple[str, ...]) -> int:
    """32-bit input words a thread reads."""
    return sum(OPERANDS[name][0] for name in inputs)


@cache
def columns(inputs: tuple[str, ...]) -> tuple[int, bytes, int]:
    """(threads, little-endian u32 columns one after the other, CRC-32 of those bytes)."""
    operands = [OPERANDS[name] for name in inputs]
    total = _FIXED_ROWS.get(inputs) or _ROWS.get(len(inputs), 512)
    rng = Rng(_SEED + zlib.crc32(repr(inputs).encode()))
    table: list[tuple[int, ...]] = []
    if len(inputs) <= 3:
        keep = total if len(inputs) == 1 else int(_CROSS[len(inputs)] ** (1 / len(inputs)) + 1e-9)
        table = list(itertools.product(*(special[:keep] for _, special, _ in operands)))[:total]
    while len(table) < total:
        row: list[int] = []
        for _, special, draw in operands:
            pick = bool(special) and rng.below(4) == 0
            row.append(special[rng.below(len(special))] if pick else draw(rng, row))
        table.append(tuple(row))
    expanded = [sum((_words(v, op[0]) for v, op in zip(row, operands, strict=True)), ()) for row in table]
    data = array("I", itertools.chain.from_iterable(zip(*expanded, strict=True))).tobytes()
    return total, data, zlib.crc32(data)
