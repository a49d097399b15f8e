"""ELF files as NVIDIA's tools write them: sections, symbols and relocations with NVIDIA's names.

Reads the four fixed structures of 64-bit ELF itself: importing pyelftools costs 60 ms of every run, and it
knows none of NVIDIA's section and relocation types. The tests compare with pyelftools over every cubin.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from warpath.errors import FormatError

EM_CUDA = 190
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_REL, _RELA = struct.Struct("<QQ"), struct.Struct("<QQq")

_NAMES = json.loads((Path(__file__).parent / "data" / "elf.json").read_text())
_SECTION_TYPES: dict[int, str] = {int(key, 16): name for key, name in _NAMES["section_types"].items()}
_RELOCATION_TYPES: list[str] = _NAMES["relocation_types"]
_SYMBOL_KINDS = ("NOTYPE", "OBJECT", "FUNC", "SECTION", "FILE", "COMMON", "TLS")
_BINDINGS = ("LOCAL", "GLOBAL", "WEAK")
_WITHOUT_DATA = frozenset({"NULL", "NOBITS", "CUDA_SHARED", "CUDA_RESERVED_SHARED"})


@dataclass(frozen=True, slots=True)
class Section:
    """One section; `data` is empty for kinds that occupy no file space, whose `size` still counts.

    `type` is as readelf and cuobjdump name it (`PROGBITS`, `CUDA_INFO`), or hex when neither does.
    """

    index: int
    name: str
    type: str
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol; `section` is None when undefined (an external such as vprintf), absolute or common.

    `kind` and `binding` are FUNC, OBJECT, … and LOCAL, GLOBAL, WEAK, or hex. `other` is the whole st_other
    byte, where NVIDIA marks kernels (0x10).
    """

    index: int
    name: str
    value: int
    size: int
    kind: str
    binding: str
    other: int
    section: Section | None


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place to patch: byte `offset` in the section, type name, symbol, addend (None: stored there)."""

    offset: int
    type: str
    symbol: Symbol
    addend: int | None


def _named(names: tuple[str, ...], code: int) -> str:
    return names[code] if code < len(names) else hex(code)


def _text(table: bytes, at: int) -> str | None:
    """The zero-terminated string at `at`, or None when it does not end inside the table."""
    end = table.find(b"\0", at)
    return table[at:end].decode("utf-8", "replace") if 0 <= at <= end else None


@dataclass(frozen=True)
class Elf:
    """A 64-bit little-endian ELF image; `what` names it in errors. Parts are parsed when first asked for."""

    data: bytes = field(repr=False)
    what: str = "ELF file"

    def __post_init__(self) -> None:
        if self.data[:4] != b"\x7fELF":
            raise self.error(f"starts with {self.data[:4].hex() or 'nothing'}, not with 7f454c46 (ELF)")
        if len(self.data) < _HEADER.size:
            raise self.error(f"is cut off inside its header ({len(self.data)} bytes)")
        if self.data[4:6] != b"\x02\x01":
            raise self.error("is not 64-bit little-endian, the only kind CUDA makes")

    def error(self, message: str) -> FormatError:
        """A FormatError about this file."""
        return FormatError(f"{self.what} {message}")

    @property
    def abi(self) -> tuple[int, int]:
        """(OSABI, ABI version) bytes of the identification."""
        return self.data[7], self.data[8]

    @cached_property
    def _header(self) -> tuple[int, ...]:
        return _HEADER.unpack_from(self.data)[1:]

    @property
    def machine(self) -> int:
        """e_machine: 190 for GPU code."""
        return self._header[1]

    @property
    def flags(self) -> int:
        """e_flags."""
        return self._header[6]

    @cached_property
    def sections(self) -> list[Section]:
        """Every section, in file order, index 0 included."""
        table, (entry, count, names_index) = self._header[5], self._header[10:13]
        if table == 0 or count == 0:
            raise self.error("has no section table")
        if entry != _SECTION.size or table + entry * count > len(self.data):
            raise self.error(f"is cut off: {count} section headers of {entry} bytes at {table:#x}")
        headers = list(_SECTION.iter_unpack(self.data[table : table + entry * count]))
        if names_index >= count:
            raise self.error(f"takes section names from section {names_index} of {count}")
        offset, size = headers[names_index][4:6]
        names = self.data[offset : offset + size]
        return [self._section(index, header, names) for index, header in enumerate(headers)]

    def _section(self, index: int, header: tuple[int, ...], names: bytes) -> Section:
        name_at, code, flags, _, offset, size, link, info, alignment, entry = header
        name = _text(names, name_at)
        if name is None:
            raise self.error(f"has section {index} with its name outside the name table")
        kind = _SECTION_TYPES.get(code, hex(code))
        stored = 0 if kind in _WITHOUT_DATA else size
        if stored and offset + stored > len(self.data):
            raise self.error(f"is cut off: section {name} ends at {offset + size:#x} of {len(self.data):#x}")
        data = self.data[offset : offset + stored]
        return Section(index, name, kind, flags, offset, size, link, info, alignment, entry, data)

    @cached_property
    def _by_name(self) -> dict[str, Section]:
        return {section.name: section for section in reversed(self.sections)}

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return self._by_name.get(name)

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The symbol table, in order; empty without one."""
        table = next((section for section in self.sections if section.type == "SYMTAB"), None)
        if table is None:
            return []
        if table.entry_size != _SYMBOL.size or table.size % _SYMBOL.size or table.link >= len(self.sections):
            raise self.error(f"has a malformed symbol table: {table.size} bytes by {table.entry_size}")
        names = self.sections[table.link].data
        return [self._symbol(index, raw, names) for index, raw in enumerate(_SYMBOL.iter_unpack(table.data))]

    def _symbol(self, index: int, raw: tuple[int, ...], names: bytes) -> Symbol:
        name_at, info, other, place, value, size = raw
        name = _text(names, name_at)
        if name is None or len(self.sections) <= place < 0xFF00:
            raise self.error(f"has symbol {index} with its name or section outside the file")
        section = self.sections[place] if 0 < place < 0xFF00 else None
        kind, binding = _named(_SYMBOL_KINDS, info & 15), _named(_BINDINGS, info >> 4)
        return Symbol(index, name, value, size, kind, binding, other, section)

    def relocations(self, section: str) -> list[Relocation]:
        """What must be patched in the named section (`.text.k`), from its .rel and then its .rela section."""
        tables = (self.section(f".rel{section}"), self.section(f".rela{section}"))
        return [found for table in tables if table is not None for found in self._relocations(table)]

    def _relocations(self, table: Section) -> Iterator[Relocation]:
        form = {"REL": _REL, "RELA": _RELA}.get(table.type)
        if form is None or table.size % form.size or table.info >= len(self.sections):
            raise self.error(f"has malformed relocations in {table.name}: {table.type}, {table.size} bytes")
        limit = self.sections[table.info].size
        entries: Iterator[tuple[int, ...]] = form.iter_unpack(table.data)
        for entry in entries:
            offset, symbol, code = entry[0], entry[1] >> 32, entry[1] & 0xFFFFFFFF
            if offset >= limit or symbol >= len(self.symbols):
                raise self.error(f"has a relocation in {table.name} outside its section or symbol table")
            kind = _RELOCATION_TYPES[code] if code < len(_RELOCATION_TYPES) else hex(code)
            yield Relocation(offset, kind, self.symbols[symbol], entry[2] if form is _RELA else None)
