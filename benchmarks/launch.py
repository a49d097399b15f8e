"""Time around kernels, modelled beside measured: launches, graphs, event records, copies, fills, vadd between events.

    python benchmarks/launch.py [--gpu h200]

The programs are the calibration's `path` and the sweep of vadd. What the model must reproduce is the time between two
events on an idle stream, where the host sets the pace, and on a busy one, where the GPU does. The calls' own host times
are the model's input and not shown. The H200's figures: benchmarks/calibration/h200, and vadd timed outside the
profiler.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from warpath.calibration import collect
from warpath.cli.machine import make_machine
from warpath.cli.target import shim_directory
from warpath.gpu import spec
from warpath.toolchain.build import build

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "benchmarks" / "calibration" / "h200" / "probes.json.gz"
EVENTS = ("_idle", "_busy")
# vadd of n elements between two events, us, median of 30: warm, and right after a memset of 256 MiB.
VADD = {1 << 18: (6.46, 5.02), 1 << 20: (8.26, 7.84), 1 << 22: (20.00, 20.38), 1 << 24: (64.74, 65.47)}
VADD_SOURCE = """
#include <cstdio>
#include <cuda_runtime.h>
__global__ void vadd(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  cudaEvent_t s, e;
  cudaEventCreate(&s);
  cudaEventCreate(&e);
  char *big;
  cudaMalloc(&big, 256 << 20);
  for (int lg = 18; lg <= 24; lg += 2) {
    int n = 1 << lg;
    float *a, *b, *c;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&b, n * 4);
    cudaMalloc(&c, n * 4);
    for (int flushed = 0; flushed < 2; flushed++) {
      float ms = 0;
      for (int k = 0; k < 3; k++) {
        cudaDeviceSynchronize();
        if (flushed) cudaMemset(big, 0, 256 << 20);
        cudaEventRecord(s);
        vadd<<<n / 256, 256>>>(a, b, c, n);
        cudaEventRecord(e);
        cudaEventSynchronize(e);
        cudaEventElapsedTime(&ms, s, e);
      }
      printf("{\\"flushed\\": %d, \\"n\\": %d, \\"us\\": %g}\\n", flushed, n, ms * 1e3);
    }
  }
}
"""


def run(gpu: spec.Gpu, source: Path, *arguments: str) -> list[dict[str, Any]]:
    """The JSON lines that a program prints under the clock."""
    program = build(source, gpu.sm.name, shim_directory()).program
    machine = make_machine(
        gpu, program, list(arguments), eager=False, count=False, threads=0, timed=True, hold=True
    )
    machine.session.run()
    text = machine.session.stdout.decode()
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def show(name: str, measured: float, modelled: float) -> float:
    """Print a line; the error in percent."""
    error = 100 * (modelled / measured - 1)
    print(f"{name:32} {measured:10.2f} {modelled:10.2f} {error:+7.1f} %")
    return abs(error)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--gpu", default="h200")
    gpu = spec.load(parser.parse_args().gpu)
    print(f"{'us between two events':32} {'measured':>10} {'modelled':>10} {'error':>9}")
    measured = {
        (r["what"], f"{r['x']:.6g}"): r["cycles"] for r in collect.read(MEASURED) if r["probe"] == "path"
    }
    errors: list[float] = []
    for record in run(gpu, Path(collect.__file__).parent / "path.cu", "1"):
        what, x = record["what"], f"{record['x']:.6g}"
        if what.endswith(EVENTS) and (what, x) in measured:
            errors.append(show(f"{what} {x}", measured[what, x], record["cycles"]))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "vadd.cu"
        source.write_text(VADD_SOURCE)
        for record in run(gpu, source):
            name = f"vadd {record['n']}{' after a memset' if record['flushed'] else ''}"
            errors.append(show(name, VADD[record["n"]][record["flushed"]], record["us"]))
    print(f"mean absolute error {sum(errors) / len(errors):.1f} % over {len(errors)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
