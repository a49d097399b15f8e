"""A Perfetto trace in the making: groups of tracks that hold slices, instants and counters.

Times are in ns on the trace's one axis; which clock a group's times are of, its name says. Written with the `perfetto`
package, so the file is what https://ui.perfetto.dev opens and what its trace processor reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perfetto.protos.perfetto.trace import (
    perfetto_trace_pb2,  # pyright: ignore[reportMissingTypeStubs]
)
from perfetto.trace_builder.proto_builder import TraceProtoBuilder

_PROTO: Any = perfetto_trace_pb2
_SEQUENCE = 1  # all packets come from one writer

Words = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class Slice:
    """Something that lasted; `words` are what a click on it shows."""

    name: str
    start_ns: int
    end_ns: int
    words: Words = field(default_factory=dict[str, "str | int | float"])


class Trace:
    """Tracks are named by number; those of one parent are shown in the order in which they were made."""

    def __init__(self) -> None:
        self._builder: Any = TraceProtoBuilder()
        self._made = 0
        self._children: dict[int, int] = {}

    def group(self, name: str) -> int:
        """A group at the top level, shown as a process."""
        descriptor = self._descriptor()
        descriptor.process.pid = descriptor.uuid
        descriptor.process.process_name = name
        return descriptor.uuid

    def track(self, name: str, parent: int) -> int:
        """A track, or a heading for tracks below it."""
        descriptor = self._descriptor(parent)
        descriptor.name = name
        return descriptor.uuid

    def counter(self, name: str, parent: int, unit: str) -> int:
        """A track of values."""
        descriptor = self._descriptor(parent)
        descriptor.name = name
        descriptor.counter.unit_name = unit
        return descriptor.uuid

    def slices(self, track: int, found: Iterable[Slice]) -> None:
        """Slices of one track. One that begins inside another lies within it, and ends with it at the latest."""
        open_: list[int] = []  # when the slices around the next one end
        for item in sorted(found, key=lambda item: (item.start_ns, -item.end_ns)):
            while open_ and open_[-1] <= item.start_ns:
                self._end(track, open_.pop())
            end = max(item.end_ns, item.start_ns)
            event = self._event(track, item.start_ns, _PROTO.TrackEvent.TYPE_SLICE_BEGIN)
            event.name = item.name
            _annotate(event, item.words)
            open_.append(min(end, open_[-1]) if open_ else end)
        while open_:
            self._end(track, open_.pop())

    def instant(self, track: int, at_ns: int, name: str, words: Words | None = None) -> None:
        """Something that took no time."""
        event = self._event(track, at_ns, _PROTO.TrackEvent.TYPE_INSTANT)
        event.name = name
        _annotate(event, words or {})

    def values(self, counter: int, points: Iterable[tuple[int, float]]) -> None:
        """Values (ns, value), each of which holds until the next."""
        for at_ns, value in points:
            self._event(counter, at_ns, _PROTO.TrackEvent.TYPE_COUNTER).double_counter_value = value

    def serialize(self) -> bytes:
        """The file's bytes."""
        return self._builder.serialize()

    def _descriptor(self, parent: int | None = None) -> Any:
        packet = self._packet()
        if self._made == 0:
            packet.sequence_flags = _PROTO.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self._made += 1
        descriptor = packet.track_descriptor
        descriptor.uuid = self._made
        descriptor.child_ordering = _PROTO.TrackDescriptor.EXPLICIT
        if parent is not None:
            descriptor.parent_uuid = parent
            descriptor.sibling_order_rank = self._children.get(parent, 0)
            self._children[parent] = descriptor.sibling_order_rank + 1
        return descriptor

    def _event(self, track: int, at_ns: int, kind: int) -> Any:
        packet = self._packet()
        packet.timestamp = at_ns
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet.track_event

    def _end(self, track: int, at_ns: int) -> None:
        self._event(track, at_ns, _PROTO.TrackEvent.TYPE_SLICE_END)

    def _packet(self) -> Any:
        packet = self._builder.add_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet


def _annotate(event: Any, words: Words) -> None:
    for name, value in words.items():
        annotation = event.debug_annotations.add()
        annotation.name = name
        if isinstance(value, str):
            annotation.string_value = value
        elif isinstance(value, int):
            annotation.int_value = value
        else:
            annotation.double_value = value


def queue(found: Iterable[Slice]) -> list[Slice]:
    """Slices of which one begins after the other has ended: those that would overlap begin later."""
    out: list[Slice] = []
    free = 0
    for item in sorted(found, key=lambda item: item.start_ns):
        start = max(item.start_ns, free)
        free = max(item.end_ns, start)
        out.append(Slice(item.name, start, free, item.words))
    return out


def lanes(spans: Iterable[tuple[int, int]]) -> list[int]:
    """For each span (start, end), in order of start, the lowest lane that is free then."""
    free: list[int] = []
    out: list[int] = []
    for start, end in spans:
        lane = next((number for number, until in enumerate(free) if until <= start), len(free))
        if lane == len(free):
            free.append(0)
        free[lane] = end
        out.append(lane)
    return out
