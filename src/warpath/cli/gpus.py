"""`warpath gpus [NAME]`: the boards warpath knows; with a name, every number of one and where it is from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from warpath.cli.console import console
from warpath.gpu import spec
from warpath.units import Figure, Origin


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="a board, such as rtx4090: print all its numbers"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the table of boards, or one board; 0, or UsageError for an unknown name."""
    out = console()
    boards = [spec.load(args.name)] if args.name else [spec.load(name) for name in spec.names()]
    if args.name:
        _print_board(out, boards[0])
    else:
        out.print(_boards_table(boards))
        measured = [gpu.name for gpu in boards if gpu.data["sms"].origin is Origin.MEASURED]
        out.print(f"Quoted, except measured: {', '.join(measured)}. `warpath gpus NAME` names every source.")
    if args.json:
        args.json.write_text(json.dumps([_as_json(gpu) for gpu in boards], indent=1) + "\n")
    return 0


def _boards_table(boards: list[spec.Gpu]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("name", no_wrap=True)
    for title in ("chip", "generation"):
        table.add_column(title)
    for title in ("SMs", "boost MHz", "DRAM GB/s", "L2 MiB", "warps/SM", "shared KiB/SM"):
        table.add_column(title, justify="right")
    for gpu in sorted(boards, key=lambda gpu: (gpu.sm.number, gpu.name)):
        table.add_row(
            gpu.name,
            gpu.chip,
            gpu.sm.name,
            str(gpu.sms),
            str(gpu.clock_boost_mhz),
            f"{gpu.dram_gbs:g}",
            f"{gpu.l2_bytes / 2**20:g}",
            str(gpu.sm.max_warps),
            f"{gpu.sm.shared_bytes / 2**10:g}",
        )
    return table


def _print_board(out: Console, gpu: spec.Gpu) -> None:
    aliases = f" (also: {', '.join(gpu.aliases)})" if gpu.aliases else ""
    out.print(f"{gpu.label}: --gpu {gpu.name}{aliases}, chip {gpu.chip}, {gpu.sm.name}", soft_wrap=True)
    for title, part in (("board", gpu), (gpu.sm.name, gpu.sm)):
        out.print(_figures_table(title, part))
        _print_notes(out, part)
    out.print(f"Launch description of {gpu.sm.name}: {gpu.sm.launch_confidence} confidence.")
    out.print("Sources:")
    for key in _keys(gpu):
        out.print(f"  {key:8}{spec.references()[key]}", soft_wrap=True)


def _figures_table(title: str, part: spec.Sourced) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(title, no_wrap=True)
    table.add_column("value", justify="right", max_width=32)
    for heading in ("unit", "origin", "source"):
        table.add_column(heading, no_wrap=True)
    for name, figure in part.figures().items():
        table.add_row(name, _value(name, figure), figure.unit, figure.origin.value, figure.source)
    return table


def _print_notes(out: Console, part: spec.Sourced) -> None:
    """Remarks below the table, each once, after the names it belongs to."""
    named: dict[str, list[str]] = {}
    for name in part.data:
        if note := part.note(name):
            named.setdefault(note, []).append(name)
    for note, names in named.items():
        out.print(f"  {', '.join(names)}: {note}", soft_wrap=True)


def _value(name: str, figure: Figure) -> str:
    in_hex = name.endswith("_class") or name == "param_base"
    return f"{figure.value:#x}" if in_hex else str(figure.value)


def _keys(gpu: spec.Gpu) -> list[str]:
    """Every source key the board's numbers name, in order of first use."""
    data = [*gpu.data.values(), *gpu.sm.data.values()]
    return list(dict.fromkeys(key for datum in data for key in datum.source.split("+")))


def _as_json(gpu: spec.Gpu) -> dict[str, Any]:
    return {
        "name": gpu.name,
        "label": gpu.label,
        "chip": gpu.chip,
        "aliases": list(gpu.aliases),
        "sm": gpu.sm.name,
        "launch_confidence": gpu.sm.launch_confidence,
        "board": _values(gpu.data),
        "generation": _values(gpu.sm.data),
        "sources": {key: spec.references()[key] for key in _keys(gpu)},
    }


def _values(data: Mapping[str, spec.Datum]) -> dict[str, Any]:
    return {
        name: {
            "value": datum.value,
            "unit": spec.unit(name),
            "origin": datum.origin.value,
            "source": datum.source,
            "note": datum.note,
        }
        for name, datum in data.items()
    }
