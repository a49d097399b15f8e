"""`warpath trace`: record a program on a machine with a GPU, or show a recording anywhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warpath.cli.console import console
from warpath.cli.target import SHIM
from warpath.errors import UsageError
from warpath.report import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options; the program and its arguments follow `--`."""
    parser.usage = "warpath trace [options] -- PROG [ARGS]\n       warpath trace --show FILE [options]"
    parser.add_argument(
        "--show", metavar="FILE", type=Path, help="decode this recording instead of making one"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("warpath.trace"),
        help="recording (default: %(default)s)",
    )
    parser.add_argument(
        "--no-doorbell", action="store_true", help="leave the doorbell alone: ioctls and calls only"
    )
    parser.add_argument("--no-calls", action="store_true", help="do not record driver API calls")
    parser.add_argument(
        "--with-memory", action="store_true", help="also record what copies read from the host"
    )
    parser.add_argument(
        "--with-images", action="store_true", help="also store the images that modules are loaded from"
    )
    parser.add_argument(
        "--measure", action="store_true", help="add kernel times from CUPTI, whose own work is recorded, too"
    )
    parser.add_argument(
        "--overhead", action="store_true", help="run the program once more, untraced, and compare"
    )
    parser.add_argument("--quiet", action="store_true", help="record only; show nothing")
    parser.add_argument("--ncu", metavar="FILE", type=Path, help="add what `ncu --csv` measured")
    parser.add_argument(
        "--program",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="with --show: a program or library whose kernels name the code (repeatable)",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report as JSON")
    parser.add_argument("--perfetto", metavar="FILE", type=Path, help="write a time line for the Perfetto UI")


def run(args: argparse.Namespace) -> int:
    """Record or show; the program's exit code, or 0."""
    if (args.show is None) == (not args.arguments) and (args.show or not args.ncu):
        raise UsageError("give either a program after `--` or a recording with --show FILE")
    if args.show is None and not args.arguments:
        return _measurements(args.ncu)
    for path, what in ((args.json, "the report"), (args.perfetto, "the time line")):
        if path is not None:
            files.check_writable(path, what)
    code = 0
    if args.show is None:
        code = _record(args)
        if args.quiet:
            return code
    _show(args)
    return code


def _record(args: argparse.Namespace) -> int:
    from warpath.capture import session

    session.check_machine()
    library = SHIM / session.LIBRARY
    if not library.is_file():
        raise UsageError("the recorder is not built: install the package (`pip install .`)")
    what = session.Recording(
        program=args.arguments,
        output=args.output,
        doorbell=not args.no_doorbell,
        memory=args.with_memory,
        calls=not args.no_calls,
        images=args.with_images,
        measure=session.find_cupti() if args.measure else None,
        untraced=args.overhead,
    )
    code = session.record(what, library)
    print(f"warpath: recorded in {args.output}, {args.output.stat().st_size} B", file=sys.stderr)
    return code


def _show(args: argparse.Namespace) -> None:
    from warpath.capture import activity, log
    from warpath.capture.trace import Trace
    from warpath.report import trace_build, trace_perfetto, trace_terminal

    trace = Trace(log.read(args.show or args.output))
    if args.program:
        for path in args.program:
            if not path.is_file():
                raise UsageError(f"no such file: {path}")
        found = trace.find_kernels(args.program)
        trace.named.update({named.va: named for named in found})
    report = trace_build.build(trace, activity.read_ncu(args.ncu) if args.ncu else ())
    trace_terminal.render(report, console())
    if args.json:
        files.write(args.json, trace_build.write_json(report), "the report")
    if args.perfetto:
        trace_perfetto.write(report, args.perfetto)


def _measurements(path: Path) -> int:
    """`--ncu FILE` alone: the launches that Nsight Compute measured."""
    from warpath.capture import activity
    from warpath.units import format_duration_ns

    out = console()
    for index, measured in enumerate(activity.read_ncu(path)):
        grid, block = "x".join(map(str, measured.grid)), "x".join(map(str, measured.block))
        out.print(f"launch {index}: {measured.kernel} <<<{grid}, {block}>>>", markup=False)
        if measured.duration_ns:
            out.print(
                f"  duration {format_duration_ns(measured.duration_ns)} (measured, Nsight Compute)",
                markup=False,
            )
        for name, value in measured.metrics.items():
            out.print(f"  {name} = {value:g}", markup=False)
    return 0
