from __future__ import annotations

import io
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from warpath.container.elf import Elf
from warpath.errors import FormatError

CONTAINERS = Path(__file__).resolve().parent.parent / "data" / "containers"

CUBINS = sorted(CONTAINERS.glob("*.cubin"))


@pytest.mark.parametrize("path", [*CUBINS, CONTAINERS / "tour.o"], ids=lambda path: path.name)
def test_sections_and_symbols_equal_pyelftools(path: Path) -> None:
    data = path.read_bytes()
    ours, theirs = Elf(data), ELFFile(io.BytesIO(data))
    sections = list(theirs.iter_sections())
    assert [section.name for section in ours.sections] == [section.name for section in sections]
    for mine, other in zip(ours.sections, sections, strict=True):
        header = other.header
        fields = (mine.flags, mine.offset, mine.size, mine.link, mine.info, mine.alignment, mine.entry_size)
        names = ("sh_flags", "sh_offset", "sh_size", "sh_link", "sh_info", "sh_addralign", "sh_entsize")
        assert fields == tuple(header[name] for name in names)
        if isinstance(header["sh_type"], str):
            assert mine.type == header["sh_type"].removeprefix("SHT_")
        if mine.type not in ("NOBITS", "CUDA_RESERVED_SHARED"):
            assert mine.data == other.data()
    table = theirs.get_section_by_name(".symtab")
    assert [(symbol.name, symbol.value, symbol.size) for symbol in ours.symbols] == [
        (symbol.name, symbol["st_value"], symbol["st_size"]) for symbol in table.iter_symbols()
    ]


def test_header_of_a_cubin() -> None:
    elf = Elf((CONTAINERS / "tour.sm_89.cubin").read_bytes())
    assert (elf.machine, elf.abi) == (190, (0x41, 8))
    assert elf.flags >> 8 & 0xFF == 89


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "starts with nothing"),
        (b"MZ" + bytes(80), "starts with 4d5a0000"),
        (b"\x7fELF\x02\x01", "cut off inside its header"),
        (b"\x7fELF\x01\x01" + bytes(80), "not 64-bit"),
    ],
)
def test_what_is_no_elf_says_so(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Elf(data, "thing")


def test_relocations_name_type_symbol_and_addend() -> None:
    elf = Elf((CONTAINERS / "tour.sm_120.cubin").read_bytes())
    found = {relocation.symbol.name: relocation for relocation in elf.relocations(".nv.constant4")}
    assert {"table", "third", "counter", "vprintf"} <= set(found)
    assert found["vprintf"].type == "R_CUDA_64"
    assert found["vprintf"].symbol.section is None
    (pointer,) = elf.relocations(".nv.global.init")
    assert (pointer.type, pointer.symbol.name, pointer.addend) == ("R_CUDA_G64", "table", 8)
    assert elf.relocations(".text.nothing") == []
