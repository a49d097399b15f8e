"""The uniform datapath: the vector ops' results, one for the warp."""

from __future__ import annotations

import pytest

from tests.unit.core_kit import run

M32 = 0xFFFFFFFF
X, Y, Z = 0x80000003, 0x9ABCDEF1, 0x00000011
SET_UP = "ULDC UR4,c[0x0][0x160]\nULDC UR5,c[0x0][0x164]\nULDC UR6,c[0x0][0x168]\n"


def signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


CASES: dict[str, int] = {
    "UMOV UR8,UR5": Y,
    "UIADD3 UR8,UR4,-UR5,UR6": (X - Y + Z) & M32,
    "UIADD3 UR8,UPT,UPT,UR4,0x7,URZ": (X + 7) & M32,
    "UIMAD UR8,UR4,UR5,UR6": (X * Y + Z) & M32,
    "ULEA UR8,UR4,UR5,0x4": ((X << 4) + Y) & M32,
    "ULOP3.LUT UR8,UR4,UR5,UR6,0x96,!UPT": X ^ Y ^ Z,
    "USHF.R.S32.HI UR8,URZ,0x4,UR5": (signed(Y) >> 4) & M32,
    "USHF.L.U32 UR8,UR4,UR6,URZ": X << 17 & M32,
    "UPRMT UR8,UR4,0x5410,UR5": X & 0xFFFF | (Y & 0xFFFF) << 16,
    "UFLO.U32 UR8,UR6": 4,
    "UPOPC UR8,UR5": Y.bit_count(),
    "UBREV UR8,UR6": int(f"{Z:032b}"[::-1], 2),
    "USGXT UR8,UR5,0x8": (Y & 0xFF) - 0x100 & M32,
    "UBMSK UR8,0x4,0x8": 0xFF0,
    "UIMNMX.U32 UR8,UR4,UR5,UPT": min(X, Y),
    "UVIMNMX.S32 UR8,UR4,UR5,!UPT": max(X, Y, key=signed),
    "UI2F.U32 UR8,UR6": 0x41880000,
}


@pytest.mark.parametrize("text", CASES)
def test_values(text: str) -> None:
    made = run(f"{SET_UP}{text}\nMOV R20,UR8", ["R20"], words=(X, Y, Z))
    assert made.registers["R20"] == [CASES[text]] * 32


def test_pairs_and_carries() -> None:
    source = (
        SET_UP
        + "UMOV UR8,UR4\nUMOV UR9,UR5\nUIADD3.64 UR10,UPT,UPT,UR8,UR8,URZ\nUIMAD.WIDE.U32 UR12,UR4,UR5,UR8\n"
        "UIADD3 UR14,UP0,UR4,UR4,URZ\nUIADD3.X UR15,UR5,UR5,URZ,UP0,!UPT\nUMOV.64 UR16,0x123456789a\n"
        + "".join(f"MOV R{20 + i},UR{10 + i}\n" for i in range(8))
    )
    made = run(source, [f"R{20 + i}" for i in range(8)], words=(X, Y, Z))
    both, wide = X | Y << 32, X * Y + (X | Y << 32) & (1 << 64) - 1
    twice = 2 * both & (1 << 64) - 1
    want = [twice & M32, twice >> 32, wide & M32, wide >> 32, twice & M32, twice >> 32, 0x3456789A, 0x12]
    assert [made.registers[f"R{20 + i}"][0] for i in range(8)] == want


def test_predicates_guard_and_select() -> None:
    source = (
        SET_UP
        + "UISETP.GT.U32.AND UP0,UP1,UR5,UR4,UPT\nUPLOP3.LUT UP2,UPT,UP0,UP1,UPT,0x80,0x0\nUSEL UR8,UR4,UR5,UP0\n"
        "UMOV UR9,UR6\n@UP1 UMOV UR9,URZ\n@UP0 UMOV UR10,UR6\nUP2UR UR11,UPR,URZ,0x7\nR2UR UR12,R0\n"
        "MOV R20,UR8\nMOV R21,UR9\nMOV R22,UR10\nMOV R23,UR11"
    )
    made = run(source, ["R20", "R21", "R22", "R23"], words=(X, Y, Z))
    assert [made.registers[f"R{20 + i}"][5] for i in range(4)] == [X, Z, Z, 0b001]


def test_a_lone_lane_still_writes_the_uniform_register() -> None:
    source = (
        SET_UP + "ISETP.NE.AND P0,PT,R0,0x7,PT\n@P0 BRA =end\nUIADD3 UR8,UR4,0x1,URZ\nMOV R20,UR8\nend:\nNOP"
    )
    made = run("MOV R20,RZ\n" + source, ["R20"], words=(X, Y, Z))
    assert made.registers["R20"] == [X + 1 if lane == 7 else 0 for lane in range(32)]
