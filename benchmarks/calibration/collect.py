"""Run the calibration programs on a machine with an NVIDIA GPU and keep the raw data.

    python benchmarks/calibration/collect.py OUT_DIR

Needs nvcc and, for the programs whose figures come from the profiler, ncu with counter permission. Clocks are left as
they are. Writes OUT_DIR/probes.json (figures timed inside kernels) and OUT_DIR/profiled.json (one record a launch,
cold: caches flushed before each, and warm).
"""

from __future__ import annotations

import concurrent.futures
import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TIMED = ("latency", "issue", "lsu", "icache", "front", "memory", "scatter")
PROFILED = ("launch", "bandwidth", "atomics")
METRICS = (
    "gpu__time_duration.sum",
    "gpc__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "sm__cycles_active.max",
    "sm__cycles_elapsed.max",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__cycles_elapsed.avg.per_second",
    "gpc__cycles_elapsed.avg.per_second",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "smsp__inst_executed.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
)


def build(name: str, out: Path) -> Path:
    """Compile one program for the GPU of this machine."""
    program = out / name
    command = [
        "nvcc",
        "-O3",
        "-std=c++17",
        "-lineinfo",
        "-arch=native",
        str(HERE / f"{name}.cu"),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    return program


def timed(program: Path) -> list[dict[str, Any]]:
    """The JSON lines a program prints."""
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def profiled(program: Path, cache: str) -> list[dict[str, Any]]:
    """One record per launch from ncu's raw CSV; `cache` is all (flushed: cold) or none (warm)."""
    options = ["--csv", "--page", "raw", "--cache-control", cache, "--clock-control", "none"]
    command = ["ncu", *options, "--print-units", "base", "--metrics", ",".join(METRICS), str(program)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    start = output.index('"ID"')
    records: list[dict[str, Any]] = []
    for row in list(csv.DictReader(io.StringIO(output[start:])))[1:]:
        figures = {name: _number(row[name]) for name in METRICS if row.get(name)}
        records.append(
            {"kernel": row["Kernel Name"], "grid": row["Grid Size"], "block": row["Block Size"], **figures}
        )
    return records


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def main() -> int:
    """Build all, run one after another, write both files."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        programs = dict(
            zip(
                (*TIMED, *PROFILED), pool.map(lambda name: build(name, out), (*TIMED, *PROFILED)), strict=True
            )
        )
    probes = [record for name in TIMED for record in timed(programs[name])]
    (out / "probes.json").write_text(json.dumps(probes))
    records = {
        name: {"cold": profiled(programs[name], "all"), "warm": profiled(programs[name], "none")}
        for name in PROFILED
    }
    (out / "profiled.json").write_text(json.dumps(records))
    for name in programs.values():
        name.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
