"""Running whole programs under `warpath run`, as a user does: build once for all generations, run on each board."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpath.cli.target import shim_directory
from warpath.toolchain.build import build

# One board a generation that nvcc 13 compiles for.
BOARDS = {
    75: "t4",
    80: "a100-80gb-sxm",
    86: "rtx3090",
    89: "rtx4090",
    90: "h200",
    100: "b200",
    120: "rtx5090",
}


@dataclass(frozen=True)
class Outcome:
    """What a run left: the program's stdout, warpath's and the program's stderr, the exit code."""

    stdout: str
    stderr: str
    code: int


def build_for(sources: Sequence[Path], generations: Sequence[int], *options: str) -> Path:
    """A program with SASS for every generation; cached by content across runs."""
    first, *others = generations
    code = [word for sm in others for word in ("-gencode", f"arch=compute_{sm},code=sm_{sm}")]
    extra = ["-std=c++17", *code, *options]
    return build(list(sources), f"sm_{first}", shim_directory(), extra).program


def warpath(*arguments: str | Path, timeout: float = 100) -> Outcome:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "warpath", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    return Outcome(done.stdout, done.stderr, done.returncode)
