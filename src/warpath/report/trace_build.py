"""Turns a decoded recording into the report of a traced run. Nothing is decided here; numbers are copied or counted."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from warpath import __version__
from warpath.capture import log, tables
from warpath.capture.activity import Measured
from warpath.capture.ioctls import Ioctl
from warpath.capture.trace import PHASES, Trace
from warpath.capture.work import Copy, Semaphore, Upload, Work
from warpath.command.gpfifo import Entry
from warpath.container.demangle import demangle
from warpath.gpu import spec
from warpath.gpu.spec import Gpu
from warpath.report.model import ApiCall, ProgramInfo
from warpath.report.recorder import gpu_info
from warpath.report.trace import (
    ChannelInfo,
    CodeLoad,
    DoorbellInfo,
    IoctlInfo,
    IoctlKind,
    MeasuredInfo,
    OverheadInfo,
    PhaseInfo,
    TraceInfo,
    TraceReport,
    TransferInfo,
    Undecoded,
)
from warpath.report.trace_calls import call_kinds
from warpath.report.trace_launch import build_launches
from warpath.report.trace_notes import notes

_HANDLE_STYLE = ("hRoot", "hClient", "hObject", "hParent", "hMemory", "hClass", "cmd")


def build(trace: Trace, extra: Sequence[Measured] = ()) -> TraceReport:
    """The report; `extra` are measurements that came with it (Nsight Compute's CSV)."""
    gpu = board(trace)
    origin = trace.log.start_ns
    doorbells = list(_doorbells(trace))
    measured = [*trace.measured, *extra]
    launches, infos = build_launches(trace, gpu, measured)
    return TraceReport(
        warpath=__version__,
        gpu=gpu_info(gpu),
        options=dict(trace.facts.get("options", {})),
        program=_program(trace),
        compile=None,
        api=[
            ApiCall(
                index=index,
                call=call.name,
                args=[],
                result=call.result,
                start_ns=call.start_ns - origin,
                duration_ns=max(call.duration_ns, 0),
                thread=call.tid,
                detail="did not return" if call.duration_ns < 0 else "",
            )
            for index, call in enumerate(trace.calls)
        ],
        copies={},
        launches=launches,
        faults=[],
        trace=TraceInfo(
            driver=trace.driver,
            branch_known=trace.branch_known,
            processes=[r.path for r in trace.log.records if isinstance(r, log.Process)],
            files=dict(Counter(r.path for r in _opens(trace) if r.fd >= 0)),
            failed_opens={r.path: os.strerror(r.error) for r in _opens(trace) if r.fd < 0},
            phases=list(_phases(trace)),
            calls=call_kinds(trace),
            ioctl_kinds=_kinds(trace),
            ioctls=[_ioctl(trace, ioctl) for ioctl in trace.ioctls],
            channels=_channels(trace),
            doorbells=doorbells,
            doorbell_reads=sum(isinstance(r, log.DoorbellRead) for r in trace.log.records),
            transfers=_transfers(trace),
            loads=_loads(trace),
            launches=infos,
            measured=[_measured(each) for each in measured],
            overhead=_overhead(trace),
            undecoded=_undecoded(trace),
            notes=notes(trace, gpu),
            truncated=trace.log.truncated is not None,
        ),
    )


def board(trace: Trace) -> Gpu:
    """The board the recording is from: by the name the driver gave it, else the first with its compute class."""
    name = trace.facts.get("gpu", "")
    boards = [spec.load(each) for each in spec.names()]
    by_name = next((each for each in boards if name and each.label == name), None)
    if by_name is not None:
        return by_name
    classes = [object_ for channel in trace.channels.values() for object_ in channel.objects]
    by_class = next((each for each in boards if each.classes.compute in classes), None)
    return by_class or boards[0]


def _opens(trace: Trace) -> Iterator[log.Open]:
    return (record for record in trace.log.records if isinstance(record, log.Open))


def _program(trace: Trace) -> ProgramInfo:
    code = trace.facts.get("exit_code", 0)
    arguments = [str(word) for word in trace.facts.get("arguments", [])]
    return ProgramInfo(path=trace.facts.get("program", ""), args=arguments, stdout="", exit_code=code)


def _phases(trace: Trace) -> Iterator[PhaseInfo]:
    opens = Counter(trace.phase(record.head) for record in _opens(trace))
    ioctls, spent = Counter[str](), Counter[str]()
    for ioctl in trace.ioctls:
        phase = trace.phase(ioctl.start.head)
        ioctls[phase] += 1
        spent[phase] += ioctl.duration_ns
    doorbells = Counter(trace.phase(submission.ring.head) for submission in trace.submissions)
    calls, called, counted = Counter[str](), Counter[str](), Counter[str]()
    for call in trace.calls:
        if call.depth == 0:
            phase = trace.phase(log.Head(0, 0, call.start_ns, call.pid, call.tid))
            calls[phase] += 1
            called[phase] += max(call.duration_ns, 0)
            counted[phase] += call.instructions
    for name in PHASES:
        if opens[name] or ioctls[name] or doorbells[name] or calls[name]:
            yield PhaseInfo(
                name=name,
                opens=opens[name],
                ioctls=ioctls[name],
                ioctl_ns=spent[name],
                doorbells=doorbells[name],
                calls=calls[name],
                call_ns=called[name],
                instructions=counted[name],
            )


def _kinds(trace: Trace) -> list[IoctlKind]:
    groups: dict[tuple[str, str], list[Ioctl]] = {}
    for ioctl in trace.ioctls:
        groups.setdefault((ioctl.name, ioctl.detail), []).append(ioctl)
    found = [
        IoctlKind(
            name=name,
            detail=detail,
            count=len(group),
            total_ns=sum(ioctl.duration_ns for ioctl in group),
            phases=dict(Counter(trace.phase(ioctl.start.head) for ioctl in group)),
            named=group[0].named,
            opaque=sum(bool(ioctl.opaque) for ioctl in group),
        )
        for (name, detail), group in groups.items()
    ]
    return sorted(found, key=lambda kind: -kind.count)


def _ioctl(trace: Trace, ioctl: Ioctl) -> IoctlInfo:
    head = ioctl.start.head
    return IoctlInfo(
        time_ns=head.time_ns - trace.log.start_ns,
        duration_ns=ioctl.duration_ns,
        pid=head.pid,
        thread=head.tid,
        fd=ioctl.start.fd,
        name=ioctl.name,
        detail=ioctl.detail,
        phase=trace.phase(head),
        result=0 if ioctl.end is None else ioctl.end.result,
        status=ioctl.status,
        fields=_readable(ioctl.fields),
        params=_readable(ioctl.params),
        opaque=ioctl.opaque,
    )


def _readable(fields: dict[str, Any] | None) -> dict[str, Any]:
    """Handles, classes and commands as people write them."""
    return {
        name: f"{value:#x}" if name in _HANDLE_STYLE and isinstance(value, int) else value
        for name, value in (fields or {}).items()
    }


def _channels(trace: Trace) -> list[ChannelInfo]:
    found: list[ChannelInfo] = []
    for channel in trace.channels.values():
        mine = [s for s in trace.submissions if s.channel is channel]
        entries = [g.entry for s in mine for g in s.segments]
        found.append(
            ChannelInfo(
                token=channel.token,
                handle=channel.handle,
                channel_class=tables.rm_class(channel.class_id)[0],
                objects=[tables.rm_class(each)[0] for each in channel.objects],
                ring_va=channel.ring,
                entries=channel.entries,
                doorbells=len(mine),
                submitted=len(entries),
                dwords=sum(entry.dwords for entry in entries if isinstance(entry, Entry)),
                phases=dict(Counter(trace.phase(s.ring.head) for s in mine)),
            )
        )
    return found


def _doorbells(trace: Trace) -> Iterator[DoorbellInfo]:
    by_ring: dict[tuple[int, int], list[Work]] = {}
    for item in trace.work:
        ring = item.where.submission.ring
        by_ring.setdefault((ring.head.pid, ring.number), []).append(item)
    for submission in trace.submissions:
        ring = submission.ring
        problems = [submission.problem, *(segment.problem for segment in submission.segments)]
        yield DoorbellInfo(
            time_ns=ring.head.time_ns - trace.log.start_ns,
            pid=ring.head.pid,
            thread=ring.head.tid,
            token=ring.value,
            phase=trace.phase(ring.head),
            call=trace.within.find(ring.head),
            first_entry=ring.put_before,
            entries=len(submission.segments),
            dwords=sum(g.entry.dwords for g in submission.segments if isinstance(g.entry, Entry)),
            spent_ns=submission.spent_ns,
            work=list(_words(trace, by_ring.get((ring.head.pid, ring.number), []))),
            problem="; ".join(problem for problem in problems if problem),
        )


def _words(trace: Trace, items: Sequence[Work]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Upload):
            yield f"inline {len(item.data)} B to {item.va:#x}"
        elif isinstance(item, Copy):
            source = f" from {item.src:#x}" if item.kind == "copy" else ""
            yield f"{item.kind} {item.bytes} B to {item.dst:#x}{source}"
        elif isinstance(item, Semaphore):
            what = "wait for" if item.acquires else "release"
            yield f"{item.engine} {what} {item.va:#x} = {item.payload:#x}"
        else:
            yield (
                f"launch: {item.problem}"
                if item.problem
                else f"launch {trace.kernel_name(item)} ({item.form})"
            )


def _transfers(trace: Trace) -> list[TransferInfo]:
    ranges = trace.host_ranges

    def side(va: int) -> str:
        return "host" if any(start <= va < start + size for start, size in ranges) else "device"

    sums: dict[tuple[str, str], list[int]] = {}
    for item in trace.work:
        if isinstance(item, Upload):
            key, size = ("inline", f"pushbuffer to {side(item.va)}"), len(item.data)
        elif isinstance(item, Copy):
            source = side(item.src) if item.kind == "copy" else "constant"
            key, size = (item.kind, f"{source} to {side(item.dst)}"), item.bytes
        else:
            continue
        total = sums.setdefault(key, [0, 0])
        total[0] += size
        total[1] += 1
    return [TransferInfo(kind=k, direction=d, bytes=b, pieces=n) for (k, d), (b, n) in sums.items()]


def _loads(trace: Trace) -> list[CodeLoad]:
    found: list[CodeLoad] = []
    for load in trace.loads:
        index = trace.within.find(load.ring.head)
        found.append(
            CodeLoad(
                kernels=[named.name for named in load.names],
                va=load.va,
                bytes=load.size,
                how=load.how,
                call="" if index is None else trace.calls[index].name,
                phase=trace.phase(load.ring.head),
                time_ns=load.ring.head.time_ns - trace.log.start_ns,
            )
        )
    return found


def _measured(measured: Measured) -> MeasuredInfo:
    return MeasuredInfo(
        source=measured.source,
        kernel=demangle(measured.kernel),
        duration_ns=measured.duration_ns,
        grid=list(measured.grid),
        block=list(measured.block),
        metrics=measured.metrics,
    )


def _overhead(trace: Trace) -> OverheadInfo:
    spent = [submission.spent_ns for submission in trace.submissions if submission.spent_ns]
    return OverheadInfo(
        traced_ns=trace.facts.get("traced_ns"),
        untraced_ns=trace.facts.get("untraced_ns"),
        doorbells=len(trace.submissions),
        per_doorbell_ns=sum(spent) / len(spent) if spent else None,
        doorbell_total_ns=sum(spent),
    )


def _undecoded(trace: Trace) -> Undecoded:
    segments = [segment for submission in trace.submissions for segment in submission.segments]
    return Undecoded(
        methods=sum(not method.known for segment in segments for method in segment.methods),
        segments=sum(bool(segment.problem) for segment in segments),
        doorbells=sum(bool(submission.problem) for submission in trace.submissions),
        ioctls=sum(not ioctl.named for ioctl in trace.ioctls),
        parameters=sum(bool(ioctl.opaque) for ioctl in trace.ioctls),
        records=sum(trace.log.unknown.values()),
    )


def write_json(report: TraceReport) -> bytes:
    """The report as JSON, an image of its records."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"
