"""Atomic operations: what they leave in memory and return, one lane after the other."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from tests.unit.core_kit import BASE, LOCAL_BYTES, LOCAL_WINDOW, SHARED_WINDOW, Run, new_memory, run
from warpath import _core

DATA = BASE + (16 << 20)
M32 = 0xFFFFFFFF


def data_memory(data: bytes) -> _core.Memory:
    memory = new_memory()
    memory.alloc(DATA, max(len(data), 256), 1)
    memory.write(DATA, data)
    return memory


def pair(value: int) -> list[int]:
    return [value & M32, value >> 32]


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


INTEGER: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda old, a: (old + a) & M32,
    "MIN": min,
    "MAX": max,
    "MIN.S32": lambda old, a: a if signed(a) < signed(old) else old,
    "MAX.S32": lambda old, a: a if signed(a) > signed(old) else old,
    "AND": lambda old, a: old & a,
    "OR": lambda old, a: old | a,
    "XOR": lambda old, a: old ^ a,
    "EXCH": lambda old, a: a,
    "INC": lambda old, a: 0 if old >= a else old + 1,
    "DEC": lambda old, a: a if old == 0 or old > a else old - 1,
}
VALUES = [(0x9E3779B9 * (i + 1)) & M32 for i in range(32)]
START = 0x7FFFFFF0


def fold(name: str, values: list[int], start: int) -> tuple[list[int], int]:
    returned: list[int] = []
    for value in values:
        returned.append(start)
        start = INTEGER[name](start, value)
    return returned, start


@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.parametrize("place", ["ATOMG", "ATOM", "ATOMS"])
def test_integer_operations(name: str, place: str) -> None:
    if place == "ATOMS":
        atomic = f"MOV R6,{START:#x}\nSTS [RZ],R6\nATOMS.{name} R5,[RZ],R10\nLDS R6,[RZ]"
    else:
        atomic = f"{place}.E.{name}.STRONG.GPU PT,R5,[R2.64],R10\nLDG.E R6,[R2.64]"
    made = run(
        f"MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\n{atomic}",
        ["R5", "R6"],
        memory=data_memory(struct.pack("<I", START)),
        words=pair(DATA),
        inputs=[VALUES],
    )
    returned, final = fold(name, VALUES, START)
    assert made.registers["R5"] == returned
    assert made.registers["R6"] == [final] * 32


@pytest.mark.parametrize("name", [name for name in INTEGER if name != "EXCH"])
@pytest.mark.parametrize("threads", [1, 3])
def test_reductions_from_many_blocks(name: str, threads: int) -> None:
    made = run(
        f"MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\nRED.E.{name}.STRONG.GPU [R2.64],R10",
        memory=data_memory(struct.pack("<I", START)),
        words=pair(DATA),
        inputs=[VALUES],
        grid=40,
        threads=threads,
    )
    _, final = fold(name, VALUES * 40, START)
    assert made.memory.read(DATA, 4) == struct.pack("<I", final)


def test_wide_compare_and_swap() -> None:
    made = run(
        """
        MOV R2,c[0x0][0x160]
        MOV R3,c[0x0][0x164]
        MOV R4,R0
        MOV R5,0x7
        IADD3 R6,R0,0x1,RZ
        MOV R7,0x7
        ATOMG.E.CAS.64.STRONG.GPU PT,R8,[R2],R4,R6
        """,
        ["R8", "R9"],
        memory=data_memory(struct.pack("<II", 0, 7)),
        words=pair(DATA),
    )
    assert made.registers["R8"] == list(range(32))
    assert made.registers["R9"] == [7] * 32
    assert made.memory.read(DATA, 8) == struct.pack("<II", 32, 7)


def test_128_bit_exchange() -> None:
    made = run(
        """
        MOV R2,c[0x0][0x160]
        MOV R3,c[0x0][0x164]
        MOV R4,R0
        IADD3 R5,R0,0x1,RZ
        IADD3 R6,R0,0x2,RZ
        IADD3 R7,R0,0x3,RZ
        ATOMG.E.EXCH.128.STRONG.GPU PT,R8,desc[UR4][R2.64],R4
        """,
        ["R8", "R11"],
        memory=data_memory(struct.pack("<4I", 9, 9, 9, 9)),
        words=pair(DATA),
        sm=90,
    )
    assert made.registers["R8"] == [9, *range(31)]
    assert made.registers["R11"] == [9, *range(3, 34)]


@pytest.mark.parametrize(
    ("kind", "fmt", "start", "value", "final"),
    [
        ("F32.FTZ.RN", "<f", [1.5], [0.25], [9.5]),
        ("F64.RN", "<d", [1.5], [0.25], [9.5]),
        ("F16x2.RN", "<2e", [1.5, -2.0], [0.25, 1.0], [9.5, 30.0]),
        ("F32x2.FTZ.RN", "<2f", [1.5, -2.0], [0.25, 1.0], [9.5, 30.0]),
        ("F16x4.RN", "<4e", [0.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.0, 0.0], [32.0, 33.0, 34.0, 3.0]),
    ],
)
def test_float_reductions(
    kind: str, fmt: str, start: list[float], value: list[float], final: list[float]
) -> None:
    packed = struct.pack(fmt, *value).ljust(8, b"\0")
    made = run(
        "MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\nMOV R4,c[0x0][0x168]\nMOV R5,c[0x0][0x16c]\n"
        f"REDG.E.ADD.{kind}.STRONG.GPU desc[UR4][R2.64],R4",
        memory=data_memory(struct.pack(fmt, *start)),
        words=[*pair(DATA), *struct.unpack("<2I", packed)],
    )
    assert list(struct.unpack_from(fmt, made.memory.read(DATA, 8))) == final


def test_bfloat_pair_rounds_to_nearest_even() -> None:
    # 1 + 2^-8 is halfway between two bfloats; the even one is 1.
    made = run(
        "MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\nMOV R4,0x3b803f80\nISETP.EQ.AND P0,PT,R0,RZ,PT\n"
        "@P0 ATOMG.E.ADD.BF16x2.RN.STRONG.GPU PT,R5,[R2.64],R4",
        memory=data_memory(struct.pack("<I", 0x3F803F80)),
        words=pair(DATA),
    )
    assert made.memory.read(DATA, 4) == struct.pack("<I", 0x3F804000)


def test_count_reduction_in_shared_memory() -> None:
    made = run(
        "ISETP.LT.U32.AND P0,PT,R0,0x14,PT\n@P0 ATOMS.POPC.INC.32 RZ,[URZ+0x10]\nLDS R5,[0x10]", ["R5"]
    )
    assert made.registers["R5"] == [20] * 32


def mbarrier(phase: int, missing: int, expected: int) -> int:
    return phase << 63 | (0x80000000 - missing) << 32 | 0x40000000 - expected


def start_mbarrier(expected: int) -> str:
    """What ptxas emits for mbarrier.init before sm_90, at shared address 0x10."""
    return f"MOV R2,{0x40000000 - expected:#x}\nMOV R3,{0x80000000 - expected:#x}\nSTS.64 [0x10],R2\n"


def words(made: Run, low: str, high: str) -> list[int]:
    pairs = zip(made.registers[low], made.registers[high], strict=True)
    return [a | b << 32 for a, b in pairs]


def test_arrival_returns_the_state_before_and_the_last_one_starts_the_next_phase() -> None:
    source = start_mbarrier(40) + "ATOMS.ARRIVE.64 R4,[0x10]\nLDS.64 R6,[0x10]\n"
    source += "ATOMS.ARRIVE.64 R8,[0x10]\nLDS.64 R10,[0x10]"
    made = run(source, [f"R{i}" for i in range(4, 12)])
    assert words(made, "R4", "R5") == [mbarrier(0, 40 - lane, 40) for lane in range(32)]
    assert words(made, "R6", "R7") == [mbarrier(0, 8, 40)] * 32
    second = [mbarrier(0, 8 - lane, 40) for lane in range(8)]
    assert words(made, "R8", "R9") == second + [mbarrier(1, 40 - lane, 40) for lane in range(24)]
    assert words(made, "R10", "R11") == [mbarrier(1, 16, 40)] * 32


def test_dropped_arrivals_are_missing_from_the_next_phase() -> None:
    source = start_mbarrier(32) + "ISETP.LT.U32.AND P0,PT,R0,0x5,PT\n@P0 ATOMS.POPC.INC.32 RZ,[0x10]\n"
    source += "ATOMS.ARRIVE.64 RZ,[0x10]\nLDS.64 R4,[0x10]\n"
    source += "@!P0 ATOMS.ARRIVE.64 RZ,[0x10]\nLDS.64 R6,[0x10]"
    made = run(source, ["R4", "R5", "R6", "R7"])
    assert words(made, "R4", "R5") == [mbarrier(1, 27, 27)] * 32
    assert words(made, "R6", "R7") == [mbarrier(0, 27, 27)] * 32


def test_warps_wait_for_each_other_at_an_mbarrier() -> None:
    """Each phase takes the value of the next warp; a lane arrives twice, the first time without completing."""
    source = """
        ISETP.NE.AND P0,PT,R0,RZ,PT
        MOV R2,0x3fffff00
        MOV R3,0x7fffff00
        @!P0 STS.64 [0x10],R2
        BAR.SYNC.DEFER_BLOCKING 0x0
        SHF.L.U32 R4,R0,0x2,RZ
        IADD3 R5,R0,0x20,RZ
        LOP3.LUT R5,R5,0x7f,RZ,0xc0,!PT
        SHF.L.U32 R5,R5,0x2,RZ
        MOV R6,R0
        MOV R7,RZ
        MOV R14,0x1
        phase:
        STS [R4+0x100],R6
        ATOMS.ADD RZ,[0x14],R14
        ATOMS.ARRIVE.64 R8,[0x10]
        wait:
        LDS R10,[0x14]
        LOP3.LUT P1,RZ,R10,0x80000000,R9,0x48,!PT
        @!P1 BRA =wait
        LDS R6,[R5+0x100]
        IADD3 R4,R4,0x200,RZ
        IADD3 R5,R5,0x200,RZ
        IADD3 R7,R7,0x1,RZ
        ISETP.LT.U32.AND P1,PT,R7,0x3,PT
        @P1 BRA =phase
    """
    made = run(source, ["R6"], block=128)
    assert made.registers["R6"] == [(thread + 96) % 128 for thread in range(128)]


def test_cast_says_who_swapped() -> None:
    source = """
        MOV R4,0x5
        STS [0x20],R4
        ATOMS.CAST.SPIN R6,[0x20],R4,R0
        STS [0x20],R4
        MOV R7,0x20
        ATOMS.CAST.SPIN P0,[R7],R4,R0
    """
    made = run(source, ["R6", "P0"])
    winners = [1] + [0] * 4 + [0] * 27  # lane 0 stores 0, so nobody else finds 5
    assert made.registers["R6"] == winners
    assert made.registers["P0"] == winners


def test_generic_float_add_is_left_undone_on_shared_memory() -> None:
    made = run(
        """
        ISETP.LT.U32.AND P1,PT,R0,0x10,PT
        IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x160]
        @P1 IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x168]
        MOV R4,0x3f800000
        ATOM.E.ADD.F32.FTZ.RN.STRONG.GPU P0,R5,[R2.64],R4
        LD.E R6,[R2.64]
        """,
        ["P0", "R6"],
        memory=data_memory(bytes(256)),
        words=[*pair(DATA), *pair(SHARED_WINDOW)],
    )
    assert made.registers["P0"] == [0] * 16 + [1] * 16
    assert made.registers["R6"] == [0] * 16 + [0x3F800000] * 16


def test_atomics_on_local_memory_are_each_lane_s_own() -> None:
    made = run(
        """
        MOV R2,c[0x0][0x160]
        MOV R3,c[0x0][0x164]
        MOV R0,0x7
        ATOM.E.ADD.STRONG.GPU PT,R5,[R2.64],R0
        ATOM.E.ADD.STRONG.GPU PT,R6,[R2.64],R0
        """,
        ["R5", "R6"],
        words=pair(LOCAL_WINDOW + 0x1000000 - LOCAL_BYTES),
    )
    assert made.grid.fault is None
    assert made.registers["R5"] == [0] * 32
    assert made.registers["R6"] == [7] * 32


def test_combinations_without_a_meaning_are_refused() -> None:
    text = [
        ("", "ATOMG.E.MIN.F32.STRONG.GPU", "PT,R0,[R2.64],R4"),
        ("", "ATOMS.POPC.INC.32", "R4,[R2]"),
        ("", "ATOMS.ARRIVE", "R4,[R2]"),
        ("", "ATOMS.ARRIVE.64", "R4,[R2],R6"),
        ("", "RED.E.ADD.STRONG.GPU", "[R2.64],R4,R5"),
    ]
    assert len(_core.Program(89, 0, bytes(80), text).undeclared()) == 5
