"""Run the calibration programs on this machine's GPU and keep the raw data.

Needs nvcc and, for the programs whose figures come from the profiler, ncu with counter permission. Clocks are left
as they are.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpath.errors import ToolError

PROGRAMS = Path(__file__).parent
TIMED = (
    "latency", "issue", "lsu", "icache", "front", "memory", "scatter", "gather", "constant", "order", "path", "tlb",
    "fabric", "branch", "straight", "passes", "first", "mixes", "burst", "barrier",
    "match", "queue", "turns",
)  # fmt: skip
PROFILED = ("launch", "bandwidth", "atomics", "code", "merge", "start", "stores")
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
STALLS = (
    "no_instruction", "imc_miss", "short_scoreboard", "long_scoreboard", "drain", "wait", "mio_throttle",
    "branch_resolving", "selected", "not_selected",
)  # fmt: skip
# What is asked of the programs that METRICS do not suit.
METRICS_OF: Mapping[str, tuple[str, ...]] = {
    "merge": (
        "lts__t_sectors_srcunit_tex.sum",
        "lts__t_sectors_srcunit_tex_lookup_hit.sum",
        "lts__t_sectors_srcunit_tex_lookup_miss.sum",
        "dram__bytes_read.sum",
    ),
    "stores": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit.sum",
        "lts__t_requests_srcunit_tex_op_write.sum",
        "lts__t_sectors_srcunit_tex_op_write.sum",
    ),
    "start": (
        *(f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio" for reason in STALLS),
        "smsp__inst_executed.sum",
        "gpu__time_duration.sum",
        "sm__cycles_active.max",
    ),
}

Records = list[dict[str, Any]]


def collect(out: Path) -> None:
    """Build all, run one after another, write probes.json.gz and profiled.json.gz to `out`."""
    for tool in ("nvcc", "ncu"):
        if shutil.which(tool) is None:
            raise ToolError(
                f"{tool} is not on PATH: calibration runs on a machine with a GPU and the CUDA toolkit"
            )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: _build(name, Path(folder)) for name in (*TIMED, *PROFILED)}
        probes = [record for name in TIMED for record in _timed(programs[name])]
        records = {
            name: {
                "cold": _profiled(programs[name], "all", METRICS_OF.get(name, METRICS)),
                "warm": _profiled(programs[name], "none", METRICS_OF.get(name, METRICS)),
            }
            for name in PROFILED
        }
    write(out / "probes.json.gz", probes)
    write(out / "profiled.json.gz", records)


def write(path: Path, data: Sequence[Any] | Mapping[str, Any]) -> None:
    """Compressed JSON, equal bytes for equal data."""
    with path.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(data).encode())


def read(path: Path) -> Any:
    """What `write` wrote."""
    with gzip.open(path) as packed:
        return json.load(packed)


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[:500]}")
    return done.stdout


def _build(name: str, folder: Path) -> Path:
    """Compile one program for the GPU of this machine."""
    program = folder / name
    _run(
        [
            "nvcc",
            "-O3",
            "-std=c++17",
            "-lineinfo",
            "-arch=native",
            str(PROGRAMS / f"{name}.cu"),
            "-o",
            str(program),
        ]
    )
    return program


def _timed(program: Path) -> Records:
    """The JSON lines a program prints."""
    return [json.loads(line) for line in _run([str(program)]).splitlines() if line.startswith("{")]


def _profiled(program: Path, cache: str, metrics: Sequence[str]) -> Records:
    """One record per launch from ncu's raw CSV; `cache` is all (flushed: cold) or none."""
    options = ["--csv", "--page", "raw", "--cache-control", cache, "--clock-control", "none"]
    output = _run(["ncu", *options, "--print-units", "base", "--metrics", ",".join(metrics), str(program)])
    records: Records = []
    for row in list(csv.DictReader(io.StringIO(output[output.index('"ID"') :])))[1:]:
        figures = {name: float(row[name].replace(",", "")) for name in metrics if row.get(name)}
        shape = {"kernel": row["Kernel Name"], "grid": row["Grid Size"], "block": row["Block Size"]}
        records.append({**shape, **figures})
    return records
