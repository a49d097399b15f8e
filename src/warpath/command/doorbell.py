"""The doorbell: the work-submit token that a driver stores to wake the host engine up for one channel.

The register lies at offset 0x90 of the usermode region. The token holds the channel id in bits 11:0 and the
runlist in 22:16; from BLACKWELL_USERMODE_A (0xc761) on bit 30 enables the doorbell. Source: NVIDIA
open-gpu-kernel-modules 595.45.04, kernel_fifo_{tu102,ga100,gb100,gb202}.c; the H200 capture shows
0x0000000a, 0x00010012, 0x000a001a.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpath.bits import Bits
from warpath.errors import FormatError

DOORBELL_OFFSET = 0x90
USERMODE_BYTES = 0x10000

_CHANNEL = Bits(11, 0)
_RUNLIST = Bits(22, 16)
_ENABLE = Bits(30, 30)
_ENABLE_SINCE = 0xC761  # first usermode class whose token has an enable bit


@dataclass(frozen=True, slots=True)
class Token:
    """A channel of a runlist."""

    channel: int
    runlist: int

    def encode(self, usermode_class: int) -> int:
        """The 32-bit value to store in the doorbell; ValueError when a part does not fit."""
        word = _RUNLIST.set(_CHANNEL.set(0, self.channel), self.runlist)
        return _ENABLE.set(word, 1) if usermode_class >= _ENABLE_SINCE else word

    @classmethod
    def decode(cls, value: int, usermode_class: int) -> Token:
        """Take a doorbell value apart; FormatError when it has bits that no token of this class has."""
        token = cls(_CHANNEL.get(value), _RUNLIST.get(value))
        if token.encode(usermode_class) != value:
            raise FormatError(
                f"doorbell value {value:#x} is no token of usermode class {usermode_class:#06x}"
            )
        return token
