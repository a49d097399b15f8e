"""`warpath explain`: run the program and show the whole path of each launch."""

from __future__ import annotations

import argparse

from warpath.cli.console import console
from warpath.cli.execution import add_execution, execute
from warpath.cli.target import add_program
from warpath.report import terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_program(parser)
    add_execution(parser, cache_control="all")


def run(args: argparse.Namespace) -> int:
    """Print the path; 1 when a launch faulted, 0 otherwise."""
    report = execute(args, count=True, hold=True)
    terminal.render(report, console())
    return 1 if report.faults else 0
