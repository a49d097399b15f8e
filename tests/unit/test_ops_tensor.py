"""Matrix ops: fragment layouts and sums of every shape against plain matrix products."""

from __future__ import annotations

import random
import struct

import pytest

from tests.unit.core_kit import run

M32 = 0xFFFFFFFF


def registers_of(matrix: list[list[int]], bits: int, height: int) -> list[list[int]]:
    """Registers of a fragment: `matrix[index][k]` bit patterns; index is a row of A or a column of B."""
    each = 32 // bits
    depth = len(matrix[0])
    count = max(1, height * depth // (4 * each))
    out = [[0] * 32 for _ in range(count)]
    for index, row in enumerate(matrix):
        for k, value in enumerate(row):
            register = k // (4 * each) * height + index // 8
            lane = 4 * (index % 8) + k // each % 4
            out[register][lane] |= value << (bits * (k % each))
    return out


def sums_of(made: dict[str, list[int]], first: int, m: int) -> list[list[int]]:
    return [
        [made[f"R{first + 2 * (i // 8) + j % 2}"][4 * (i % 8) + j // 2] for j in range(8)] for i in range(m)
    ]


def scatter(c: list[list[int]]) -> list[list[int]]:
    out = [[0] * 32 for _ in range(len(c) // 4)]
    for i, row in enumerate(c):
        for j, value in enumerate(row):
            out[2 * (i // 8) + j % 2][4 * (i % 8) + j // 2] = value
    return out


def multiply(
    opcode: str, a: list[list[int]], b: list[list[int]], c: list[list[int]], bits: int, layout: bool
) -> list[list[int]]:
    """D of one instruction; `a` by rows, `b` by columns, `c` by rows, all as bit patterns."""
    m = len(a)
    left, right, addend = registers_of(a, bits, m // 8), registers_of(b, bits, 1), scatter(c)
    moves, inputs = [], []
    for base, columns in ((40, left), (50, right), (60, addend)):
        for i, column in enumerate(columns):
            moves.append(f"MOV R{base + i},R{10 + len(inputs)}")
            inputs.append(column)
    row, col = (".ROW", ".COL") if layout else ("", "")
    source = "\n".join([*moves, f"{opcode} R70,R40{row},R50{col},R60"])
    outputs = [f"R{70 + i}" for i in range(m // 4)]
    return sums_of(run(source, outputs, inputs=inputs).registers, 70, m)


def half(x: int) -> int:
    return struct.unpack("<H", struct.pack("<e", float(x)))[0]


def single(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


FLOAT_SHAPES = [
    ("HMMA.16816.F32", 16, 16, half),
    ("HMMA.1688.F32", 8, 16, half),
    ("HMMA.16816.F32.BF16", 16, 16, lambda x: single(x) >> 16),
    ("HMMA.1688.F32.TF32", 8, 32, single),
    ("HMMA.1684.F32.TF32", 4, 32, single),
]


@pytest.mark.parametrize(
    ("opcode", "depth", "bits", "encode"), FLOAT_SHAPES, ids=lambda x: x if isinstance(x, str) else ""
)
def test_small_integers_are_exact(opcode: str, depth: int, bits: int, encode) -> None:
    rng = random.Random(opcode)
    a = [[rng.randint(-9, 9) for _ in range(depth)] for _ in range(16)]
    b = [[rng.randint(-9, 9) for _ in range(depth)] for _ in range(8)]
    c = [[rng.randint(-99, 99) for _ in range(8)] for _ in range(16)]
    got = multiply(
        opcode,
        [[encode(x) for x in row] for row in a],
        [[encode(x) for x in row] for row in b],
        [[single(x) for x in row] for row in c],
        bits,
        False,
    )
    want = [
        [single(c[i][j] + sum(x * y for x, y in zip(a[i], b[j], strict=True))) for j in range(8)]
        for i in range(16)
    ]
    assert got == want


INT_SHAPES = [
    ("IMMA.8816.S8.U8", 8, 16, 8), ("IMMA.16816.U8.S8", 16, 16, 8), ("IMMA.16832.S8.S8", 16, 32, 8),
    ("IMMA.8832.S4.U4", 8, 32, 4), ("IMMA.16832.U4.U4", 16, 32, 4), ("IMMA.16864.S4.S4.SAT", 16, 64, 4),
    ("IMMA.16832.U8.U8.SAT", 16, 32, 8),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "m", "depth", "bits"), INT_SHAPES)
def test_integer_products(opcode: str, m: int, depth: int, bits: int) -> None:
    rng = random.Random(opcode)
    parts = opcode.split(".")

    def value(pattern: int, kind: str) -> int:
        return pattern - (1 << bits) if kind[0] == "S" and pattern >> (bits - 1) else pattern

    a = [[rng.getrandbits(bits) for _ in range(depth)] for _ in range(m)]
    b = [[rng.getrandbits(bits) for _ in range(depth)] for _ in range(8)]
    c = [[rng.choice([0x7FFFFFFF, 0x80000000, 5, rng.getrandbits(32)]) for _ in range(8)] for _ in range(m)]
    got = multiply(opcode, a, b, c, bits, True)
    for i in range(m):
        for j in range(8):
            start = c[i][j] - (1 << 32) if c[i][j] >> 31 else c[i][j]
            total = start + sum(
                value(x, parts[2]) * value(y, parts[3]) for x, y in zip(a[i], b[j], strict=True)
            )
            if "SAT" in opcode:
                total = min(max(total, -(1 << 31)), (1 << 31) - 1)
            assert got[i][j] == total & M32


@pytest.mark.parametrize(
    ("opcode", "m", "depth"), [("BMMA.88128", 8, 4), ("BMMA.168128", 16, 4), ("BMMA.168256", 16, 8)]
)
@pytest.mark.parametrize("op", ["AND", "XOR"])
def test_single_bit_products(opcode: str, m: int, depth: int, op: str) -> None:
    rng = random.Random(opcode)
    a = [[rng.getrandbits(32) for _ in range(depth)] for _ in range(m)]
    b = [[rng.getrandbits(32) for _ in range(depth)] for _ in range(8)]
    got = multiply(f"{opcode}.{op}.POPC", a, b, [list(range(8)) for _ in range(m)], 32, True)
    for i in range(m):
        for j in range(8):
            pairs = zip(a[i], b[j], strict=True)
            assert got[i][j] == j + sum((x & y if op == "AND" else x ^ y).bit_count() for x, y in pairs)


def test_double_products() -> None:
    rng = random.Random(7)
    a = [[rng.uniform(-2, 2) for _ in range(4)] for _ in range(8)]
    b = [[rng.uniform(-2, 2) for _ in range(4)] for _ in range(8)]  # by columns

    def split(values: list[float]) -> list[list[int]]:
        bits = [struct.unpack("<Q", struct.pack("<d", x))[0] for x in values]
        return [[x & M32 for x in bits], [x >> 32 for x in bits]]

    inputs = split([a[lane // 4][lane % 4] for lane in range(32)]) + split(
        [b[lane // 4][lane % 4] for lane in range(32)]
    )
    made = run("DMMA.884 R20,R10,R12,RZ", [f"R{20 + i}" for i in range(4)], inputs=inputs).registers
    for i in range(8):
        for j in range(8):
            lane, pair = 4 * i + j // 2, 20 + 2 * (j % 2)
            got = struct.unpack("<d", struct.pack("<II", made[f"R{pair}"][lane], made[f"R{pair + 1}"][lane]))[
                0
            ]
            want = sum(x * y for x, y in zip(a[i], b[j], strict=True))
            assert got == pytest.approx(want, rel=1e-14, abs=1e-15)


def test_sixteen_products_meet_at_the_exponent_of_the_largest() -> None:
    """25 fraction bits below 2^24 keep a half and drop a quarter; all 16 products cancel in one step."""
    big, small = half(4096), half(1)
    a = [
        [big, 0x3800, 0x3400, 0x3400, 0, 0, 0, 0, big | 0x8000, *[0] * 7]
    ] * 16  # 4096, 1/2, 1/4, 1/4 ... -4096
    b = [[big, small, small, small, 0, 0, 0, 0, big, *[0] * 7]] * 8
    got = multiply("HMMA.16816.F32", a, b, [[0] * 8] * 16, 16, False)
    assert got == [[single(0.5)] * 8] * 16
    a = [[big, small, 0x3800, *[0] * 13]] * 16
    got = multiply("HMMA.16816.F32", a, b, [[0] * 8] * 16, 16, False)
    assert got == [[single(2**24)] * 8] * 16  # 16777217.5 cut to 24 bits, not rounded


def test_infinities_and_nans() -> None:
    inf, nan, one = 0x7C00, 0x7E01, half(1)
    rows = [
        [inf] + [one] * 15,
        [nan] + [one] * 15,
        [inf, inf | 0x8000] + [one] * 14,
        [0] * 16,
        *[[one] * 16] * 12,
    ]
    columns = [[one] * 16, [0] + [one] * 15, *[[one] * 16] * 6]
    got = multiply("HMMA.16816.F32", rows, columns, [[0x3F800000] * 8] * 15 + [[0xFF800000] * 8], 16, False)
    assert got[0][0] == 0x7F800000
    assert got[0][1] == 0x7FFFFFFF  # infinity times zero
    assert got[1][0] == got[2][0] == 0x7FFFFFFF
    assert got[3][0] == 0x3F800000
    assert got[15][0] == 0xFF800000
