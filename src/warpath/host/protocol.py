"""Frames between the shim in the program (`src/shim/wire.c`) and the server.

A frame is a header of two u32 words, kind and payload size, and the payload; all little-endian. The program's
side sends HELLO once and then CALLs; while a call is served the server may send requests, each of which is
answered with ANSWER before the next; REPLY ends the call. Whatever arrives is checked here: sizes, kinds, counts.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from warpath.errors import WarpathError

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 2
MAX_PAYLOAD = 1 << 20
MAX_WORDS = 32
MAX_NAME = 96
MAX_PIECES = 4096
MAX_DATA = MAX_PAYLOAD - 64  # what fits in one frame beside the leading words

HEADER = struct.Struct("<II")
_HELLO = struct.Struct("<IIIIIIQ")
_CALL = struct.Struct("<II")
_WORD = struct.Struct("<Q")


class Kind(IntEnum):
    """Frame kinds; below 16 they come from the program, from 16 on from the server."""

    HELLO = 1
    CALL = 2
    ANSWER = 3
    WELCOME = 16
    REFUSE = 17
    REPLY = 18
    READ = 19
    READ_STRING = 20
    WRITE = 21
    COPY = 22
    INVOKE = 23
    RESOLVE = 24
    GATHER = 25
    INTERN = 26
    SPAWN = 27
    PRINT = 28
    FLUSH = 29


FROM_PROGRAM = frozenset({Kind.HELLO, Kind.CALL, Kind.ANSWER})


class ProtocolError(WarpathError):
    """The other side sent something that is not part of the protocol; its connection is closed."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The first frame of a connection. `library`: 13 or 12 for the runtime, 0 for the driver API.

    `image` identifies the program image: equal in a forked child, new after exec. `worker`: the connection runs
    host functions and makes no calls.
    """

    library: int
    pid: int
    tid: int
    worker: bool
    image: int


@dataclass(frozen=True, slots=True)
class Range:
    """Addresses the program must keep for the model: mapped from the memfd (`shared`) or only reserved."""

    base: int
    size: int
    shared: bool


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    """A whole frame; ValueError when the payload is too large for one."""
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"a frame holds at most {MAX_PAYLOAD} bytes, not {len(payload)}")
    return HEADER.pack(kind, len(payload)) + payload


def words(*values: int) -> bytes:
    """64-bit words, negative ones in two's complement."""
    return struct.pack(f"<{len(values)}Q", *(value & 0xFFFF_FFFF_FFFF_FFFF for value in values))


def pack_hello(hello: Hello, version: int = VERSION) -> bytes:
    """The payload of a HELLO (used by tests; the program's side is C)."""
    return _HELLO.pack(version, hello.library, hello.pid, hello.tid, int(hello.worker), 0, hello.image)


def parse_hello(payload: bytes) -> Hello:
    """The HELLO in `payload`; ProtocolError when it is malformed or of another version."""
    if len(payload) != _HELLO.size:
        raise ProtocolError(f"a hello of {len(payload)} bytes instead of {_HELLO.size}")
    version, library, pid, tid, role, reserved, image = _HELLO.unpack(payload)
    if version != VERSION:
        raise ProtocolError(
            f"the program's CUDA library speaks protocol {version}, this warpath {VERSION}: rebuild the program"
        )
    if library not in (0, 12, 13) or role > 1 or reserved:
        raise ProtocolError(f"a hello with library {library}, role {role}, reserved word {reserved:#x}")
    return Hello(library, pid, tid, role == 1, image)


def pack_call(name: str, arguments: Sequence[int]) -> bytes:
    """The payload of a CALL (used by tests; the program's side is C)."""
    encoded = name.encode()
    return _CALL.pack(len(arguments), len(encoded)) + words(*arguments) + encoded


def parse_call(payload: bytes) -> tuple[str, tuple[int, ...]]:
    """Name and argument words of a CALL; ProtocolError when its counts do not add up."""
    if len(payload) < _CALL.size:
        raise ProtocolError(f"a call of {len(payload)} bytes")
    count, length = _CALL.unpack_from(payload)
    if count > MAX_WORDS or not 0 < length <= MAX_NAME or len(payload) != _CALL.size + 8 * count + length:
        raise ProtocolError(f"a call of {len(payload)} bytes with {count} words and a name of {length} bytes")
    name = payload[_CALL.size + 8 * count :]
    if not name.isascii():
        raise ProtocolError("a call whose name is not ASCII")
    return name.decode(), struct.unpack_from(f"<{count}Q", payload, _CALL.size)


def parse_answer(payload: bytes) -> tuple[int, bytes]:
    """(value, data) of an ANSWER; ProtocolError when it has no value word."""
    if len(payload) < _WORD.size:
        raise ProtocolError(f"an answer of {len(payload)} bytes")
    return _WORD.unpack_from(payload)[0], payload[_WORD.size :]


def pack_ranges(ranges: Sequence[Range]) -> bytes:
    """The payload of a WELCOME."""
    return b"".join(words(item.base, item.size, int(item.shared)) for item in ranges)


class FrameReader:
    """Cuts a byte stream from the program into frames, with bounds checked before anything is kept."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._buffer += data

    def next(self) -> tuple[Kind, bytes] | None:
        """The next whole frame, or None until more bytes arrive; ProtocolError on a bad header."""
        buffer = self._buffer
        if len(buffer) < HEADER.size:
            return None
        kind, size = HEADER.unpack_from(buffer)
        if kind not in FROM_PROGRAM or size > MAX_PAYLOAD:
            raise ProtocolError(f"a frame of kind {kind} and {size} bytes")
        end = HEADER.size + size
        if len(buffer) < end:
            return None
        payload = bytes(buffer[HEADER.size : end])
        del buffer[:end]
        return Kind(kind), payload
