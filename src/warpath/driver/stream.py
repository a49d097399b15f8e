"""Streams and events: the order of work, kept by semaphores.

A stream's frontier is the set of fences that its next piece of work must wait for. Work on the channel of the
only fence needs nothing more; work on another channel starts with semaphore acquires. The legacy default
stream orders itself against every blocking stream, both ways; non-blocking streams ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpath.driver.channel import Channel, Fence
from warpath.driver.error import CudaError, Error

if TYPE_CHECKING:
    from warpath.driver.graph import Capture

LEGACY = 0  # id of the default stream


@dataclass(eq=False)
class Stream:
    """A queue of work. `channel` takes its launches; `slot_va` are two words for host function handshakes."""

    id: int
    channel: Channel
    slot_va: int
    blocking: bool = True
    priority: int = 0
    frontier: dict[Channel, Fence] = field(default_factory=dict[Channel, Fence])
    capture: Capture | None = None
    host_calls: int = 0
    destroyed: bool = False

    @property
    def reached_va(self) -> int:
        """Word that the GPU sets when a host function's turn has come."""
        return self.slot_va

    @property
    def resume_va(self) -> int:
        """Word that the driver sets when the host function has returned."""
        return self.slot_va + 16

    @property
    def idle(self) -> bool:
        """Whether all work given to this stream is finished."""
        return all(fence.done for fence in self.frontier.values())

    def advance(self, fence: Fence) -> None:
        """New last work, which itself waited for everything before it."""
        self.frontier = {fence.channel: fence}

    def wait_for(self, fences: Iterable[Fence]) -> None:
        """Let later work also wait for `fences`."""
        for fence in fences:
            known = self.frontier.get(fence.channel)
            if known is None or known.payload < fence.payload:
                self.frontier[fence.channel] = fence


@dataclass(eq=False)
class Event:
    """A point in a stream. The GPU writes a payload and a timestamp in ns to `slot_va` when it gets there."""

    id: int
    slot_va: int
    timing: bool = True
    fences: tuple[Fence, ...] = ()
    recorded: bool = False
    capture: Capture | None = None
    capture_nodes: tuple[int, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the recorded work is finished; an event never recorded counts as done."""
        return all(fence.done for fence in self.fences)


class StreamSet:
    """All streams of a context; the legacy one exists from the start."""

    def __init__(
        self,
        channel: Callable[[int], Channel],
        take_slot: Callable[[], int],
        is_pending: Callable[[Fence], bool],
    ) -> None:
        self._channel = channel
        self._is_pending = is_pending
        self._take_slot = take_slot
        self._streams: dict[int, Stream] = {}
        self._next = LEGACY
        self.legacy = self.create()

    def create(self, blocking: bool = True, priority: int = 0) -> Stream:
        """A new stream on the next compute channel."""
        stream = Stream(self._next, self._channel(self._next), self._take_slot(), blocking, priority)
        self._streams[stream.id] = stream
        self._next += 1
        return stream

    def find(self, stream_id: int) -> Stream:
        """The stream with this id; error 400 when there is none."""
        stream = self._streams.get(stream_id)
        if stream is None:
            raise CudaError(Error.INVALID_RESOURCE_HANDLE, f"no stream {stream_id}")
        return stream

    def destroy(self, stream: Stream) -> None:
        """Forget the stream; its work goes on."""
        if stream is self.legacy or stream.destroyed:
            raise CudaError(Error.INVALID_RESOURCE_HANDLE, "this stream cannot be destroyed")
        stream.destroyed = True
        if stream.blocking:
            self.legacy.wait_for(stream.frontier.values())
        del self._streams[stream.id]

    def all(self) -> list[Stream]:
        """Every live stream."""
        return list(self._streams.values())

    def dependencies(self, stream: Stream) -> list[Fence]:
        """Fences that new work on `stream` must wait for, unfinished ones only, one per channel."""
        latest: dict[Channel, Fence] = {}
        for source in self._sources(stream):
            for fence in filter(self._is_pending, source.frontier.values()):
                known = latest.get(fence.channel)
                if known is None or known.payload < fence.payload:
                    latest[fence.channel] = fence
        return list(latest.values())

    def _sources(self, stream: Stream) -> list[Stream]:
        if stream is self.legacy:
            return [other for other in self._streams.values() if other.blocking]
        return [stream, self.legacy] if stream.blocking else [stream]
