"""`warpath explain`: run the program and show where each launch's time went, and the whole path it took."""

from __future__ import annotations

import argparse

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from warpath.account.accountant import Accountant
from warpath.cli.console import console
from warpath.cli.execution import add_execution, execute
from warpath.cli.target import add_program
from warpath.errors import UsageError
from warpath.gpu import spec
from warpath.report import terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    add_program(parser)
    add_execution(parser, cache_control="all")
    parser.add_argument(
        "--section",
        action="append",
        metavar="NAME",
        help=f"print only this section (repeatable): {', '.join(terminal.SECTIONS)}",
    )
    parser.add_argument(
        "--what-if",
        action="store_true",
        help="also what each effect costs alone, and what changes of block size, clocks, board would make",
    )


def run(args: argparse.Namespace) -> int:
    """Print the account and the path; 1 when a launch faulted, 0 otherwise."""
    wanted = sections(args)
    gpu = spec.load(args.gpu)
    boards = tuple(spec.load(name) for name in spec.names()) if args.what_if else ()
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not console(stderr=True).is_terminal,
    ) as progress:
        task = progress.add_task("running")
        accountant = Accountant(
            gpu,
            what_if=args.what_if,
            boards=boards,
            clock_control=args.clock_control,
            progress=lambda what, done: progress.update(task, description=f"{what}: {done} replays"),
        )
        report = execute(args, count=True, hold=True, accountant=accountant)
    terminal.render(report, console(), wanted)
    return 1 if report.faults else 0


def sections(args: argparse.Namespace) -> tuple[str, ...]:
    """The sections to print; UsageError for one that does not exist."""
    if not args.section:
        return terminal.SECTIONS
    for name in args.section:
        if name not in terminal.SECTIONS:
            raise UsageError(f"--section {name}: no such section; there are {', '.join(terminal.SECTIONS)}")
    args.what_if = args.what_if or "what-if" in args.section
    return tuple(args.section)
