"""Ring (GPFIFO) entries and the USERD words that say how far producer and consumer are.

An entry is two dwords. Entry 0: bit 0 FETCH (conditional), 31:2 address bits 31:2. Entry 1: 7:0 address
bits 39:32, 9 LEVEL (subroutine), 30:10 length in dwords, 31 SYNC (wait). Length 0 makes a control entry:
opcode in entry 1 bits 7:0 and operand in entry 0. Source: NVIDIA open-gpu-doc classes/host/clc86f.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from warpath.bits import Bits
from warpath.errors import FormatError

ENTRY_BYTES = 8
USERD_BYTES = 512
USERD_GP_GET = 0x88  # index of the next entry the GPU will fetch; written by the GPU, may be stale
USERD_GP_PUT = 0x8C  # index after the last valid entry; written by the driver

_FETCH = Bits(0, 0)
_RESERVED0 = Bits(1, 1)
_GET = Bits(31, 2)
_GET_HI = Bits(7, 0)
_RESERVED1 = Bits(8, 8)
_LEVEL = Bits(9, 9)
_LENGTH = Bits(30, 10)
_SYNC = Bits(31, 31)
_OPCODE = Bits(7, 0)

MAX_DWORDS = _LENGTH.mask
MAX_VA = 1 << 40


class Opcode(IntEnum):
    """What a control entry asks for."""

    NOP = 0
    ILLEGAL = 1
    GP_CRC = 2
    PB_CRC = 3
    SET_PB_SEGMENT_EXTENDED_BASE = 4


_OPCODE_NAMES = {opcode.value: opcode.name for opcode in Opcode}


@dataclass(frozen=True, slots=True)
class Entry:
    """A segment of the pushbuffer: `dwords` dwords at GPU address `va` (4-byte aligned, below 2**40)."""

    va: int
    dwords: int
    subroutine: bool = True
    wait: bool = False
    conditional: bool = False

    def to_bytes(self) -> bytes:
        """The 8 bytes in the ring; ValueError when address or length do not fit."""
        if self.va % 4 or not 0 <= self.va < MAX_VA or not 0 < self.dwords <= MAX_DWORDS:
            raise ValueError(f"no ring entry can hold {self.dwords} dwords at {self.va:#x}")
        first = _FETCH.set(_GET.set(0, (self.va & 0xFFFFFFFF) >> 2), int(self.conditional))
        second = _LENGTH.set(_GET_HI.set(0, self.va >> 32), self.dwords)
        second = _SYNC.set(_LEVEL.set(second, int(self.subroutine)), int(self.wait))
        return struct.pack("<II", first, second)


@dataclass(frozen=True, slots=True)
class ControlEntry:
    """An entry without a segment."""

    opcode: int
    operand: int = 0

    @property
    def name(self) -> str:
        """The opcode's name, or `unknown`."""
        return _OPCODE_NAMES.get(self.opcode, "unknown")

    def to_bytes(self) -> bytes:
        """The 8 bytes in the ring."""
        return struct.pack("<II", self.operand, _OPCODE.set(0, self.opcode))


def decode(data: bytes | memoryview) -> Entry | ControlEntry:
    """Decode 8 bytes of a ring; FormatError for another size or when a reserved bit is set."""
    if len(data) != ENTRY_BYTES:
        raise FormatError(f"a ring entry is {ENTRY_BYTES} bytes, not {len(data)}")
    first, second = struct.unpack("<II", data)
    dwords = _LENGTH.get(second)
    if dwords == 0:
        opcode = _OPCODE.get(second)
        if second != opcode:
            raise FormatError(f"ring control entry {second:#010x}_{first:08x} sets bits outside its opcode")
        return ControlEntry(opcode, first)
    if _RESERVED0.get(first) or _RESERVED1.get(second):
        raise FormatError(f"ring entry {second:#010x}_{first:08x} sets a reserved bit")
    va = _GET_HI.get(second) << 32 | _GET.get(first) << 2
    flags = (bool(_LEVEL.get(second)), bool(_SYNC.get(second)), bool(_FETCH.get(first)))
    return Entry(va, dwords, *flags)
