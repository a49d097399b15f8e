"""`pytest --warpath` on CUDA sources: one test each, with what was found as the reason of a failure."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from warpath.pytest_plugin import CudaFile

GOOD = """#include <cuda_runtime.h>
__global__ void k(int* p) { p[threadIdx.x] = 1; }
int main() { int* p; cudaMalloc(&p, 128); k<<<1, 32>>>(p); return cudaDeviceSynchronize(); }
"""
BAD = GOOD.replace("cudaMalloc(&p, 128)", "cudaMalloc(&p, 124)")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Installed, pytest finds the plug-in by its entry point, and refuses it a second time by name.
    named = [] if entry_points(group="pytest11", name="warpath") else ["-p", "warpath.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", *named, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_good.cu").write_text(GOOD)
    (tmp_path / "test_bad.cu").write_text(BAD)
    (tmp_path / "other.cu").write_text(BAD)
    return tmp_path


def test_one_test_a_program(folder: Path) -> None:
    done = run(folder, "--warpath", "--junitxml=out.xml")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "Invalid __global__ write of size 4 bytes" in done.stdout
    suite = ET.parse(folder / "out.xml").getroot()
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert set(cases) == {"test_good.cu", "test_bad.cu"}
    failure = cases["test_bad.cu"].find("failure")
    assert failure is not None
    assert cases["test_good.cu"].find("failure") is None


def test_nothing_is_collected_without_the_option(folder: Path) -> None:
    assert "no tests ran" in run(folder).stdout


def test_patterns_and_tools(folder: Path) -> None:
    done = run(folder, "--warpath", "--warpath-pattern", "oth*.cu", "--warpath-tool", "synccheck")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_it_is_a_collector_of_files() -> None:
    assert issubclass(CudaFile, pytest.File)
