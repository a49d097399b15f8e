"""`warpath run`: the program on the model GPU. Its stdout, stderr and exit code are its own."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from warpath.cli.machine import make_machine
from warpath.cli.target import add_program, resolve
from warpath.gpu import spec

if TYPE_CHECKING:
    from warpath.frontend.launch import Launch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_program(parser)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line per launch on stderr")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="host threads (default: all)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end a program that runs longer")


def eager_loading() -> bool:
    """Whether the user asked for CUDA's eager module loading, as on a real machine."""
    return os.environ.get("CUDA_MODULE_LOADING", "").upper() == "EAGER"
