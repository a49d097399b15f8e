"""`warpath sweep`: one program at many points (boards, macros, arguments), tabulated or plotted."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from warpath.cli import numbers
from warpath.cli.console import console
from warpath.cli.execution import add_limits
from warpath.cli.target import DEFAULT_GPU, add_nvcc, is_source, nvcc_options
from warpath.errors import UsageError

if TYPE_CHECKING:
    from warpath.sweep.local import Outcome
    from warpath.sweep.points import Point
    from warpath.sweep.store import Store
    from warpath.sweep.table import Row

_FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "program", metavar="PROG", type=Path, help="a .cu source, or a program linked with -cudart shared"
    )
    parser.epilog = "The program's own arguments follow `--`; {NAME} in them, or in --nvcc, is replaced."
    parser.add_argument(
        "--gpu", default=DEFAULT_GPU, metavar="NAME,...", help="boards (default: %(default)s)"
    )
    parser.add_argument(
        "--set",
        dest="axes",
        metavar="NAME=VALUES",
        action="append",
        default=[],
        help="a macro, or what {NAME} stands for: N=1,2,4 or N=16..64+16 or N=2^16..2^24*4 (repeatable: all "
        "combinations)",
    )
    add_nvcc(parser)
    parser.add_argument("-k", "--kernel", metavar="NAME", help="only kernels whose name contains NAME")
    parser.add_argument(
        "-c",
        "--launch-count",
        type=numbers.positive,
        metavar="N",
        help="only the first N launches of a point",
    )
    parser.add_argument(
        "--cache-control",
        choices=("all", "none"),
        default="all",
        help="all: flush the caches before each launch (default); none: leave them as they are",
    )
    add_limits(parser)
    _add_running(parser)
    for kind in ("csv", "json"):
        parser.add_argument(f"--{kind}", metavar="FILE", type=Path, help=f"write the table as {kind.upper()}")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write plots and the table as one web page")


def _add_running(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-j", "--jobs", type=numbers.positive, metavar="N", help="points at a time (default: one a core)"
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run the points on the Dask cluster at this address, e.g. tcp://head:8786",
    )
    parser.add_argument(
        "--store", metavar="DIR", type=Path, help="where reports are kept (default: PROG.sweep, here)"
    )
    parser.add_argument("--again", action="store_true", help="run finished points too")


def run(args: argparse.Namespace) -> int:
    """Run what has not finished before, print the table; 1 when a point failed."""
    from warpath.sweep.store import Store
    from warpath.sweep.table import render, to_csv, to_json

    if args.jobs and args.scheduler:
        raise UsageError("-j is for this machine: with --scheduler the cluster's workers decide")
    points = _points(args)
    store = Store(args.store or Path(f"{args.program.stem}.sweep"))
    rows = _rows(args, points, store)
    render(rows, console())
    for path, make in ((args.csv, to_csv), (args.json, to_json), (args.html, _page_of(args))):
        if path is not None:
            _write(path, make(rows))
    return _FAILED if any(row.reason for row in rows) else 0


def _points(args: argparse.Namespace) -> list[Point]:
    from warpath.gpu import spec
    from warpath.sweep.points import Template, parse_axis, points

    names = dict.fromkeys(name.strip() for name in args.gpu.split(",") if name.strip())
    gpus = [spec.load(name) for name in names]
    if not gpus:
        raise UsageError("--gpu names no board: `warpath gpus` lists all that are known")
    boards = {gpu.name: repr((gpu.data, gpu.sm.data, gpu.measured, gpu.sm.timing)) for gpu in gpus}
    axes = [parse_axis(text) for text in args.axes]
    common = ["--cache-control", args.cache_control]
    common += ["-k", args.kernel] if args.kernel else []
    common += ["-c", str(args.launch_count)] if args.launch_count else []
    limits = ["--threads", "1"]  # the points are what runs side by side
    limits += ["--timeout", str(args.timeout)] if args.timeout else []
    limits += ["--instructions", str(args.instructions)] if args.instructions else []
    template = Template(
        files=(args.program, *args.sources),
        common=tuple(common),
        limits=tuple(limits),
        nvcc=tuple(nvcc_options(args)),
        arguments=tuple(args.arguments),
        folder=str(Path.cwd()),
    )
    made = points(axes, template, boards)
    macros = [axis.name for axis in axes if axis.name not in template.places()]
    if not is_source(args.program) and (macros or template.nvcc or args.sources):
        what = f"{{{macros[0]}}} in its arguments, or " if macros else ""
        raise UsageError(f"{args.program} is a finished program: give it {what}sources to compile")
    _warn_of_unused(macros, template.files)
    return made


def _warn_of_unused(macros: Sequence[str], files: Sequence[Path]) -> None:
    """A macro that no given source names may be a slip; a header may name it, so it is no error."""
    texts = [path.read_text(errors="replace") for path in files] if macros else []
    for name in macros:
        if not any(re.search(rf"\b{name}\b", text) for text in texts):
            where = ", ".join(path.name for path in files)
            print(f"warpath: {name} is set as a macro, and {where} does not name it", file=sys.stderr)


def _rows(args: argparse.Namespace, points: Sequence[Point], store: Store) -> list[Row]:
    """Every point's rows in the order of the sweep; those that did not finish before are run."""
    from warpath.sweep.table import Row, finished

    found: dict[str, list[Row]] = {}
    for point in points:
        report = None if args.again else store.find(point)
        if report is not None:
            found[point.key] = finished(point, report, store.path(point).name)
    if found:
        print(
            f"warpath: {len(found)} of {len(points)} points finished before ({store.folder})", file=sys.stderr
        )
    missing = [point for point in points if point.key not in found]
    try:
        with _progress(len(missing)) as step, contextlib.closing(_running(args, missing)) as running:
            for point, outcome in running:
                report = None if outcome.reason else store.keep(point, outcome.report)
                reason = outcome.reason or (
                    ""
                    if report
                    else "its sources changed while it ran, or the worker has others, or another warpath"
                )
                if report is None:
                    store.keep_failure(point, reason)
                    found[point.key] = [Row(point, reason=reason)]
                else:
                    found[point.key] = finished(point, report, store.path(point).name)
                step(point, reason)
    except KeyboardInterrupt:
        said = f"{len(found)} of {len(points)} points are done; the same command goes on from there"
        print(f"warpath: {said} ({store.folder})", file=sys.stderr)
        raise
    return [row for point in points for row in found[point.key]]


