"""`warpath sweep` as a user runs it: local processes, a Dask cluster, failures, breaking off and going on."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.smoke.programs import Outcome, warpath

SOURCE = """
#include <cstdio>
#include <cstdlib>
#include "block.h"
__global__ void twice(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= SCALE;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1024;
  float *a;
  cudaMalloc(&a, n * 4);
  twice<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(a, n);
  cudaDeviceSynchronize();
  if (n == 13) abort();
}
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source with a header of its own, in the folder that the test works in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "block.h").write_text("#ifndef BLOCK\n#define BLOCK 128\n#endif\n#define SCALE 2\n")
    (tmp_path / "twice.cu").write_text(SOURCE)
    return tmp_path / "twice.cu"


def sweep(*words: str | Path) -> tuple[Outcome, list[dict[str, Any]]]:
    arguments = [str(word) for word in words]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    arguments[at:at] = ["--json", "rows.json"]
    made = warpath("sweep", "twice.cu", *arguments)
    return made, json.loads(Path("rows.json").read_text())


def test_boards_and_macros_and_a_point_that_is_refused(program: Path) -> None:
    made, rows = sweep("--gpu", "rtx4090,h200", "--set", "BLOCK=64,2048", "--csv", "rows.csv", "-j2")
    assert made.code == 1
    assert [(row["set"]["gpu"], row["set"]["BLOCK"], row["state"]) for row in rows] == [
        (gpu, block, state)
        for gpu in ("rtx4090", "h200")
        for block, state in (("64", "finished"), ("2048", "failed"))
    ]
    for row in rows[::2]:
        report = json.loads((program.parent / "twice.sweep" / row["report"]).read_text())
        (launch,) = report["launches"]
        assert (row["duration_ns"], launch["block"]) == (launch["duration_ns"], [64, 1, 1])
        assert report["gpu"]["name"] == row["set"]["gpu"]
        assert row["ratio"] == pytest.approx(row["duration_ns"] / launch["floor_ns"])
    assert "block dimension x is 2048" in rows[1]["reason"]
    assert "block dimension x is 2048" in made.stdout
    assert max(map(len, made.stdout.splitlines())) <= 100
    with Path("rows.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["duration_ns"] for line in lines] == [str(row["duration_ns"] or "") for row in rows]


def test_a_second_run_skips_what_finished_and_tries_again_what_failed(program: Path) -> None:
    words = ("--set", "n=13,1000,2000", "--", "{n}")
    first, rows = sweep(*words)
    assert [row["state"] for row in rows] == ["failed", "finished", "finished"]
    assert rows[0]["reason"] == "the program's exit code is 134 (SIGABRT)"
    kept = {path: path.stat().st_mtime_ns for path in Path("twice.sweep").glob("*.json")}
    second, again = sweep(*words)
    assert again == rows
    assert second.stdout == first.stdout
    assert "2 of 3 points finished before" in second.stderr
    touched = {path for path, before in kept.items() if path.stat().st_mtime_ns != before}
    assert [path.name.endswith(".failed.json") for path in touched] == [True]


def test_a_changed_source_or_header_is_run_again(program: Path) -> None:
    words = ("--set", "n=1000", "--", "{n}")
    assert "finished before" not in sweep(*words)[0].stderr
    assert "1 of 1 points finished before" in sweep(*words)[0].stderr
    for name in ("block.h", "twice.cu"):
        file = program.parent / name
        file.write_text(file.read_text() + "// changed\n")
        assert "finished before" not in sweep(*words)[0].stderr


def test_a_point_that_hangs_is_stopped_and_the_others_are_kept(program: Path) -> None:
    program.write_text(SOURCE.replace("a[i] *= SCALE;", "do a[i] *= SCALE; while (SPIN);"))
    _, rows = sweep("--set", "SPIN=0,1", "--timeout", "2")
    assert [row["state"] for row in rows] == ["finished", "failed"]
    assert "twice(float *, int)" in rows[1]["reason"]


def test_ctrl_c_leaves_finished_points_and_nothing_running(program: Path) -> None:
    program.write_text(SOURCE.replace("a[i] *= SCALE;", "do a[i] *= SCALE; while (n == 7);"))
    command = [sys.executable, "-m", "warpath", "sweep", "twice.cu", "--set", "n=1000,7", "-j1", "--", "{n}"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(Path("twice.sweep").glob("*.json")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1)  # into the point that never ends
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "1 of 2 points are done" in said
    here = str(program.parent)
    assert not [pid for pid in _processes() if here in pid]
    assert len(list(Path("twice.sweep").iterdir())) == 1


def _processes() -> Iterator[str]:
    """Working folders of all processes but this one."""
    for folder in Path("/proc").glob("[0-9]*"):
        if folder.name != str(os.getpid()):
            try:
                yield str((folder / "cwd").readlink())
            except OSError:
                continue


def test_a_cluster_of_two_workers(program: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        words = ("--set", "n=13,1000,2000,4000", "--store", "far", "--scheduler", cluster.scheduler_address)
        _, rows = sweep(*words, "--", "{n}")
        assert [row["state"] for row in rows] == ["failed", *["finished"] * 3]
        _, near = sweep("--set", "n=1000,2000,4000", "--", "{n}")
        assert [row["duration_ns"] for row in rows[1:]] == [row["duration_ns"] for row in near]
        with distributed.Client(cluster) as client:
            counts = client.run(lambda dask_worker: dask_worker.state.transition_counter)
        assert len(counts) == 2
        assert all(counts.values())  # both took part


def test_macros_are_for_sources(program: Path) -> None:
    for words in (("sweep", "--set", "N=1"), ("run", "-DN=1"), ("explain", "--nvcc=-O1")):
        made = warpath(words[0], "/bin/true", *words[1:])
        assert made.code == 2
        assert "/bin/true is a finished program" in made.stderr
        assert len(made.stderr.splitlines()) == 1
    made = warpath("run", "twice.cu", "-DBLOCK=32", "-D", "UNUSED", "--", "64")
    assert "<<<2x1x1, 32x1x1>>>" in made.stderr


def test_no_scheduler(program: Path) -> None:
    made = warpath("sweep", "twice.cu", "--scheduler", "nowhere://x")
    assert made.code == 2
    assert "no Dask scheduler answers at nowhere://x" in made.stderr
    assert len(made.stderr.splitlines()) == 1


def test_the_page_needs_nothing_from_outside(program: Path) -> None:
    made, _ = sweep("--set", "n=1000,2000", "--html", "page.html", "--", "{n}")
    assert made.code == 0
    page = Path("page.html").read_text()
    assert "<script src" not in page
    assert "<link" not in page.split("<script", 1)[0]
    assert page.count("Plotly.newPlot(") >= 1
