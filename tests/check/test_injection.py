"""What goes wrong around warpath does not stay: killed programs, noise on the socket, full memory, many runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.check.planted_kit import PLANTED
from tests.smoke.programs import build_for, warpath
from warpath.host import protocol

STEPS = 12
DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture(scope="module")
def program() -> Path:
    return build_for([PLANTED / "injection.cu"], [89])


def is_gone(stdout: str) -> bool:
    """Neither the process nor the folder of its socket, which the program has printed, is left."""
    pid, socket = stdout.splitlines()[0].split()
    return not Path(f"/proc/{pid}").exists() and not Path(socket).parent.exists()


@pytest.mark.parametrize("step", range(STEPS))
def test_killed_at_a_call(program: Path, step: int) -> None:
    outcome = warpath("run", "-q", program, "--", "steps", str(step))
    assert outcome.code == 128 + 9, outcome.stderr
    assert is_gone(outcome.stdout)


def test_killed_after_them_all(program: Path) -> None:
    outcome = warpath("run", "-q", program, "--", "steps", "99")
    assert outcome.code == 0
    assert outcome.stdout.endswith(f"{STEPS} steps\n")
    assert is_gone(outcome.stdout)


@pytest.mark.parametrize("seed", range(5))
def test_noise_on_the_socket(program: Path, seed: int) -> None:
    outcome = warpath("run", "-q", program, "--", "noise", str(seed))
    assert (outcome.stdout, outcome.code) == ("1 devices\n", 0), outcome.stderr[-2000:]
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("seed", range(5))
def test_connections_that_end_in_the_middle(program: Path, seed: int) -> None:
    outcome = warpath("run", "-q", program, "--", "cut", str(seed), str(protocol.VERSION))
    assert (outcome.stdout, outcome.code) == ("1 of 100\n", 0), outcome.stderr[-2000:]
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("limit", ["-f 1000", "-v 3000000"])
def test_a_machine_without_room_for_the_model(program: Path, limit: str) -> None:
    command = f"ulimit {limit}; exec {sys.executable} -m warpath run -q {program} -- steps 99"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("warpath: this machine refuses the model's memory")
    assert len(done.stderr.splitlines()) == 1


def test_memory_exhausted(program: Path) -> None:
    outcome = warpath("run", "-q", program, "--", "exhaust")
    assert outcome.stdout == "2 2 2 malloc: 2\nmemset: 1\nthen 0\n"
    assert "refused with error 2" in outcome.stderr  # no room for the kernel's code either
    assert "Traceback" not in outcome.stderr


def test_two_programs_at_once(program: Path) -> None:
    command = [sys.executable, "-m", "warpath", "run", "-q", str(program), "--", "steps", "99"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [one.communicate(timeout=60)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert all(is_gone(output) for output in outputs)
    assert outputs[0].splitlines()[0].split()[1] != outputs[1].splitlines()[0].split()[1]


@pytest.mark.parametrize(
    "runs", [10, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]
)
def test_many_runs_leave_nothing(program: Path, runs: int) -> None:
    descriptors = len(list(DESCRIPTORS.iterdir()))
    for _ in range(runs):
        outcome = warpath("run", "-q", program, "--", "steps", "99")
        assert outcome.code == 0
        assert is_gone(outcome.stdout)  # each by its own names: other tests run beside this one
    assert len(list(DESCRIPTORS.iterdir())) == descriptors