def _running(
    args: argparse.Namespace, points: Sequence[Point]
) -> Generator[tuple[Point, Outcome], None, None]:
    """Points with their outcomes as they end, wherever they run."""
    if not points:
        return
    with _interrupted_by_sigterm():
        if args.scheduler:
            from warpath.sweep.cluster import run_cluster

            yield from run_cluster(points, args.scheduler)
        else:
            from warpath.sweep.local import run_local

            yield from run_local(points, args.jobs or os.cpu_count() or 1)


@contextlib.contextmanager
def _interrupted_by_sigterm() -> Generator[None]:
    """A polite kill ends a sweep as Ctrl-C does: nothing goes on running behind it."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _progress(total: int) -> Generator[Callable[[Point, str], None]]:
    """A bar on a terminal, nothing in a pipe; yields what is called with each point that ended."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    out = console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=out, transient=True, disable=not (total and out.is_terminal)) as bar:
        task = bar.add_task("", total=total)
        failed = 0

        def step(point: Point, reason: str) -> None:
            nonlocal failed
            failed += bool(reason)
            state = f"{failed} failed, " if failed else ""
            bar.update(task, advance=1, description=escape(f"{state}last {point.title}"))

        yield step


def _page_of(args: argparse.Namespace) -> Callable[[Sequence[Row]], str]:
    def make(rows: Sequence[Row]) -> str:
        from warpath.sweep.plot import page

        caches = "flushed before each launch" if args.cache_control == "all" else "as they were"
        return page(rows, f"warpath sweep of {args.program.name}", caches)

    return make


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
