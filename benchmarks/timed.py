"""How fast the clock runs: warp instructions and cycles a second, and peak memory, on vadd from 2^16 to 2^24
elements and on a tiled sgemm.

    python benchmarks/timed.py [--threads N]

CPU time of the simulation alone, kernels rehearsed as the accuracy benchmark does; host clock beside it.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from warpath.cli.machine import Machine, make_machine
from warpath.cli.target import resolve
from warpath.gpu import spec

if TYPE_CHECKING:
    from warpath.frontend.launch import Launch

PROGRAMS = Path(__file__).parent.parent / "tests" / "cases"
CASES = ("sweep_vadd", "c53_sgemm_tiled")
LARGEST_CTAS = 1 << 16  # 2^24 elements of 256 threads a CTA


class Stopwatch:
    """Rehearses each launch once and prints how long it took."""

    def __init__(self) -> None:
        self.machine: Machine | None = None

    def on_launch_start(self, launch: Launch) -> None:
        """Time one launch."""
        if self.machine is None or launch.work.grid[0] > LARGEST_CTAS:
            return
        cpu, wall = time.process_time(), time.perf_counter()
        counters = self.machine.model.rehearse(launch, flush=True)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        instructions = counters["inst_executed"]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{launch.work.grid!s:18} {instructions:10} warp instructions  {instructions / wall / 1e6:6.2f} M/s"
            f"  {instructions / cpu / 1e6:6.2f} M per CPU second  {counters['cycles'] / wall / 1e6:8.3f} M cycles/s"
            f"  peak {peak:6.0f} MiB"
        )


def main() -> int:
    """Run the cases."""
    parser = argparse.ArgumentParser(description="How fast the clock runs.")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="host threads (default: %(default)s)"
    )
    args = parser.parse_args()
    gpu = spec.load("h200")
    for case in CASES:
        target = resolve(
            argparse.Namespace(program=PROGRAMS / f"{case}.cu", sources=[], nvcc=[], macros=[]), gpu
        )
        watch = Stopwatch()
        watch.machine = machine = make_machine(
            gpu,
            target.path,
            [],
            eager=False,
            count=False,
            threads=args.threads,
            hold=True,
            timeout=600,
            observers=[watch],
        )
        print(f"{case}, {args.threads} threads")
        machine.session.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
