"""What the checks cost: seconds of a launch with each tool over those of the functional run, on one host thread.

    python benchmarks/check.py [--gpu rtx4090] [--runs N]

Targets on c53_sgemm_tiled: memcheck at most 3, racecheck at most 10. Exit code 1 when one is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from warpath import _core
from warpath.check.watch import TOOLS, Watch
from warpath.cli.machine import make_machine
from warpath.cli.target import shim_directory
from warpath.gpu import spec
from warpath.toolchain.build import build

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "tests" / "cases" / "c53_sgemm_tiled.cu"
TARGETS = {"memcheck": 3.0, "racecheck": 10.0}


class Clock:
    """Seconds of all launches together."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0

    def on_launch_start(self, _launch: Any) -> None:
        self._start = time.perf_counter()

    def on_launch(self, _launch: Any) -> None:
        self.seconds += time.perf_counter() - self._start


def seconds(board: str, tools: tuple[str, ...], runs: int) -> float:
    """Best of several runs."""
    gpu = spec.load(board)
    program = build([PROGRAM], gpu.sm.name, shim_directory()).program
    best = float("inf")
    for _ in range(runs):
        clock, watch = Clock(), Watch(tools, show=lambda _: None)
        machine = make_machine(
            gpu, program, [], eager=False, count=False, threads=1, hold=True, observers=[clock, watch]
        )
        watch.attach(_core, machine.driver, machine.session.runtime)
        machine.session.run()
        best = min(best, clock.seconds)
    return best


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", default="rtx4090")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    plain = seconds(args.gpu, (), args.runs)
    print(f"{'functional':12} {plain:8.3f} s")
    missed = False
    for tool in (*TOOLS, "all"):
        took = seconds(args.gpu, TOOLS if tool == "all" else (tool,), args.runs)
        target = TARGETS.get(tool)
        missed |= target is not None and took > target * plain
        print(
            f"{tool:12} {took:8.3f} s {took / plain:6.2f} times" + (f" (target {target:g})" if target else "")
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
