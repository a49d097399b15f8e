"""`warpath compile`: what each compiler stage made; PTX and SASS side by side with the source lines."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec
from rich import box
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from warpath.cli.compilation import describe
from warpath.cli.console import console
from warpath.cli.cubins import listing, program_cubins
from warpath.cli.program_text import ptx_of
from warpath.cli.target import add_gpu, add_nvcc, resolve
from warpath.container.cubin import Cubin, Kernel
from warpath.errors import UsageError
from warpath.gpu import spec
from warpath.report import compilation
from warpath.toolchain.record import Build


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("program", metavar="PROG.cu", type=Path, help="a CUDA source")
    add_gpu(parser)
    add_nvcc(parser)
    parser.add_argument("-k", "--kernel", metavar="NAME", help="only kernels whose name contains NAME")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the compile part of the report")


def run(args: argparse.Namespace) -> int:
    """Print stages, kernels, and each kernel's lines; ToolError with nvcc's messages when it does not compile."""
    gpu = spec.load(args.gpu)
    build = resolve(args, gpu).build
    if build is None:
        raise UsageError(f"{args.program} is not a source: `warpath sass` lists the code of a program")
    info = describe(build, gpu)
    out = console()
    if build.messages:
        out.print(Text(build.messages), soft_wrap=True)
    compilation.render(info, out)
    for cubin in program_cubins(build.program, gpu):
        for kernel in cubin.kernels.values():
            if not args.kernel or args.kernel in kernel.demangled or args.kernel in kernel.name:
                out.print()
                out.print(_side_by_side(build, cubin, kernel))
    if args.json:
        args.json.write_text(json.dumps(msgspec.to_builtins(info), indent=1) + "\n")
    return 0


def _side_by_side(build: Build, cubin: Cubin, kernel: Kernel) -> Table:
    """One row per source line: its text, its PTX, its SASS; code without a line comes first."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=escape(kernel.demangled), title_justify="left")
    table.add_column("source", max_width=30, overflow="fold")
    table.add_column("PTX", max_width=34, overflow="fold")
    table.add_column("SASS", max_width=34, overflow="fold")
    sass: dict[tuple[str, int], list[str]] = {}
    for instruction in listing(cubin, kernel):
        place = (instruction.line.file, instruction.line.line) if instruction.line else ("", 0)
        sass.setdefault(place, []).append(instruction.text)
    ptx: dict[tuple[str, int], list[str]] = {}
    for part in ptx_of(build, [kernel.name]).get(kernel.name, []):
        if part.instructions:
            ptx.setdefault((part.file, part.line), []).extend(part.instructions)
    for place in sorted({*sass, *ptx}):
        table.add_row(
            Text(_source_line(place)),
            Text("\n".join(ptx.get(place, []))),
            Text("\n".join(sass.get(place, []))),
            end_section=True,
        )
    return table


def _source_line(place: tuple[str, int]) -> str:
    file, line = place
    if not line:
        return ""
    try:
        text = Path(file).read_text(errors="replace").splitlines()[line - 1].strip()
    except (OSError, IndexError):
        text = ""
    return f"{line}: {text}" if text else f"{Path(file).name}:{line}"
