"""`pytest --warpath`: CUDA programs as tests, run on the model GPU with the checks on. Needs no GPU.

A test is every file that matches `--warpath-pattern` (default `test_*.cu` and `*_test.cu`), and every executable named
on the command line that is linked with `-cudart shared`. It passes when the program exits with 0 and no check finds
anything.
"""

# pytest does not annotate `from_parent` and `getoption`.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

_PATTERNS = ("test_*.cu", "*_test.cu")
_ELF = b"\x7fELF"
_MARGIN_SECONDS = 30  # compilation and start-up, beyond the program's own time


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("warpath", "CUDA programs on a model GPU")
    group.addoption("--warpath", action="store_true", help="collect CUDA sources and programs as tests")
    group.addoption("--warpath-gpu", metavar="NAME", default="rtx4090", help="board (default: %(default)s)")
    group.addoption(
        "--warpath-tool", metavar="TOOL", action="append", default=[], help="check only this (repeatable)"
    )
    group.addoption(
        "--warpath-nvcc",
        metavar="OPTION",
        action="append",
        default=[],
        help="an option for nvcc (repeatable)",
    )
    group.addoption(
        "--warpath-pattern",
        metavar="GLOB",
        action="append",
        default=[],
        help="names of sources that are tests",
    )
    group.addoption(
        "--warpath-timeout", metavar="SECONDS", type=float, default=60.0, help="for each launch (default: 60)"
    )
    group.addoption("--warpath-suppressions", metavar="FILE", type=Path, help="findings that are accepted")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Sources by name; programs when they were named themselves."""
    config = parent.config
    if not config.getoption("--warpath"):
        return None
    patterns: Iterable[str] = config.getoption("--warpath-pattern") or _PATTERNS
    is_source = any(fnmatch(file_path.name, pattern) for pattern in patterns)
    if is_source or (_named(config, file_path) and _is_program(file_path)):
        return CudaFile.from_parent(parent, path=file_path)
    return None


def _named(config: pytest.Config, path: Path) -> bool:
    return any((config.invocation_params.dir / word).resolve() == path for word in config.args)


def _is_program(path: Path) -> bool:
    if path.suffix == ".cu":
        return True
    try:
        with path.open("rb") as file:
            return os.access(path, os.X_OK) and file.read(4) == _ELF
    except OSError:
        return False


class CudaFile(pytest.File):
    """A source or a program: one test."""

    def collect(self) -> Iterable[pytest.Item]:
        """The test."""
        yield CudaItem.from_parent(self, name=self.path.name)


class Failure(Exception):
    """The program failed or was found out; carries what to print."""


class CudaItem(pytest.Item):
    """Runs `warpath check` in a process of its own, so that nothing a program does harms the test run."""

    def runtest(self) -> None:
        """Failure when the program exits with an error or a check finds something."""
        timeout: float = self._option("timeout")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            words: list[str] = [
                "--gpu",
                self._option("gpu"),
                "--json",
                str(report),
                "--timeout",
                f"{timeout:g}",
            ]
            words += [word for tool in self._option("tool") for word in ("--tool", tool)]
            words += [f"--nvcc={word}" for word in self._option("nvcc")]
            if self._option("suppressions"):
                words += ["--suppressions", str(self._option("suppressions"))]
            done = subprocess.run(
                [sys.executable, "-m", "warpath", "check", *words, str(self.path)],
                capture_output=True,
                text=True,
                check=False,
                timeout=2 * timeout + _MARGIN_SECONDS,
            )
            found: list[dict[str, Any]] = json.loads(report.read_text())["faults"] if report.exists() else []
        self.add_report_section("call", "stdout", done.stdout)
        for fault in found:
            self.user_properties.append((fault["kind"], f"{fault['kernel']} {fault['file']}:{fault['line']}"))
        if done.returncode != 0:
            raise Failure(f"exit code {done.returncode}, {len(found)} findings\n{done.stderr}")

    def _option(self, name: str) -> Any:
        return self.config.getoption(f"--warpath-{name}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What warpath printed, rather than a traceback of the plug-in."""
        if isinstance(excinfo.value, Failure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Where the test is."""
        return self.path, None, f"warpath: {self.name}"
