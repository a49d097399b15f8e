"""Which SASS opcode forms (mnemonic with modifiers) the recorded forms execute.

Usage: python -m tests.device.coverage: prints them by mnemonic.
"""

from __future__ import annotations

import json
from collections import defaultdict

from .forms import FAMILIES
from .recording import DATA


def opcodes(family: str) -> dict[str, list[str]]:
    """Form name -> opcodes of its kernel, from the committed manifest."""
    manifest = json.loads((DATA / f"{family}.opcodes.json").read_text())
    return {name: text.split() for name, text in manifest.items()}


def covered() -> dict[str, list[str]]:
    """Opcode with modifiers -> `family/form` names whose kernels hold it."""
    found: dict[str, list[str]] = defaultdict(list)
    for family in FAMILIES:
        for name, row in opcodes(family).items():
            for opcode in row:
                found[opcode].append(f"{family}/{name}")
    return dict(found)


def format_report(found: dict[str, list[str]]) -> str:
    """Totals, then one line a mnemonic with its modifier forms."""
    by_mnemonic: dict[str, list[str]] = defaultdict(list)
    for opcode in sorted(found):
        mnemonic, _, modifiers = opcode.partition(".")
        by_mnemonic[mnemonic].append(modifiers or "-")
    forms = sum(len(opcodes(family)) for family in FAMILIES)
    lines = [f"{forms} recorded forms cover {len(found)} opcode forms of {len(by_mnemonic)} mnemonics"]
    lines += [
        f"  {mnemonic} ({len(rows)}): {' '.join(rows)}" for mnemonic, rows in sorted(by_mnemonic.items())
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(format_report(covered()))
