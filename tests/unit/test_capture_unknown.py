"""Recordings of drivers, engines and boards that the tables do not have: what is known decodes, what is not is said."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest

from warpath.capture import log
from warpath.capture.trace import Trace
from warpath.report import trace_build
from warpath.report.trace import TraceInfo, TraceReport

TRACES = Path(__file__).parents[1] / "data" / "traces"
VADD = lzma.decompress((TRACES / "vadd.trace.xz").read_bytes())


def _report(data: bytes = VADD, **facts: Any) -> TraceReport:
    return trace_build.build(Trace(log.parse(data + log.facts(facts, 0))))


def _notes(trace: TraceInfo, part: str) -> list[str]:
    return [note for note in trace.notes if part in note]


def _with_class(old: int, new: int) -> bytes:
    return VADD.replace(old.to_bytes(4, "little"), new.to_bytes(4, "little"))


@pytest.mark.parametrize("driver", ["999.10", "470.256.02", "next"])
def test_a_branch_outside_the_tables(driver: str) -> None:
    report = _report(driver=driver)
    assert not report.trace.branch_known
    (note,) = _notes(report.trace, "of a branch the tables do not cover (515 to 610)")
    assert driver in note
    # The command stream and the names of the ioctls do not depend on the branch.
    known = _report().trace
    assert report.trace.undecoded == known.undecoded
    assert [kind.detail for kind in report.trace.ioctl_kinds] == [kind.detail for kind in known.ioctl_kinds]
    assert [launch.kernel for launch in report.launches] == [
        "vadd(const float *, const float *, float *, int)"
    ]


def test_a_known_branch_needs_no_note() -> None:
    assert _notes(_report(driver="610.43.03").trace, "branch") == []


@pytest.mark.parametrize(("old", "new", "launches"), [(0xCBC0, 0xFBC0, 0), (0xC8B5, 0xF8B5, 1)])
def test_an_engine_without_a_table(old: int, new: int, launches: int) -> None:
    report = _report(_with_class(old, new))
    assert len(report.launches) == launches
    assert report.trace.undecoded.methods > 1000
    assert report.trace.undecoded.segments == 0
    (note,) = _notes(report.trace, "no table has the methods of class")
    assert f"class {new:#x}:" in note


def test_a_board_that_is_not_known() -> None:
    (note,) = _notes(_report(_with_class(0xCBC0, 0xFBC0), gpu="NVIDIA Q1").trace, "the board")
    assert note.startswith("the board (NVIDIA Q1) is not known: occupancy is that of ")
    (note,) = _notes(_report(gpu="NVIDIA Q1").trace, "the board")
    assert note.endswith(", which has the same compute class")


def test_calls_add_up_to_what_was_recorded() -> None:
    trace = _report().trace
    assert sum(kind.ioctls for kind in trace.calls) == len(trace.ioctls)
    assert sum(kind.doorbells for kind in trace.calls) == len(trace.doorbells)
    by_name = {kind.name: kind for kind in trace.calls}
    assert by_name["cuMemcpyHtoD"].doorbells == 8
    assert by_name["cuMemAlloc"].count == 3
    assert by_name["cuLaunchKernel"].ioctls == 0
