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


U32 = [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 31, 0x12345678, 0x8000, 2, 32, 0xFFFFFFFE, 0x80000001, 0xFFFF,
       0x10000, 0x55555555, 0xAAAAAAAA, 3, 33, 63, 64, 0x80808080, 0x7F7F7F7F, 0xFFFF8000, 0x7FFF, 7, 8, 15, 16, 30,
       65, 127, 128, 255, 256, 0xFF00, 0xFF0000, 0xFF000000, 0x00FF00FF, 0xFF00FF00, 0xDEADBEEF, 0x80008000,
       0x7FFF7FFF, 0x80007FFF, 0x00010001, 0xFFFF0001, 1000000007, 0xC0000000, 0x40000000]
SHIFT = [0, 1, 31, 32, 33, 63, 64, 0xFFFFFFFF, 16, 8, 15, 7, 30, 62, 65, 0x80000000, 0x1F00, 0x2001, 24, 255, 256,
         0x10000, 4, 17, 48]
U64 = [0, 1, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 0x123456789ABCDEF0, 0xFFFFFFFF, 1 << 32, 0x80000000, 1 << 31 | 1 << 63,
       0x7FFFFFFF, 0xFFFFFFFF00000000, 2, 3, 31, 32, 33, 63, 64, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA, 1 << 53,
       (1 << 53) + 1, (1 << 24) + 1, 0x8000000000000001, 0xFFFFFFFFFFFFFF80, 0x000FFFFFFFFFFFFF, 0x7FF0000000000000]
F32 = [0, 0x80000000, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC12345, 0x7F812345, 0x00000001, 0x7F7FFFFF, 0x80800000,
       0xBF800000, 0xFF7FFFFF, 0x007FFFFF, 0x00800000, 0x80000001, 0xFFC54321, 0xFF854321, 0x3F800001, 0x3F7FFFFF,
       0x3F000000, 0x3FC00000, 0x4B000000, 0x4F000000, 0xCF000000, 0x807FFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FC00000,
       0x7F800001, 0x40200000, 0xC0200000, 0xBF000000, 0x3EFFFFFF, 0xBEFFFFFF, 0x4B000001, 0x4B800000, 0x4AFFFFFF,
       0x4EFFFFFF, 0x4F7FFFFF, 0x4F800000, 0x5EFFFFFF, 0x5F000000, 0xDF000000, 0x5F7FFFFF, 0x5F800000, 0xCF000001,
       0x43000000, 0x42FF0000, 0xC3000000, 0xC3008000, 0x437F0000, 0x437F8000, 0x43800000, 0x477FE000, 0x477FF000,
       0x47800000, 0x33000000, 0x33000001, 0x387FC000, 0x38800000, 0x43E00000, 0x43E80000, 0x44000000, 0x3C800000,
       0x40490FDB, 0x3FC90FDB, 0x7E800000, 0x7E800001, 0x7F000000, 0x00400000, 0x42FE0000, 0xC2FC0000, 0xC3160000,
       0x42B17218, 0xC2CFF1B5, 0x3F317218, 0x3EAAAAAB, 0x41200000, 0x3DCCCCCD, 0x4E6E6B28]
F64 = [0, 1 << 63, _f64(1.0), 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF812345678ABCD, 0x7FF012345678ABCD, 1,
       0x7FEFFFFFFFFFFFFF, 0x8010000000000000, _f64(-1.0), 0xFFEFFFFFFFFFFFFF, 0x000FFFFFFFFFFFFF, 0x0010000000000000,
       0x8000000000000001, 0xFFF8765432100123, 0xFFF0000000000001, 0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF, _f64(0.5),
       _f64(1.5), _f64(2.0**52), _f64(2.0**31), _f64(-(2.0**31)), 0x800FFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF, _f64(2.5),
       _f64(-2.5), _f64(2.0**31 - 0.5), _f64(2.0**31 - 1), _f64(-(2.0**31) - 1), _f64(2.0**32), _f64(2.0**32 - 0.5),
       _f64(2.0**63), _f64(-(2.0**63)), 0x43DFFFFFFFFFFFFF, _f64(2.0**64), 0x43EFFFFFFFFFFFFF, _f64(2.0**53 + 2),
       _f64(1 / 3), _f64(1e10), _f64(3.141592653589793), _f64(1e-300), _f64(1e300), _f64(2.0**-126), _f64(2.0**-149),
       _f64(2.0**-150), 0x3690000000000001, 0x47EFFFFFE0000000, 0x47EFFFFFEFFFFFFF, 0x47EFFFFFF0000000, _f64(2.0**128),
       0x3FF0000010000000, 0x3FF0000030000000, 0x380FFFFFC0000000, 0x380FFFFFE0000000, _f64(-0.5), 0x3FDFFFFFFFFFFFFF,
       _f64(65504.0), _f64(65520.0), _f64(6e-8), _f64(255.5), _f64(127.5), _f64(-128.5), _f64(32767.5), _f64(65535.5)]
F16 = [0, 0x8000, 0x3C00, 0x7C00, 0xFC00, 0x7E12, 0x7D12, 0x0001, 0x7BFF, 0x8400, 0xBC00, 0xFBFF, 0x03FF, 0x0400,
       0x8001, 0xFE54, 0xFC01, 0x3C01, 0x3BFF, 0x3800, 0x3E00, 0x6400, 0x6800, 0x83FF, 0x7FFF, 0xFFFF, 0x4100, 0xC100,
       0x1400, 0x5800, 0x57FF, 0xD800, 0x0200, 0x3555, 0x77FF, 0x7800, 0x2E66, 0xC248]
BF16 = [0, 0x8000, 0x3F80, 0x7F80, 0xFF80, 0x7FC2, 0x7F82, 0x0001, 0x7F7F, 0x8080, 0xBF80, 0xFF7F, 0x007F, 0x0080,
        0x8001, 0xFFC5, 0xFF81, 0x3F81, 0x3F7F, 0x3F00, 0x3FC0, 0x4300, 0x4380, 0x807F, 0x7FFF, 0xFFFF, 0x4020, 0xC020,
        0x3C80, 0x4700, 0x46FF, 0x7E80, 0x0040, 0x3EAA, 0x4F00, 0x3DCC, 0xC049]
U16 = [0, 1, 0xFFFF, 0x8000, 0x7FFF, 15, 16, 17, 255, 256, 128, 127, 0x5555, 0xAAAA, 2, 3, 0xFF80, 0x8001, 31, 32]


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
            [base | 0x7FF8 << 48, base | 0xFFF8 << 48, base | 0x7FF0 << 48, base | 0xFFF0 << 48, _f64(1.5), 0, 0x7FF << 52, 0xFFF << 52],
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
