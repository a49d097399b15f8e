"""The half of the driver that talks to the GPU: channels, waiting, faults, segments, uploads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from warpath.command.segments import MAX_INLINE_BYTES
from warpath.container.fatbin import Fatbin
from warpath.driver.address_space import AddressSpace, Memory
from warpath.driver.channel import Channel, Doorbell, Fence
from warpath.driver.channels import ChannelSet
from warpath.driver.error import CudaError, Error
from warpath.driver.fault import to_cuda_error
from warpath.driver.host_clock import HostClock
from warpath.driver.journal import Journal
from warpath.driver.marker import PendingCall
from warpath.driver.memory import MemoryManager
from warpath.driver.module import Function, Module, Registry
from warpath.driver.output import Output
from warpath.driver.places import Place, locate
from warpath.driver.segment import Segment
from warpath.driver.slots import LaunchSlots, WordPool
from warpath.driver.staging import PIECE_BYTES, Staging
from warpath.driver.stream import Stream, StreamSet
from warpath.driver.support import DeviceSupport, Limits
from warpath.errors import UnsupportedError
from warpath.gpu import launch_path
from warpath.gpu.launch_path import TIMELESS
from warpath.gpu.spec import Gpu

_RUNTIME_VERSION = 13050
# From here on bad dimensions are error 1, before that 9, and a host function that is no kernel is 400, before that 98.
_FIRST_STRICT_RUNTIME = 13000
_LOADER = -1


class ModelGpu(Doorbell, Protocol):
    """The model GPU as the driver uses it (`frontend.ModelGpu`)."""

    @property
    def faults(self) -> Sequence[Mapping[str, object]]:
        """Records of everything that stopped a channel, in order."""
        ...

    def reached_ns(self, va: int, payload: int) -> int:
        """GPU time at which a semaphore reached a payload."""
        ...

    def run(self, poll: Callable[[], None] | None = None, until: Callable[[], bool] | None = None) -> None:
        """Work on all channels until none can go on or `until()`; `poll` is called between steps."""
        ...


class Work(Protocol):
    """Something a stream can be given: a launch, a copy, a fill, a host call, an event record."""

    @property
    def label(self) -> str:
        """What a report calls it."""
        ...

    def call_ns(self, driver: Submitter) -> int:
        """What the call that gives it to a stream costs the host, up to the doorbell."""
        ...

    def check(self, driver: Submitter) -> None:
        """Raise the error that the call returns when it is refused."""
        ...

    def submit(self, driver: Submitter, stream: Stream) -> None:
        """Queue it in stream order."""
        ...


class Submitter:
    """One context's hold on the GPU: what launches, copies and module loads are built from.

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
        self.host = HostClock(launch_path.resolve(spec) if timed else TIMELESS)
        self.runtime_version = runtime_version
        self.on_output = on_output
        self.poll: Callable[[], None] | None = None  # called between steps of the GPU; may raise to stop it
        self.journal = Journal()
        self.space = AddressSpace(memory, spec.memory_bytes, arena)
        self.registry = Registry(self.new_module, lambda: self.unknown_function_error)
        self.modules: list[Module] = []
        self._build()

    def _build(self) -> None:
        """Everything that a reset makes anew."""
        spec, gpu = self.spec, self.gpu
        self.error: CudaError | None = None
        self.limits = Limits(spec)
        self.memory_manager = MemoryManager(self.space, self.check, self.synchronize)
        self.channels = ChannelSet(spec, self.space, gpu, self.journal, self.wait, lambda: self.host.now_ns)
        self.words = WordPool(self.space)
        self.streams = StreamSet(self.channels.compute, self.words.take, self.is_pending)
        self.slots = LaunchSlots(self.space, self.wait)
        self.staging_in = Staging(self.space, self.wait)
        self.staging_out = Staging(self.space, self.wait)
        self.support = DeviceSupport(self.space, self.upload, self.limits)
        self._loader = Stream(_LOADER, self.channels.compute(0), self.words.take(), blocking=False)
        self._host_calls: list[PendingCall] = []
        self._faults_seen = len(gpu.faults)
        self._events = 0
        self.launched: set[Function] = set()  # functions that have been launched

    def new_module(self, source: Fatbin | bytes, what: str) -> Module:
        """A module that is not loaded yet, from a fat binary or a bare cubin."""
        module = Module(self, len(self.modules), source, what)
        self.modules.append(module)
        return module

    # Errors and waiting

    @property
    def configuration_error(self) -> Error:
        """What a launch with bad dimensions returns under the emulated runtime."""
        strict = self.runtime_version >= _FIRST_STRICT_RUNTIME
        return Error.INVALID_VALUE if strict else Error.INVALID_CONFIGURATION

    @property
    def unknown_function_error(self) -> Error:
        """What launching a host function that is no kernel returns under the emulated runtime."""
        strict = self.runtime_version >= _FIRST_STRICT_RUNTIME
        return Error.INVALID_RESOURCE_HANDLE if strict else Error.INVALID_DEVICE_FUNCTION

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
            self._run(fence)
            self.check()
        if not fence.done:
            raise self._stuck(fence)
        self.host.reach(self.reached_ns(fence))

    def is_pending(self, fence: Fence) -> bool:
        """Whether the host, where its time stands, would find the fence unfinished. The GPU may have carried out
        already what lies ahead of the host's time.
        """
        return not fence.done or self.reached_ns(fence) > self.host.now_ns

    def reached_ns(self, fence: Fence) -> int:
        """GPU time at which a fence was done."""
        return self.gpu.reached_ns(fence.channel.semaphore_va, fence.payload)

    def wait_for_stream(self, stream: Stream) -> None:
        """Wait for all work given to a stream so far."""
        self.check()
        self.forbid_capture(stream)
        for fence in self.streams.dependencies(stream):
            self.wait(fence)
        self.host.spend(self.host.path.sync_call_ns)
        self._flush_output()

    def synchronize(self) -> None:
        """Wait for everything (`cudaDeviceSynchronize`)."""
        self.check()
        if any(stream.capture for stream in self.streams.all()):
            raise CudaError(Error.STREAM_CAPTURE_UNSUPPORTED)
        for channel in self.channels.all:
            self.wait(Fence(channel, channel.payload))
        self.host.spend(self.host.path.sync_call_ns)
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

    def _run(self, fence: Fence | None = None) -> None:
        """Let the GPU work until it stops or the fence is done, answering host calls as their turn comes."""

        def enough() -> bool:
            return (fence is not None and fence.done) or self._host_call_is_due()

        for channel in self.channels.all:
            channel.ring()
        while True:
            self.gpu.run(self.poll, enough)
            self._collect_faults()
            if self.error is not None or not self._answer_host_calls():
                break
        self._flush_output()

    def _collect_faults(self) -> None:
        new = self.gpu.faults[self._faults_seen :]
        self._faults_seen += len(new)
        if new and self.error is None:
            self._flush_output()
            self._refuse_registered(new[0])
            self.error = to_cuda_error(new[0], self.place_of(new[0]))

    def _refuse_registered(self, fault: Mapping[str, object]) -> None:
        """A real GPU reads memory pinned with cudaHostRegister; the model cannot, and the program is not to blame."""
        address = fault.get("address")
        if isinstance(address, int) and self.memory_manager.is_registered(address):
            raise UnsupportedError(
                f"{self.place_of(fault) or 'a kernel'}: {address:#x} is memory pinned with cudaHostRegister, which the "
                "model GPU cannot reach: allocate it with cudaMallocHost"
            )

    def place_of(self, fault: Mapping[str, object]) -> Place | None:
        """Where a fault's `pc` is, which counts from the start of the allocation that holds its program."""
        entry, pc = fault.get("program_va"), fault.get("pc")
        code = self.space.find(entry) if isinstance(entry, int) else None
        return locate(self.modules, code.va + pc) if code is not None and isinstance(pc, int) else None

    def _host_call_is_due(self) -> bool:
        return any(self._word(call.reached_va) >= call.count for call in self._host_calls)

    def _answer_host_calls(self) -> bool:
        """Make every host call whose turn has come; whether there was one."""
        due = [call for call in self._host_calls if self._word(call.reached_va) >= call.count]
        for call in due:
            self._host_calls.remove(call)
            self.host.reach(self.gpu.reached_ns(call.reached_va, call.count))
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

    def segment(self, stream: Stream, channel: Channel) -> Segment:
        """A segment for `channel` that waits for all earlier work of `stream`."""
        waits = self.streams.dependencies(stream)
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

    def expect_host_call(self, call: PendingCall) -> None:
        """Remember a call that the GPU will ask for."""
        self._host_calls.append(call)

    def forbid_capture(self, stream: Stream) -> None:
        """Error 900 for a call that a capturing stream does not take; it spoils the capture."""
        if stream.capture is not None:
            stream.capture.invalid = True
            raise CudaError(Error.STREAM_CAPTURE_UNSUPPORTED)
