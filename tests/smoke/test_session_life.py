"""Threads, fork, exec, crashes, exits and interrupts of real programs under `warpath run`: nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.smoke.programs import build_for, warpath
from warpath.cli.machine import make_machine
from warpath.gpu import spec

SOURCE = Path(__file__).resolve().parents[1] / "data" / "host" / "lifecycle.cu"


@pytest.fixture(scope="module")
def program() -> Path:
    return build_for([SOURCE], [89])


def start(program: Path, mode: str) -> tuple[subprocess.Popen[str], int, Path]:
    """(warpath, the program's process id, its socket's path) once the program has announced itself."""
    command = [sys.executable, "-m", "warpath", "run", "-q", str(program), "--", mode]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    pid, socket = line.split()
    return process, int(pid), Path(socket)


def end(process: subprocess.Popen[str], pid: int, socket: Path) -> tuple[int, str]:
    """(exit code, stderr) once warpath has ended, and nothing of the run is left."""
    _, errors = process.communicate(timeout=30)
    assert not socket.parent.exists()
    assert not Path(f"/proc/{pid}").exists()
    return process.returncode, errors


def test_threads_launch_into_streams_of_their_own(program: Path) -> None:
    outcome = warpath("run", "-q", program, "--", "threads")
    assert (outcome.stdout, outcome.code) == ("0 0 0 0\n", 0), outcome.stderr


def test_a_kernel_that_does_not_end_holds_up_its_own_stream_only(program: Path) -> None:
    outcome = warpath("run", "-q", program, "--", "beside")
    assert outcome.stdout == "0 cudaErrorNotReady\ncudaSuccess\n", outcome.stderr


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("fork", "child 0 cudaSuccess\nparent 0\n"),
        ("fork-after-use", "child 1 cudaErrorInitializationError\nparent 0\n"),
    ],
)
def test_fork(program: Path, mode: str, expected: str) -> None:
    outcome = warpath("run", "-q", program, "--", mode)
    assert (outcome.stdout, outcome.code) == (expected, 0), outcome.stderr


def test_exec(program: Path) -> None:
    outcome = warpath("run", "-q", program, "--", "exec")
    assert (outcome.stdout, outcome.code) == ("first 0\nsecond 0\n", 4), outcome.stderr


@pytest.mark.parametrize(("mode", "code"), [("crash", 128 + signal.SIGSEGV), ("leave", 7)])
def test_the_program_ends_inside_a_callback(program: Path, mode: str, code: int) -> None:
    assert end(*start(program, mode)) == (code, "")


def test_the_program_is_killed_in_the_middle_of_a_kernel(program: Path) -> None:
    process, pid, socket = start(program, "hang")
    time.sleep(0.5)
    os.kill(pid, signal.SIGKILL)
    assert end(process, pid, socket) == (128 + signal.SIGKILL, "")


def test_ctrl_c_in_the_middle_of_a_kernel(program: Path) -> None:
    process, pid, socket = start(program, "hang")
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    assert end(process, pid, socket) == (128 + signal.SIGINT, "")


def test_being_terminated_in_the_middle_of_a_kernel(program: Path) -> None:
    process, pid, socket = start(program, "hang")
    time.sleep(0.5)
    process.terminate()
    assert end(process, pid, socket) == (128 + signal.SIGTERM, "")


@pytest.mark.parametrize(
    ("mode", "printed", "code"),
    [("in-call", "before\n", 3), ("between-calls", "before\nafter\n", 3)],
)
def test_what_was_printed_is_kept_when_warpath_ends_the_program(
    program: Path, mode: str, printed: str, code: int
) -> None:
    outcome = warpath("run", "-q", program, "--", mode)
    assert (outcome.stdout, outcome.code) == (printed, code), outcome.stderr


def test_what_was_printed_is_kept_after_a_timeout(program: Path) -> None:
    machine = make_machine(
        spec.load("rtx4090"), program, ["endless"], eager=False, count=False, capture=True, timeout=2
    )
    assert (machine.session.run().code, machine.session.stdout) == (124, b"before\n")
