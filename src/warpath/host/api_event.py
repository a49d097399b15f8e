"""Events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.driver.stream import Event
from warpath.host.dispatch import entry

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

_DISABLE_TIMING, _KNOWN_FLAGS = 2, 7


def find_event(call: Call, handle: int) -> Event:
    """The event behind a handle; error 400."""
    return call.runtime.handles.get(handle, Event)


def _create(call: Call, pointer: int, flags: int) -> None:
    if flags & ~_KNOWN_FLAGS:
        raise CudaError(Error.INVALID_VALUE, f"event flags {flags:#x}")
    call.driver.check()
    event = call.driver.create_event(timing=not flags & _DISABLE_TIMING)
    call.out(pointer, "Q", call.runtime.handles.put(event))


@entry("cudaEventCreate")
def event_create(call: Call, pointer: int) -> None:
    """An event that keeps time."""
    _create(call, pointer, 0)


@entry("cudaEventCreateWithFlags", "cuEventCreate")
def event_create_with_flags(call: Call, pointer: int, flags: int) -> None:
    """Flag 2: keeps no time; blocking wait (1) and sharing (4) make no difference."""
    _create(call, pointer, flags)


@entry("cudaEventDestroy", "cuEventDestroy_v2", "cuEventDestroy")
def event_destroy(call: Call, handle: int) -> None:
    """Forget an event."""
    call.driver.destroy_event(find_event(call, handle))
    call.runtime.handles.drop(handle)


@entry("cudaEventRecord", "cuEventRecord")
def event_record(call: Call, handle: int, stream: int) -> None:
    """Mark a point in a stream."""
    call.driver.record_event(find_event(call, handle), call.stream(stream))


@entry("cudaEventRecordWithFlags", "cuEventRecordWithFlags")
def event_record_with_flags(call: Call, handle: int, stream: int, _flags: int) -> None:
    """Mark a point in a stream."""
    call.driver.record_event(find_event(call, handle), call.stream(stream))


@entry("cudaStreamWaitEvent", "cuStreamWaitEvent")
def stream_wait_event(call: Call, stream: int, handle: int, _flags: int) -> None:
    """Later work of the stream waits for the event."""
    call.driver.wait_event(call.stream(stream), find_event(call, handle))


@entry("cudaEventQuery", "cuEventQuery")
def event_query(call: Call, handle: int) -> None:
    """Error 600 until it has happened."""
    event = find_event(call, handle)
    if not call.runtime.query(lambda: call.driver.query_event(event)):
        raise CudaError(Error.NOT_READY)


@entry("cudaEventSynchronize", "cuEventSynchronize", waits=True)
def event_synchronize(call: Call, handle: int) -> None:
    """Wait until it has happened."""
    call.driver.wait_for_event(find_event(call, handle))


@entry("cudaEventElapsedTime", "cudaEventElapsedTime_v2", "cuEventElapsedTime", "cuEventElapsedTime_v2")
def event_elapsed_time(call: Call, pointer: int, start: int, end: int) -> None:
    """Milliseconds between two events, from the times the model GPU wrote."""
    call.out(pointer, "f", call.driver.elapsed_ms(find_event(call, start), find_event(call, end)))
