"""`warpath sass`: the machine code of a program, source or cubin, with control words spelled out."""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import Any

from rich.text import Text

from warpath.cli.console import console
from warpath.cli.cubins import cubins_of, listing
from warpath.cli.target import add_gpu, add_nvcc
from warpath.container.cubin import Cubin, Kernel
from warpath.errors import UsageError
from warpath.gpu import spec
from warpath.isa.listing import Instruction, Listing

HEADING = "pc    waits on:reads:writes:yield:stall  pipe      instruction"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "program", metavar="PROG", type=Path, help="a .cu source, a program, a fatbin or a cubin"
    )
    add_gpu(parser)
    add_nvcc(parser)
    parser.add_argument("-k", "--kernel", metavar="NAME", help="only kernels whose name contains NAME")
    parser.add_argument("--words", action="store_true", help="spell the control words out")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the listing as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the listings; UsageError when there is no such kernel."""
    gpu = spec.load(args.gpu)
    known: list[str] = []
    found: list[dict[str, Any]] = []
    for cubin in cubins_of(args, gpu):
        for kernel in cubin.kernels.values():
            known.append(kernel.demangled)
            if args.kernel and args.kernel not in kernel.demangled and args.kernel not in kernel.name:
                continue
            code = listing(cubin, kernel)
            _print(cubin, kernel, code, args.words)
            rows = [_row(instruction) for instruction in code]
            found.append({"kernel": kernel.demangled, "mangled": kernel.name, "sm": cubin.sm, "code": rows})
    if not found:
        wanted = f"no kernel called {args.kernel!r}" if args.kernel else "no kernel"
        raise UsageError(f"{args.program} has {wanted}{'; it has ' + ', '.join(known) if known else ''}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


def _print(cubin: Cubin, kernel: Kernel, code: Listing, words: bool) -> None:
    out = console()
    shared = f", {kernel.static_shared} B shared" if kernel.static_shared else ""
    out.print(Text(f"{kernel.demangled}: sm_{cubin.sm}, {kernel.registers} registers{shared} (computed)"))
    out.print(Text(HEADING, style="dim"))
    line = None
    for instruction in code:
        if instruction.line is not None and instruction.line != line:
            line = instruction.line
            out.print(Text(f"// {Path(line.file).name}:{line.line}", style="dim"), soft_wrap=True)
        out.print(Text(_line(instruction, words)), soft_wrap=True)
    out.print()


def _line(instruction: Instruction, words: bool) -> str:
    pipe, _ = schedule(instruction.opcode)
    spelled = f"   // {instruction.control.spelled()}" if words else ""
    return f"{instruction.pc:04x}  {instruction.control.compact()}   {pipe:9} {instruction.text}{spelled}"


def _row(instruction: Instruction) -> dict[str, Any]:
    control, (pipe, latency) = instruction.control, schedule(instruction.opcode)
    return {
        "pc": instruction.pc,
        "bytes": instruction.raw.hex(),
        "sass": instruction.text,
        "line": instruction.line.line if instruction.line else None,
        "file": instruction.line.file if instruction.line else None,
        "stall": control.stall,
        "yield": control.yield_,
        "write_barrier": control.write_barrier,
        "read_barrier": control.read_barrier,
        "wait_mask": control.wait_mask,
        "reuse": control.reuse,
        "pipe": pipe,
        "latency": latency,
    }


@cache
def _table() -> dict[str, tuple[str, str]]:
    from warpath import _core

    return {row["mnemonic"]: (row["pipe"], row["latency"]) for row in _core.op_table()}


def schedule(opcode: str) -> tuple[str, str]:
    """Pipe and latency class of an opcode as the core declares them; `?` when it does not."""
    return _table().get(opcode.split(".")[0], ("?", "?"))
