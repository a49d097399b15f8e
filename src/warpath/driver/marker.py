"""Work that moves no data: event records and calls back into the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpath.driver.stream import Event

if TYPE_CHECKING:
    from warpath.driver.stream import Stream
    from warpath.driver.submission import Submitter


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Have the GPU write payload and time to the event's slot when the stream gets there."""

    event: Event

    @property
    def label(self) -> str:
        """For the report."""
        return f"record event {self.event.id}"

    def call_ns(self, driver: Submitter) -> int:
        """Host time of the call."""
        return driver.host.path.record_call_ns

    def check(self, driver: Submitter) -> None:
        """Nothing to refuse."""

    def submit(self, driver: Submitter, stream: Stream) -> None:
        """Queue the release on the stream's compute channel."""
        segment = driver.segment(stream, stream.channel)
        segment.timestamp(self.event.slot_va, 1)
        self.event.fences = (segment.submit(self.label),)
        self.event.recorded = True


@dataclass(frozen=True, slots=True)
class HostCall:
    """Call into the program when the stream gets there; later work waits for the return.

    The GPU writes a count to the stream's first word and then waits for the same count in the second one,
    which the driver writes after the call.
    """

    call: Callable[[], None]

    @property
    def label(self) -> str:
        """For the report."""
        return "host function"

    def call_ns(self, driver: Submitter) -> int:
        """Host time of the call."""
        return driver.host.path.record_call_ns

    def check(self, driver: Submitter) -> None:
        """Nothing to refuse."""

    def submit(self, driver: Submitter, stream: Stream) -> None:
        """Queue the handshake."""
        stream.host_calls += 1
        segment = driver.segment(stream, stream.channel)
        segment.release(stream.reached_va, stream.host_calls)
        segment.acquire(stream.resume_va, stream.host_calls)
        segment.submit(self.label)
        driver.expect_host_call(
            PendingCall(stream.reached_va, stream.resume_va, stream.host_calls, self.call)
        )


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A host function whose turn has not come: `count` at `reached_va` says that it has."""

    reached_va: int
    resume_va: int
    count: int
    call: Callable[[], None]
