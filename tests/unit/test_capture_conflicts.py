"""What gets in the recorder's way, provoked without a GPU: debuggers, filters, programs that leave early."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.trace_kit import build
from warpath.capture import log, session
from warpath.capture.trace import Trace
from warpath.errors import UsageError
from warpath.report import trace_build

DOORBELLS = 808


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("conflicts"), "recorder.so", "driver.so", "program", "conflicts")


def _record(built: Path, monkeypatch: pytest.MonkeyPatch, *command: str) -> tuple[int, Trace, list[str]]:
    """Exit code, recording and notes of a program under the recorder, the stand-in for the driver behind it."""
    monkeypatch.setenv("LD_PRELOAD", str(built / "driver.so"))
    path = built / "log"
    words = [str(built / word) if (built / word).exists() else word for word in command]
    code = session.record(session.Recording(program=words, output=path), built / "recorder.so")
    trace = Trace(log.read(path))
    return code, trace, trace_build.build(trace).trace.notes


def _has(notes: list[str], part: str) -> bool:
    return sum(part in note for note in notes) == 1


def test_a_tracer_that_hands_on_signals(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, trace, notes = _record(built, monkeypatch, "conflicts", "pass", "program")
    assert (code, len(trace.submissions)) == (0, DOORBELLS)
    assert _has(notes, "a debugger or tracer was attached")


def test_a_debugger_that_keeps_single_steps(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, trace, notes = _record(built, monkeypatch, "conflicts", "swallow", "program")
    assert trace.submissions == []
    assert len(trace.ioctls) > 0
    assert _has(notes, "a debugger keeps the program's single steps to itself: rings are not recorded")


def test_a_filter_that_refuses_to_move_the_page(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, trace, notes = _record(built, monkeypatch, "conflicts", "mremap", "program")
    assert (code, trace.submissions) == (0, [])
    assert _has(notes, "the doorbell page cannot be moved: rings are not recorded")
    assert _has(notes, "system calls are filtered (seccomp)")


def test_a_filter_that_refuses_the_recorders_memory(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, trace, notes = _record(built, monkeypatch, "conflicts", "memfd", "program")
    assert (code, len(trace.submissions)) == (0, DOORBELLS)
    assert {len(submission.segments) for submission in trace.submissions} == {0}
    assert _has(notes, "memory cannot be copied here (memfd_create fails)")


def test_a_filter_that_kills(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, notes = _record(built, monkeypatch, "conflicts", "kill", "program")
    assert code == 128 + 31
    assert _has(notes, "a filter (seccomp) forbids a system call: the recorder needs writev")


def test_a_filter_that_allows_is_only_said(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, trace, notes = _record(built, monkeypatch, "conflicts", "allow", "program")
    assert (code, len(trace.submissions)) == (0, DOORBELLS)
    assert _has(notes, "system calls are filtered (seccomp)")


def test_a_filter_that_the_program_sets_itself(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, notes = _record(built, monkeypatch, "program", "filter")
    assert code == 0
    assert _has(notes, "the program filters its own system calls (seccomp)")


def test_a_program_that_leaves_by_exit(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, notes = _record(built, monkeypatch, "program", "leave")
    assert _has(notes, "first process left without its last record")
    _, _, notes = _record(built, monkeypatch, "program")
    assert not any("last record" in note for note in notes)


def test_a_program_without_a_dynamic_linker(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return 0; }")
    made = subprocess.run(["gcc", "-static", source, "-o", tmp_path / "x"], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no static libc here")
    with pytest.raises(UsageError, match="statically linked"):
        session.record(session.Recording(program=[str(tmp_path / "x")], output=tmp_path / "log"), tmp_path)


def test_a_device_that_this_user_may_not_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "nvidiactl"
    device.touch(mode=0o000)
    monkeypatch.setattr(session, "CONTROL_DEVICE", device)
    user = os.getuid()
    if user == 0:
        os.setreuid(65534, -1)  # access(2) asks for the real user
    try:
        with pytest.raises(UsageError, match=f"no permission to use {device}: become a member"):
            session.check_machine()
    finally:
        if user == 0:
            os.setreuid(0, -1)
