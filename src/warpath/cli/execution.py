"""Run a program on the model GPU and make the report of it: what `run` and `explain` share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from warpath import __version__, _core
from warpath.account.accountant import RECORD, Accountant
from warpath.check.watch import Limits, Watch
from warpath.cli import numbers
from warpath.cli.cubins import listing
from warpath.cli.machine import make_machine
from warpath.cli.target import nvcc_options, resolve
from warpath.gpu import spec
from warpath.report import files
from warpath.report import json as report_json
from warpath.report.model import ProgramInfo, Report
from warpath.report.recorder import Names, Recorder, api_calls, gpu_info

GRACE_SECONDS = 5.0  # for the program to go on after its launch was stopped


def add_execution(parser: argparse.ArgumentParser, cache_control: str) -> None:
    """Declare the options of a run; `cache_control` is the command's default."""
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report")
    parser.add_argument(
        "--html", metavar="FILE", type=Path, help="write the report as one page for a browser"
    )
    parser.add_argument("--perfetto", metavar="FILE", type=Path, help="write a time line for the Perfetto UI")
    parser.add_argument("-k", "--kernel", metavar="NAME", help="report only kernels whose name contains NAME")
    parser.add_argument(
        "-c", "--launch-count", type=numbers.positive, metavar="N", help="report only the first N launches"
    )
    parser.add_argument(
        "--functional", action="store_true", help="run without the clock: ten times faster, no durations"
    )
    parser.add_argument(
        "--cache-control",
        choices=("all", "none"),
        default=cache_control,
        help="all: flush the caches before each launch, as ncu does by default (default here: %(default)s)",
    )
    parser.add_argument(
        "--threads", type=numbers.count, default=0, metavar="N", help="host threads (default: all)"
    )
    add_limits(parser)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Declare when what does not end is stopped."""
    parser.add_argument(
        "--timeout",
        type=numbers.seconds,
        metavar="SECONDS",
        help="stop a launch that runs longer with error 702, as a display watchdog does, and the program soon after",
    )
    parser.add_argument(
        "--instructions",
        type=numbers.positive,
        metavar="N",
        help="stop a launch after about N warp instructions with error 702",
    )


def limits(args: argparse.Namespace) -> Limits:
    """What `add_limits` declared."""
    return Limits(args.timeout, args.instructions)


def eager_loading() -> bool:
    """Whether the user asked for CUDA's eager module loading, as on a real machine."""
    return os.environ.get("CUDA_MODULE_LOADING", "").upper() == "EAGER"


def wants_report(args: argparse.Namespace) -> bool:
    """Whether an output was asked for that shows the report."""
    return any(path is not None for path in (args.json, args.html, args.perfetto))


def execute(
    args: argparse.Namespace,
    *,
    count: bool,
    hold: bool = False,
    watcher: Any = None,
    watch: Watch | None = None,
    accountant: Accountant | None = None,
) -> Report:
    """Build and run what `args` names; the report, also written to the files that `args` asks for.

    `count` keeps memory counters and what happened when, `hold` holds the program's stdout back for the report
    instead of passing it on, `watcher` is an observer of the model GPU whose `names` are set, `watch` looks for
    faults, `accountant` accounts for the launches' time.
    """
    gpu = spec.load(args.gpu)
    for path, what in ((args.json, "the report"), (args.html, "the page"), (args.perfetto, "the time line")):
        if path is not None:
            files.check_writable(path, what)
    target = resolve(args, gpu)
    recorder = Recorder(args.kernel, args.launch_count, listing, gpu.dram_gbs)
    watch = watch or Watch(limits=limits(args))
    # A report costs more than a small launch: only when somebody reads it.
    reported = count or wants_report(args)
    accountants = [accountant] if accountant is not None and not args.functional else []
    observers = [
        watch,
        *accountants,
        *([recorder] if reported else []),
        *([watcher] if watcher is not None else []),
    ]
    machine = make_machine(
        gpu,
        target.path,
        args.arguments,
        eager=eager_loading(),
        count=count,
        threads=args.threads,
        timed=not args.functional,
        cache_control=args.cache_control,
        record=RECORD if accountants else 0,
        timeline=reported and not args.functional,
        capture=wants_report(args),
        hold=hold,
        timeout=None if args.timeout is None else args.timeout + GRACE_SECONDS,
        observers=observers,
    )
    recorder.names = names = Names(machine.driver)
    watch.attach(_core, machine.driver, machine.session.runtime)
    if watcher is not None:
        watcher.names = names
    status = machine.session.run()
    watch.finish()
    compiled = None
    if target.build is not None and reported:
        from warpath.cli.compilation import describe

        compiled = describe(target.build, gpu)
    report = Report(
        warpath=__version__,
        gpu=gpu_info(gpu),
        options={
            "eager": eager_loading(),
            "threads": args.threads,
            "timed": not args.functional,
            "cache_control": args.cache_control,
            "nvcc": nvcc_options(args),
        },
        program=ProgramInfo(
            path=str(args.program),
            args=list(args.arguments),
            stdout=machine.session.stdout.decode(errors="replace"),
            exit_code=status.code,
        ),
        compile=compiled,
        api=api_calls(machine.session.api, machine.session.runtime.started_ns) if reported else [],
        copies=recorder.copies,
        launches=recorder.finish(
            gpu,
            compiled.kernels if compiled else {},
            accountant.accounts if accountant is not None else {},
        ),
        dataflow=recorder.dataflow(),
        faults=watch.faults,
    )
    if args.json:
        report_json.write(report, args.json)
    if args.perfetto:
        from warpath.report import perfetto

        perfetto.write(report, args.perfetto)
    if args.html:
        from warpath.report.html import page

        page.write(report, args.html)
    return report
