"""Fat binaries: the containers that hold a program's cubins and PTX, one member per target.

Layout (little-endian), found by feeding `fatbinary` known inputs:
header  u32 magic 0xBA55ED50, u16 version, u16 header bytes, u64 bytes of members that follow
member  u16 kind (1 PTX, 2 ELF), u16 version, u32 header bytes, u64 stored bytes (padded to 8),
        u32 compressed bytes, u32 options offset, u16 minor, u16 major (of PTX or cubin), u32 sm, u32 name
        offset, u32 name bytes, u64 flags, u64 zero, u64 uncompressed bytes, then the name and options, then
        the payload
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from warpath.container.elf import Elf
from warpath.errors import FormatError, UnsupportedError

WRAPPER_MAGIC = 0x466243B1
MAGIC = 0xBA55ED50
KINDS = {1: "ptx", 2: "elf"}
FLAG_DEBUG, FLAG_LZ4, FLAG_ZSTD, FLAG_ARCH_SPECIFIC, FLAG_FAMILY = 0x2, 0x2000, 0x8000, 0x100000, 0x200000
MAX_PAYLOAD = 1 << 30  # bytes; a member that claims more is taken for damage
_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_MEMBER = struct.Struct("<HHIQIIHHIIIQQQ")


@dataclass(frozen=True)
class Member:
    """One image: `kind` ptx, elf or a hex number, for `sm`; `version` of the PTX language or cubin format.

    `suffix` is "a" for code that runs only on exactly `sm`, "f" for its family, else "".
    `flags` are as stored; `identifier` is the source file's name when recorded.
    """

    kind: str
    sm: int
    version: tuple[int, int]
    flags: int
    identifier: str
    stored: bytes = field(repr=False)
    uncompressed_bytes: int

    @property
    def suffix(self) -> str:
        """Architecture suffix."""
        return "a" if self.flags & FLAG_ARCH_SPECIFIC else "f" if self.flags & FLAG_FAMILY else ""

    @property
    def compressed(self) -> str:
        """`zstd`, `lz4` or ""."""
        return "zstd" if self.flags & FLAG_ZSTD else "lz4" if self.flags & FLAG_LZ4 else ""

    def payload(self) -> bytes:
        """The image itself, decompressed; padding after PTX text is removed."""
        data = _decompress(self.compressed, self.stored, self.uncompressed_bytes)
        return data.rstrip(b"\0") if self.kind == "ptx" else data


def _decompress(method: str, stored: bytes, size: int) -> bytes:
    """The image of a member; the size is checked first, so that damage costs no memory."""
    if not method:
        return stored
    # LZ4 expands at most 255 times; a zstd frame states its size.
    limit = MAX_PAYLOAD if method == "zstd" else min(MAX_PAYLOAD, 255 * len(stored) + 64)
    if size > limit:
        raise FormatError(f"fat binary member claims {size} bytes uncompressed ({method}), more than {limit}")
    try:
        data = _unzstd(stored, size) if method == "zstd" else _unlz4(stored, size)
    except Exception as error:  # each library has its own error types
        raise FormatError(f"fat binary member does not decompress ({method}): {error}") from error
    if len(data) != size:
        raise FormatError(
            f"fat binary member decompresses to {len(data)} bytes, header says {size} ({method})"
        )
    return data


def _unzstd(stored: bytes, size: int) -> bytes:
    import zstandard  # 20 ms, and many programs need none

    if zstandard.frame_content_size(stored) not in (-1, size):
        raise ValueError(f"its frame does not hold the {size} bytes its header says")
    return zstandard.ZstdDecompressor().decompress(stored, max_output_size=size)


def _unlz4(stored: bytes, size: int) -> bytes:
    block: Any = import_module("lz4.block")  # imported late like zstandard; it has no types
    return block.decompress(stored, uncompressed_size=size)


@dataclass(frozen=True)
class Fatbin:
    """The members of one fat binary, in file order."""

    members: list[Member]

    @staticmethod
    def parse(data: bytes | memoryview, where: str = "fat binary") -> Fatbin:
        """One fat binary at the start of `data`; what follows it is ignored."""
        return _parse_one(bytes(data), 0, where)[0]

    def elfs(self) -> list[Member]:
        """The cubins."""
        return [member for member in self.members if member.kind == "elf"]

    def ptxs(self) -> list[Member]:
        """The PTX texts."""
        return [member for member in self.members if member.kind == "ptx"]


def header_bytes(data: bytes | memoryview) -> int:
    """Total bytes of the fat binary whose 16-byte header starts `data`: what a loader must read."""
    if len(data) < 16:
        raise FormatError(f"fat binary header is cut off ({len(data)} bytes)")
    magic, _, header, size = struct.unpack_from("<IHHQ", data)
    if magic != MAGIC:
        raise FormatError(f"fat binary starts with {magic:#010x}, expected {MAGIC:#010x}")
    if header < 16:
        raise FormatError(f"fat binary header claims {header} bytes, expected 16 or more")
    return header + size


def wrapper_target(data: bytes | memoryview) -> int:
    """The address of the fat binary in a `__fatBinC_Wrapper_t` (u32 magic, u32 version, pointers)."""
    if len(data) < 16:
        raise FormatError(f"fat binary wrapper is cut off ({len(data)} bytes)")
    magic, _, address = struct.unpack_from("<IIQ", data)
    if magic != WRAPPER_MAGIC:
        raise FormatError(f"fat binary wrapper starts with {magic:#010x}, expected {WRAPPER_MAGIC:#010x}")
    return address


def from_elf(data: bytes, what: str = "program") -> list[Fatbin]:
    """The fat binaries of a host object or program; empty when it has none.

    Those that run are in `.nv_fatbin`. An object whose device code is not linked yet (`nvcc -dc`) has none
    there; then its relocatable ones are returned.
    """
    elf = Elf(data, what)
    for name in _SECTIONS:
        sections = [section for section in elf.sections if section.name == name]
        found = [fatbin for each in sections for fatbin in parse_all(each.data, f"{what}: {name}")]
        if found:
            return found
    return []


def parse_all(data: bytes, where: str) -> Iterator[Fatbin]:
    """Fat binaries one after another, each on an 8-byte boundary, as the linker joins them in a section."""
    at = 0
    while at < len(data):
        if data[at : at + 8].strip(b"\0") == b"":
            at += 8
            continue
        fatbin, at = _parse_one(data, at, where)
        at = (at + 7) & ~7
        yield fatbin


def _parse_one(data: bytes, at: int, where: str) -> tuple[Fatbin, int]:
    try:
        total = header_bytes(data[at : at + 16])
    except FormatError as error:
        raise FormatError(f"{where} at {at:#x}: {error}") from error
    end = at + total
    if end > len(data):
        raise FormatError(f"{where} at {at:#x}: claims {total} bytes, {len(data) - at} present")
    members: list[Member] = []
    at += int.from_bytes(data[at + 6 : at + 8], "little")
    while at < end:
        member, at = _member(data, at, end, where)
        members.append(member)
    return Fatbin(members), end


def _member(data: bytes, at: int, end: int, where: str) -> tuple[Member, int]:
    if at + _MEMBER.size > end:
        raise FormatError(f"{where}: member header at {at:#x} is cut off")
    kind, version, header, size, packed, _, minor, major, sm, name_at, name_size, flags, _, full = (
        _MEMBER.unpack_from(data, at)
    )
    if version >> 8 != 1:
        raise UnsupportedError(f"{where}: member at {at:#x} has version {version:#x}; 0x1xx is known")
    if header < _MEMBER.size or at + header + size > end:
        raise FormatError(f"{where}: member at {at:#x} claims {header}+{size} bytes, {end - at} present")
    if name_at + name_size > header or (flags & (FLAG_LZ4 | FLAG_ZSTD) and packed > size):
        raise FormatError(f"{where}: member at {at:#x} has a field outside its {header}+{size} bytes")
    name = data[at + name_at : at + name_at + name_size].decode("utf-8", "replace")
    body = at + header
    stored = data[body : body + (packed if flags & (FLAG_LZ4 | FLAG_ZSTD) else size)]
    kind_name = KINDS.get(kind, hex(kind))
    return Member(kind_name, sm, (major, minor), flags, name, stored, full or len(stored)), body + size
