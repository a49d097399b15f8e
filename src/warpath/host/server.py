"""The server's loop: who may connect, which frame goes where, and when pending GPU work gets its turn."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import socket
import struct
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from warpath.host.connection import Connection, ConnectionLost
from warpath.host.protocol import Kind, ProtocolError, Range, pack_ranges, parse_hello

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# After this long without a message, GPU work that nobody waits for goes on.
IDLE_SECONDS = 0.005
DRAIN_SECONDS = 0.2
MAX_DEPTH = 32  # calls served while another call waits
_CREDENTIALS = struct.Struct("3i")
_PREFIX = "warpath-"
_STALE_SECONDS = 60  # a younger directory may belong to a server that has not locked it yet


class ProgramEnded(Exception):
    """The started program ended while something waited for it."""


class Service(Protocol):
    """What the server serves."""

    def admit(self, connection: Connection) -> Sequence[Range]:
        """A connection said hello. Returns the ranges this process has not mapped yet."""
        ...

    def call(self, connection: Connection, payload: bytes) -> bool:
        """Serve one CALL and reply; False when it gave way to others and is to be tried again."""
        ...

    def urgent(self, connection: Connection) -> bool:
        """Whether a call must be served although another one is in progress, which waits for this thread."""
        ...

    def lost(self, connection: Connection) -> None:
        """A connection is gone."""
        ...

    def idle(self) -> bool:
        """Let pending work proceed a little; whether there is more."""
        ...

    def complain(self, message: str) -> None:
        """Tell the user about a connection that was refused or dropped."""
        ...


def private_directory() -> Path:
    """A new directory only this user can enter, in memory where possible.

    Also removes those whose server was killed: a server holds a lock on its directory.
    """
    shared = Path("/dev/shm")
    where = shared if os.access(shared, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    for old in where.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > _STALE_SECONDS:
                os.close(lock_directory(old))
                shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=where))


def lock_directory(path: Path) -> int:
    """A descriptor that holds the lock on a directory; BlockingIOError when another process holds it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def parent_of(pid: int) -> int:
    """Parent process id, 0 when the process is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def descends(pid: int, ancestor: int) -> bool:
    """Whether `pid` is `ancestor` or comes from it."""
    while pid > 1:
        if pid == ancestor:
            return True
        pid = parent_of(pid)
    return False


class Server:
    """Listens in a private directory and serves the processes that descend from `root` (set before they start)."""

    def __init__(self, service: Service, descriptor: int) -> None:
        self.directory = private_directory()
        self._lock = lock_directory(self.directory)
        self.path = self.directory / "s"
        self.ended = False  # the started program is no more
        self.root = 0
        self.deadline: float | None = None  # of time.monotonic()
        self._service = service
        self._descriptor = descriptor
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        self._poll = select.epoll()
        self._watched: dict[int, Callable[[], None]] = {}
        self._connections: dict[int, Connection] = {}
        self._depth = 0
        self._more = True  # pending GPU work may exist
        self._serving: set[int] = set()  # descriptors of connections whose frame is being handled
        self._put_off: list[Connection] = []  # have something to say, but not now
        self._parked: list[tuple[Connection, bytes]] = []  # calls that gave way
        self.watch(self._listener.fileno(), self._accept)

    def watch(self, fd: int, on_ready: Callable[[], None]) -> None:
        """Call `on_ready` whenever `fd` is readable."""
        self._watched[fd] = on_ready
        self._poll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        """Stop watching `fd`."""
        if self._watched.pop(fd, None) is not None:
            with contextlib.suppress(OSError, ValueError):
                self._poll.unregister(fd)

    def watch_program(self, pidfd: int) -> None:
        """End the loop when the process behind `pidfd` ends."""

        def on_exit() -> None:
            self.ended = True
            self.unwatch(pidfd)

        self.watch(pidfd, on_exit)

    def end_within(self, seconds: float) -> None:
        """Bring the deadline nearer."""
        until = time.monotonic() + seconds
        self.deadline = until if self.deadline is None else min(self.deadline, until)

    def flush_waiting(self) -> None:
        """Have a program whose calls gave way write out its stdio buffers before it is ended."""
        for connection, _ in self._parked:
            connection.flush()

    @property
    def waiting(self) -> bool:
        """Whether a call has arrived that waits for the one in progress."""
        return bool(self._put_off)

    def run(self) -> None:
        """Serve until the program ends; TimeoutError once the deadline has passed."""
        while not self.ended:
            if not self.pump(0.0 if self._parked else IDLE_SECONDS if self._more else 1.0):
                self._work()
            parked, self._parked = self._parked, []
            for connection, payload in parked:
                self._guarded(connection, lambda c=connection, p=payload: self._call(c, p))
        self.drain()

    def _work(self) -> None:
        """Nothing arrived: let the GPU go on with what nobody waits for."""
        if self._more and not self._parked:
            self._depth += 1
            try:
                self._more = self._service.idle()
            finally:
                self._leave()

    def pump(self, timeout: float) -> bool:
        """Handle one thing that has arrived, waiting up to `timeout` seconds for it; whether there was anything.

        One at a time, since handling it may pump again and so make other findings of this poll untrue. TimeoutError
        once the deadline has passed.
        """
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TimeoutError
        events = self._poll.poll(timeout, 1)
        for fd, _ in events:
            handler = self._watched.get(fd)
            if handler is not None:
                handler()
        return bool(events)

    def pump_until(self, done: Callable[[], bool]) -> None:
        """Serve other threads until `done()`; ProgramEnded when the program ends first."""
        while not done():
            if self.ended:
                raise ProgramEnded
            self.pump(1.0)

    def drain(self) -> None:
        """Handle what the program sent before it ended, for a moment at most: its children may go on sending."""
        until = time.monotonic() + DRAIN_SECONDS
        while self.pump(0.0) and time.monotonic() < until:
            pass

    def close(self) -> None:
        """Close every connection and remove the socket and its directory."""
        for connection in list(self._connections.values()):
            self._drop(connection)
        self._listener.close()
        self._poll.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._lock)

    def _alive(self) -> bool:
        self.pump(0.0)
        return not self.ended

    def _accept(self) -> None:
        sock, _ = self._listener.accept()
        credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(credentials)
        connection = Connection(sock, self._alive)
        connection.peer_pid = pid
        connection.on_call = self._call
        # Orphans of the program become children of this process.
        if uid != os.getuid() or not (descends(pid, self.root) or parent_of(pid) == os.getpid()):
            self._service.complain(f"refused a connection from process {pid}, which warpath did not start")
            connection.close()
            return
        self._connections[connection.fileno()] = connection
        self.watch(connection.fileno(), lambda: self._ready(connection))

    def _drop(self, connection: Connection) -> None:
        fd = connection.fileno()
        if fd < 0:
            return
        self.unwatch(fd)
        self._connections.pop(fd, None)
        connection.close()
        self._service.lost(connection)

    def _ready(self, connection: Connection) -> None:
        """Something arrived on a connection, or its end."""
        fd = connection.fileno()
        if fd in self._serving or self._must_wait(connection):
            if connection.closed_by_peer():
                self._drop(connection)
            else:
                self._poll.unregister(fd)
                self._put_off.append(connection)
            return
        self._serving.add(fd)
        try:
            self._guarded(connection, lambda: self._frames(connection))
        finally:
            self._serving.discard(fd)

    def _must_wait(self, connection: Connection) -> bool:
        """One call at a time: a thread's call waits, unless the call in progress waits for that thread."""
        hello = connection.hello
        return (
            self._depth > 0
            and hello is not None
            and not hello.worker
            and not self._service.urgent(connection)
        )

    def _frames(self, connection: Connection) -> None:
        got = connection.receive()
        while got is not None:
            self._handle(connection, *got)
            got = connection.pending()

    def _guarded(self, connection: Connection, action: Callable[[], None]) -> None:
        """Whatever is wrong with a connection ends that connection only."""
        try:
            action()
        except ConnectionLost:
            self._drop(connection)
        except ProtocolError as error:
            self._service.complain(f"process {connection.peer_pid}: {error}")
            with contextlib.suppress(ConnectionLost):
                connection.send(Kind.REFUSE, str(error).encode())
            self._drop(connection)

    def _handle(self, connection: Connection, kind: Kind, payload: bytes) -> None:
        if kind is Kind.HELLO and connection.hello is None:
            self._welcome(connection, payload)
        elif kind is Kind.CALL and connection.hello is not None and not connection.hello.worker:
            self._call(connection, payload)
        elif kind is Kind.ANSWER and connection.on_answer is not None:
            connection.on_answer(payload)
        else:
            raise ProtocolError(f"a {kind.name} that nothing asked for")

    def _call(self, connection: Connection, payload: bytes) -> None:
        if self._depth >= MAX_DEPTH:
            raise ProtocolError(f"{MAX_DEPTH} calls inside each other")
        self._depth += 1
        self._more = True
        try:
            if not self._service.call(connection, payload):
                self._parked.append((connection, payload))
        finally:
            self._leave()

    def _leave(self) -> None:
        """A call has ended: when no other is in progress, those that were put off may speak."""
        self._depth -= 1
        if self._depth == 0:
            put_off, self._put_off = self._put_off, []
            for connection in put_off:
                if connection.fileno() >= 0:
                    self._poll.register(connection.fileno(), select.EPOLLIN)

    def _welcome(self, connection: Connection, payload: bytes) -> None:
        connection.hello = parse_hello(payload)
        if connection.hello.pid != connection.peer_pid:
            raise ProtocolError(f"it says to be process {connection.hello.pid}")
        ranges = self._service.admit(connection)
        descriptors = [self._descriptor] if ranges else []
        connection.send(Kind.WELCOME, pack_ranges(ranges), descriptors)
        failed, _ = connection.answer()
        if failed:
            what = ", ".join(f"{item.base:#x}+{item.size:#x}" for item in ranges)
            raise ProtocolError(
                f"cannot map the addresses that the model GPU needs ({what}): {os.strerror(failed)}"
            )
        connection.reply(0)
