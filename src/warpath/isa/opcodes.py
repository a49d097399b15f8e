"""Opcodes as text: what they say of themselves, and which ones NVIDIA's compilers were seen to emit."""

from __future__ import annotations

import json
from pathlib import Path

_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_SEEN = Path(__file__).parent / "data" / "seen.json"


def seen_opcodes() -> dict[str, int]:
    """Mnemonic to static instruction count over the programs and generations named in the data file."""
    document: dict[str, dict[str, int]] = json.loads(_SEEN.read_text())
    return document["opcodes"]


def opcode_of(sass: str) -> str:
    """The opcode with modifiers, without guard and operands."""
    words = sass.split()
    return words[1] if words and words[0].startswith("@") and len(words) > 1 else words[0] if words else ""


def width(opcode: str) -> int:
    """Bytes per lane of a memory opcode: `LDG.E.64` is 8, no suffix 4."""
    return next((_WIDTHS[part] for part in opcode.split(".")[1:] if part in _WIDTHS), 4)
