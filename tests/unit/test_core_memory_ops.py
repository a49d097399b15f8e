"""Loads, stores and constants: widths, address forms, windows, and the checks that stop a grid."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from tests.unit.core_kit import BASE, LOCAL_BYTES, LOCAL_WINDOW, SHARED_WINDOW, Run, new_memory, run
from warpath import _core

DATA = BASE + (16 << 20)


def data_memory(data: bytes, size: int | None = None) -> _core.Memory:
    memory = new_memory()
    memory.alloc(DATA, size or len(data), 1)
    memory.write(DATA, data)
    return memory


def pair(value: int) -> list[int]:
    return [value & 0xFFFFFFFF, value >> 32]


BYTES = bytes((7 * i + 129) & 0xFF for i in range(1024))


@pytest.mark.parametrize(
    ("width", "fmt"), [("U8", "<B"), ("S8", "<b"), ("U16", "<H"), ("S16", "<h"), ("", "<I")]
)
@pytest.mark.parametrize("spread", [1, 3])
def test_global_loads_widen(width: str, fmt: str, spread: int) -> None:
    size = struct.calcsize(fmt)
    suffix = f".{width}" if width else ""
    made = run(
        f"IMAD.WIDE.U32 R2,R0,{size * spread:#x},c[0x0][0x160]\nLDG.E{suffix} R5,[R2.64]\nLDG.E{suffix} RZ,[R2.64]",
        ["R5"],
        memory=data_memory(BYTES),
        words=pair(DATA),
    )
    expected = [struct.unpack_from(fmt, BYTES, i * size * spread)[0] & 0xFFFFFFFF for i in range(32)]
    assert made.registers["R5"] == expected


@pytest.mark.parametrize("guard", ["", "@P0 "])
@pytest.mark.parametrize("stride", [16, 32])
def test_wide_loads_and_stores(guard: str, stride: int) -> None:
    made = run(
        f"""
        ISETP.GE.U32.AND P0,PT,R0,0x5,PT
        IMAD.WIDE.U32 R2,R0,{stride:#x},c[0x0][0x160]
        MOV R7,0x55
        {guard}LDG.E.128 R4,[R2.64]
        {guard}LDG.E.64 R8,[R2.64+0x8]
        {guard}STG.E.128 [R2.64+0x400],R4
        {guard}STG.E.64 [R2.64+0x408],RZ
        """,
        ["R4", "R7", "R8", "R9"],
        memory=data_memory(BYTES, 4096),
        words=pair(DATA),
    )
    words = struct.unpack("<256I", BYTES)
    step = stride // 4
    for lane in range(32):
        on = not guard or lane >= 5
        expected = [words[lane * step + k] for k in range(4)] if on else [0, 0, 0, 0x55]
        got = [made.registers[name][lane] for name in ("R4", "R8", "R9", "R7")]
        assert got == [expected[0], expected[2], expected[3] if on else 0, expected[3]]
        stored = struct.unpack("<4I", made.memory.read(DATA + 0x400 + lane * stride, 16))
        assert stored == ((*expected[:2], 0, 0) if on else (0, 0, 0, 0))


@pytest.mark.parametrize(
    ("setup", "operand"),
    [
        ("ULDC.64 UR4,c[0x0][0x160]", "[UR4+0x8]"),
        ("ULDC.64 UR4,c[0x0][0x160]\nMOV R2,0x8\nMOV R3,0x0", "[R2.64+UR4]"),
        ("ULDC.64 UR4,c[0x0][0x160]\nMOV R2,0x8\nMOV R3,0x99", "[R2.U32+UR4]"),
        ("MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]", "[R2+0x8]"),
        ("MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]", "desc[UR6][R2.64+0x8]"),
    ],
)
def test_global_address_forms(setup: str, operand: str) -> None:
    made = run(f"{setup}\nLDG.E R5,{operand}", ["R5"], memory=data_memory(BYTES), words=pair(DATA))
    assert made.registers["R5"] == [struct.unpack_from("<I", BYTES, 8)[0]] * 32


def test_of_lanes_that_store_to_one_address_the_highest_wins() -> None:
    made = run(
        "MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\nSTG.E [R2.64],R0",
        memory=data_memory(bytes(8)),
        words=pair(DATA),
    )
    assert made.memory.read(DATA, 4) == struct.pack("<I", 31)


@pytest.mark.parametrize("operand", ["[R4.X4+0x10]", "[R5+0x10]", "[R5+UR5+0xc]"])
def test_shared_round_trip(operand: str) -> None:
    made = run(
        f"""
        UMOV UR5,0x4
        MOV R4,R0
        SHF.L.U32 R5,R0,0x2,RZ
        STS {operand},R0
        LOP3.LUT R4,R0,0x1f,RZ,0x3c,!PT
        SHF.L.U32 R5,R4,0x2,RZ
        LDS R6,{operand}
        LDS.U8 R7,[0x14]
        """,
        ["R6", "R7"],
    )
    assert made.registers["R6"] == [31 - lane for lane in range(32)]
    assert made.registers["R7"] == [1] * 32


def test_local_memory_is_private_to_each_lane() -> None:
    top = 0x1000000 - LOCAL_BYTES
    made = run(
        f"""
        MOV R1,{top:#x}
        MOV R8,R0
        IADD3 R9,R0,0x100,RZ
        MOV R10,0x7
        MOV R11,0x8
        STL.128 [R1+0x10],R8
        STL.U8 [R1+0x15],R10
        LDL.64 R4,[R1+0x10]
        LDL R6,[R1+0x18]
        LDL.S8 R7,[R1+0x15]
        IMAD R12,R0,0x4,R1
        STL [R12+0x100],R0
        LDL R13,[R12+0x100]
        """,
        ["R4", "R5", "R6", "R7", "R13"],
    )
    assert made.registers["R4"] == list(range(32))
    assert made.registers["R5"] == [0x700 | lane for lane in range(32)]  # 0x1LL with byte 1 replaced
    assert made.registers["R6"] == [7] * 32
    assert made.registers["R7"] == [7] * 32
    assert made.registers["R13"] == list(range(32))


def test_generic_addresses_reach_every_space() -> None:
    local = LOCAL_WINDOW + 0x1000000 - LOCAL_BYTES
    made = run(
        """
        ISETP.LT.U32.AND P0,PT,R0,0xa,PT
        ISETP.GE.U32.AND P1,PT,R0,0x14,PT
        IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x160]
        @P0 IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x168]
        @P1 IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x170]
        ST.E [R2.64],R0
        LD.E R5,[R2.64]
        LDS R6,[0x24]
        QSPC.E.G P2,RZ,[R2]
        QSPC.E.S P3,RZ,[R2]
        QSPC.E.L P4,RZ,[R2]
        """,
        ["R5", "R6", "P2", "P3", "P4"],
        memory=data_memory(bytes(256)),
        words=[*pair(DATA), *pair(SHARED_WINDOW), *pair(local)],
    )
    assert made.registers["R5"] == list(range(32))
    assert made.registers["R6"] == [9] * 32
    assert struct.unpack("<32I", made.memory.read(DATA, 128))[10:20] == tuple(range(10, 20))
    assert made.registers["P3"] == [int(lane < 10) for lane in range(32)]
    assert made.registers["P4"] == [int(lane >= 20) for lane in range(32)]
    assert made.registers["P2"] == [int(10 <= lane < 20) for lane in range(32)]


def test_constants() -> None:
    memory = data_memory(struct.pack("<64I", *range(1000, 1064)))
    made = run(
        """
        SHF.L.U32 R2,R0,0x2,RZ
        LDC R3,c[0x1][R2+0x4]
        LDC.64 R4,c[0x1][R2]
        LDC.S8 R6,c[0x0][0x160]
        UMOV UR3,0x8
        ULDC UR4,c[0x1][UR3+0x4]
        ULDC.U16 UR5,c[0x0][0x160]
        MOV R7,UR4
        MOV R8,UR5
        LDC R9,c[0x1][0x1000]
        LDCU.128 UR8,c[0x1][0x0]
        MOV R10,UR11
        """,
        ["R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10"],
        memory=memory,
        banks=[(DATA, 256)],
        words=[0xFFEE],
    )
    lanes = range(32)
    assert made.registers["R3"] == [1001 + lane for lane in lanes]
    assert made.registers["R4"] == [1000 + lane for lane in lanes]
    assert made.registers["R5"] == [1001 + lane for lane in lanes]
    assert made.registers["R6"] == [0xFFFFFFEE] * 32
    assert made.registers["R7"] == [1003] * 32
    assert made.registers["R8"] == [0xFFEE] * 32
    assert made.registers["R9"] == [0] * 32  # behind the bank
    assert made.registers["R10"] == [1003] * 32


def test_asynchronous_copy_lands_in_shared_memory() -> None:
    made = run(
        """
        IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x160]
        SHF.L.U32 R4,R0,0x2,RZ
        LDGSTS.E [R4][R2.64]
        LDGDEPBAR
        DEPBAR.LE SB0,0x0
        LDS R5,[R4]
        """,
        ["R5"],
        memory=data_memory(BYTES),
        words=pair(DATA),
    )
    assert made.registers["R5"] == list(struct.unpack("<32I", BYTES[:128]))


def matrix_words(tile: list[list[int]], transpose: bool) -> list[int]:
    rows = [list(row) for row in zip(*tile, strict=True)] if transpose else tile
    return [rows[lane // 4][lane % 4 * 2] | rows[lane // 4][lane % 4 * 2 + 1] << 16 for lane in range(32)]


@pytest.mark.parametrize("transpose", [False, True])
def test_matrix_loads(transpose: bool) -> None:
    kind = "MT88" if transpose else "M88"
    made = run(
        f"""
        IMAD.WIDE.U32 R2,R0,0x10,c[0x0][0x160]
        LDG.E.128 R4,[R2.64]
        SHF.L.U32 R8,R0,0x4,RZ
        STS.128 [R8],R4
        LDSM.16.{kind}.2 R10,[R8]
        STSM.16.{kind}.2 [R8+0x200],R10
        LDS R12,[R8+0x204]
        LDS R13,[R8+0x4]
        """,
        ["R10", "R11", "R12", "R13"],
        memory=data_memory(BYTES),
        words=pair(DATA),
    )
    halves = struct.unpack("<512H", BYTES)
    for index, name in enumerate(("R10", "R11")):
        tile = [list(halves[(index * 8 + row) * 8 : (index * 8 + row) * 8 + 8]) for row in range(8)]
        assert made.registers[name] == matrix_words(tile, transpose)
    assert made.registers["R12"][:16] == made.registers["R13"][:16]


# ---- what stops a grid ----


def faulting(source: str, **options: Any) -> tuple[Run, _core.Fault]:
    made = run(source, memory=data_memory(bytes(64)), words=pair(DATA), **options)
    assert made.state == "fault"
    assert made.grid.fault is not None
    assert made.grid.step(1) == "fault"
    return made, made.grid.fault


POINTER = "MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\nISETP.EQ.U32.AND P0,PT,R0,0x7,PT\n"


def test_unmapped_page_faults_with_its_thread_and_address() -> None:
    _, fault = faulting(POINTER + "@P0 IADD3 R3,R3,0x1,RZ\nSTG.E.64 [R2.64],R4", block=64)
    assert (fault["kind"], fault["access"], fault["size"]) == ("illegal_address", "write", 8)
    assert fault["address"] == DATA + (1 << 32)
    assert (fault["block"], fault["thread"], fault["lane"]) == ((0, 0, 0), (7, 0, 0), 7)
    assert fault["text"] == "STG.E.64 [R2.64],R4"


@pytest.mark.parametrize("window", [SHARED_WINDOW, LOCAL_WINDOW])
@pytest.mark.parametrize(
    ("text", "access"),
    [
        ("LDG.E R4,[R2.64]", "read"),
        ("STG.E [R2.64],R4", "write"),
        ("REDG.E.ADD.STRONG.GPU [R2.64],R4", "atomic"),
    ],
)
def test_global_instructions_refuse_the_windows_of_other_spaces(text: str, access: str, window: int) -> None:
    source = "MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\n" + text
    for offset, kind in (
        (0, "illegal_address_space"),
        (0xFFFFFC, "illegal_address_space"),
        (-4, "illegal_address"),
    ):
        fault = run(source, words=pair(window + offset)).grid.fault
        assert fault is not None
        assert (fault["kind"], fault["access"], fault["address"]) == (kind, access, window + offset)


def test_lanes_that_are_off_do_not_fault() -> None:
    made = run(
        POINTER + "@P0 MOV R3,0x1\n@!P0 LDG.E R4,[R2.64]", memory=data_memory(bytes(64)), words=pair(DATA)
    )
    assert made.state == "done"


def test_misaligned_access_faults() -> None:
    _, fault = faulting(POINTER + "@P0 IADD3 R2,R2,0x2,RZ\nLDG.E R4,[R2.64]")
    assert (fault["kind"], fault["lane"], fault["access"]) == ("misaligned_address", 7, "read")
    _, fault = faulting("MOV R4,0x6\nLDS R5,[R4]")
    assert (fault["kind"], fault["address"]) == ("misaligned_address", 6)


def test_out_of_bounds_inside_a_mapped_page_is_noted_and_goes_on() -> None:
    made = run(
        "IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x160]\nSTG.E [R2.64],R0\nLDG.E R5,[R2.64]",
        ["R5"],
        memory=data_memory(bytes(100)),
        words=pair(DATA),
    )
    assert made.state == "done"
    assert made.registers["R5"] == list(range(32))
    first = made.grid.notes[0]
    assert (first["kind"], first["access"], first["address"]) == ("out_of_bounds", "write", DATA + 100)
    assert (first["thread"], first["size"]) == ((25, 0, 0), 4)
    assert [note["access"] for note in made.grid.notes] == ["write", "read"]


def test_shared_beyond_the_allocation_faults() -> None:
    _, fault = faulting("SHF.L.U32 R4,R0,0x8,RZ\nSTS [R4],R0")
    assert (fault["kind"], fault["lane"], fault["address"]) == ("shared_out_of_range", 16, 4096)
    _, fault = faulting("MOV R4,0x1000000\nLDS R5,[R4]")
    assert fault["kind"] == "shared_out_of_range"  # another CTA of the cluster


def test_local_below_the_stack_is_an_overflow() -> None:
    _, fault = faulting(f"MOV R1,{0x1000000 - LOCAL_BYTES:#x}\nSTL [R1+-0x4],R0")
    assert (fault["kind"], fault["access"]) == ("stack_overflow", "write")


def test_undeclared_instruction_faults_only_when_it_runs() -> None:
    memory = new_memory()
    memory.alloc(DATA, 4096, 4)
    text = [("", "BRA", "0x20"), ("", "NOSUCH.OP", "R1,R2"), ("", "EXIT", "")]
    for entry, state in ((0, "done"), (16, "fault")):
        program = _core.Program(89, DATA, bytes(range(48)), text)
        grid = _core.Grid(
            memory,
            program,
            DATA + entry,
            (1, 1, 1),
            (32, 1, 1),
            16,
            0,
            0,
            [],
            SHARED_WINDOW,
            LOCAL_WINDOW,
            1,
            1,
        )
        assert grid.step(100) == state
    fault = grid.fault
    assert fault is not None
    assert fault["kind"] == "unsupported_instruction"
    assert "NOSUCH.OP R1,R2" in fault["message"]
    assert bytes(range(16, 32)).hex() in fault["message"]
    assert fault["pc"] == 16
