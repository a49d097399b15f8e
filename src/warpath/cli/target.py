"""What the user names on the command line: a source to build, a program, a cubin; and the common options."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpath.errors import UsageError

if TYPE_CHECKING:
    from warpath.gpu.spec import Gpu
    from warpath.toolchain.record import Build

SHIM = Path(__file__).parent.parent / "shim"
DEFAULT_GPU = "rtx4090"  # the article's card
_SOURCES = {".cu", ".cpp", ".cc", ".cxx", ".c"}


@dataclass(frozen=True, slots=True)
class Target:
    """The program to run and, when it was built from source, the build."""

    path: Path
    build: Build | None


def add_gpu(parser: argparse.ArgumentParser) -> None:
    """Declare --gpu."""
    parser.add_argument("--gpu", default=DEFAULT_GPU, metavar="NAME", help="board (default: %(default)s)")


def add_program(parser: argparse.ArgumentParser) -> None:
    """Declare the program, further sources, nvcc options, --gpu, and the program's own arguments after `--`."""
    parser.add_argument(
        "program", metavar="PROG", type=Path, help="a .cu source, or a program linked with -cudart shared"
    )
    parser.epilog = "The program's own arguments follow `--`."
    add_gpu(parser)
    add_nvcc(parser)


def add_nvcc(parser: argparse.ArgumentParser) -> None:
    """Declare how a source is compiled."""
    parser.add_argument(
        "--with",
        dest="sources",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="another source of the same program (repeatable)",
    )
    parser.add_argument(
        "-D",
        "--define-macro",
        dest="macros",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="define a macro, as nvcc's own option does (repeatable)",
    )
    parser.add_argument(
        "--nvcc",
        metavar="OPTION",
        action="append",
        default=[],
        help="an option for nvcc, e.g. --nvcc=-O1 or --nvcc=-rdc=true (repeatable)",
    )


def is_source(path: Path) -> bool:
    """Whether nvcc would compile this file."""
    return path.suffix in _SOURCES


def nvcc_options(args: argparse.Namespace) -> list[str]:
    """What nvcc is given besides what every build is: the macros, then the options."""
    return [*(f"-D{macro}" for macro in args.macros), *args.nvcc]


def shim_directory() -> Path:
    """Where our libcudart and libcuda are; UsageError when the package was not built."""
    if not (SHIM / "libcudart.so.13").is_file():
        raise UsageError("warpath's CUDA libraries are not built: install the package (`pip install .`)")
    return SHIM


def resolve(args: argparse.Namespace, gpu: Gpu) -> Target:
    """Build the source for `gpu`, or take the program as it is."""
    path: Path = args.program
    if not is_source(path):
        if nvcc_options(args) or args.sources:
            raise UsageError(f"{path} is a finished program: -D, --nvcc and --with are for sources")
        return Target(path.resolve(), None)
    from warpath.toolchain.build import build

    made = build([path, *args.sources], gpu.sm.name, shim_directory(), nvcc_options(args))
    if not made.usage:  # not an error: it may load its code at run time, as driver API programs do
        print(f"warpath: {path} has no device code of its own", file=sys.stderr)
    return Target(made.program, made)
