"""The command stream of a recording: rings, ring entries and the methods of their segments, channel by channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from warpath.capture import log
from warpath.capture.ioctls import Ioctl
from warpath.capture.tables import Value
from warpath.command import gpfifo
from warpath.command.classes import find_class
from warpath.command.gpfifo import ControlEntry, Entry
from warpath.command.methods import Method
from warpath.command.pushbuffer import DecoderState, decode
from warpath.errors import FormatError

RING_ENTRIES, PUSHBUFFER, COPY_SOURCE = 1, 2, 3
_CHANNEL_CLASS, _TOKEN_CONTROL = 0x6F, 0xC36F0108


@dataclass(slots=True)
class Channel:
    """A channel as the resource manager made it, and the objects allocated on it (class ids, in order)."""

    pid: int
    client: int
    handle: int
    class_id: int
    ring: int
    entries: int
    token: int | None = None
    objects: list[int] = field(default_factory=list[int])


@dataclass(frozen=True, slots=True)
class Segment:
    """One ring entry and what it points to. `problem` says why there are no methods, "" when all is well."""

    index: int
    raw: bytes
    entry: Entry | ControlEntry | None
    data: bytes
    methods: tuple[Method, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Submission:
    """One doorbell: the record, the channel its token names, the segments it announced, copied memory they read."""

    ring: log.Ring
    channel: Channel | None
    segments: tuple[Segment, ...]
    memory: tuple[log.Memory, ...]
    spent_ns: int
    problem: str


_RING_PROBLEMS = {
    1: "the value is no channel's token",
    2: "the channel's USERD is not mapped here",
    3: "the channel's GP_PUT cannot be read",
    4: "GP_PUT lies outside the ring",
}


def channels(ioctls: Sequence[Ioctl]) -> dict[tuple[int, int, int], Channel]:
    """Channels by (process, client, handle), with their tokens and objects."""
    found: dict[tuple[int, int, int], Channel] = {}
    for ioctl in ioctls:
        fields, params, pid = ioctl.fields, ioctl.params, ioctl.start.head.pid
        if fields is None or ioctl.status != 0:
            continue
        class_id = fields.get("hClass")
        if isinstance(class_id, int):
            _allocated(found, pid, class_id, fields, params)
        elif fields.get("cmd") == _TOKEN_CONTROL and params:
            channel = found.get((pid, _int(fields, "hClient"), _int(fields, "hObject")))
            if channel is not None:
                channel.token = _int(params, "workSubmitToken")
    return found


def _allocated(
    found: dict[tuple[int, int, int], Channel],
    pid: int,
    class_id: int,
    fields: dict[str, Value],
    params: dict[str, Value] | None,
) -> None:
    client, handle = _int(fields, "hRoot"), _int(fields, "hObjectNew")
    parent = found.get((pid, client, _int(fields, "hObjectParent")))
    if parent is not None:
        parent.objects.append(class_id)
    elif class_id & 0xFF == _CHANNEL_CLASS and params:
        ring, entries = _int(params, "gpFifoOffset"), _int(params, "gpFifoEntries")
        found[pid, client, handle] = Channel(pid, client, handle, class_id, ring, entries)


def _int(fields: dict[str, Value], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0


def submissions(
    records: Sequence[log.Record], known: dict[tuple[int, int, int], Channel]
) -> Iterator[Submission]:
    """All doorbells in the order in which they were rung, decoded with one state per channel."""
    memory: dict[tuple[int, int], list[log.Memory]] = {}
    rings: list[log.Ring] = []
    spent: dict[tuple[int, int], int] = {}
    for record in records:
        if isinstance(record, log.Ring):
            rings.append(record)
        elif isinstance(record, log.Memory):
            memory.setdefault((record.head.pid, record.ring), []).append(record)
        elif isinstance(record, log.Rung):
            spent[record.head.pid, record.ring] = record.spent_ns
    states: dict[tuple[int, int, int], DecoderState] = {}
    for ring in rings:
        key = ring.head.pid, ring.client, ring.handle
        channel = known.get(key)
        channel_class = None if channel is None else channel.class_id
        state = states.setdefault(key, DecoderState(channel_class=_class_with_table(channel_class)))
        copied = memory.get((ring.head.pid, ring.number), [])
        yield Submission(
            ring=ring,
            channel=channel,
            segments=tuple(_segments(ring, copied, state)),
            memory=tuple(piece for piece in copied if piece.why == COPY_SOURCE),
            spent_ns=spent.get((ring.head.pid, ring.number), 0),
            problem=_RING_PROBLEMS.get(ring.state, ""),
        )


def _class_with_table(class_id: int | None) -> int | None:
    return class_id if class_id is not None and find_class(class_id) is not None else None


def _segments(ring: log.Ring, copied: Sequence[log.Memory], state: DecoderState) -> Iterator[Segment]:
    """Entries in ring order; a segment's bytes are the pieces that were copied after its entry."""
    pieces = [piece for piece in copied if piece.why == PUSHBUFFER]
    at = 0
    index = ring.put_before
    for block in (piece for piece in copied if piece.why == RING_ENTRIES):
        for start in range(0, len(block.data) - 7, gpfifo.ENTRY_BYTES):
            raw = block.data[start : start + gpfifo.ENTRY_BYTES]
            try:
                entry = gpfifo.decode(raw)
            except FormatError as error:
                yield Segment(index, raw, None, b"", (), str(error))
                index = (index + 1) % max(ring.entries, 1)
                continue
            data = b""
            if isinstance(entry, Entry):
                while (
                    len(data) < entry.dwords * 4
                    and at < len(pieces)
                    and pieces[at].address == entry.va + len(data)
                ):
                    data += pieces[at].data
                    at += 1
            yield _segment(index, raw, entry, data, state)
            index = (index + 1) % max(ring.entries, 1)


def _segment(
    index: int, raw: bytes, entry: Entry | ControlEntry, data: bytes, state: DecoderState
) -> Segment:
    if isinstance(entry, ControlEntry):
        return Segment(index, raw, entry, b"", (), "")
    if len(data) < entry.dwords * 4:
        return Segment(
            index, raw, entry, data, (), f"only {len(data)} of {entry.dwords * 4} bytes could be read"
        )
    try:
        return Segment(index, raw, entry, data, tuple(decode(data, state)), "")
    except FormatError as error:
        return Segment(index, raw, entry, data, (), str(error))
