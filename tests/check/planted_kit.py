"""Planted faults and their healthy twins: which there are, how they are run, what was found."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.smoke.programs import BOARDS, build_for, warpath

PLANTED = Path(__file__).parent / "planted"
SILENT = ("memory", "heap", "races", "sync_init")  # programs whose kernels all run to their end
FATAL = [
    *(("shared", width) for width in ("1", "2", "4", "8", "16")),
    *(("misaligned", width) for width in ("2", "4", "8", "16")),
    *((kind, "0") for kind in ("host", "null", "far", "local", "trap", "double_free", "invalid_free")),
]
FATAL_KINDS = {
    "shared": "shared_out_of_range",
    "misaligned": "misaligned_address",
    "host": "illegal_address",
    "null": "illegal_address",
    "far": "illegal_address",
    "local": "stack_overflow local_out_of_range illegal_address",
    "trap": "trap",
    "double_free": "device_double_free",
    "invalid_free": "device_invalid_free",
}
_BAD = re.compile(r"\btrue>")


@dataclass(frozen=True)
class Checked:
    """What `warpath check` said of a program: faults as JSON has them, kernels that ran, exit code, stderr."""

    faults: Sequence[dict[str, Any]]
    kernels: Sequence[str]
    code: int
    stderr: str


def check(
    source: Path, generation: int, report: Path, *arguments: str, options: Sequence[str] = ()
) -> Checked:
    """Build the program for the generation and run it under `warpath check`."""
    program = build_for([source], [generation])
    outcome = warpath(
        "check", "--gpu", BOARDS[generation], "--json", report, *options, program, "--", *arguments
    )
    found = json.loads(report.read_text())
    return Checked(
        found["faults"], [launch["kernel"] for launch in found["launches"]], outcome.code, outcome.stderr
    )


def split(kernels: Sequence[str]) -> tuple[set[str], set[str]]:
    """(kernels with a fault, healthy twins)."""
    bad = {kernel for kernel in kernels if _BAD.search(kernel)}
    return bad, set(kernels) - bad


def tally(checked: Checked) -> Counter[str]:
    """planted, found, missed, twins, false."""
    bad, good = split(checked.kernels)
    reported = {fault["kernel"] for fault in checked.faults}
    return Counter(
        planted=len(bad),
        found=len(bad & reported),
        missed=len(bad - reported),
        twins=len(good),
        false=len(good & reported),
    )
