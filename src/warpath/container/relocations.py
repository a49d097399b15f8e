"""Where each R_CUDA_* relocation stores its value, and the act of storing it.

The layout follows the name: `ABS32_HI_32` is bits 63:32 of the value at bit 32 of the instruction, `8_16` the
byte at bit 16 of the value, `ABS47_34` a code address in units of 4 bytes at bit 34. The value is symbol +
addend for all of them; `FUNC_DESC` and `UNIFIED` ask for a function's address, `G` for a generic address,
which on these GPUs is the same number.
"""

from __future__ import annotations

import json
from pathlib import Path

from warpath.bits import get_bits, set_bits
from warpath.errors import UnsupportedError

_TABLE = json.loads((Path(__file__).parent / "data" / "elf.json").read_text())
_FIELDS: dict[str, list[tuple[int, int, int]]] = {
    name: [(bit, width, shift) for bit, width, shift in fields]
    for name, fields in _TABLE["relocation_fields"].items()
}
_CLEAR = {"R_CUDA_UNUSED_CLEAR32": 4, "R_CUDA_UNUSED_CLEAR64": 8}


def is_supported(kind: str) -> bool:
    """Whether `apply` and `stored_addend` know the kind."""
    return kind in _FIELDS or kind in _CLEAR or kind == "R_CUDA_NONE"


def _fields(kind: str) -> list[tuple[int, int, int]]:
    if kind not in _FIELDS:
        raise UnsupportedError(f"relocation {kind} is not supported: link the object with nvlink first")
    return _FIELDS[kind]


def stored_addend(section: bytes | bytearray, offset: int, kind: str) -> int:
    """The addend that a REL relocation keeps in place: the bits of the value that its field holds."""
    if kind in _CLEAR or kind == "R_CUDA_NONE":
        return 0
    place = memoryview(section)[offset:]
    value = 0
    for bit, width, shift in _fields(kind):
        value |= get_bits(place, bit + width - 1, bit) << shift
    return value


def apply(section: bytearray, offset: int, kind: str, value: int) -> None:
    """Store `value` (symbol + addend) at `offset`; ValueError past the end, UnsupportedError if unknown."""
    if kind == "R_CUDA_NONE":
        return
    if kind in _CLEAR:
        section[offset : offset + _CLEAR[kind]] = bytes(_CLEAR[kind])
        return
    place = memoryview(section)[offset:]
    for bit, width, shift in _fields(kind):
        set_bits(place, bit + width - 1, bit, (value >> shift) & ((1 << width) - 1))
