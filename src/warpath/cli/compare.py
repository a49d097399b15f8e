"""`warpath compare`: two reports side by side. This version compares submissions: a model run against a recording."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from warpath.cli.console import console
from warpath.errors import UsageError
from warpath.units import format_duration_ns

if TYPE_CHECKING:
    from rich.console import Console

    from warpath.report.model import Report
    from warpath.report.trace_compare import Comparison, Row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("left", metavar="A.json", type=Path, help="a report, e.g. of `warpath run --json`")
    parser.add_argument("right", metavar="B.json", type=Path, help="another, e.g. of `warpath trace --json`")
    parser.add_argument("--all", action="store_true", help="also list what is the same, and addresses")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows as JSON")


def run(args: argparse.Namespace) -> int:
    """Print what differs, launch by launch; UsageError when no kernel is in both."""
    from warpath.report import json as report_json
    from warpath.report.trace_compare import compare, pairs

    left, right = report_json.read(args.left), report_json.read(args.right)
    found = [compare(a, b) for a, b in pairs(left, right)]
    if not found:
        raise UsageError(
            f"no kernel was launched in both: {_kernels(left)} in one, {_kernels(right)} in the other"
        )
    out = console()
    out.print(Text(f"A: {_title(args.left, left)}"))
    out.print(Text(f"B: {_title(args.right, right)}"))
    for one in found:
        _print(out, one, args.all)
    if args.json:
        try:
            args.json.write_text(json.dumps([_rows(one) for one in found], indent=1) + "\n")
        except OSError as error:
            raise UsageError(f"cannot write {args.json}: {error.strerror}") from error
    return 0


def _title(path: Path, report: Report) -> str:
    return f"{path.name}: {report.program.path or 'a program'} on {report.gpu.label}"


def _kernels(report: Report) -> str:
    return ", ".join(dict.fromkeys(launch.kernel for launch in report.launches)) or "none"


def _print(out: Console, one: Comparison, everything: bool) -> None:
    out.print()
    out.print(Text(f"{one.left.kernel}: launch {one.left.index} of A, {one.right.index} of B", style="bold"))
    a, b = one.left.submission, one.right.submission
    sizes = f"{a.pushbuffer_dwords} dwords, {b.pushbuffer_dwords} dwords"
    out.print(Text(f"  segment of {sizes}; QMD {a.qmd_version}, {b.qmd_version}"))
    for line in _durations(one):
        out.print(Text(f"  {line}"))
    for title, rows in (("methods", one.methods), ("QMD fields", one.qmd), ("constant bank 0", one.bank)):
        _section(out, title, rows, everything)


def _durations(one: Comparison) -> Iterator[str]:
    """Both durations with their origin, and what the model does not explain when one of them was measured."""
    a, b = one.left, one.right
    if a.duration_ns is None or b.duration_ns is None:
        return
    origins = ["modelled" if launch.time else "measured" for launch in (a, b)]
    times = [format_duration_ns(launch.duration_ns or 0) for launch in (a, b)]
    difference = b.duration_ns - a.duration_ns
    share = 100 * difference / a.duration_ns if a.duration_ns else 0.0
    caches = "".join(f"; {launch.time.cache} caches modelled" for launch in (a, b) if launch.time)
    yield (
        f"duration: {times[0]} ({origins[0]}), {times[1]} ({origins[1]}): {difference:+} ns, {share:+.1f} %"
        f"{' that the model does not explain' if origins[0] != origins[1] else ''}{caches}"
    )


def _section(out: Console, title: str, rows: list[Row], everything: bool) -> None:
    same = sum(row.count for row in rows if row.kind == "same")
    moved = sum(row.count for row in rows if row.kind == "value" and row.moves)
    differ = [row for row in rows if row.kind != "same" and not (row.kind == "value" and row.moves)]
    out.print(
        Text(
            f"  {title}: {same} the same, {moved} addresses and running numbers, "
            f"{sum(row.count for row in differ)} differ"
        )
    )
    for row in rows if everything else differ:
        times = f" x{row.count}" if row.count > 1 else ""
        out.print(Text(f"    {row.what + times:46} {_value(row.left):>18} {_value(row.right):>18}"))


def _value(value: int | None) -> str:
    return "-" if value is None else f"{value:#x}"


def _rows(one: Comparison) -> dict[str, object]:
    parts = {"methods": one.methods, "qmd": one.qmd, "constant_bank": one.bank}
    rows = {name: [{**asdict(row), "kind": row.kind} for row in part] for name, part in parts.items()}
    times = {"left_ns": one.left.duration_ns, "right_ns": one.right.duration_ns}
    return {"kernel": one.left.kernel, "left": one.left.index, "right": one.right.index, **times, **rows}
