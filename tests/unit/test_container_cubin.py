from __future__ import annotations

from pathlib import Path

import pytest

from warpath.container import eiattr, relocations
from warpath.container.cubin import Cubin
from warpath.container.elf import Elf
from warpath.container.lines import line_rows
from warpath.errors import FormatError, UnsupportedError

CONTAINERS = Path(__file__).resolve().parent.parent / "data" / "containers"

CALLS, SCALE, CHOOSE = "_Z5callsPii", "_Z5scaleIfLi3EEvPT_PKS0_6float3", "_Z6choosePii"


def tour(sm: int) -> Cubin:
    return Cubin((CONTAINERS / f"tour.sm_{sm}.cubin").read_bytes(), f"tour.sm_{sm}")


def line_of(text: str) -> int:
    lines = (CONTAINERS / "tour.cu").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("sm", [75, 89, 120])
def test_kernels(sm: int) -> None:
    cubin = tour(sm)
    assert cubin.sm == sm
    assert set(cubin.kernels) == {CALLS, SCALE, CHOOSE}
    scale = cubin.kernels[SCALE]
    assert scale.demangled == "void scale<float, 3>(float *, const float *, float3)"
    assert [(param.index, param.offset, param.size) for param in scale.params] == [
        (0, 0, 8),
        (1, 8, 8),
        (2, 16, 12),
    ]
    assert scale.param_size == 28
    assert scale.max_threads == (128, 1, 1)
    assert scale.required_threads is None
    assert scale.barriers == 0
    assert len(scale.code) % 16 == 0
    assert scale.param_base == {75: 0x160, 89: 0x160, 120: 0x380}[sm]
    calls = cubin.kernels[CALLS]
    assert calls.static_shared == 128
    assert calls.barriers == 1
    assert calls.min_stack is None  # fibonacci recurses
    assert 0 in calls.constants
    assert 3 in calls.constants
    assert len(calls.constants[0].data) == calls.param_base + calls.param_size


def test_registers_equal_the_ones_in_the_section_header() -> None:
    cubin = tour(89)
    for kernel in cubin.kernels.values():
        section = cubin.elf.section(kernel.section)
        assert section is not None
        assert kernel.registers == section.info >> 24 > 0


def test_functions_globals_and_externals() -> None:
    cubin = tour(89)
    names = {function.name for function in cubin.functions.values() if not function.is_kernel}
    assert {f"${CALLS}$_Z5twicei", f"${CALLS}$_Z9fibonaccii"} <= names
    assert cubin.externals == ["vprintf"]
    table = cubin.globals["table"]
    assert (table.section, table.size) == (".nv.global.init", 16)
    section = cubin.elf.section(table.section)
    assert section is not None
    assert section.data[table.offset : table.offset + 16] == bytes.fromhex("01000000020000000300000004000000")
    assert cubin.globals["counter"].section == ".nv.global"
    assert cubin.globals["coefficients"].section == ".nv.constant3"


def test_stored_addends_are_read() -> None:
    cubin = tour(89)
    assert all(relocation.addend is not None for relocation in cubin.relocations(".nv.constant4"))
    assert cubin.relocations(".no.such.section") == []


@pytest.mark.parametrize("sm", [75, 89, 120])
def test_line_table_points_into_the_source(sm: int) -> None:
    cubin = tour(sm)
    rows = cubin.line_table(f".text.{SCALE}")
    assert rows[0].pc == 0
    assert [row.pc for row in rows] == sorted({row.pc for row in rows})
    assert {row.file for row in rows} == {"/example/tour.cu"}
    assert line_of("in[threadIdx.x] * by.y") in {row.line for row in rows}
    assert cubin.line_table(".text.nothing") == []


def test_older_cubins_keep_the_architecture_in_the_low_byte() -> None:
    data = bytearray((CONTAINERS / "tour.sm_89.cubin").read_bytes())
    data[7] = 0x33
    data[48:52] = (0x00590559).to_bytes(4, "little")
    assert Cubin(bytes(data)).sm == 0x59


def test_the_architecture_of_the_ptx_is_read_from_the_note() -> None:
    data = bytearray((CONTAINERS / "tour.sm_89.cubin").read_bytes())
    assert Cubin(bytes(data)).virtual_sm == 89
    note = Cubin(bytes(data)).elf.section(".note.nv.cuinfo")
    assert note is not None
    content = note.offset + 24  # three words and the name "NVIDIA Corp"
    data[content + 2 : content + 4] = (80).to_bytes(2, "little")
    assert Cubin(bytes(data)).virtual_sm == 80
    data[note.offset + 4 : note.offset + 8] = bytes(4)
    with pytest.raises(FormatError, match=r"\.note\.nv\.cuinfo"):
        Cubin(bytes(data)).virtual_sm  # noqa: B018


