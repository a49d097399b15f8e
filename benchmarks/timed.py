"""How fast the clock runs: warp instructions and cycles a second and peak memory, on one and on two host threads, for
vadd from 2^16 to 2^24 elements and a tiled sgemm.

    python benchmarks/timed.py [--gpu h200] [--runs N] [--largest LG]

Every run is a process of its own. Runs on one and on two threads alternate, since the machine may be busy, and the
best launch of each counts; peak memory is the process's, the program's arrays included. The results of both must be
equal, or the benchmark fails. The last table says how cost grows with size: 1.00 is linear.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VADD = ROOT / "benchmarks" / "vadd.cu"
SGEMM = ROOT / "tests" / "cases" / "c53_sgemm_tiled.cu"
SMALLEST = 16
_CHILD = "--one-run"


class Watch:
    """Keeps the fastest launch: wall and CPU seconds from its first step to its counters, and what it counted."""

    def __init__(self) -> None:
        self.best: dict[str, Any] = {}
        self.digest = hashlib.blake2b(digest_size=8)
        self._start = (0.0, 0.0)

    def on_grid(self, _launch: Any, _grid: Any) -> None:
        """A grid starts."""
        self._start = time.perf_counter(), time.process_time()

    def on_launch(self, launch: Any) -> None:
        """It has ended."""
        wall, cpu = time.perf_counter() - self._start[0], time.process_time() - self._start[1]
        counters = launch.counters
        self.digest.update(repr(sorted(counters["metrics"].items())).encode() + counters["stall_cycles"])
        if not self.best or wall < self.best["wall"]:
            self.best = {
                "wall": wall,
                "cpu": cpu,
                "instructions": counters["inst_executed"],
                "cycles": counters["cycles"],
            }


def one_run(gpu_name: str, threads: int, source: Path, arguments: list[str]) -> dict[str, Any]:
    """Run a program under the clock in this process."""
    from warpath.cli.machine import make_machine
    from warpath.cli.target import shim_directory
    from warpath.gpu import spec
    from warpath.toolchain.build import build

    gpu, watch = spec.load(gpu_name), Watch()
    program = build(source, gpu.sm.name, shim_directory()).program
    machine = make_machine(
        gpu, program, arguments, eager=False, count=False, threads=threads, timed=True, hold=True, observers=[watch]
    )  # fmt: skip
    machine.session.run()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**watch.best, "digest": watch.digest.hexdigest(), "peak_mib": peak}


def best_of(gpu: str, source: Path, arguments: list[str], runs: int) -> list[dict[str, Any]]:
    """The best run on one thread, and on two."""
    best: list[dict[str, Any]] = [{}, {}]
    for _ in range(runs):
        for index in range(2):
            command = [
                sys.executable,
                __file__,
                "--gpu",
                gpu,
                _CHILD,
                str(index + 1),
                str(source),
                *arguments,
            ]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if not best[index] or found["wall"] < best[index]["wall"]:
                best[index] = found
    if best[0]["digest"] != best[1]["digest"]:
        raise SystemExit(f"{source.name}: results on one and on two threads differ")
    return best


def row(name: str, one: dict[str, Any], two: dict[str, Any]) -> str:
    """A line of the table."""
    return (
        f"{name:16} {one['instructions'] / 1e6:7.2f} {one['instructions'] / one['wall'] / 1e6:9.2f}"
        f" {two['instructions'] / two['wall'] / 1e6:9.2f} {one['wall'] / two['wall']:6.2f}"
        f" {one['instructions'] / one['cpu'] / 1e6:9.2f} {two['instructions'] / two['cpu'] / 1e6:7.2f}"
        f" {one['cycles'] / one['wall'] / 1e6:9.3f} {one['peak_mib']:9.0f}"
    )


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs (default: %(default)s)")
    parser.add_argument(
        "--largest", type=int, default=24, metavar="LG", help="of vadd (default: 2^%(default)s)"
    )
    parser.add_argument(_CHILD, nargs=argparse.REMAINDER, default=[], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one_run:
        threads, source, *arguments = args.one_run
        print(json.dumps(one_run(args.gpu, int(threads), Path(source), arguments)))
        return 0
    print(
        f"{'':16} {'Mwinst':>7} {'M/s, 1':>9} {'M/s, 2':>9} {'ratio':>6} {'M/CPU s':>9} {'on 2':>7}", end=""
    )
    print(f" {'Mcycles/s':>9} {'peak MiB':>9}")
    vadd: dict[int, dict[str, Any]] = {}
    for lg in range(SMALLEST, args.largest + 1, 2):
        one, two = best_of(args.gpu, VADD, [str(lg)], args.runs)
        vadd[lg] = one
        print(row(f"vadd 2^{lg}", one, two), flush=True)
    print(row("c53_sgemm_tiled", *best_of(args.gpu, SGEMM, [], args.runs)))
    print("\ngrowth per doubling of vadd, as an exponent: time, peak memory")
    for lg in range(SMALLEST + 2, args.largest + 1, 2):
        small, large = vadd[lg - 2], vadd[lg]
        grown = [math.log2(large[key] / small[key]) / 2 for key in ("cpu", "peak_mib")]
        print(f"  2^{lg - 2} to 2^{lg}: {grown[0]:5.2f} {grown[1]:5.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
