"""Recordings of real programs on an H200 (driver 580.159.04): all of them decode, and vadd runs on the model."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from warpath import _core
from warpath.capture import log
from warpath.capture.replay import Outcome, replay
from warpath.capture.trace import Trace
from warpath.frontend.execution import Options
from warpath.frontend.gpu import ModelGpu
from warpath.report import trace_build
from warpath.report.trace import TraceReport
from warpath.toolchain.disasm import disassemble

TRACES = Path(__file__).parents[1] / "data" / "traces"
# Opens and ioctls (a ptrace counter saw as many), doorbells, launches of the program's own kernels.
SEEN = {
    "vadd": (46, 484, 189, {"vadd(const float *, const float *, float *, int)": 1}),
    "graph": (46, 472, 390, {"bump(unsigned int *, unsigned int)": 400}),
    "streams": (46, 476, 186, {"add(int *, int, int)": 9}),
    "pageable_pinned": (46, 472, 194, {"add1(int *, int)": 2}),
    "softmax": (46, 467, 179, {"softmax(const float *, float *, int)": 1}),
    "reduce": (46, 471, 182, {"reduce(const int *, int *, int)": 1}),
    "threads": (46, 474, 984, {"step(unsigned int *, unsigned int)": 800}),
    "cupy": (46, 472, 277, {}),
    "torch": (54, 541, 614, {}),
    "vadd_measured": (51, 529, 229, {"vadd(const float *, const float *, float *, int)": 1}),
}


@cache
def _trace(name: str) -> Trace:
    return Trace(log.read(TRACES / f"{name}.trace.xz"))


@cache
def _report(name: str) -> TraceReport:
    return trace_build.build(_trace(name))


@pytest.mark.parametrize("name", SEEN)
def test_counts(name: str) -> None:
    opens, ioctls, doorbells, kernels = SEEN[name]
    report = _report(name)
    trace = report.trace
    assert (sum(trace.files.values()), len(trace.ioctls), len(trace.doorbells)) == (opens, ioctls, doorbells)
    named = Counter(launch.kernel for launch in report.launches if launch.mangled)
    assert named == kernels
    assert (trace.driver, report.gpu.name, report.program.exit_code) == ("580.159.04", "h200", 0)
    assert sum(phase.ioctls for phase in trace.phases) == ioctls


@pytest.mark.parametrize("name", SEEN)
def test_no_word_of_the_command_stream_is_undecoded(name: str) -> None:
    missing = _report(name).trace.undecoded
    assert (missing.methods, missing.segments, missing.doorbells, missing.records) == (0, 0, 0, 0)
    assert [info.problem for info in _report(name).trace.launches if info.problem] == []
    for launch in _trace(name).launches:
        assert launch.qmd is not None
        assert launch.qmd.unnamed() == {}


def test_steady_state_makes_no_ioctl_for_a_launch() -> None:
    report = _report("graph")
    calls = [call for call in report.api if call.call in ("cuLaunchKernel", "cuGraphLaunch")]
    spans = [(call.start_ns, call.start_ns + call.duration_ns) for call in calls]
    assert len(spans) == 230
    assert not [i for i in report.trace.ioctls for start, end in spans if start <= i.time_ns < end]


def test_lazy_loading_is_shown_where_it_happens() -> None:
    loads = [load for load in _report("vadd").trace.loads if load.kernels]
    assert [(load.call, load.how, load.bytes, load.phase) for load in loads] == [
        ("cuLaunchKernel", "inline", 640, "load")
    ]


def test_launch_of_vadd() -> None:
    (launch,) = _report("vadd").launches
    (info,) = _report("vadd").trace.launches
    assert (launch.grid, launch.block, launch.registers) == ([4096, 1, 1], [256, 1, 1], 16)
    assert [(param.offset, param.size) for param in launch.params] == [(0, 8), (8, 8), (16, 8), (24, 4)]
    assert launch.params[3].value == "0x100000"
    assert launch.submission.pushbuffer_dwords == 390
    assert (info.form, info.call, info.undecoded) == ("pointer", "cuLaunchKernel", 0)
    assert info.entry_to_doorbell_ns is not None
    assert launch.occupancy.blocks_per_sm == 8


def test_graph_nodes_are_followed_from_grid_to_grid() -> None:
    forms = Counter(info.form for info in _report("graph").trace.launches)
    assert forms == {"pointer": 200, "dependent": 200}
    calls = Counter(info.call for info in _report("graph").trace.launches)
    assert calls == {"cuLaunchKernel": 200, "cuGraphLaunch": 200}


def test_transfers_have_a_direction() -> None:
    moved = {(t.kind, t.direction): t.bytes for t in _report("pageable_pinned").trace.transfers}
    assert moved["copy", "device to host"] == 2 * (4 << 20)
    assert moved["copy", "host to device"] >= 2 * (4 << 20)


def test_kernel_times_belong_to_launches() -> None:
    (info,) = _report("vadd_measured").trace.launches
    assert (info.measured_ns, info.measured_by) == (4128.0, "CUPTI activity")


def test_what_the_driver_puts_into_a_qmd_for_itself() -> None:
    """What the model's driver does the same way: bank 5 is bank 0 again, the code is prefetched and 2 KiB beyond, each
    channel has eight latches.
    """
    for name in ("vadd", "graph", "softmax", "reduce", "threads"):
        latches: dict[int, list[int]] = {}
        for launch in _trace(name).launches:
            named = _trace(name).kernel_of(launch)
            if launch.form != "pointer" or launch.qmd is None or launch.work is None or named is None:
                continue
            banks = {bank.index: (bank.va, bank.size) for bank in launch.work.banks}
            assert banks[5] == banks[0]
            assert banks[1] == (banks[7][0] + 0x10000, 0x900)
            assert launch.qmd.get("PROGRAM_PREFETCH_SIZE") == -(-named.code_bytes // 256) + 8
            ring = launch.where.submission.ring
            latches.setdefault(ring.value, []).append(launch.qmd.get("ARRIVE_AT_LATCH_ID"))
        for token, found in latches.items():
            first = 8 if token == 0xA else 8 * token - 32
            assert found == [first + index % 8 for index in range(len(found))]


def replay_recording(name: str) -> Outcome:
    gpu = trace_build.board(_trace(name))

    def make() -> tuple[Any, ModelGpu]:
        memory = _core.Memory()
        model = ModelGpu(
            gpu, memory, partial(disassemble, sm=gpu.sm.number), options=Options(threads=1, count=False)
        )
        return memory, model

    return replay(_trace(name), make)


def test_the_real_drivers_bytes_add_vectors_on_the_model() -> None:
    outcome = replay_recording("vadd")
    assert (outcome.faults, outcome.waiting, outcome.host_releases) == ([], [], 0)
    assert (outcome.segments, len(outcome.launches)) == (189, 1)
    assert len(outcome.to_host) == 4
    assert {data for _, data in outcome.to_host} == {bytes.fromhex("00000040") * (1 << 18)}


def test_pageable_and_pinned_copies_run_on_the_model() -> None:
    outcome = replay_recording("pageable_pinned")
    brought = b"".join(data for _, data in outcome.to_host)
    words = memoryview(brought).cast("I")
    assert list(words[: 1 << 20]) == [i + 1 for i in range(1 << 20)]
    assert list(words[1 << 20 :]) == [(i ^ 1) + 1 for i in range(1 << 20)]
