"""Logic, shifts, byte permutes and bit scans."""

from __future__ import annotations

import pytest

from tests.unit.core_kit import run

M32 = 0xFFFFFFFF
WORDS = [0, 1, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 0x12345678, 0xDEADBEEF, 0x00FF8001]
A = [WORDS[i % 8] for i in range(64)]
B = [WORDS[i // 8] for i in range(64)]
C = [(0x85EBCA6B * i + 0x1234567) & M32 for i in range(64)]
COUNTS = [0, 1, 7, 31, 32, 33, 63, 64, 65, 0x80000000, 0xFFFFFFFF, 5, 16, 24, 30, 2]


def one(source: str, *inputs: list[int], words: tuple[int, ...] = ()) -> list[int]:
    return run(source, ["R20"], inputs=inputs, block=len(inputs[0]), words=words).registers["R20"]


def signed(x: int, bits: int = 32) -> int:
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


@pytest.mark.parametrize("lut", range(256))
def test_lop3_looks_up_each_bit(lut: int) -> None:
    source = f"LOP3.LUT R20,R10,R11,R12,{lut:#x},!PT\nLOP3.LUT P0,R21,R10,R11,R12,{lut:#x},!PT"
    made = run(source, ["R20", "R21", "P0"], inputs=[A, B, C], block=64)

    def expected(a: int, b: int, c: int) -> int:
        return sum((lut >> ((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)) & 1) << k for k in range(32))

    want = [expected(a, b, c) for a, b, c in zip(A, B, C, strict=True)]
    assert made.registers["R20"] == want
    assert made.registers["R21"] == want
    assert made.registers["P0"] == [int(x != 0) for x in want]


def test_lop3_predicate_joins_by_and() -> None:
    source = "ISETP.LT.U32.AND P1,PT,R0,0x20,PT\nLOP3.LUT.PAND P0,RZ,R10,R11,RZ,0xc0,P1\nSEL R20,RZ,0x1,!P0"
    assert one(source, A, B) == [
        int((a & b) != 0 and i < 32) for i, (a, b) in enumerate(zip(A, B, strict=True))
    ]


def funnel(opcode: str, a: int, count: int, c: int) -> int:
    wide, wrap = "64" in opcode, ".W" in opcode
    limit = 64 if wide else 32
    n = count % limit if wrap else min(count, limit)
    joined = c << 32 | a
    if ".R." in opcode:
        joined = (signed(joined, 64) if ".S" in opcode else joined) >> n
    else:
        joined <<= n
    return (joined >> 32 if opcode.endswith("HI") else joined) & M32


@pytest.mark.parametrize("high", ["", ".HI"])
@pytest.mark.parametrize("kind", ["U32", "S32", "U64", "S64"])
@pytest.mark.parametrize("wrap", ["", ".W"])
@pytest.mark.parametrize("way", ["L", "R"])
def test_shf(way: str, wrap: str, kind: str, high: str) -> None:
    opcode = f"SHF.{way}{wrap}.{kind}{high}"
    counts = COUNTS * 4
    got = one(f"{opcode} R20,R10,R11,R12", C, counts, B)
    assert got == [funnel(opcode, a, n, c) for a, n, c in zip(C, counts, B, strict=True)]
    assert one(f"{opcode} R20,R10,0x5,R12", C, counts, B) == [
        funnel(opcode, a, 5, c) for a, c in zip(C, B, strict=True)
    ]


def permute(a: int, selector: int, c: int) -> int:
    data = (c << 32 | a).to_bytes(8, "little")
    out = 0
    for k in range(4):
        code = selector >> (4 * k) & 15
        byte = data[code & 7]
        out |= (byte if code < 8 else (0xFF if byte & 0x80 else 0)) << (8 * k)
    return out


# PTX's table: selector nibbles, most significant first, for control values 0..3.
MODES = {
    "F4E": [0x3210, 0x4321, 0x5432, 0x6543],
    "B4E": [0x5670, 0x6701, 0x7012, 0x0123],
    "RC8": [0x0000, 0x1111, 0x2222, 0x3333],
    "ECL": [0x3210, 0x3211, 0x3222, 0x3333],
    "ECR": [0x0000, 0x1110, 0x2210, 0x3210],
    "RC16": [0x1010, 0x3232, 0x1010, 0x3232],
}


def test_prmt_by_index() -> None:
    want = [permute(a, s, c) for a, s, c in zip(A, C, B, strict=True)]
    assert one("PRMT R20,R10,R11,R12", A, C, B) == want
    for selector in (0x5410, 0x7632, 0x9910, 0xBA98, 0x0123):
        assert one(f"PRMT R20,R10,{selector:#x},R11", A, C) == [
            permute(a, selector, c) for a, c in zip(A, C, strict=True)
        ]


@pytest.mark.parametrize("mode", MODES)
def test_prmt_modes(mode: str) -> None:
    want = [permute(a, MODES[mode][s & 3], c) for a, s, c in zip(A, C, B, strict=True)]
    assert one(f"PRMT.{mode} R20,R10,R11,R12", A, C, B) == want
    assert one(f"PRMT.{mode} R20,R10,0x2,R11", A, B) == [
        permute(a, MODES[mode][2], c) for a, c in zip(A, B, strict=True)
    ]


def test_bit_counts() -> None:
    words = [*C[:56], *WORDS]
    none = M32
    assert one("POPC R20,R10", words) == [x.bit_count() for x in words]
    assert one("POPC R20,~R10", words) == [32 - x.bit_count() for x in words]
    assert one("BREV R20,R10", words) == [int(f"{x:032b}"[::-1], 2) for x in words]
    assert one("FLO.U32 R20,R10", words) == [x.bit_length() - 1 if x else none for x in words]
    assert one("FLO.U32.SH R20,R10", words) == [32 - x.bit_length() if x else none for x in words]
    plain = [x if x < 1 << 31 else x ^ M32 for x in words]
    assert one("FLO R20,R10", words) == [x.bit_length() - 1 if x else none for x in plain]


@pytest.mark.parametrize("wrap", [False, True])
def test_sgxt_and_bmsk(wrap: bool) -> None:
    suffix, counts = (".W" if wrap else ""), COUNTS * 4

    def width(n: int) -> int:
        return n % 32 if wrap else min(n, 32)

    def extend(x: int, n: int) -> int:
        return signed(x & ((1 << n) - 1), n) & M32 if n else 0

    assert one(f"SGXT{suffix} R20,R10,R11", C, counts) == [
        extend(x, width(n)) for x, n in zip(C, counts, strict=True)
    ]
    low = [x & ((1 << width(n)) - 1) for x, n in zip(C, counts, strict=True)]
    assert one(f"SGXT{suffix}.U32 R20,R10,R11", C, counts) == low
    starts = [COUNTS[i // 4] for i in range(64)]
    want = [
        ((1 << width(n)) - 1) << (s % 32 if wrap else s) & M32 if wrap or s < 32 else 0
        for s, n in zip(starts, counts, strict=True)
    ]
    assert one(f"BMSK{suffix} R20,R10,R11", starts, counts) == want


def test_selections_and_moves() -> None:
    guard = "ISETP.NE.AND P0,PT,R10,RZ,PT\n"
    assert one(guard + "SEL R20,R11,R12,P0", A, B, C) == [
        b if a else c for a, b, c in zip(A, B, C, strict=True)
    ]
    assert one(guard + "SEL R20,R11,-0x2,!P0", A, B) == [
        M32 - 1 if a else b for a, b in zip(A, B, strict=True)
    ]
    made = run(
        guard + "SEL.64 R20,R10,R12,P0\nMOV.64 R22,R11",
        ["R20", "R21", "R22", "R23"],
        inputs=[A, B, C, A],
        block=64,
    )
    assert made.registers["R20"] == [a if a else c for a, c in zip(A, C, strict=True)]
    assert made.registers["R21"] == [b if a else a for a, b in zip(A, B, strict=True)]
    assert (made.registers["R22"], made.registers["R23"]) == (B, C)
    assert one("MOV R20,c[0x0][0x164]", A, words=(1, 0xABCD)) == [0xABCD] * 64


def test_rpc_keeps_a_value_for_each_lane() -> None:
    source = "ISETP.LT.U32.AND P0,PT,R0,0x9,PT\nRPCMOV.32 Rpc.LO,R10\n@P0 RPCMOV.32 Rpc.LO,R11\nRPCMOV.32 R20,Rpc.LO"
    assert one(source, A, B) == [b if i < 9 else a for i, (a, b) in enumerate(zip(A, B, strict=True))]
