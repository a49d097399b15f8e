"""Prints the table of planted faults in docs/checking.md: `python -m tests.check.table`."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.check.planted_kit import PLANTED, SILENT, check, tally
from tests.smoke.programs import BOARDS

COLUMNS = ("planted", "found", "missed", "twins", "false")


def row(generation: int, folder: Path) -> str:
    """One generation."""
    total: Counter[str] = Counter()
    for name in SILENT:
        total += tally(check(PLANTED / f"{name}.cu", generation, folder / "report.json"))
    return f"| sm_{generation} | " + " | ".join(str(total[column]) for column in COLUMNS) + " |"


def main() -> int:
    """The table in Markdown."""
    print("| generation | " + " | ".join(COLUMNS) + " |\n|---|" + "---|" * len(COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        for generation in BOARDS:
            print(row(generation, Path(folder)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
