"""Which opcodes NVIDIA's compilers were seen to emit: the yardstick of the coverage report."""

from __future__ import annotations

import json
from pathlib import Path

_SEEN = Path(__file__).parent / "data" / "seen.json"


def seen_opcodes() -> dict[str, int]:
    """Mnemonic to static instruction count over the programs and generations named in the data file."""
    document: dict[str, dict[str, int]] = json.loads(_SEEN.read_text())
    return document["opcodes"]
