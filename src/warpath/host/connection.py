"""One thread of the program, as the server sees it: its calls come in, requests about its memory go out."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import TYPE_CHECKING

from warpath.host.protocol import (
    MAX_DATA,
    MAX_PIECES,
    FrameReader,
    Hello,
    Kind,
    ProtocolError,
    frame,
    parse_answer,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

RECEIVE = 1 << 16
# How long a blocking receive waits before it looks whether the program still runs.
PATIENCE = struct.pack("@ll", 1, 0)
MAX_STRING = 1 << 16
FLUSH_SECONDS = 2.0
# Stores that travel with the next request or reply: few enough that their answers fit in the socket's buffer.
MAX_POSTED_BYTES, MAX_POSTED = 32 << 10, 64


class ConnectionLost(Exception):
    """The program closed the connection or ended while the server waited for it."""


class Connection:
    """A blocking stream socket to one host thread.

    `alive` tells whether the program still runs (asked when it keeps the server waiting); `on_call` serves a
    call that arrives while an answer is awaited, which happens when a callback in the program makes API calls.
    """

    def __init__(self, sock: socket.socket, alive: Callable[[], bool]) -> None:
        self.sock = sock
        self.hello: Hello | None = None
        self.peer_pid = 0
        self.on_call: Callable[[Connection, bytes], None] | None = None
        self.on_answer: Callable[[bytes], None] | None = None  # set while a worker runs a host function
        self._alive = alive
        self._reader = FrameReader()
        self._posted = bytearray()  # frames to send ahead of the next one
        self._unread = 0  # answers to posted frames that have not arrived
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, PATIENCE)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, PATIENCE)

    def fileno(self) -> int:
        """The socket's descriptor, for the selector."""
        return self.sock.fileno()

    def close(self) -> None:
        """Close the socket; the program sees the end of the stream."""
        with contextlib.suppress(OSError):
            self.sock.close()

    def closed_by_peer(self) -> bool:
        """Whether nothing more will arrive."""
        try:
            return not self.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def receive(self) -> tuple[Kind, bytes] | None:
        """One frame if it is already here, reading from the socket at most once."""
        ready = self.pending()
        if ready is not None:
            return ready
        self._fill()
        return self.pending()

    def pending(self) -> tuple[Kind, bytes] | None:
        """The next frame among bytes already received, answers to posted frames left out."""
        got = self._reader.next()
        while self._unread and got is not None and got[0] is Kind.ANSWER:
            self._unread -= 1
            got = self._reader.next()
        return got

    def _fill(self) -> None:
        try:
            data = self.sock.recv(RECEIVE)
        except BlockingIOError:  # the receive timeout
            if not self._alive():
                raise ConnectionLost("the program ended") from None
            return
        except OSError as error:
            raise ConnectionLost(str(error)) from None
        if not data:
            raise ConnectionLost("the program closed its connection")
        self._reader.feed(data)

    def send(self, kind: Kind, payload: bytes = b"", descriptors: Sequence[int] = ()) -> None:
        """Send a frame, with file descriptors attached to its first bytes; ConnectionLost when nobody reads."""
        data = memoryview(bytes(self._posted) + frame(kind, payload))
        self._posted.clear()
        try:
            if descriptors:
                data = data[socket.send_fds(self.sock, [data], list(descriptors)) :]
            while data:
                try:
                    data = data[self.sock.send(data, socket.MSG_NOSIGNAL) :]
                except BlockingIOError:
                    if not self._alive():
                        raise ConnectionLost("the program ended") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from None

    def answer(self) -> tuple[int, bytes]:
        """Wait for the ANSWER to the last request, serving calls made by callbacks meanwhile."""
        while True:
            got = self.receive()
            if got is None:
                continue
            kind, payload = got
            if kind is Kind.ANSWER:
                return parse_answer(payload)
            if kind is Kind.CALL and self.on_call is not None:
                self.on_call(self, payload)
            else:
                raise ProtocolError(f"{kind.name} instead of an answer")

    def ask(self, kind: Kind, payload: bytes) -> tuple[int, bytes]:
        """Send a request and return its answer's value and data."""
        self.send(kind, payload)
        return self.answer()

    def reply(self, result: int) -> None:
        """End the call with its result word."""
        self.send(Kind.REPLY, words(result))

    # Requests: what the program's side does on the server's behalf.

    def read(self, address: int, size: int) -> bytes:
        """`size` bytes of program memory; the program faults, as it would in a real library, on a bad address."""
        pieces: list[bytes] = []
        while size > 0:
            step = min(size, MAX_DATA)
            _, data = self.ask(Kind.READ, words(address, step))
            if len(data) != step:
                raise ProtocolError(f"{len(data)} bytes instead of {step}")
            pieces.append(data)
            address += step
            size -= step
        return b"".join(pieces)

    def read_string(self, address: int) -> str:
        """A zero-terminated string, cut at 64 KiB."""
        return self.ask(Kind.READ_STRING, words(address, MAX_STRING))[1].decode(errors="replace")

    def write(self, address: int, data: bytes) -> None:
        """Store bytes in program memory. Small ones travel with the next request or reply, in order."""
        for start in range(0, len(data), MAX_DATA):
            payload = words(address + start) + data[start : start + MAX_DATA]
            if self._unread < MAX_POSTED and len(self._posted) + len(payload) < MAX_POSTED_BYTES:
                self._posted += frame(Kind.WRITE, payload)
                self._unread += 1
            else:
                self.ask(Kind.WRITE, payload)

    def gather(self, pieces: Sequence[tuple[int, int]]) -> list[bytes]:
        """Several ranges (address, size) in one round trip per 4096 ranges or 1 MiB."""
        out: list[bytes] = []
        batch: list[tuple[int, int]] = []
        total = 0
        for address, size in pieces:
            if size > MAX_DATA:
                raise ProtocolError(f"a range of {size} bytes is too large to gather")
            if batch and (total + size > MAX_DATA or len(batch) == MAX_PIECES):
                out += self._gather(batch)
                batch, total = [], 0
            batch.append((address, size))
            total += size
        return out + self._gather(batch) if batch else out

    def _gather(self, batch: list[tuple[int, int]]) -> list[bytes]:
        _, data = self.ask(Kind.GATHER, words(*(word for piece in batch for word in piece)))
        if len(data) != sum(size for _, size in batch):
            raise ProtocolError(f"{len(data)} gathered bytes")
        out: list[bytes] = []
        start = 0
        for _, size in batch:
            out.append(data[start : start + size])
            start += size
        return out

    def copy(self, destination: int, source: int, size: int) -> None:
        """Move bytes inside the program, one side usually being the shared arena."""
        self.ask(Kind.COPY, words(destination, source, size))

    def invoke(self, function: int, *arguments: int) -> int:
        """Call a function of the program with up to three words on this thread; its result word."""
        return self.ask(Kind.INVOKE, words(function, *arguments))[0]

    def resolve(self, name: str) -> int:
        """Address of a driver API function in the program, 0 when there is none."""
        return self.ask(Kind.RESOLVE, name.encode())[0]

    def intern(self, text: str) -> int:
        """Address of a copy of `text` in the program that is never freed."""
        return self.ask(Kind.INTERN, text.encode())[0]

    def print(self, data: bytes, stream: int = 1) -> None:
        """Write to the program's own stdout (1) or stderr (2), in order with its own output."""
        for start in range(0, len(data), MAX_DATA):
            self.ask(Kind.PRINT, words(stream) + data[start : start + MAX_DATA])

    def flush(self) -> None:
        """Have the program write out what its stdio buffers hold, waiting a moment at most: it may be blocked."""
        until = time.monotonic() + FLUSH_SECONDS
        with contextlib.suppress(ConnectionLost, TimeoutError):
            self.send(Kind.FLUSH)
            while self.receive() is None and time.monotonic() < until:
                pass

    def spawn(self) -> int:
        """Start the thread that runs host functions; 0 or an errno."""
        return self.ask(Kind.SPAWN, b"")[0]
