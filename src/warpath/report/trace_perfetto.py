"""A recorded run as a Perfetto trace: API calls, ioctls, doorbells and kernels, measured, from its start on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from warpath.report import files
from warpath.report.trace import TraceReport
from warpath.report.tracks import Slice, Trace, Words, queue


def write(report: TraceReport, path: Path) -> None:
    """Write the trace; UsageError when the place cannot be written."""
    files.write(path, build(report), "the time line")


def build(report: TraceReport) -> bytes:
    """The trace, serialised."""
    trace = Trace()
    host = trace.group("host (measured; the recorded machine's clock)")
    gpu = trace.group(f"GPU {report.gpu.name} (kernel times measured, set behind their doorbells)")
    tracks: dict[tuple[int, str], list[Slice]] = defaultdict(list)
    for name, item in (*_calls(report), *_ioctls(report), *_doorbells(report)):
        tracks[host, name].append(item)
    for name, item in _kernels(report):
        tracks[gpu, name].append(item)
    for (group, name), found in tracks.items():
        # What waits behind what is before it: a channel's kernels. Calls of one thread are in each other.
        trace.slices(trace.track(name, group), queue(found) if group == gpu else found)
    return trace.serialize()


def _calls(report: TraceReport) -> Iterator[tuple[str, Slice]]:
    for call in report.api:
        words: Words = {"result": call.result}
        yield (
            f"driver API, thread {call.thread}",
            Slice(call.call, call.start_ns, call.start_ns + call.duration_ns, words),
        )


def _ioctls(report: TraceReport) -> Iterator[tuple[str, Slice]]:
    for ioctl in report.trace.ioctls:
        words: Words = {"fd": ioctl.fd, "status": "none" if ioctl.status is None else ioctl.status}
        name = ioctl.detail or ioctl.name
        end = ioctl.time_ns + ioctl.duration_ns
        yield f"ioctls, thread {ioctl.thread}", Slice(name, ioctl.time_ns, end, words)


def _doorbells(report: TraceReport) -> Iterator[tuple[str, Slice]]:
    for bell in report.trace.doorbells:
        words: Words = {"entries": bell.entries, "dwords": bell.dwords, "work": ", ".join(bell.work)}
        end = bell.time_ns + bell.spent_ns
        yield (
            f"doorbells, channel {bell.token:#x}",
            Slice(f"doorbell {bell.token:#x}", bell.time_ns, end, words),
        )


def _kernels(report: TraceReport) -> Iterator[tuple[str, Slice]]:
    """A kernel begins when its doorbell has been rung and the one before it in its channel has ended."""
    for launch, info in zip(report.launches, report.trace.launches, strict=True):
        bell = report.trace.doorbells[info.doorbell]
        words: Words = {
            "launch": launch.index,
            "grid": "x".join(map(str, launch.grid)),
            "block": "x".join(map(str, launch.block)),
            "measured_by": info.measured_by or "nothing: no duration is known",
        }
        start = bell.time_ns + bell.spent_ns
        end = start + round(info.measured_ns or 0)
        yield f"kernels, channel {bell.token:#x}", Slice(launch.kernel, start, end, words)
