"""`warpath compare`: two reports side by side: boards, builds, or a model against a recording."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpath.cli.console import console
from warpath.errors import UsageError

if TYPE_CHECKING:
    from warpath.report.compare import LaunchPair, ReportPair, Row
    from warpath.report.model import Report
    from warpath.report.trace_compare import Comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "left", metavar="A.json", type=Path, help="a report, e.g. of `warpath explain --json`"
    )
    parser.add_argument(
        "right", metavar="B.json", type=Path, help="another, or one of `warpath trace --json`"
    )
    parser.add_argument(
        "--submission",
        action="store_true",
        help="also methods, QMD and constant bank (always shown when one side is a recording)",
    )
    parser.add_argument(
        "--all", action="store_true", help="list every launch, what is the same, and addresses"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the comparison as JSON")


def run(args: argparse.Namespace) -> int:
    """Print what differs, launch by launch; UsageError when no kernel is in both."""
    from warpath.report import json as report_json
    from warpath.report.compare import compare, is_recording
    from warpath.report.compare_terminal import render

    left, right = report_json.read(args.left), report_json.read(args.right)
    pair = compare(left, right)
    if not pair.launches:
        raise UsageError(
            f"no kernel was launched in both: {_kernels(left)} in one, {_kernels(right)} in the other"
        )
    submission = args.submission or is_recording(left) or is_recording(right)
    names = args.left.name, args.right.name
    render(pair, names, console(), submission=submission, everything=args.all)
    if args.json:
        try:
            args.json.write_text(json.dumps(_document(pair), indent=1) + "\n")
        except OSError as error:
            raise UsageError(f"cannot write {args.json}: {error.strerror}") from error
    return 0


def _kernels(report: Report) -> str:
    return ", ".join(dict.fromkeys(launch.kernel for launch in report.launches)) or "none"


def _document(pair: ReportPair) -> dict[str, Any]:
    """The comparison as plain values; `difference` is right minus left, times in ns."""
    return {
        "settings": [{"what": what, "left": left, "right": right} for what, left, right in pair.settings],
        "launches": [_launch(one) for one in pair.launches],
        "only_left": [launch.index for launch in pair.only_left],
        "only_right": [launch.index for launch in pair.only_right],
    }


def _launch(one: LaunchPair) -> dict[str, Any]:
    return {
        "kernel": one.left.kernel,
        "left": one.left.index,
        "right": one.right.index,
        "left_ns": one.left.duration_ns,
        "right_ns": one.right.duration_ns,
        "unexplained_ns": one.unexplained_ns,
        "ledger": _rows(one.terms),
        "figures": _rows(one.figures),
        "counters": _rows(one.counters),
        "stalls": _rows(one.stalls),
        "instructions": _rows(one.mix),
        "notes": one.notes,
        **_submission(one.submission),
    }


def _rows(rows: list[Row]) -> list[dict[str, Any]]:
    return [
        {
            "what": row.what,
            "left": row.left,
            "right": row.right,
            "difference": row.difference,
            "unit": row.unit,
        }
        for row in rows
    ]


def _submission(one: Comparison) -> dict[str, Any]:
    parts = {"methods": one.methods, "qmd": one.qmd, "constant_bank": one.bank}
    return {name: [{**asdict(row), "kind": row.kind} for row in part] for name, part in parts.items()}
