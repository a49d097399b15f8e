"""One run of a program against the model GPU: the calls it makes are served here, one at a time.

arena = HostArena()
memory.reserve(arena.base, arena.size, arena.fd)
driver = Driver(..., arena=(arena.base, arena.size))
status = Session(path, arguments, driver, arena, shim).run()
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from warpath.driver.address_space import SHARED_WINDOW
from warpath.driver.error import CudaError, Error, to_driver
from warpath.driver.module import Function, Module
from warpath.errors import UnsupportedError
from warpath.host import api
from warpath.host.api_pool import Pool
from warpath.host.connection import Connection, ConnectionLost
from warpath.host.device import RUNTIME_VERSIONS
from warpath.host.dispatch import Call, GiveWay, Resolved, resolve
from warpath.host.process import Child, ExitStatus
from warpath.host.protocol import Kind, ProtocolError, Range, parse_answer, parse_call, words
from warpath.host.server import ProgramEnded, Server, parent_of
from warpath.host.state import ApiRecord, Contexts, Handles, ProcessState

if TYPE_CHECKING:
    from types import FrameType

    from warpath.driver.context import Driver
    from warpath.driver.graph import Graph
    from warpath.driver.output import Output
    from warpath.host.arena import HostArena

api.load()

KEEP_CALLS = 200_000
YIELD_SECONDS = 0.001
QUERY_SECONDS = 0.005
LAST_CALL_SECONDS = 5.0
KEEP_STDOUT = 16 << 20
TIMED_OUT = 124
MASK = (1 << 64) - 1
_STDOUT, _STDERR = 1, 2


def say(message: str) -> None:
    """One line of warpath's own on stderr."""
    print(f"warpath: {message}", file=sys.stderr, flush=True)


class Terminated(BaseException):
    """SIGTERM arrived."""


class ProgramMemory:
    """Moves bytes between a process' own memory and the shared arena (`driver.staging.Mover`)."""

    def __init__(self, runtime: Runtime, process: ProcessState) -> None:
        self._runtime = runtime
        self._process = process

    def copy_in(self, source: int, size: int, arena_va: int) -> None:
        """Program memory to the arena."""
        self._runtime.reachable(self._process).copy(arena_va, source, size)

    def copy_out(self, arena_va: int, size: int, destination: int) -> None:
        """The arena to program memory."""
        self._runtime.reachable(self._process).copy(destination, arena_va, size)


