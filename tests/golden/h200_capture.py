"""Reads the text log of a doorbell interposer back into the words that lay in the ring and the pushbuffer."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

CAPTURE = Path(__file__).parents[1] / "data" / "captures" / "h200-vadd.txt"

_DOORBELL = re.compile(r"\s*[\d.]+ DOORBELL region=\d+ off=([0-9a-f]+) val=([0-9a-f]+)")
_ENTRY = re.compile(r"\s*GP\[(\d+)\]=([0-9a-f]+) ")
_PACKET = re.compile(r"\s*([0-9a-f]{8}) op=\d sub=\d m=[0-9a-f]{4} cnt/imm=[0-9a-f]+ :(.*)")


@dataclass
class Segment:
    """One ring entry: the token that announced it, its index and 8 bytes, and the pushbuffer words."""

    token: int
    index: int
    entry: bytes
    words: list[int] = field(default_factory=list[int])

    @property
    def data(self) -> bytes:
        return struct.pack(f"<{len(self.words)}I", *self.words)


def read(path: Path = CAPTURE) -> list[Segment]:
    """All segments in the order of their doorbells."""
    segments: list[Segment] = []
    token = 0
    for line in path.read_text(encoding="ascii").splitlines():
        if match := _DOORBELL.match(line):
            assert match[1] == "90"
            token = int(match[2], 16)
        elif match := _ENTRY.match(line):
            segments.append(Segment(token, int(match[1]), int(match[2], 16).to_bytes(8, "little")))
        elif match := _PACKET.match(line):
            segments[-1].words += [int(word, 16) for word in (match[1], *match[2].split())]
    return segments
