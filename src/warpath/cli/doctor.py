"""`warpath doctor`: what works on this machine, what is missing and how to get it; which opcodes are covered."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from warpath import __version__
from warpath.cli.console import console
from warpath.cli.cubins import cubins_of, listing
from warpath.cli.target import add_gpu, add_nvcc, shim_directory
from warpath.errors import UsageError, WarpathError
from warpath.gpu import spec
from warpath.isa.opcodes import seen_opcodes
from warpath.report import files


@dataclass(frozen=True, slots=True)
class Check:
    """One thing warpath needs or can use: whether it is there, what was found or what to do."""

    name: str
    good: bool
    needed: bool
    detail: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("--coverage", action="store_true", help="list declared opcodes against seen ones")
    parser.add_argument(
        "program", nargs="?", metavar="PROG", type=Path, help="with --coverage: the opcodes of this program"
    )
    add_gpu(parser)
    add_nvcc(parser)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the same as JSON")
    parser.add_argument(
        "--schema", metavar="FILE", type=Path, help="write the JSON Schema of reports, and do nothing else"
    )


def run(args: argparse.Namespace) -> int:
    """Print the checks, or the coverage; 1 when something needed is missing or an opcode is not declared."""
    if args.program and not args.coverage:
        raise UsageError(
            f"what shall the doctor do with {args.program}? `warpath doctor --coverage PROG` lists its opcodes"
        )
    if args.schema:
        from warpath.report import schema

        files.write(args.schema, schema.text().encode(), "the schema")
        return 0
    return _coverage(args) if args.coverage else _checks(args)


def _checks(args: argparse.Namespace) -> int:
    checks = list(_all_checks())
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("", "what", "found"):
        table.add_column(title)
    for check in checks:
        mark = "ok" if check.good else "MISSING" if check.needed else "no"
        table.add_row(mark, check.name, Text(check.detail))
    console().print(table)
    if args.json:
        rows = [{"name": c.name, "good": c.good, "needed": c.needed, "detail": c.detail} for c in checks]
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(check.good for check in checks if check.needed) else 1


def _all_checks() -> Iterator[Check]:
    yield Check(
        "warpath", True, True, f"{__version__} on Python {platform.python_version()}, {platform.machine()}"
    )
    yield _try("core", _core)
    yield _try("CUDA libraries of the shim", lambda: str(shim_directory()))
    yield _try("NVIDIA's compilers", _compilers)
    yield _try("host compiler", _host_compiler)
    yield _try("compile cache", _cache)
    yield _gpu()
    yield _try("JSON Schema of reports", _schema)


def _try(name: str, probe: Callable[[], str]) -> Check:
    try:
        return Check(name, True, True, probe())
    except (WarpathError, ImportError) as error:
        return Check(name, False, True, str(error))


def _core() -> str:
    from warpath import _core as core

    table = core.op_table()
    return f"{len(table)} opcodes declared in {len({row['family'] for row in table})} families"


def _compilers() -> str:
    from warpath.toolchain.locate import find_tools

    return find_tools().version


def _host_compiler() -> str:
    from warpath.toolchain.locate import host_compiler

    path = host_compiler()
    version = subprocess.run(
        [path, "-dumpfullversion"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"{path} {version}"


def _cache() -> str:
    from warpath.toolchain.cache import cache_folder

    folder = cache_folder("build")
    return f"{folder.parent}, {shutil.disk_usage(folder).free >> 20} MiB free"


def _schema() -> str:
    from warpath.report import schema

    return f"docs/schema/{schema.NAME}; `warpath doctor --schema FILE` writes it"


def _gpu() -> Check:
    """A GPU is not needed: programs run on the model."""
    device = Path("/dev/nvidiactl")
    found = (
        "NVIDIA driver present; this version does not use it" if device.exists() else "none; none is needed"
    )
    return Check("GPU", device.exists(), False, found)


def _coverage(args: argparse.Namespace) -> int:
    from warpath import _core as core

    declared = {row["mnemonic"]: row for row in core.op_table()}
    if args.program:
        where, counts = _program_opcodes(args)
    else:
        where, counts = "programs that warpath is tested with, sm_75 to sm_120", seen_opcodes()
    missing = sorted(name for name in counts if name not in declared)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("opcode", "family", "pipe", "latency", "seen"):
        table.add_column(title, justify="right" if title == "seen" else "left")
    for name in sorted({*declared, *counts}):
        row = declared.get(name)
        cells = (row["family"], row["pipe"], row["latency"]) if row else ("not declared", "", "")
        table.add_row(name, *cells, str(counts.get(name, "")))
    console().print(table)
    seen = len(counts)
    console().print(
        f"{len(declared)} opcodes declared; {seen - len(missing)} of {seen} seen are declared ({where})"
    )
    if missing:
        console().print(Text(f"not declared: {', '.join(missing)}"))
    if args.json:
        args.json.write_text(
            json.dumps(
                {"declared": list(declared.values()), "seen": dict(counts), "missing": missing}, indent=1
            )
        )
    return 1 if args.program and missing else 0


def _program_opcodes(args: argparse.Namespace) -> tuple[str, Counter[str]]:
    """Mnemonics of a program's kernels, by how many instructions use them."""
    gpu = spec.load(args.gpu)
    counts: Counter[str] = Counter()
    for cubin in cubins_of(args, gpu):
        for kernel in cubin.kernels.values():
            counts.update(i.opcode.split(".")[0] for i in listing(cubin, kernel) if i.opcode)
    return f"{args.program} for {gpu.sm.name}", counts