class Runtime:
    """Serves calls: finds the handler, keeps errors where CUDA keeps them, logs (the `Service` of a server)."""

    def __init__(self, driver: Driver, arena: HostArena, say: Callable[[str], None] = say) -> None:
        self.driver = driver
        self.arena = arena
        self.handles = Handles()
        self.contexts = Contexts()
        self.default_pool = self.pool = Pool()
        self.node_handles: dict[tuple[Graph, int], int] = {}
        self.device_flags = 0
        self._waits: list[bool] = []  # for each call in progress, whether it can be broken off
        self._yielded = 0.0
        self._query_until = math.inf
        driver.on_output = self.output
        driver.poll = self.yield_to_host
        self.api: list[ApiRecord] = []
        self.calls = 0
        self.started_ns = time.monotonic_ns()
        self.server: Server | None = None
        self._say = say
        self._said: set[str] = set()
        self._processes: dict[tuple[int, int], ProcessState] = {}
        self._active: list[Connection] = []  # connections whose calls are being served, innermost last
        self._unprinted: list[tuple[int, bytes]] = []
        self._detail = ""
        self.stopped: UnsupportedError | None = None  # why the program's next call ends it
        self.on_error: Callable[[str, CudaError], None] | None = None  # told of every call that failed

    # What the server asks for.

    def admit(self, connection: Connection) -> Sequence[Range]:
        """Find or make the state of the process behind a new connection."""
        process = self._process(connection)
        hello = connection.hello
        if hello is not None and hello.worker:
            process.worker = connection
        if hello is not None and hello.library == 12:
            self.driver.runtime_version = RUNTIME_VERSIONS[12]
        if process.mapped:
            return ()
        process.mapped = True
        # The device's own addresses stay free in the program, so that no host pointer looks like a device pointer.
        device = Range(SHARED_WINDOW, self.arena.base - SHARED_WINDOW, shared=False)
        return (Range(self.arena.base, self.arena.size, shared=True), device)

    def call(self, connection: Connection, payload: bytes) -> bool:
        """Serve one call and reply; False when it gave way to another thread and has to be made again."""
        name, arguments = parse_call(payload)
        hello = connection.hello
        resolved = None if hello is None else resolve(name, hello.library)
        if hello is None or resolved is None or len(arguments) != resolved.words:
            raise ProtocolError(f"a call of {name[:40]!r} with {len(arguments)} words")
        process = self._process(connection)
        thread = process.thread(hello.tid)
        call = Call(name, hello.library, resolved.per_thread, connection, process, thread, self)
        if thread.call_started == 0:
            thread.call_started = time.monotonic_ns()
        self.driver.journal.call = self.calls
        typed = resolved.decode(arguments)
        self._detail = ""
        self._active.append(connection)
        self._waits.append(resolved.entry is not None and resolved.entry.waits)
        try:
            if self.stopped is not None:
                raise self.stopped
            result = self._serve(call, resolved, typed)
            if self._unprinted:
                self._print(connection)
        except GiveWay:
            return False
        except (UnsupportedError, TimeoutError):  # the program is going to be ended
            connection.flush()
            raise
        finally:
            self._active.pop()
            self._waits.pop()
        started, thread.call_started = thread.call_started, 0
        if len(self.api) < KEEP_CALLS:
            took = time.monotonic_ns() - started
            self.api.append(
                ApiRecord(self.calls, name, typed, result, started, took, hello.tid, self._detail)
            )
        self.calls += 1
        connection.reply(result & MASK)
        return True

    def urgent(self, connection: Connection) -> bool:
        """Calls that a host function makes, since the call in progress waits for it."""
        hello = connection.hello
        return hello is not None and self._on_worker(self._process(connection), hello.tid)

    @staticmethod
    def _on_worker(process: ProcessState, tid: int) -> bool:
        worker = process.worker
        return worker is not None and worker.hello is not None and worker.hello.tid == tid

    def lost(self, connection: Connection) -> None:
        """Forget a worker that is gone; process state stays, other threads may come."""
        for process in self._processes.values():
            if process.worker is connection:
                process.worker = None

    def idle(self) -> bool:
        """Let the GPU work on what is pending, until there is a call to serve."""
        self._waits.append(True)
        try:
            return self.stopped is None and self.driver.advance()
        except GiveWay:
            return True
        except UnsupportedError as error:
            # The program can only be told to write out what it printed once it makes its next call.
            self.stopped = error
            if self.server is not None:
                self.server.end_within(LAST_CALL_SECONDS)
            return False
        finally:
            self._waits.pop()

    @property
    def caller(self) -> tuple[int, int] | None:
        """(process, thread) whose call is being served."""
        hello = self._active[-1].hello if self._active else None
        return (hello.pid, hello.tid) if hello is not None else None

    def complain(self, message: str) -> None:
        """A line on stderr, once per text."""
        if message not in self._said:
            self._said.add(message)
            self._say(message)

    # What handlers and the driver ask for.

    def output(self, found: Output) -> None:
        """Device output: goes to the program's own stdout and stderr before the current or next call returns."""
        if found.printed:
            self._unprinted.append((_STDOUT, found.printed))
        for failure in found.failures:
            self._unprinted.append((_STDERR, failure.text().encode()))
        if found.dropped:
            self.complain(
                f"{found.dropped} device printf calls were lost: the buffer was full (cudaLimitPrintfFifoSize)"
            )

    def mover(self, process: ProcessState) -> ProgramMemory:
        """Access to a process' memory for the driver, now or when a graph is launched later."""
        return ProgramMemory(self, process)

    def reachable(self, process: ProcessState) -> Connection:
        """A connection of the process whose thread waits for a reply and so can serve requests."""
        for connection in reversed(self._active):
            if self._process(connection) is process:
                return connection
        raise CudaError(
            Error.INVALID_VALUE, "the process is not in a CUDA call, so its memory cannot be reached"
        )

    def yield_to_host(self) -> None:
        """Called between steps of the GPU: look at the outside world once per ms.

        ProgramEnded when the program is gone. GiveWay when another thread's call has arrived and the one in
        progress can be made again, or when a query has taken its time.
        """
        now = time.monotonic()
        if self.server is None or now - self._yielded < YIELD_SECONDS:
            return
        self._yielded = now
        self.server.pump(0.0)
        if self.server.ended:
            raise ProgramEnded
        if (self._waits and self._waits[-1] and self.server.waiting) or now > self._query_until:
            raise GiveWay

    def query(self, ask: Callable[[], bool]) -> bool:
        """Ask the driver whether work is finished, giving the GPU a moment for it; False when it takes longer."""
        self._query_until = time.monotonic() + QUERY_SECONDS
        try:
            return ask()
        except GiveWay:
            return False
        finally:
            self._query_until = math.inf

    def reset(self) -> None:
        """`cudaDeviceReset`: the driver frees everything, and all handles but those of the program's own code go."""
        self.driver.reset()
        self.handles.drop_all(keep=(Module, Function))
        self.node_handles.clear()
        self.default_pool = self.pool = Pool()
        for process in self._processes.values():
            for thread in process.threads.values():
                thread.last_error = 0
                thread.default_stream = None

    def prepare_worker(self, call: Call) -> None:
        """Make sure the process has its thread for host functions; error 304 when it cannot be started."""
        process, server = call.process, self.server
        if process.worker is not None or server is None:
            return
        if call.connection.spawn():
            raise CudaError(Error.OPERATING_SYSTEM, "the thread for host functions could not be started")
        server.pump_until(lambda: process.worker is not None)

    def run_host_function(self, process: ProcessState, function: int, *arguments: int) -> None:
        """Call a function on the process' worker thread and serve everybody else until it returns."""
        worker, server = process.worker, self.server
        if worker is None or server is None:
            raise ProgramEnded
        answers: list[int] = []
        worker.on_answer = lambda payload: answers.append(parse_answer(payload)[0])
        try:
            worker.send(Kind.INVOKE, words(function, *arguments))
            server.pump_until(lambda: bool(answers) or process.worker is None)
        except ConnectionLost:
            raise ProgramEnded from None
        finally:
            worker.on_answer = None

    def _serve(self, call: Call, resolved: Resolved, arguments: tuple[object, ...]) -> int:
        entry = resolved.entry
        if entry is None:
            self.complain(f"{call.name} is not supported (the program gets error 801)")
            return self._failed(call, Error.NOT_SUPPORTED, sets_error=True)
        try:
            if entry.context:
                if call.process.broken:
                    raise CudaError(
                        Error.INITIALIZATION_ERROR, "the parent used CUDA before it forked this process"
                    )
                if self._on_worker(call.process, call.thread.tid):
                    raise CudaError(Error.NOT_PERMITTED, "host functions must not make CUDA calls")
                self._need_context(call)
            return entry.handler(call, *arguments) or 0
        except CudaError as error:
            self._detail = error.detail
            if self.on_error is not None:
                self.on_error(call.name, error)
            return self._failed(call, error.code, entry.sets_error)

    def _need_context(self, call: Call) -> None:
        """The runtime makes the primary context current by itself; the driver API wants that done before."""
        call.process.initialised = True
        if not call.thread.contexts:
            if call.library == 0:
                raise CudaError(Error.DEVICE_UNINITIALIZED, "the thread has no current context")
            call.thread.contexts.append(self.contexts.primary)

    def _failed(self, call: Call, code: Error, sets_error: bool) -> int:
        if call.library == 0:
            return to_driver(code).value
        if sets_error:
            call.thread.last_error = code.value
        return code.value

    def _print(self, connection: Connection) -> None:
        pending, self._unprinted = self._unprinted, []
        for stream, data in pending:
            connection.print(data, stream)

    def _process(self, connection: Connection) -> ProcessState:
        hello = connection.hello
        if hello is None:
            raise ProtocolError("a call before the hello")
        key = (hello.pid, hello.image)
        state = self._processes.get(key)
        if state is None:
            state = self._processes[key] = self._new_process(hello.pid, hello.image)
        return state

    def _new_process(self, pid: int, image: int) -> ProcessState:
        """A forked child shares its image with the nearest known ancestor; anything else starts clean."""
        ancestor = parent_of(pid)
        while ancestor > 1:
            known = self._processes.get((ancestor, image))
            if known is not None:
                return known.forked(pid)
            ancestor = parent_of(ancestor)
        return ProcessState(pid, image)


