"""Wall time of `warpath run examples/vadd.cu`, whole and split by stage, warm cache.

    python benchmarks/startup.py [--runs N]

The split comes from one process that does what the command does with a clock between the steps; the whole is the
command itself, timed from outside. Medians, in milliseconds. Aim: under 3000 in all, under 500 of it in warpath's own
start-up and driver (everything but the core's execution and the program's own work).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

VADD = Path(__file__).resolve().parent.parent / "examples" / "vadd.cu"
_CHILD = "--one-split"


def whole() -> float:
    """Seconds of one `warpath run`, output discarded."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "warpath", "run", "-q", str(VADD)], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def split() -> dict[str, float]:
    """Seconds per stage of one run in this process."""
    clock = _Clock()
    from warpath.cli.machine import make_machine
    from warpath.cli.target import shim_directory
    from warpath.gpu import spec
    from warpath.toolchain.build import build

    clock.lap("import the command line")
    gpu = spec.load("rtx4090")
    clock.lap("load the board")
    program = build(VADD, gpu.sm.name, shim_directory()).program
    clock.lap("find the build in the cache")
    machine = make_machine(gpu, program, [], eager=False, count=False, hold=True)
    clock.lap("make memory, model GPU, driver")
    model, inner = machine.model, machine.model.run
    spent = 0.0

    def timed_run(*arguments: Any) -> None:
        nonlocal spent
        start = time.perf_counter()
        inner(*arguments)
        spent += time.perf_counter() - start

    model.run = timed_run  # type: ignore[method-assign]
    machine.session.run()
    clock.lap("session")
    laps = clock.laps
    served = sum(record.duration_ns for record in machine.session.api) / 1e9
    laps["model GPU (front end and core)"] = spent
    laps["driver and API dispatch"] = served - spent
    laps["the program itself, its start and exit"] = laps.pop("session") - served
    return laps


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument(_CHILD, action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one_split:
        for name, seconds in split().items():
            print(f"{name}\t{seconds}")
        return 0
    whole()  # fill the caches
    totals = [whole() for _ in range(args.runs)]
    stages: dict[str, list[float]] = {}
    for _ in range(args.runs):
        output = subprocess.run(
            [sys.executable, __file__, _CHILD], check=True, capture_output=True, text=True
        ).stdout
        for line in output.splitlines():
            name, _, seconds = line.partition("\t")
            if seconds:
                stages.setdefault(name, []).append(float(seconds))
    print(
        f"{'warpath run examples/vadd.cu':44} {1e3 * statistics.median(totals):8.0f} ms (min {1e3 * min(totals):.0f})"
    )
    for name, times in stages.items():
        print(f"  {name:42} {1e3 * statistics.median(times):8.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
