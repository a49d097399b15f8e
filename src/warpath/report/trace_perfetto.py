"""A traced run on a time line: API calls, ioctls, doorbells and launches, as JSON that the Perfetto UI opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from warpath.errors import UsageError
from warpath.report.trace import TraceReport

_API, _IOCTLS, _DOORBELLS, _LAUNCHES = "driver API", "ioctls", "doorbells", "launches"


def events(report: TraceReport) -> list[dict[str, Any]]:
    """All events; times in microseconds from the start of the recording."""
    found: list[dict[str, Any]] = []
    for call in report.api:
        found.append(
            _slice(
                call.call,
                f"{_API}, thread {call.thread}",
                call.start_ns,
                call.duration_ns,
                {"result": call.result},
            )
        )
    for ioctl in report.trace.ioctls:
        name = ioctl.detail or ioctl.name
        found.append(
            _slice(name, _IOCTLS, ioctl.time_ns, ioctl.duration_ns, {"status": ioctl.status, "fd": ioctl.fd})
        )
    for bell in report.trace.doorbells:
        track = f"{_DOORBELLS}, channel {bell.token:#x}"
        words = {"entries": bell.entries, "dwords": bell.dwords, "work": bell.work}
        found.append(_slice(f"doorbell {bell.token:#x}", track, bell.time_ns, bell.spent_ns, words))
    for launch, info in zip(report.launches, report.trace.launches, strict=True):
        bell = report.trace.doorbells[info.doorbell]
        words = {"grid": launch.grid, "block": launch.block, "measured_ns": info.measured_ns}
        found.append(
            _slice(launch.kernel, _LAUNCHES, bell.time_ns + bell.spent_ns, int(info.measured_ns or 0), words)
        )
    tracks = {track: number for number, track in enumerate(dict.fromkeys(e["tid"] for e in found), 1)}
    names = [
        {"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": track}}
        for track, number in tracks.items()
    ]
    return [*names, *({**event, "tid": tracks[event["tid"]]} for event in found)]


def _slice(name: str, track: str, start_ns: int, duration_ns: int, words: dict[str, Any]) -> dict[str, Any]:
    event = {"name": name, "pid": 1, "tid": track, "ts": start_ns / 1e3, "args": words}
    return {**event, "ph": "X", "dur": duration_ns / 1e3} if duration_ns else {**event, "ph": "i", "s": "t"}


def write(report: TraceReport, path: Path) -> None:
    """Write the time line; UsageError when the place cannot be written."""
    try:
        path.write_bytes(msgspec.json.encode({"traceEvents": events(report), "displayTimeUnit": "ns"}))
    except OSError as error:
        raise UsageError(f"cannot write the time line to {path}: {error.strerror}") from error