class Session:
    """Runs a program to its end. `capture` keeps its stdout (`stdout`) while passing it on, `hold` keeps
    it and passes nothing on.

    `shim` is the directory with the CUDA libraries; `timeout` (seconds) ends a program that runs longer.
    """

    def __init__(
        self,
        path: Path,
        arguments: Sequence[str],
        driver: Driver,
        arena: HostArena,
        shim: Path,
        *,
        variables: Mapping[str, str] | None = None,
        capture: bool = False,
        hold: bool = False,
        timeout: float | None = None,
    ) -> None:
        self.path = path
        self.arguments = list(arguments)
        self.runtime = Runtime(driver, arena)
        self._stdout = bytearray()
        self._shim = shim
        self._variables = dict(os.environ if variables is None else variables)
        self._capture = capture or hold
        self._hold = hold
        self._timeout = timeout

    @property
    def api(self) -> list[ApiRecord]:
        """Every call so far, the first 200 000 of them."""
        return self.runtime.api

    @property
    def stdout(self) -> bytes:
        """What the program printed, the first 16 MiB of it; empty unless captured."""
        return bytes(self._stdout)

    def run(self) -> ExitStatus:
        """Start the program and serve it until it ends; UsageError when it is not one that can run.

        Ctrl-C gives 130 unless the program handles it, a timeout 124. Nothing is left behind: no process, no
        socket, no shared memory.
        """
        server = Server(self.runtime, self.runtime.arena.fd)
        self.runtime.server = server
        child: Child | None = None
        try:
            with _unwinding_on_termination():
                child = Child.start(
                    self.path, self.arguments, self._shim, server.path, self._variables, self._capture
                )
                server.root = child.pid
                server.watch_program(child.pidfd)
                if child.stdout is not None:
                    self._tee(server, child.stdout.fileno())
                return self._serve(server, child)
        finally:
            if child is not None:
                child.close()
            self.runtime.server = None
            server.close()

    def _serve(self, server: Server, child: Child) -> ExitStatus:
        if self._timeout is not None:
            server.deadline = time.monotonic() + self._timeout
        try:
            with contextlib.suppress(ProgramEnded):
                server.run()
            status = child.wait()
            if self.runtime.stopped is not None:
                raise self.runtime.stopped
            return status
        except TimeoutError:
            server.flush_waiting()
            self._take_rest(child)
            child.stop()
            if self.runtime.stopped is not None:
                raise self.runtime.stopped from None
            say(f"{self.path.name} was ended after {self._timeout:g} s")
            return ExitStatus(TIMED_OUT)
        except UnsupportedError:
            self._take_rest(child)
            raise
        except Terminated:
            child.stop()
            return ExitStatus(128 + signal.SIGTERM, signal.SIGTERM)
        except KeyboardInterrupt:
            child.interrupt()
            return child.stop()

    def _take_rest(self, child: Child) -> None:
        """What a program that is about to be ended has written to the captured stdout and nobody has read."""
        if child.stdout is not None:
            while select.select([child.stdout], [], [], 0.0)[0] and self._forward(child.stdout.fileno()):
                pass

    def _tee(self, server: Server, fd: int) -> None:
        def forward() -> None:
            if not self._forward(fd):
                server.unwatch(fd)

        server.watch(fd, forward)

    def _forward(self, fd: int) -> bool:
        """Read once; False at the end of the stream."""
        data = os.read(fd, 1 << 16)
        self._stdout += data[: KEEP_STDOUT - len(self._stdout)]
        if data and not self._hold:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        return bool(data)


@contextlib.contextmanager
def _unwinding_on_termination() -> Generator[None]:
    """Let SIGTERM unwind like Ctrl-C, so that being ended also ends the program and removes the socket."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    try:
        previous = signal.signal(signal.SIGTERM, on_signal)
    except ValueError:  # not the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
