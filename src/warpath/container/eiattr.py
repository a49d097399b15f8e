"""EIATTR records: the attributes of kernels and modules in `.nv.info*` sections.

A record is `u8 format, u8 number`, then for NVAL two unused bytes, BVAL a byte and a pad, HVAL a u16,
SVAL a u16 length and that many bytes.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import NamedTuple

from warpath.errors import FormatError

_TABLE = json.loads((Path(__file__).parent / "data" / "eiattr.json").read_text())
_NAMES: dict[int, str] = {int(number, 16): name for number, name in _TABLE["attributes"].items()}
_FORMATS = {1: "NVAL", 2: "BVAL", 3: "HVAL", 4: "SVAL"}


class Attribute(NamedTuple):
    """One record; an unknown number is named in hex (`0x5f`) and kept. `value` is empty for NVAL."""

    name: str
    number: int
    format: str
    value: bytes

    @property
    def integer(self) -> int:
        """The value as one little-endian number."""
        return int.from_bytes(self.value, "little")

    @property
    def words(self) -> tuple[int, ...]:
        """The value as 32-bit words; a ragged tail is left out."""
        return struct.unpack_from(f"<{len(self.value) // 4}I", self.value)


class KernelParameter(NamedTuple):
    """A KPARAM_INFO or KPARAM_INFO_V2 record: ordinal, byte offset in the parameter block, bytes."""

    ordinal: int
    offset: int
    size: int


def parse(data: bytes, where: str) -> list[Attribute]:
    """All records of a section; FormatError names `where` and the offset of a bad one."""
    found: list[Attribute] = []
    at = 0
    while at < len(data):
        if at + 4 > len(data):
            raise FormatError(f"{where}: attribute record at {at:#x} is cut off")
        form, number = data[at], data[at + 1]
        size = int.from_bytes(data[at + 2 : at + 4], "little")
        if form not in _FORMATS:
            raise FormatError(f"{where}: attribute record at {at:#x} has format {form}, expected 1 to 4")
        name = _NAMES.get(number, hex(number))
        if form == 4:
            if at + 4 + size > len(data):
                raise FormatError(f"{where}: {name} at {at:#x} claims {size} bytes past the section's end")
            value = data[at + 4 : at + 4 + size]
        else:
            value = (b"", data[at + 2 : at + 3], data[at + 2 : at + 4])[form - 1]
        found.append(Attribute(name, number, _FORMATS[form], value))
        at += 4 + (size if form == 4 else 0)
    return found


def kernel_parameter(attribute: Attribute, where: str) -> KernelParameter:
    """Decode a parameter record: index u32, ordinal u16, offset u16, then the size (see below)."""
    if len(attribute.value) < 12:
        raise FormatError(f"{where}: {attribute.name} has {len(attribute.value)} bytes, expected 12")
    _, ordinal, offset, packed = struct.unpack_from("<IHHI", attribute.value)
    # First form: log2 alignment 7:0, space 11:8, bank 17:12, size 31:18. Second: size 15:0, the rest above.
    return KernelParameter(
        ordinal, offset, packed & 0xFFFF if attribute.name == "KPARAM_INFO_V2" else packed >> 18
    )
