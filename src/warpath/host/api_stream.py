"""Streams, captures on them, and the per-thread capture mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.driver.graph import Graph
from warpath.driver.stream import Stream
from warpath.host.device import PRIORITIES
from warpath.host.dispatch import entry

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

NON_BLOCKING = 1
_NOT_CAPTURING, _CAPTURING, _INVALIDATED = 0, 1, 2


def _create(call: Call, pointer: int, flags: int = 0, priority: int = 0) -> None:
    if flags not in (0, NON_BLOCKING):
        raise CudaError(Error.INVALID_VALUE, f"stream flags {flags:#x}")
    least, greatest = PRIORITIES
    call.driver.check()
    stream = call.driver.streams.create(flags != NON_BLOCKING, max(greatest, min(least, priority)))
    call.out(pointer, "Q", call.runtime.handles.put(stream))


@entry("cudaStreamCreate")
def stream_create(call: Call, pointer: int) -> None:
    """A stream that orders itself against the default one."""
    _create(call, pointer)


@entry("cudaStreamCreateWithFlags", "cuStreamCreate")
def stream_create_with_flags(call: Call, pointer: int, flags: int) -> None:
    """Flag 1: not ordered against the default stream."""
    _create(call, pointer, flags)


@entry("cudaStreamCreateWithPriority")
def stream_create_with_priority(call: Call, pointer: int, flags: int, priority: int) -> None:
    """Priorities out of range are clamped."""
    _create(call, pointer, flags, priority)


@entry("cuStreamCreateWithPriority")
def driver_stream_create_with_priority(call: Call, pointer: int, flags: int, priority: int) -> None:
    """The driver's form."""
    _create(call, pointer, flags, priority)


@entry("cudaStreamDestroy", "cuStreamDestroy_v2", "cuStreamDestroy")
def stream_destroy(call: Call, handle: int) -> None:
    """Its work goes on."""
    call.driver.destroy_stream(call.runtime.handles.get(handle, Stream))
    call.runtime.handles.drop(handle)


@entry("cudaStreamSynchronize", "cuStreamSynchronize", waits=True)
def stream_synchronize(call: Call, handle: int) -> None:
    """Wait for the stream's work."""
    call.driver.wait_for_stream(call.stream(handle))


@entry("cudaStreamQuery", "cuStreamQuery")
def stream_query(call: Call, handle: int) -> None:
    """Error 600 while work is left."""
    stream = call.stream(handle)
    if not call.runtime.query(lambda: call.driver.query_stream(stream)):
        raise CudaError(Error.NOT_READY)


@entry("cudaStreamGetFlags", "cuStreamGetFlags", context=False)
def stream_get_flags(call: Call, handle: int, pointer: int) -> None:
    """What it was created with."""
    call.out(pointer, "I", 0 if call.stream(handle).blocking else NON_BLOCKING)


@entry("cudaStreamGetPriority", "cuStreamGetPriority", context=False)
def stream_get_priority(call: Call, handle: int, pointer: int) -> None:
    """What it was created with."""
    call.out(pointer, "i", call.stream(handle).priority)


@entry("cudaStreamGetId", "cuStreamGetId", context=False)
def stream_get_id(call: Call, handle: int, pointer: int) -> None:
    """A number unique in the process."""
    call.out(pointer, "Q", call.stream(handle).id)


@entry("cudaStreamGetDevice", "cuStreamGetDevice", context=False)
def stream_get_device(call: Call, handle: int, pointer: int) -> None:
    """The only one."""
    call.stream(handle)
    call.out(pointer, "i", 0)


@entry("cuStreamGetCtx", context=False)
def stream_get_context(call: Call, handle: int, pointer: int) -> None:
    """All streams belong to the device's context."""
    call.stream(handle)
    call.out(pointer, "Q", call.runtime.contexts.primary)


# Capture


@entry("cudaStreamBeginCapture", "cuStreamBeginCapture_v2")
def begin_capture(call: Call, handle: int, mode: int) -> None:
    """Record work into a graph instead of running it."""
    if mode not in (0, 1, 2):
        raise CudaError(Error.INVALID_VALUE, f"capture mode {mode}")
    call.driver.begin_capture(call.stream(handle), mode)


@entry("cudaStreamEndCapture", "cuStreamEndCapture")
def end_capture(call: Call, handle: int, pointer: int) -> None:
    """The graph."""
    try:
        graph = call.driver.end_capture(call.stream(handle))
    except CudaError:
        call.out_if(pointer, "Q", 0)
        raise
    call.out(pointer, "Q", call.runtime.handles.put(graph))


def _status(stream: Stream) -> int:
    if stream.capture is None:
        return _NOT_CAPTURING
    return _INVALIDATED if stream.capture.invalid else _CAPTURING


@entry("cudaStreamIsCapturing", "cuStreamIsCapturing")
def is_capturing(call: Call, handle: int, pointer: int) -> None:
    """0 no, 1 yes, 2 spoiled."""
    call.out(pointer, "i", _status(call.stream(handle)))


@entry("cudaStreamGetCaptureInfo", library=12)
def capture_info_v1(call: Call, handle: int, status: int, number: int) -> None:
    """Status and an id that tells captures apart."""
    _capture_info(call, handle, status, number, 0)


@entry("cudaStreamGetCaptureInfo_v2", library=12)
def capture_info_v2(
    call: Call, handle: int, status: int, number: int, graph: int, _nodes: int, count: int
) -> None:
    """Also the graph being built."""
    _capture_info(call, handle, status, number, graph)
    call.out_if(count, "Q", 0)


@entry("cudaStreamGetCaptureInfo", library=13)
def capture_info_v3(
    call: Call, handle: int, status: int, number: int, graph: int, _nodes: int, _edges: int, count: int
) -> None:
    """Also the graph being built."""
    _capture_info(call, handle, status, number, graph)
    call.out_if(count, "Q", 0)


def _capture_info(call: Call, handle: int, status: int, number: int, graph: int) -> None:
    stream = call.stream(handle)
    call.out(status, "i", _status(stream))
    if stream.capture is not None:
        building: Graph = stream.capture.graph
        known = call.runtime.handles.put(building)
        call.out_if(number, "Q", known)
        call.out_if(graph, "Q", known)


@entry("cudaThreadExchangeStreamCaptureMode", "cuThreadExchangeStreamCaptureMode", context=False)
def exchange_capture_mode(call: Call, pointer: int) -> None:
    """Swap the thread's mode."""
    (wanted,) = call.take(pointer, "i")
    call.out(pointer, "i", call.thread.capture_mode)
    call.thread.capture_mode = wanted
