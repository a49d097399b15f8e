"""`warpath run`: the program on the model GPU. Its stdout, stderr and exit code are its own."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from warpath.cli.execution import add_execution, execute, wants_report
from warpath.cli.target import add_program
from warpath.units import format_duration_ns

if TYPE_CHECKING:
    from warpath.frontend.launch import Launch
    from warpath.report.recorder import Names


LONGEST_NAME = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_program(parser)
    add_execution(parser, cache_control="none")
    parser.add_argument("-q", "--quiet", action="store_true", help="no line per launch on stderr")


def run(args: argparse.Namespace) -> int:
    """Run the program; its own exit code."""
    watcher = None if args.quiet else _LaunchLine(args.kernel)
    return execute(args, count=wants_report(args), watcher=watcher).program.exit_code


class _LaunchLine:
    """An observer of the model GPU: one line on stderr when a launch has ended, if its name contains `wanted`."""

    def __init__(self, wanted: str | None) -> None:
        self.names: Names | None = None
        self._wanted = wanted

    def on_launch(self, launch: Launch) -> None:
        """Say what ran."""
        name = self.names.kernel(launch.work.program_va) if self.names else "?"
        if self._wanted and self._wanted not in name:
            return
        if len(name) > LONGEST_NAME:  # a CUB kernel's name runs to a kilobyte
            name = f"{name[: LONGEST_NAME - 3]}..."
        grid, block = ("x".join(map(str, shape)) for shape in (launch.work.grid, launch.work.block))
        executed = launch.counters.get("inst_executed", 0)
        duration = launch.counters.get("duration_ns")
        took = "" if duration is None else f"{format_duration_ns(duration)}, "
        stopped = ", stopped by a fault" if launch.fault is not None else ""
        print(
            f"warpath: launch {launch.index}: {name} <<<{grid}, {block}>>> "
            f"{took}{executed} warp instructions (modelled){stopped}",
            file=sys.stderr,
            flush=True,
        )
