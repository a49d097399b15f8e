"""The binary log of a traced run: a file header, then records, each written whole by one process.

Layouts are those of `src/shim/interposer.h`; all numbers are little-endian. A log may end in the middle of a record
(the program was killed while it wrote): what comes before counts. Anything else that does not fit is a FormatError
that names the record and its offset.
"""

from __future__ import annotations

import json
import lzma
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from warpath.capture.records import (
    Activity,
    Block,
    Call,
    Close,
    DoorbellRead,
    Dup,
    Exit,
    Facts,
    Function,
    Head,
    Image,
    IoctlEnd,
    IoctlStart,
    Map,
    Memory,
    Name,
    Note,
    Open,
    Parameters,
    Process,
    Record,
    Region,
    Ring,
    Rung,
    Unmap,
)
from warpath.errors import FormatError, UsageError

MAGIC = b"WARPATH\x00TRACE\x00\x00\x00"
VERSION = 1
HEADER = struct.Struct("<16sIIQQ")  # magic, version, bytes of this header, realtime ns, monotonic ns
_RECORD = struct.Struct("<HHIQII")  # kind, flags, bytes that follow, monotonic ns, process, thread
_FACTS = 19
_XZ = b"\xfd7zXZ\x00"
MOST_BYTES = 4 << 30  # of an unpacked log
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Log:
    """A whole log. `truncated` is the offset of a record that was cut short at the end, None when there is none."""

    wall_ns: int
    start_ns: int
    records: Sequence[Record]
    truncated: int | None = None
    unknown: dict[int, int] = field(
        default_factory=dict[int, int]
    )  # kinds of records this version has no name for


def header(wall_ns: int, start_ns: int) -> bytes:
    """The start of a new log."""
    return HEADER.pack(MAGIC, VERSION, HEADER.size, wall_ns, start_ns)


def facts(values: dict[str, Any], time_ns: int) -> bytes:
    """A record that adds facts to a log."""
    body = json.dumps(values).encode()
    return _RECORD.pack(_FACTS, 0, len(body), time_ns, 0, 0) + body


