"""The driver: one context on one model GPU, with its channels, address space, modules, streams and errors.

Work is written to memory and announced by a doorbell; calls return at once. The model GPU runs when somebody
waits (`wait`, `synchronize`), or when the host layer has nothing else to do (`advance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from warpath.container.fatbin import MAGIC, WRAPPER_MAGIC, Fatbin
from warpath.driver.channel import Fence
from warpath.driver.error import CudaError, Error
from warpath.driver.graph import Capture, Graph, GraphExec
from warpath.driver.launch import Launch, pack_arguments
from warpath.driver.limits import Configuration
from warpath.driver.marker import EventRecord, HostCall
from warpath.driver.module import Function, Module, ptx_member
from warpath.driver.staging import Mover
from warpath.driver.stream import Event, Stream
from warpath.driver.submission import Submitter, Work
from warpath.driver.transfer import Copy, CopyKind, Fill, Rows
from warpath.errors import FormatError, UsageError

_GLOBAL_CAPTURE = 0
_TIMESTAMP = 8  # offset in a 16-byte release
_NO_CLUSTER = (1, 1, 1)


class Driver(Submitter):
    """One context as the API sees it; the constructor's arguments are those of `Submitter`."""

    def reset(self) -> None:
        """`cudaDeviceReset`: wait, free everything, forget errors; registered modules load again when needed."""
        try:
            self.synchronize()
        except CudaError:
            self.gpu.run(self.poll)  # faulted channels drop what they were given
        for module in self.modules:
            module.unload()
        self.space.clear()
        self._build()

    def get_limit(self, limit: int) -> int:
        """`cudaDeviceGetLimit`; error 215 for a limit that this GPU does not have."""
        return self.limits.get(limit)

    def set_limit(self, limit: int, value: int) -> None:
        """`cudaDeviceSetLimit`; error 1 for a size that is fixed by now, 215 for an unknown limit."""
        self.check()
        self.limits.set(limit, value)

    # Modules

    def load_module(self, data: bytes, what: str = "module") -> Module:
        """`cuModuleLoadData`: a fat binary, a cubin or PTX text, loaded at once. Error 200 when it is none of
        these.
        """
        self.check()
        try:
            module = self.new_module(_parse_image(data), what)
            module.load("module load")
        except (FormatError, UsageError) as error:
            raise CudaError(Error.INVALID_KERNEL_IMAGE, str(error)) from error
        return module

    def end_registration(self, module: Module) -> None:
        """`__cudaRegisterFatBinaryEnd`: with eager loading the module is uploaded now; failures show at its
        first use.
        """
        if self.eager:
            try:
                module.load("eager loading")
            except CudaError as error:
                self.journal.note(f"eager load of {module.what} failed: {error}")

    def unload_module(self, module: Module) -> None:
        """Wait for all work, then free the module."""
        if self.error is None:
            self.synchronize()
        self.registry.forget(module)
        module.unload()

    # Work

    def enqueue(self, stream: Stream, work: Work) -> None:
        """Give work to a stream, or to the graph it captures."""
        self.check()
        work.check(self)
        self.host.spend(work.call_ns(self))
        if stream.capture is not None:
            stream.capture.add(stream, work)
            return
        self._forbid_implicit_capture(stream)
        work.submit(self, stream)

    def _forbid_implicit_capture(self, stream: Stream) -> None:
        if stream is self.streams.legacy:
            for other in self.streams.all():
                if other.blocking and other.capture is not None:
                    other.capture.invalid = True
                    raise CudaError(Error.STREAM_CAPTURE_IMPLICIT)

    def launch(
        self,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: Sequence[bytes],
        shared: int = 0,
        stream: Stream | None = None,
        *,
        cooperative: bool = False,
        cluster: tuple[int, int, int] | None = None,
    ) -> None:
        """Launch a kernel with one byte string per parameter; returns when the doorbell is rung."""
        params = pack_arguments(function.kernel, args)
        self.launch_packed(
            function, grid, block, params, shared, stream, cooperative=cooperative, cluster=cluster
        )

    def launch_packed(
        self,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes,
        shared: int = 0,
        stream: Stream | None = None,
        *,
        cooperative: bool = False,
        cluster: tuple[int, int, int] | None = None,
    ) -> None:
        """`launch` with the parameter block as it goes into the constant bank."""
        self.check()
        cluster = cluster or function.cluster or function.kernel.cluster or _NO_CLUSTER
        if function not in self.launched:
            self.launched.add(function)
            self.host.spend(self.host.path.function_ns)
        configuration = Configuration(grid, block, shared, cooperative, cluster)
        self.enqueue(stream or self.streams.legacy, Launch(function, configuration, params))

    def memcpy(
        self,
        dst: int,
        src: int,
        size: int,
        kind: int,
        stream: Stream | None = None,
        mover: Mover | None = None,
        *,
        blocking: bool = True,
    ) -> None:
        """Copy `size` bytes; `kind` is a `cudaMemcpyKind`. `blocking` waits, as the calls without Async do."""
        self.memcpy_2d(dst, size, src, size, size, 1, kind, stream, mover, blocking=blocking)

    def memcpy_2d(
        self,
        dst: int,
        dst_pitch: int,
        src: int,
        src_pitch: int,
        width: int,
        height: int,
        kind: int,
        stream: Stream | None = None,
        mover: Mover | None = None,
        *,
        blocking: bool = True,
    ) -> None:
        """Copy `height` rows of `width` bytes."""
        self.check()
        if width == 0 or height == 0:
            return
        if width > dst_pitch or width > src_pitch:
            raise CudaError(
                Error.INVALID_PITCH_VALUE, f"rows of {width} bytes at pitches {dst_pitch}, {src_pitch}"
            )
        if kind not in tuple(CopyKind):
            raise CudaError(Error.INVALID_MEMCPY_DIRECTION, f"{kind} is no copy direction")
        rows = Rows(dst, src, width, height, dst_pitch, src_pitch)
        self.enqueue(stream or self.streams.legacy, Copy(rows, CopyKind(kind), mover, blocking))

    def memset(
        self,
        va: int,
        value: int,
        width: int,
        stream: Stream | None = None,
        *,
        element: int = 1,
        height: int = 1,
        pitch: int = 0,
    ) -> None:
        """Set `height` rows of `width` elements of `element` bytes; returns before it is done."""
        self.check()
        if width and height:
            fill = Fill(va, value & ((1 << 8 * element) - 1), element, width, height, pitch)
            self.enqueue(stream or self.streams.legacy, fill)

    def launch_host_function(self, stream: Stream, call: Callable[[], None]) -> None:
        """Call back into the program when the stream gets there."""
        self.enqueue(stream, HostCall(call))

    # Streams and events

    def destroy_stream(self, stream: Stream) -> None:
        """Forget a stream; its work goes on."""
        self.streams.destroy(stream)

    def query_stream(self, stream: Stream) -> bool:
        """Whether a stream has finished; lets the GPU work first, so that polling gets somewhere."""
        self.check()
        self.forbid_capture(stream)
        self.advance()
        self.check()
        return stream.idle and self._look_at(stream.frontier.values())

    def create_event(self, timing: bool = True) -> Event:
        """A new event."""
        self._events += 1
        return Event(self._events, self.words.take(), timing)

    def destroy_event(self, event: Event) -> None:
        """Forget an event; its slot is used again once pending work no longer writes to it."""
        if event.done:
            self.words.give(event.slot_va)

    def record_event(self, event: Event, stream: Stream | None = None) -> None:
        """Mark this point of a stream."""
        stream = stream or self.streams.legacy
        self.check()
        if stream.capture is not None:
            stream.capture.record(stream, event)
            return
        event.capture = None
        self.enqueue(stream, EventRecord(event))

    def wait_event(self, stream: Stream, event: Event) -> None:
        """Later work of `stream` waits for the event; an event of a capture makes the stream part of it."""
        self.check()
        if event.capture is not None:
            event.capture.join(stream, event)
        else:
            stream.wait_for(event.fences)

    def query_event(self, event: Event) -> bool:
        """Whether an event has happened; lets the GPU work first."""
        self.check()
        self._forbid_captured(event)
        self.advance()
        self.check()
        return event.done and self._look_at(event.fences)

    def _look_at(self, fences: Iterable[Fence]) -> bool:
        """The host has found them done, so its time is no longer before theirs; True."""
        for fence in fences:
            self.host.reach(self.reached_ns(fence))
        return True

    def wait_for_event(self, event: Event) -> None:
        """Wait until an event has happened."""
        self._forbid_captured(event)
        for fence in event.fences:
            self.wait(fence)
        self.host.spend(self.host.path.sync_call_ns)

    def elapsed_ms(self, start: Event, end: Event) -> float:
        """Milliseconds between two events, from the times the GPU wrote; 0 unless it keeps time (`timed`)."""
        if not (start.timing and end.timing and start.recorded and end.recorded):
            raise CudaError(Error.INVALID_RESOURCE_HANDLE, "both events must be recorded and keep time")
        if not (self.query_event(start) and self.query_event(end)):
            raise CudaError(Error.NOT_READY)
        if not self.timed:
            self.journal.note("event times are 0: the model GPU ran without a clock")
            return 0.0
        times = [int.from_bytes(self.memory.read(e.slot_va + _TIMESTAMP, 8), "little") for e in (start, end)]
        return (times[1] - times[0]) / 1e6

    @staticmethod
    def _forbid_captured(event: Event) -> None:
        if event.capture is not None:
            raise CudaError(Error.CAPTURED_EVENT)

    # Graphs

    def begin_capture(self, stream: Stream, mode: int = _GLOBAL_CAPTURE) -> None:
        """Record what is given to `stream` from now on, instead of running it."""
        self.check()
        if stream is self.streams.legacy:
            raise CudaError(Error.STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot capture")
        if stream.capture is not None:
            raise CudaError(Error.ILLEGAL_STATE, "the stream is capturing already")
        stream.capture = Capture(stream, mode)
        stream.capture.last[stream] = ()

    def end_capture(self, stream: Stream) -> Graph:
        """The captured graph."""
        capture = stream.capture
        if capture is None:
            raise CudaError(Error.ILLEGAL_STATE, "the stream is not capturing")
        if capture.origin is not stream:
            raise CudaError(Error.STREAM_CAPTURE_UNMATCHED)
        return capture.end()

    def launch_graph(self, graph: GraphExec, stream: Stream) -> None:
        """Run an instantiated graph in a stream, or add it to the one the stream captures."""
        self.check()
        if stream.capture is not None:
            for work in graph.works:
                stream.capture.add(stream, work)
            return
        self._forbid_implicit_capture(stream)
        self.host.spend(self.host.path.graph_call_ns)
        with self.channels.one_doorbell():
            graph.submit(self, stream)


def _parse_image(data: bytes) -> Fatbin | bytes:
    """Tell the kinds of module image apart by their first bytes; PTX becomes a fat binary of one member."""
    start = int.from_bytes(data[:4], "little")
    if start == MAGIC:
        return Fatbin.parse(data)
    if data[:4] == b"\x7fELF" or start == WRAPPER_MAGIC:
        return data
    return Fatbin([ptx_member(data)])