def test_a_host_object_is_no_cubin() -> None:
    with pytest.raises(FormatError, match="for ELF machine 62, not for CUDA"):
        Cubin((CONTAINERS / "tour.o").read_bytes())


def test_attribute_formats() -> None:
    data = bytes.fromhex("013d0000024c0200031bff0004fe0300aabbcc")
    found = eiattr.parse(data, "test")
    assert [(attribute.name, attribute.format, attribute.value.hex()) for attribute in found] == [
        ("CTA_PER_CLUSTER", "NVAL", ""),
        ("NUM_BARRIERS", "BVAL", "02"),
        ("MAXREG_COUNT", "HVAL", "ff00"),
        ("0xfe", "SVAL", "aabbcc"),
    ]


@pytest.mark.parametrize("data", ["01", "091b0000", "04170c0000"])
def test_bad_attributes(data: str) -> None:
    with pytest.raises(FormatError, match="test: "):
        eiattr.parse(bytes.fromhex(data), "test")


@pytest.mark.parametrize(
    ("name", "expected"), [("KPARAM_INFO", (2, 16, 4)), ("KPARAM_INFO_V2", (2, 16, 0xF000))]
)
def test_both_parameter_records(name: str, expected: tuple[int, int, int]) -> None:
    attribute = eiattr.Attribute(name, 0, "SVAL", bytes.fromhex("000000000200100000f01100"))
    assert tuple(eiattr.kernel_parameter(attribute, "test")) == expected


@pytest.mark.parametrize(
    ("kind", "value", "patched"),
    [
        ("R_CUDA_64", 0x1122334455667788, "8877665544332211" + "00" * 8),
        ("R_CUDA_ABS32_LO_32", 0x1122334455667788, "00" * 4 + "88776655" + "00" * 8),
        ("R_CUDA_ABS32_HI_32", 0x1122334455667788, "00" * 4 + "44332211" + "00" * 8),
        ("R_CUDA_8_16", 0x1122334455667788, "66" + "00" * 15),
        ("R_CUDA_ABS16_32", 0xBEEF, "00" * 4 + "efbe" + "00" * 10),
    ],
)
def test_relocation_fields(kind: str, value: int, patched: str) -> None:
    place = bytearray(16)
    relocations.apply(place, 0, kind, value)
    assert place.hex() == patched
    assert relocations.stored_addend(place, 0, kind) & value == relocations.stored_addend(place, 0, kind)


def test_relocation_limits() -> None:
    with pytest.raises(UnsupportedError, match="R_CUDA_TEX_SLOT"):
        relocations.apply(bytearray(16), 0, "R_CUDA_TEX_SLOT", 0)
    with pytest.raises(ValueError, match="past the end"):
        relocations.apply(bytearray(8), 4, "R_CUDA_64", 0)
    place = bytearray(b"\xff" * 16)
    relocations.apply(place, 0, "R_CUDA_UNUSED_CLEAR64", 0)
    relocations.apply(place, 8, "R_CUDA_NONE", 5)
    assert place.hex() == "00" * 8 + "ff" * 8


def test_line_program_errors_name_the_place() -> None:
    with pytest.raises(FormatError, match="x: DWARF line version 9"):
        line_rows(bytes.fromhex("06000000090000000000"), "x")
    with pytest.raises(FormatError, match="claims 255 bytes"):
        line_rows(bytes.fromhex("ff0000000300"), "x")


def line_program(*operations: str) -> bytes:
    """A unit of version 2 with the file a.cu, and these operations."""
    tables = bytes.fromhex("01 01 fb 0e 0a 000101010100000001 00") + b"a.cu" + bytes(5)
    program = bytes.fromhex("00 09 02 0000000000000000" + " ".join(operations))
    unit = (2).to_bytes(2, "little") + len(tables).to_bytes(4, "little") + tables + program
    return len(unit).to_bytes(4, "little") + unit


def test_rows_say_where_they_were_inlined() -> None:
    copy, next_line, inlined = "01", "03 01", "00 03 90 0{} 00"
    data = line_program(copy, next_line, inlined.format(1), copy, next_line, inlined.format(2), copy)
    assert [(row.line, row.inlined) for _, row in line_rows(data)] == [
        (1, ()),
        (2, (("a.cu", 1),)),
        (3, (("a.cu", 2), ("a.cu", 1))),
    ]
    with pytest.raises(FormatError, match="inlined at row 3 of 1"):
        line_rows(line_program(copy, inlined.format(3), copy))


def test_every_section_type_of_the_newest_cubin_has_a_name() -> None:
    elf = Elf((CONTAINERS / "tour.sm_120.cubin").read_bytes())
    unnamed = {section.name for section in elf.sections if section.type.startswith("0x")}
    assert all(name.startswith((".nv.merc", ".nv.capmerc")) for name in unnamed)
