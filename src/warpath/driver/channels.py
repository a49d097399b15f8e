"""The channels of a context: for launches and inline uploads, and one for copies in each direction."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator

from warpath.command import segments
from warpath.command.doorbell import Token
from warpath.command.qmd import load_format
from warpath.command.segments import Classes, SegmentWriter, Semaphore
from warpath.driver.address_space import LOCAL_WINDOW, SHARED_WINDOW, AddressSpace, Kind
from warpath.driver.channel import PUSHBUFFER_BYTES, RING_STRIDE, SEMAPHORE_STRIDE, Channel, Doorbell, Fence
from warpath.driver.error import CudaError, Error
from warpath.driver.journal import Journal
from warpath.gpu.spec import Gpu

COMPUTE_CHANNELS = 8  # what CUDA_DEVICE_MAX_CONNECTIONS is by default
_COPY_IN, _COPY_OUT = COMPUTE_CHANNELS, COMPUTE_CHANNELS + 1
_COUNT = COMPUTE_CHANNELS + 2

# Launches on the default stream's channel were captured with latches 8 to 15, on those of other streams from 56 on.
_FIRST_LATCH, _FIRST_STREAM_LATCH = 8, 56

# Channel ids and runlists as on the captured machine.
_TOKENS = [*(Token(0x0A + index, 0) for index in range(COMPUTE_CHANNELS)), Token(0x12, 1), Token(0x16, 3)]


class ChannelSet:
    """Channels, created when first used; creation binds the engine classes and sets the address windows."""

    def __init__(
        self,
        spec: Gpu,
        space: AddressSpace,
        gpu: Doorbell,
        journal: Journal,
        wait: Callable[[Fence], None],
        host_ns: Callable[[], int],
    ) -> None:
        self._spec = spec
        self._space = space
        self._gpu = gpu
        self._journal = journal
        self._wait = wait
        self._host_ns = host_ns
        self._channels: dict[int, Channel] = {}
        self._held = False  # whether doorbells are held back
        self._rings = self._region(RING_STRIDE * _COUNT)
        self._semaphores = self._region(SEMAPHORE_STRIDE * _COUNT)

    def writer(self) -> SegmentWriter:
        """An empty segment for this chip's classes."""
        classes = self._spec.classes
        return SegmentWriter(Classes(classes.channel, classes.compute, classes.copy))

    def compute(self, index: int) -> Channel:
        """Compute channel `index` modulo their number; 0 is the default stream's."""
        if index == 0:
            return self._get(0)
        return self._get(1 + (index - 1) % (COMPUTE_CHANNELS - 1))

    @property
    def copy_in(self) -> Channel:
        """Host to device, and device to device."""
        return self._get(_COPY_IN)

    @property
    def copy_out(self) -> Channel:
        """Device to host."""
        return self._get(_COPY_OUT)

    @property
    def all(self) -> list[Channel]:
        """Every channel created so far."""
        return list(self._channels.values())

    @contextlib.contextmanager
    def one_doorbell(self) -> Generator[None]:
        """What is submitted inside is announced at the end, with one doorbell a channel."""
        self._held = True
        try:
            for channel in self.all:
                channel.hold()
            yield
        finally:
            self._held = False
            for channel in self.all:
                channel.ring()

    def _get(self, index: int) -> Channel:
        if index not in self._channels:
            self._channels[index] = self._create(index)
            if self._held:
                self._channels[index].hold()
        return self._channels[index]

    def _create(self, index: int) -> Channel:
        copies = index >= COMPUTE_CHANNELS
        names = {_COPY_IN: "copy to device", _COPY_OUT: "copy to host"}
        channel = Channel(
            name=names.get(index, f"compute {index}"),
            token=_TOKENS[index].encode(self._spec.classes.usermode),
            memory=self._space.memory,
            gpu=self._gpu,
            journal=self._journal,
            ring_va=self._rings + index * RING_STRIDE,
            pushbuffer_va=self._region(PUSHBUFFER_BYTES),
            # From the top down, as captured: the first channel has the highest address.
            semaphore_va=self._semaphores + (_COUNT - 1 - index) * SEMAPHORE_STRIDE,
            wait=self._wait,
            host_ns=self._host_ns,
            copies=copies,
            first_latch=_FIRST_LATCH if index == 0 else _FIRST_STREAM_LATCH + 8 * (index - 1),
        )
        self._set_up(channel)
        return channel

    def _set_up(self, channel: Channel) -> None:
        writer = self.writer()
        done = Semaphore(channel.semaphore_va, channel.next_payload)
        if channel.copies:
            segments.bind_copy(writer)
            segments.copy_release(writer, done)
        else:
            sm = self._spec.sm
            segments.bind(writer)
            segments.compute_state(
                writer,
                shared_window=SHARED_WINDOW,
                local_window=LOCAL_WINDOW,
                spa_version=sm.major << 8 | sm.minor,
                qmd_number=load_format(self._spec.qmd_version).number,
            )
            segments.semaphore_release(writer, done)
        channel.submit(writer.to_bytes(), f"set up channel {channel.name}")

    def _region(self, size: int) -> int:
        allocation = self._space.allocate(size, Kind.SYSTEM)
        if allocation is None:
            raise CudaError(Error.MEMORY_ALLOCATION, "no room for channels")
        self._space.memory.write(allocation.va, bytes(size))  # after a reset it holds old payloads
        return allocation.va
