"""Bit fields, written hi:lo as hardware manuals do, with widths checked on every store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bits:
    """The field hi:lo (inclusive, bit 0 = least significant) of an integer word of any size."""

    hi: int
    lo: int

    def __post_init__(self) -> None:
        if not 0 <= self.lo <= self.hi:
            raise ValueError(f"bit field {self.hi}:{self.lo} is not a range hi:lo")

    @property
    def width(self) -> int:
        """Number of bits."""
        return self.hi - self.lo + 1

    @property
    def mask(self) -> int:
        """All ones of the field's width, not shifted."""
        return (1 << self.width) - 1

    def get(self, word: int) -> int:
        """The field's value in `word`."""
        return (word >> self.lo) & self.mask

    def set(self, word: int, value: int) -> int:
        """`word` with the field replaced; ValueError when `value` does not fit."""
        if not 0 <= value <= self.mask:
            raise ValueError(f"value {value:#x} does not fit in bits {self.hi}:{self.lo} ({self.width} bits)")
        return (word & ~(self.mask << self.lo)) | (value << self.lo)


def get_bits(buffer: bytes | bytearray | memoryview, hi: int, lo: int) -> int:
    """Bits hi:lo of a little-endian structure (bit n lives in byte n // 8); ValueError past its end."""
    first, last = lo >> 3, hi >> 3
    if not 0 <= lo <= hi or last >= len(buffer):
        raise ValueError(f"bits {hi}:{lo} lie past the end of a structure of {len(buffer)} bytes")
    word = int.from_bytes(buffer[first : last + 1], "little")
    return word >> (lo & 7) & ((1 << (hi - lo + 1)) - 1)


def set_bits(buffer: bytearray | memoryview, hi: int, lo: int, value: int) -> None:
    """Store `value` in bits hi:lo of a little-endian structure; ValueError when it does not fit.

    Plain arithmetic, no `Bits`: a QMD is built of dozens of these at every launch.
    """
    first, last = lo >> 3, hi >> 3
    if not 0 <= lo <= hi or last >= len(buffer):
        raise ValueError(f"bits {hi}:{lo} lie past the end of a structure of {len(buffer)} bytes")
    mask = (1 << (hi - lo + 1)) - 1
    if not 0 <= value <= mask:
        raise ValueError(f"value {value:#x} does not fit in bits {hi}:{lo} ({hi - lo + 1} bits)")
    word = int.from_bytes(buffer[first : last + 1], "little")
    word = (word & ~(mask << (lo & 7))) | value << (lo & 7)
    buffer[first : last + 1] = word.to_bytes(last + 1 - first, "little")
