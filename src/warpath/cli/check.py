"""`warpath check`: run a program and report what it does wrong, though it may print the right answer."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warpath.check import suppress, text
from warpath.check.watch import TOOLS, Watch
from warpath.cli.execution import add_limits, execute, limits
from warpath.cli.target import add_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_program(parser)
    parser.add_argument(
        "--tool",
        action="append",
        choices=TOOLS,
        default=[],
        help="check only this (repeatable; default: all four)",
    )
    parser.add_argument("--leak-check", action="store_true", help="also report what was never freed")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report, findings under `faults`")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write the report as one page for a browser"
    )
    parser.add_argument(
        "--suppressions", metavar="FILE", type=Path, help="known findings, one `KIND [FILE:LINE]` a line"
    )
    parser.add_argument("-k", "--kernel", metavar="NAME", help="report only kernels whose name contains NAME")
    add_limits(parser)
    parser.set_defaults(
        perfetto=None,
        model_timeout=None,
        launch_count=None,
        threads=1,
        functional=True,
        cache_control="none",
        clock_control="none",
    )


def run(args: argparse.Namespace) -> int:
    """Run the program with the checks on; 1 when something was found, else the program's exit code."""
    rules = suppress.read(args.suppressions) if args.suppressions else []
    watch = Watch(args.tool or TOOLS, limits=limits(args), rules=rules, leaks=args.leak_check)
    report = execute(args, count=False, watch=watch)
    print(text.summary(len(watch.faults), watch.suppressed), file=sys.stderr)
    return 1 if watch.faults else report.program.exit_code
