"""Reads a Perfetto trace back with the schema of the `perfetto` package, and checks what any trace must keep to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2

PROTO: Any = perfetto_trace_pb2


@dataclass
class Shown:
    """A slice as the UI shows it; `depth` counts the slices around it."""

    name: str
    start: int
    end: int
    depth: int
    words: dict[str, Any]


@dataclass
class Tracks:
    """By track path, names joined by `/`."""

    units: dict[str, str] = field(default_factory=dict[str, str])
    slices: dict[str, list[Shown]] = field(default_factory=lambda: defaultdict(list))
    instants: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))

    def at(self, end: str) -> str:
        """The one track whose path ends so."""
        (found,) = [path for path in self.units if path.endswith(end)]
        return found


def parse(data: bytes) -> Tracks:
    """The tracks of a trace. AssertionError when slices end that did not begin, overlap, or time runs backwards."""
    trace = PROTO.Trace()
    trace.ParseFromString(data)
    paths: dict[int, str] = {}
    out = Tracks()
    open_: dict[int, list[Shown]] = defaultdict(list)
    now: dict[int, int] = defaultdict(int)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            name = track.process.process_name or track.name
            assert name and track.uuid not in paths
            paths[track.uuid] = f"{paths[track.parent_uuid]}/{name}" if track.parent_uuid else name
            assert paths[track.uuid] not in out.units, "two tracks of one name would be shown as one"
            out.units[paths[track.uuid]] = track.counter.unit_name
            continue
        event = packet.track_event
        uuid, at = event.track_uuid, packet.timestamp
        path, stack = paths[uuid], open_[uuid]
        assert at >= now[uuid] or event.type == PROTO.TrackEvent.TYPE_INSTANT, f"{path}: back to {at}"
        if event.type == PROTO.TrackEvent.TYPE_SLICE_BEGIN:
            assert all(around.end == -1 for around in stack)
            stack.append(Shown(event.name, at, -1, len(stack), words(event)))
            out.slices[path].append(stack[-1])
        elif event.type == PROTO.TrackEvent.TYPE_SLICE_END:
            stack.pop().end = at
        elif event.type == PROTO.TrackEvent.TYPE_COUNTER:
            out.values[path].append((at, event.double_counter_value))
        else:
            out.instants[path].append((at, event.name))
            continue
        now[uuid] = at
    assert not any(open_.values()), "slices without an end"
    return out


def words(event: Any) -> dict[str, Any]:
    """The annotations of an event."""
    return {a.name: getattr(a, a.WhichOneof("value")) for a in event.debug_annotations}
