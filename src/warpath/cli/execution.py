"""Run a program on the model GPU and make the report of it: what `run` and `explain` share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from warpath import __version__
from warpath.cli.cubins import listing
from warpath.cli.machine import make_machine
from warpath.cli.target import resolve
from warpath.gpu import spec
from warpath.report import json as report_json
from warpath.report.model import ProgramInfo, Report
from warpath.report.recorder import Names, Recorder, api_calls, gpu_info


def add_execution(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a run."""
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report")
    parser.add_argument("-k", "--kernel", metavar="NAME", help="report only kernels whose name contains NAME")
    parser.add_argument(
        "-c", "--launch-count", type=int, metavar="N", help="report only the first N launches"
    )
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="host threads (default: all)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end a program that runs longer")


def eager_loading() -> bool:
    """Whether the user asked for CUDA's eager module loading, as on a real machine."""
    return os.environ.get("CUDA_MODULE_LOADING", "").upper() == "EAGER"


def execute(args: argparse.Namespace, *, count: bool, capture: bool = False, watcher: Any = None) -> Report:
    """Build and run what `args` names; the report, also written to `--json`.

    `count` keeps memory counters, `capture` holds the program's stdout back for the report instead of passing it
    on, `watcher` is an observer of the model GPU whose `names` are set.
    """
    gpu = spec.load(args.gpu)
    target = resolve(args, gpu)
    recorder = Recorder(args.kernel, args.launch_count, listing)
    observers = [recorder, *([watcher] if watcher is not None else [])]
    machine = make_machine(
        gpu,
        target.path,
        args.arguments,
        eager=eager_loading(),
        count=count,
        threads=args.threads,
        capture=capture or args.json is not None,
        timeout=args.timeout,
        observers=observers,
    )
    recorder.names = names = Names(machine.driver)
    if watcher is not None:
        watcher.names = names
    status = machine.session.run()
    compiled = None
    if target.build is not None and (count or args.json):
        from warpath.cli.compilation import describe

        compiled = describe(target.build, gpu)
    report = Report(
        warpath=__version__,
        gpu=gpu_info(gpu),
        options={"eager": eager_loading(), "threads": args.threads},
        program=ProgramInfo(
            path=str(args.program),
            args=list(args.arguments),
            stdout=machine.session.stdout.decode(errors="replace"),
            exit_code=status.code,
        ),
        compile=compiled,
        api=api_calls(machine.session.api, machine.session.runtime.started_ns),
        copies=recorder.copies,
        launches=recorder.finish(gpu),
        faults=recorder.faults,
    )
    if args.json:
        report_json.write(report, args.json)
    return report
