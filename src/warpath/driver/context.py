"""The driver: one context on one model GPU, with its channels, address space, modules, streams and errors.

Work is written to memory and announced by a doorbell; calls return at once. The model GPU runs when somebody
waits (`wait`, `synchronize`), or when the host layer has nothing else to do (`advance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from warpath.command.segments import MAX_INLINE_BYTES
from warpath.container.fatbin import MAGIC, WRAPPER_MAGIC, Fatbin
from warpath.driver.address_space import AddressSpace, Memory
from warpath.driver.channel import Channel, Doorbell, Fence
from warpath.driver.channels import ChannelSet
from warpath.driver.error import CudaError, Error
from warpath.driver.fault import to_cuda_error
from warpath.driver.graph import Capture, Graph, GraphExec
from warpath.driver.journal import Journal
from warpath.driver.launch import Launch, pack_arguments
from warpath.driver.limits import Configuration
from warpath.driver.marker import EventRecord, HostCall, PendingCall
from warpath.driver.memory import MemoryManager
from warpath.driver.module import Function, Module, Registry, ptx_member
from warpath.driver.output import AssertFailure, Output
from warpath.driver.segment import Segment
from warpath.driver.slots import LaunchSlots, WordPool
from warpath.driver.staging import PIECE_BYTES, Mover, Staging
from warpath.driver.stream import Event, Stream, StreamSet
from warpath.driver.support import DeviceSupport, Limits
from warpath.driver.transfer import Copy, CopyKind, Fill, Rows
from warpath.errors import FormatError, UsageError
from warpath.gpu.spec import Gpu

_RUNTIME_VERSION = 13050
_FIRST_STRICT_RUNTIME = 13000  # from here on bad dimensions are error 1, before that error 9
_LOADER = -1
_GLOBAL_CAPTURE = 0
_TIMESTAMP = 8  # offset in a 16-byte release
_NO_CLUSTER = (1, 1, 1)


class ModelGpu(Doorbell, Protocol):
    """The model GPU as the driver uses it (`frontend.ModelGpu`)."""

    @property
    def faults(self) -> Sequence[Mapping[str, object]]:
        """Records of everything that stopped a channel, in order."""
        ...

    def run(self, poll: Callable[[], None] | None = None) -> None:
        """Work on all channels until none can go on; `poll` is called between steps."""
        ...


class Work(Protocol):
    """Something a stream can be given: a launch, a copy, a fill, a host call, an event record."""

    @property
    def label(self) -> str:
        """What a report calls it."""
        ...

    def check(self, driver: Driver) -> None:
        """Raise the error that the call returns when it is refused."""
        ...

    def submit(self, driver: Driver, stream: Stream) -> None:
        """Queue it in stream order."""
        ...


class Driver:
    """One context.

    `memory` is the model GPU's memory, `arena` the (base, size) of the host arena, which the caller has
    reserved in it. `on_output` gets what device code printed, wherever the real driver would flush it. `timed` says
    that the GPU's clock means something; `runtime_version` (13050 is 13.5) whose error codes to follow.
    """

    def __init__(
        self,
        spec: Gpu,
        gpu: ModelGpu,
        memory: Memory,
        assemble_ptx: Callable[[bytes, str], bytes],
        *,
        arena: tuple[int, int],
        eager: bool = False,
        timed: bool = False,
        runtime_version: int = _RUNTIME_VERSION,
        on_output: Callable[[Output], None] = lambda _: None,
    ) -> None:
        self.spec = spec
        self.gpu = gpu
        self.memory = memory
        self.assemble_ptx = assemble_ptx
        self.eager = eager
        self.timed = timed
        self.runtime_version = runtime_version
        self.on_output = on_output
        self.poll: Callable[[], None] | None = None  # called between steps of the GPU; may raise to stop it
        self.journal = Journal()
        self.space = AddressSpace(memory, spec.memory_bytes, arena)
        self.registry = Registry(self._new_module)
        self.modules: list[Module] = []
        self._build()

    def _build(self) -> None:
        """Everything that a reset makes anew."""
        spec, gpu = self.spec, self.gpu
        self.error: CudaError | None = None
        self.limits = Limits(spec)
        self.memory_manager = MemoryManager(self.space, self.check, self.synchronize)
        self.channels = ChannelSet(spec, self.space, gpu, self.journal, self.wait)
        self.words = WordPool(self.space)
        self.streams = StreamSet(self.channels.compute, self.words.take)
        self.slots = LaunchSlots(self.space, self.wait)
        self.staging_in = Staging(self.space, self.wait)
        self.staging_out = Staging(self.space, self.wait)
        self.support = DeviceSupport(self.space, self.upload, self.limits)
        self._loader = Stream(_LOADER, self.channels.compute(0), self.words.take(), blocking=False)
        self._host_calls: list[PendingCall] = []
        self._faults_seen = len(gpu.faults)
        self._events = 0

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

    # Errors and waiting

    @property
    def configuration_error(self) -> Error:
        """What a launch with bad dimensions returns under the emulated runtime."""
        strict = self.runtime_version >= _FIRST_STRICT_RUNTIME
        return Error.INVALID_VALUE if strict else Error.INVALID_CONFIGURATION

    @property
    def sticky_error(self) -> Error | None:
        """What every call reports from now on, if a fault has made the context unusable."""
        return self.error.code if self.error is not None else None

    def check(self) -> None:
        """Raise the error that has made this context unusable, if one has."""
        if self.error is not None:
            raise CudaError(self.error.code, self.error.detail)

    def wait(self, fence: Fence) -> None:
        """Run the GPU until the fence is done.

        Raises the fault that came up, error 702 when nothing moves.
        """
        self.check()
        if not fence.done:
            self._run()
            self.check()
        if not fence.done:
            raise self._stuck(fence)

    def wait_for_stream(self, stream: Stream) -> None:
        """Wait for all work given to a stream so far."""
        self.check()
        self._forbid_capture(stream)
        for fence in self.streams.dependencies(stream):
            self.wait(fence)
        self._flush_output()

    def synchronize(self) -> None:
        """Wait for everything (`cudaDeviceSynchronize`)."""
        self.check()
        if any(stream.capture for stream in self.streams.all()):
            raise CudaError(Error.STREAM_CAPTURE_UNSUPPORTED)
        for channel in self.channels.all:
            self.wait(Fence(channel, channel.payload))
        self._flush_output()

    def advance(self) -> bool:
        """Run pending work without waiting for anything; whether some is left. Errors are kept."""
        if self.error is None and not self.idle:
            self._run()
        return self.error is None and not self.idle

    @property
    def idle(self) -> bool:
        """Whether all channels have finished."""
        return all(channel.idle for channel in self.channels.all)

    def _run(self) -> None:
        """Let the GPU work until it stops, answering host calls as their turn comes."""
        while True:
            self.gpu.run(self.poll)
            self._collect_faults()
            if self.error is not None or not self._answer_host_calls():
                break
        self._flush_output()

    def _collect_faults(self) -> None:
        new = self.gpu.faults[self._faults_seen :]
        self._faults_seen += len(new)
        if new and self.error is None:
            self._flush_output()
            self.error = to_cuda_error(new[0])
            if self.error.code is Error.ASSERT and "message" in new[0]:
                self.on_output(Output(b"", (AssertFailure(str(new[0]["message"])),), 0))

    def _answer_host_calls(self) -> bool:
        """Make every host call whose turn has come; whether there was one."""
        due = [call for call in self._host_calls if self._word(call.reached_va) >= call.count]
        for call in due:
            self._host_calls.remove(call)
            call.call()
            self.memory.write(call.resume_va, call.count.to_bytes(4, "little"))
        return bool(due)

    def _word(self, va: int) -> int:
        return int.from_bytes(self.memory.read(va, 4), "little")

    def _stuck(self, fence: Fence) -> CudaError:
        where = f"channel {fence.channel.name} stopped before payload {fence.payload}"
        self.error = CudaError(Error.LAUNCH_TIMEOUT, f"{where}: it waits for work never submitted")
        return self.error

    def _flush_output(self) -> None:
        found = self.support.drain()
        if found is not None:
            self.on_output(found)

    # Building segments

    def segment(self, stream: Stream, channel: Channel, also: Iterable[Fence] = ()) -> Segment:
        """A segment for `channel` that waits for all earlier work of `stream` and for `also`."""
        waits = [*self.streams.dependencies(stream), *(fence for fence in also if not fence.done)]
        return Segment(self.channels.writer(), channel, stream, waits, self.spec.launch_form)

    @property
    def copy_channel(self) -> Channel:
        """Where copies to the device and inside it go."""
        return self.channels.copy_in

    @property
    def copy_out_channel(self) -> Channel:
        """Where copies to the host go."""
        return self.channels.copy_out

    def upload(self, va: int, data: bytes, size: int, what: str) -> tuple[str, Fence]:
        """Put `data`, zero-padded to `size` bytes, at `va`; says how (inline, copy, fill) and when done."""
        if not data.strip(b"\0") and size > MAX_INLINE_BYTES:
            segment = self.segment(self._loader, self.copy_channel)
            segment.fill(va, 0, 1, size, 1, size)
            return "fill", segment.submit(what)
        data = data.ljust(size, b"\0")
        if size <= MAX_INLINE_BYTES:
            segment = self.segment(self._loader, self._loader.channel)
            segment.upload(va, data)
            return "inline", segment.submit(what)
        return "copy", self._upload_staged(va, data, what)

    def _upload_staged(self, va: int, data: bytes, what: str) -> Fence:
        fence = Fence(self.copy_channel, 0)
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            buffer = self.staging_in.acquire()
            self.memory.write(buffer, piece)
            segment = self.segment(self._loader, self.copy_channel)
            segment.copy(va + start, buffer, len(piece), 1, len(piece), len(piece))
            fence = segment.submit(what)
            self.staging_in.used_by(fence)
        return fence

    def invalidate(self, *, code: bool) -> Fence:
        """Drop cached instructions or constants, as follows every upload of a module."""
        segment = self.segment(self._loader, self._loader.channel)
        if code:
            segment.invalidate_code()
        else:
            segment.invalidate_constants()
        return segment.submit(f"invalidate {'instruction' if code else 'constant'} cache")

    def provide_system_calls(self, names: Sequence[str]) -> None:
        """Make device functions such as vprintf callable."""
        self.support.provide(names)

    def get_limit(self, limit: int) -> int:
        """`cudaDeviceGetLimit`; error 215 for a limit that this GPU does not have."""
        return self.limits.get(limit)

    def set_limit(self, limit: int, value: int) -> None:
        """`cudaDeviceSetLimit`; error 1 for a size that is fixed by now, 215 for an unknown limit."""
        self.check()
        self.limits.set(limit, value)

    # Modules

    def _new_module(self, source: Fatbin | bytes, what: str) -> Module:
        module = Module(self, len(self.modules), source, what)
        self.modules.append(module)
        return module

    def load_module(self, data: bytes, what: str = "module") -> Module:
        """`cuModuleLoadData`: a fat binary, a cubin or PTX text, loaded at once. Error 200 when it is none of
        these.
        """
        self.check()
        try:
            module = self._new_module(_parse_image(data), what)
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

    def _forbid_capture(self, stream: Stream) -> None:
        if stream.capture is not None:
            stream.capture.invalid = True
            raise CudaError(Error.STREAM_CAPTURE_UNSUPPORTED)

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

    def expect_host_call(self, call: PendingCall) -> None:
        """Remember a call that the GPU will ask for."""
        self._host_calls.append(call)

    # Streams and events

    def destroy_stream(self, stream: Stream) -> None:
        """Forget a stream; its work goes on."""
        self.streams.destroy(stream)

    def query_stream(self, stream: Stream) -> bool:
        """Whether a stream has finished; lets the GPU work first, so that polling gets somewhere."""
        self.check()
        self._forbid_capture(stream)
        self.advance()
        self.check()
        return stream.idle

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
        return event.done

    def wait_for_event(self, event: Event) -> None:
        """Wait until an event has happened."""
        self._forbid_captured(event)
        for fence in event.fences:
            self.wait(fence)

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
        graph.submit(self, stream)


def _parse_image(data: bytes) -> Fatbin | bytes:
    """Tell the kinds of module image apart by their first bytes; PTX becomes a fat binary of one member."""
    start = int.from_bytes(data[:4], "little")
    if start == MAGIC:
        return Fatbin.parse(data)
    if data[:4] == b"\x7fELF" or start == WRAPPER_MAGIC:
        return data
    return Fatbin([ptx_member(data)])
