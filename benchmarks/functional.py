"""Speed of the functional mode: warp instructions per second on whole kernels, and ns per instruction by opcode family.

    python benchmarks/functional.py [--gpu rtx4090] [--runs N]

The two kernels are vadd of 2^24 elements and the shared-memory tiled sgemm of the test cases, each on one and on two
host threads; the best of several runs counts, since the machine may be busy. The table by family runs straight-line
code of one opcode at a time, so that the slow ones are visible.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from warpath import _core
from warpath.cli.machine import make_machine
from warpath.cli.target import shim_directory
from warpath.gpu import spec
from warpath.toolchain.build import build

ROOT = Path(__file__).resolve().parent.parent
KERNELS = {
    "vadd 2^24": ROOT / "benchmarks" / "vadd.cu",
    "c53_sgemm_tiled": ROOT / "tests" / "cases" / "c53_sgemm_tiled.cu",
}

# One line of each kind: what a full warp pays for it.
LINES = {
    "integer": ("IADD3", "R4,R5,R6,R7"),
    "integer multiply": ("IMAD", "R4,R5,R6,R7"),
    "integer wide": ("IMAD.WIDE", "R4,R6,R7,R8"),
    "integer logic": ("LOP3.LUT", "R4,R5,R6,R7,0x96,!PT"),
    "integer shift": ("SHF.L.U32", "R4,R5,0x3,RZ"),
    "integer compare": ("ISETP.GE.AND", "P0,PT,R5,R6,PT"),
    "floating": ("FFMA", "R4,R5,R6,R7"),
    "floating compare": ("FSETP.GT.AND", "P0,PT,R5,R6,PT"),
    "double_precision": ("DFMA", "R4,R6,R8,R10"),
    "half": ("HFMA2", "R4,R5,R6,R7"),
    "convert": ("I2FP.F32.S32", "R4,R5"),
    "mufu": ("MUFU.RCP", "R4,R5"),
    "uniform": ("UIADD3", "UR4,UR5,UR6,URZ"),
    "move": ("MOV", "R4,R5"),
    "select": ("SEL", "R4,R5,R6,P0"),
    "shared memory": ("LDS", "R4,[R12]"),
    "warp shuffle": ("SHFL.BFLY", "PT,R4,R5,0x1,0x1f"),
    "warp vote": ("VOTE.ANY", "R4,PT,P0"),
    "tensor": ("HMMA.16816.F32", "R4,R8,R12,R16"),
}
UNROLL, WARPS = 512, 64
SHARED, WINDOW = 0x66D0 << 32, 1 << 24  # where generic addresses of shared and local memory start


class Watch:
    """Observes launches: seconds and warp instructions of each."""

    def __init__(self) -> None:
        self.launches: list[tuple[float, int, Any]] = []
        self._start = 0.0

    def on_launch_start(self, _launch: Any) -> None:
        """A grid starts."""
        self._start = time.perf_counter()

    def on_launch(self, launch: Any) -> None:
        """It has ended."""
        seconds = time.perf_counter() - self._start
        self.launches.append((seconds, launch.counters["inst_executed"], launch))


def rate(source: Path, board: str, threads: int, runs: int) -> float:
    """Best warp instructions per second over all launches of several runs."""
    gpu = spec.load(board)
    program = build(source, gpu.sm.name, shim_directory()).program
    best = 0.0
    for _ in range(runs):
        watch = Watch()
        machine = make_machine(
            gpu, program, [], eager=False, count=False, threads=threads, hold=True, observers=[watch]
        )
        machine.session.run()
        best = max(best, *(instructions / seconds for seconds, instructions, _ in watch.launches))
    return best


def nanoseconds(opcode: str, operands: str) -> float:
    """ns per warp instruction of straight-line code of one opcode, all lanes on."""
    base = 0x6B5A_0000_0000
    memory = _core.Memory()
    memory.reserve(base, 1 << 24)
    memory.alloc(base, 1 << 24, 4)
    text = [("", opcode, operands)] * UNROLL + [("", "EXIT", "")]
    program = _core.Program(90, base, bytes(16 * len(text)), text)
    if program.undeclared():
        raise RuntimeError(f"{opcode} {operands}: {program.undeclared()[0]['reason']}")
    banks = [(base + (1 << 20), 4096)] + [(0, 0)] * 7
    best = float("inf")
    for _ in range(5):
        grid = _core.Grid(
            memory, program, base, (WARPS, 1, 1), (32, 1, 1), 64, 4096, 0, banks, SHARED, SHARED + WINDOW, 132, 8, False
        )  # fmt: skip
        start = time.perf_counter()
        while grid.step(1 << 30, 1) == "running":
            pass
        best = min(best, time.perf_counter() - start)
        if grid.fault:
            raise RuntimeError(f"{opcode} {operands}: {grid.fault}")
    return best * 1e9 / (UNROLL * WARPS)


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", default="rtx4090")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    print(f"{'kernel':20} {'1 thread':>14} {'2 threads':>14} {'ratio':>6}   million warp instructions/s")
    for name, source in KERNELS.items():
        one, two = (rate(source, args.gpu, threads, args.runs) for threads in (1, 2))
        print(f"{name:20} {one / 1e6:14.1f} {two / 1e6:14.1f} {two / one:6.2f}")
    families = Counter(row["family"] for row in _core.op_table())
    print(
        f"\n{len(families)} families, {sum(families.values())} opcodes declared; ns per warp instruction, one thread:"
    )
    for name, (opcode, operands) in LINES.items():
        print(f"  {name:20} {opcode:16} {nanoseconds(opcode, operands):7.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
