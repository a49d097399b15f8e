"""The recorder itself, without a GPU: a stand-in for the kernel driver lies behind it, all else is real.

Doorbells are rung by many kinds of store, by several threads that block every signal, beside handlers of the
program's own; the program checks that each value reached the "GPU", and the log is checked against what it did.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.trace_kit import build
from warpath.capture import functions, images, log
from warpath.capture.trace import Trace
from warpath.command.gpfifo import Entry

FORMS, THREADS, RINGS, WRONG_TOKEN = 6, 4, 200, 0x8004

Record = Callable[..., tuple[subprocess.CompletedProcess[str], Trace]]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    folder = tmp_path_factory.mktemp("recorder")
    build(folder, "recorder.so", "driver.so", "libcuda.so.1", "program", "modules")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    def run(
        *arguments: str, flags: str = "dmc", limited: bool = False, program: str = "program"
    ) -> tuple[subprocess.CompletedProcess[str], Trace]:
        path = folder / "log"
        path.write_bytes(log.header(time.time_ns(), time.monotonic_ns()))
        environment = {
            **os.environ,
            "WARPATH_TRACE_LOG": str(path),
            "WARPATH_TRACE_FLAGS": flags,
            "LD_PRELOAD": f"{folder / 'recorder.so'}:{folder / 'driver.so'}",
        }
        command = ["true"] if limited else [folder / program, *arguments]
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            preexec_fn=limit if limited else None,
        )
        return done, Trace(log.read(path))

    return run


def _rings(trace: Trace) -> list[log.Ring]:
    return [record for record in trace.log.records if isinstance(record, log.Ring)]


def test_the_program_does_not_notice(record: Record) -> None:
    done, trace = record()
    assert (done.returncode, done.stdout) == (0, "good\n")
    assert trace.log.truncated is None
    assert trace.log.unknown == {}


def test_every_doorbell_is_recorded_with_its_value(record: Record) -> None:
    _, trace = record()
    values = Counter(ring.value for ring in _rings(trace))
    assert values.pop(WRONG_TOKEN) == 1
    assert sorted(values.values()) == [FORMS + 1, *[RINGS] * THREADS]
    assert [ring.state for ring in _rings(trace) if ring.value == WRONG_TOKEN] == [1]
    assert sum(isinstance(r, log.Rung) for r in trace.log.records) == len(_rings(trace))
    assert sum(isinstance(r, log.DoorbellRead) for r in trace.log.records) == 1


def test_entries_and_pushbuffers_are_those_the_program_wrote(record: Record) -> None:
    _, trace = record()
    segments = [segment for submission in trace.submissions for segment in submission.segments]
    assert len(segments) == FORMS + FORMS // 2 + 1 + THREADS * RINGS
    assert [segment.problem for segment in segments if segment.problem] == []
    assert all(isinstance(segment.entry, Entry) and segment.entry.dwords == 2 for segment in segments)
    first = [s for s in trace.submissions if s.ring.value == _rings(trace)[0].value]
    assert [method.value for s in first for g in s.segments for method in g.methods][:4] == [
        0xCBC0,
        0xCBC1,
        0xC8B5,
        0xCBC2,
    ]
    assert [len(s.segments) for s in first][:FORMS] == [1, 2, 1, 2, 1, 2]


def test_the_ring_wraps(record: Record) -> None:
    _, trace = record()
    entries = _rings(trace)[0].entries
    by_channel: dict[int, list[int]] = {}
    for submission in trace.submissions:
        for segment in submission.segments:
            by_channel.setdefault(submission.ring.value, []).append(segment.index)
    for indices in by_channel.values():
        assert indices == [i % entries for i in range(len(indices))]


def test_ioctls_and_failed_opens(record: Record) -> None:
    _, trace = record()
    assert {ioctl.detail for ioctl in trace.ioctls} >= {
        "HOPPER_USERMODE_A",
        "HOPPER_CHANNEL_GPFIFO_A",
        "NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN",
    }
    (failed,) = [r for r in trace.log.records if isinstance(r, log.Open) and r.fd < 0]
    assert (failed.path, failed.error) == ("/dev/nvidia9", 13)


def test_a_forked_child_is_recorded_as_a_process_of_its_own(record: Record) -> None:
    _, trace = record()
    parent, child = (r for r in trace.log.records if isinstance(r, log.Process))
    assert (parent.forked, child.forked) == (False, True)
    assert child.parent == parent.head.pid
    assert any(isinstance(r, log.Open) and r.head.pid == child.head.pid for r in trace.log.records)


def test_a_crash_loses_nothing_before_it(record: Record) -> None:
    done, trace = record("crash")
    assert done.returncode == -6
    assert len(_rings(trace)) == 1
    assert trace.submissions[0].segments[0].problem == ""
    assert not any(isinstance(r, log.Exit) for r in trace.log.records)


def test_without_the_trap_nothing_is_moved(record: Record) -> None:
    done, trace = record(flags="c")
    assert done.stdout == "good\n"
    assert _rings(trace) == []
    assert not any(isinstance(r, log.Region) for r in trace.log.records)
    assert len(trace.ioctls) > 0


def test_a_limit_on_file_sizes_does_not_end_the_program(record: Record) -> None:
    done, trace = record(limited=True)
    assert done.returncode == 0
    (note,) = [r for r in trace.log.records if isinstance(r, log.Note)]
    assert "ulimit -f" in note.text


def test_calls_say_which_function_they_launch(record: Record) -> None:
    done, trace = record(program="modules", flags="c")
    assert done.stdout == "good\n"
    known = functions.Functions(trace.log.records)
    launched = [known.launched(call) for call in trace.calls if call.name == "cuLaunchKernel"]
    assert launched == [
        ("_Z5firstPfi", ((0, 8), (8, 4))),
        ("_Z5firstPfi", ((0, 8), (8, 4))),
        ("second", ((0, 6), (8, 4))),  # asked as a kernel, not as a function
        ("second", ((0, 8), (8, 4))),
        ("listed", ((0, 6), (8, 4))),
    ]
    assert sum(isinstance(r, log.Parameters) for r in trace.log.records) == 4  # once a handle


def test_images_are_where_the_log_says(record: Record) -> None:
    _, trace = record(program="modules", flags="c")
    heap, file = (r for r in trace.log.records if isinstance(r, log.Image))
    assert (heap.size, heap.path) == (40, "")
    assert (file.size, Path(file.path).name) == (40, "modules")
    ((data, where),) = images.contents(trace.log.records)
    assert (data[16:37], where) == (b"in the program's file", file.path)


def test_images_are_stored_when_asked_for(record: Record) -> None:
    _, trace = record(program="modules", flags="ci")
    heap, file = (data[16:] for data, _ in images.contents(trace.log.records))
    assert heap.startswith(b"on the heap\0")
    assert file.rstrip(b"\0") == b"in the program's file"