def read(path: Path) -> Log:
    """The log in a file, packed with xz or not; UsageError when it cannot be read, FormatError when it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    return parse(_unpack(data, str(path)), str(path))


def _unpack(data: bytes, name: str) -> bytes:
    if not data.startswith(_XZ):
        return data
    unpacker, size = lzma.LZMADecompressor(memlimit=256 << 20), 0
    parts: list[bytes] = []
    try:
        while not unpacker.eof and size <= MOST_BYTES:
            part = unpacker.decompress(data, _STEP)
            data = b""
            parts.append(part)
            size += len(part)
            if not part and unpacker.needs_input:
                break
    except (lzma.LZMAError, MemoryError) as error:
        raise FormatError(f"{name}: the packed log is damaged: {error}") from error
    if size > MOST_BYTES:
        raise FormatError(f"{name}: the packed log unpacks to more than {MOST_BYTES >> 30} GiB")
    return b"".join(parts)


def parse(data: bytes, name: str = "log") -> Log:
    """The log in `data`; FormatError names the record that is malformed."""
    if len(data) < HEADER.size or data[:16] != MAGIC:
        raise FormatError(f"{name} is no recording of `warpath trace`: it does not start with its mark")
    _, version, start, wall_ns, start_ns = HEADER.unpack_from(data)
    if version != VERSION:
        raise FormatError(
            f"{name}: version {version} of the log format; this warpath reads version {VERSION}"
        )
    if not HEADER.size <= start <= len(data):
        raise FormatError(f"{name}: a file header of {start} bytes in a file of {len(data)}")
    records: list[Record] = []
    unknown: dict[int, int] = {}
    truncated = None
    for index, (offset, kind, head, body) in enumerate(_split(data, start)):
        if body is None:
            truncated = offset
            break
        make = _KINDS.get(kind)
        if make is None:
            unknown[kind] = unknown.get(kind, 0) + 1
            continue
        try:
            records.append(make(head, body))
        except (struct.error, UnicodeDecodeError, ValueError) as error:
            raise FormatError(
                f"{name}: record {index} at offset {offset:#x} ({make.__name__.strip('_')}): {error}"
            ) from error
    return Log(wall_ns, start_ns, records, truncated, unknown)


def _split(data: bytes, offset: int) -> Iterator[tuple[int, int, Head, memoryview | None]]:
    """(offset, kind, head, body) of each record; the body of one that is cut short is None."""
    view = memoryview(data)
    index = 0
    while offset < len(data):
        if len(data) - offset < _RECORD.size:
            yield offset, 0, Head(index, offset, 0, 0, 0), None
            return
        kind, _, size, time_ns, pid, tid = _RECORD.unpack_from(data, offset)
        head = Head(index, offset, time_ns, pid, tid)
        end = offset + _RECORD.size + size
        yield offset, kind, head, view[offset + _RECORD.size : end] if end <= len(data) else None
        if end > len(data):
            return
        offset, index = end, index + 1


def _fixed(form: str, body: memoryview) -> tuple[int, ...]:
    """All of a body of fixed size."""
    if struct.calcsize(form) != len(body):
        raise ValueError(f"{len(body)} bytes instead of {struct.calcsize(form)}")
    return struct.unpack(form, body)


def _text(body: memoryview) -> str:
    return bytes(body).decode("utf-8", "replace")


def _process(head: Head, body: memoryview) -> Process:
    parent, forked, tracer, seccomp, wall = struct.unpack_from("<IIIIQ", body)
    return Process(head, parent, bool(forked), tracer, seccomp, wall, _text(body[24:]))


def _open(head: Head, body: memoryview) -> Open:
    return Open(head, *struct.unpack_from("<iiII", body), _text(body[16:]))


def _blocks(body: memoryview) -> tuple[Block, ...]:
    found: list[Block] = []
    while body:
        address, size, state = struct.unpack_from("<QII", body)
        if size > len(body) - 16:
            raise ValueError(f"a block of {size} bytes where {len(body) - 16} are left")
        found.append(Block(address, state, bytes(body[16 : 16 + size])))
        body = body[16 + size :]
    return tuple(found)


def _ioctl_start(head: Head, body: memoryview) -> IoctlStart:
    return IoctlStart(head, *struct.unpack_from("<QQQiI", body), _blocks(body[32:]))


def _ioctl_end(head: Head, body: memoryview) -> IoctlEnd:
    return IoctlEnd(head, *struct.unpack_from("<QQii", body), _blocks(body[24:]))


def _memory(head: Head, body: memoryview) -> Memory:
    ring, why, state, address, asked = struct.unpack_from("<QIIQQ", body)
    data = bytes(body[32:])
    if len(data) > asked:
        raise ValueError(f"{len(data)} bytes of memory where {asked} were asked for")
    return Memory(head, ring, why, state, address, asked, data)


def _call(head: Head, body: memoryview) -> Call:
    index, ends, result, instructions = _fixed("<IIQQ", body)
    return Call(head, index, bool(ends), result, instructions)


def _name(head: Head, body: memoryview) -> Name:
    (index,) = struct.unpack_from("<I", body)
    return Name(head, index, _text(body[4:]))


def _ring(head: Head, body: memoryview) -> Ring:
    return Ring(head, *_fixed("<QIIIIIIQQIIII", body)[:-1])


def _simple(kind: Callable[..., Record], form: str) -> Callable[[Head, memoryview], Record]:
    def make(head: Head, body: memoryview) -> Record:
        return kind(head, *_fixed(form, body))

    make.__name__ = kind.__name__.lower()
    return make


def _note(head: Head, body: memoryview) -> Note:
    return Note(head, _text(body))


def _facts(head: Head, body: memoryview) -> Facts:
    values = json.loads(bytes(body))
    if not isinstance(values, dict):
        raise ValueError("facts are no JSON object")
    return Facts(head, cast("dict[str, Any]", values))


def _activity(head: Head, body: memoryview) -> Activity:
    return Activity(head, bytes(body))


def _function(head: Head, body: memoryview) -> Function:
    return Function(head, *struct.unpack_from("<QQ", body), _text(body[16:]))


def _parameters(head: Head, body: memoryview) -> Parameters:
    (handle,) = struct.unpack_from("<Q", body)
    return Parameters(head, handle, tuple(struct.iter_unpack("<II", body[8:])))


def _image(head: Head, body: memoryview) -> Image:
    return Image(head, *struct.unpack_from("<QQQ", body), _text(body[24:]))


_KINDS: dict[int, Callable[[Head, memoryview], Record]] = {
    1: _process,
    2: _open,
    3: _simple(Close, "<i"),
    4: _simple(Dup, "<ii"),
    5: _ioctl_start,
    6: _ioctl_end,
    7: _simple(Map, "<QQQiiiiII"),
    8: _simple(Unmap, "<QQ"),
    9: _simple(Region, "<IIQQQ"),
    10: _ring,
    11: _memory,
    12: _simple(Rung, "<QQ"),
    13: _simple(DoorbellRead, "<II"),
    14: _name,
    15: _call,
    16: _note,
    17: _simple(Exit, "<Q"),
    18: _activity,
    _FACTS: _facts,
    20: _function,
    21: _parameters,
    22: _image,
}
