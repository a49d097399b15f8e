"""Streams, events, host functions and graphs: order is kept, nothing runs early, errors are CUDA's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.driver.conftest import SCALE, Machine
from warpath.driver.error import CudaError, Error
from warpath.driver.graph import Graph, GraphExec
from warpath.driver.stream import Stream
from warpath.driver.transfer import CopyKind, Fill

HOST = 0x5555_0000_0000


def word(m: Machine, va: int) -> int:
    return int.from_bytes(m.memory.read(va, 4), "little")


def hold(m: Machine, stream: Stream, log: list[str], name: str) -> None:
    """Something to see in the order of a stream."""
    m.driver.launch_host_function(stream, lambda: log.append(name))


def test_streams_are_spread_over_channels(machine: Callable[..., Machine]) -> None:
    driver = machine().driver
    streams = [driver.streams.create() for _ in range(8)]
    assert driver.streams.legacy.channel is driver.channels.compute(0)
    assert len({stream.channel.name for stream in streams}) == 7
    assert driver.streams.legacy.channel not in {stream.channel for stream in streams}


def test_work_on_another_channel_waits_for_a_semaphore(machine: Callable[..., Machine]) -> None:
    """A fill by the copy engine, then an inline one by the compute channel, then a copy: each sees the one before."""
    m = machine()
    stream = m.driver.streams.create(blocking=False)
    size = 1 << 16
    a, b = m.driver.memory_manager.malloc(size), m.driver.memory_manager.malloc(size)
    m.driver.memset(a, 1, size, stream)
    m.driver.memset(a + 8, 2, 4, stream)
    m.driver.memcpy(b, a, size, CopyKind.DEVICE_TO_DEVICE, stream, blocking=False)
    # Offer the channels in the wrong order: only the semaphores can keep things right.
    m.gpu.channels = dict(reversed(m.gpu.channels.items()))
    m.driver.wait_for_stream(stream)
    assert m.memory.read(b, 16) == b"\1" * 8 + b"\2" * 4 + b"\1" * 4


def test_the_default_stream_orders_itself_against_blocking_streams(machine: Callable[..., Machine]) -> None:
    m = machine()
    log: list[str] = []
    blocking, free = m.driver.streams.create(), m.driver.streams.create(blocking=False)
    legacy = m.driver.streams.legacy
    hold(m, blocking, log, "first")
    hold(m, legacy, log, "second")
    hold(m, blocking, log, "third")
    assert m.driver.streams.dependencies(free) == []
    waits = {fence.channel for fence in m.driver.streams.dependencies(legacy)}
    assert waits == {legacy.channel, blocking.channel}
    m.driver.synchronize()
    assert log == ["first", "second", "third"]


def test_events_order_streams_and_keep_time(machine: Callable[..., Machine]) -> None:
    m = machine(timed=True)
    log: list[str] = []
    one, two = (m.driver.streams.create(blocking=False) for _ in range(2))
    start, end = m.driver.create_event(), m.driver.create_event()
    assert m.driver.query_event(start)  # never recorded
    hold(m, two, log, "a")
    m.driver.record_event(start, two)
    m.driver.wait_event(one, start)
    hold(m, one, log, "b")
    m.driver.record_event(end, one)
    assert not end.done
    m.driver.wait_for_event(end)
    assert log == ["a", "b"]
    assert m.driver.elapsed_ms(start, end) > 0
    m.driver.timed = False
    assert m.driver.elapsed_ms(start, end) == 0.0
    assert any("clock" in note for note in m.driver.journal.notes)
    with pytest.raises(CudaError) as caught:
        m.driver.elapsed_ms(start, m.driver.create_event())
    assert caught.value.code is Error.INVALID_RESOURCE_HANDLE


def test_queries_let_the_gpu_work(machine: Callable[..., Machine]) -> None:
    m = machine()
    stream = m.driver.streams.create()
    va = m.driver.memory_manager.malloc(4)
    m.driver.memset(va, 7, 1, stream, element=4)
    assert not stream.idle
    assert m.driver.query_stream(stream)
    assert word(m, va) == 7


def test_host_functions_run_in_order_and_hold_the_stream(machine: Callable[..., Machine]) -> None:
    m = machine()
    stream = m.driver.streams.create()
    va = m.driver.memory_manager.malloc(4)
    seen: list[int] = []
    for value in (1, 2, 3):
        m.driver.memset(va, value, 1, stream, element=4)
        m.driver.launch_host_function(stream, lambda: seen.append(word(m, va)))
    assert seen == []
    m.driver.wait_for_stream(stream)
    assert seen == [1, 2, 3]


def test_waiting_for_work_that_never_comes_is_an_error_not_a_hang(machine: Callable[..., Machine]) -> None:
    m = machine()
    stream = m.driver.streams.create()
    segment = m.driver.segment(stream, stream.channel)
    segment.acquire(stream.resume_va, 1)
    segment.submit("test")
    with pytest.raises(CudaError) as caught:
        m.driver.synchronize()
    assert caught.value.code is Error.LAUNCH_TIMEOUT


def test_destroyed_streams_finish_their_work(machine: Callable[..., Machine]) -> None:
    m = machine()
    stream = m.driver.streams.create()
    va = m.driver.memory_manager.malloc(4)
    m.driver.memset(va, 9, 1, stream, element=4)
    m.driver.destroy_stream(stream)
    m.driver.wait_for_stream(m.driver.streams.legacy)
    assert word(m, va) == 9
    for wrong in (stream, m.driver.streams.legacy):
        with pytest.raises(CudaError):
            m.driver.destroy_stream(wrong)
    with pytest.raises(CudaError):
        m.driver.streams.find(stream.id)


def test_a_captured_graph_runs_as_often_as_launched(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    function = m.register(fatbin)
    stream, other = m.driver.streams.create(), m.driver.streams.create()
    va = m.driver.memory_manager.malloc(1 << 16)
    log: list[str] = []
    fork, join = m.driver.create_event(), m.driver.create_event()
    m.driver.begin_capture(stream)
    m.driver.memset(va, 1, 4, stream)
    m.driver.record_event(fork, stream)
    m.driver.wait_event(other, fork)
    m.driver.launch(function, (1, 1, 1), (32, 1, 1), [bytes(8), bytes(8), bytes(12)], 0, other)
    hold(m, stream, log, "host")
    m.driver.record_event(join, other)
    m.driver.wait_event(stream, join)
    m.driver.memcpy(va + 100, va, 4, CopyKind.DEVICE_TO_DEVICE, stream, blocking=False)
    graph = m.driver.end_capture(stream)
    assert m.gpu.launches == []
    assert graph.edges() == [(0, 1), (0, 2), (2, 3), (1, 3)]
    assert stream.capture is other.capture is None
    exec_ = GraphExec(graph)
    for _ in range(3):
        m.driver.launch_graph(exec_, stream)
    m.driver.wait_for_stream(stream)
    assert len(m.gpu.launches) == 3
    assert log == ["host"] * 3
    assert m.memory.read(va + 100, 4) == b"\1" * 4


def test_capture_refuses_what_cuda_refuses(machine: Callable[..., Machine]) -> None:
    m = machine()
    driver = m.driver
    va = driver.memory_manager.malloc(64)
    stream, other = driver.streams.create(), driver.streams.create()

    def code(call: Callable[[], object]) -> Error:
        with pytest.raises(CudaError) as caught:
            call()
        return caught.value.code

    assert code(lambda: driver.begin_capture(driver.streams.legacy)) is Error.STREAM_CAPTURE_UNSUPPORTED
    assert code(lambda: driver.end_capture(stream)) is Error.ILLEGAL_STATE
    driver.begin_capture(stream)
    assert code(lambda: driver.begin_capture(stream)) is Error.ILLEGAL_STATE
    assert code(lambda: driver.memset(va, 0, 4)) is Error.STREAM_CAPTURE_IMPLICIT
    assert code(lambda: driver.end_capture(stream)) is Error.STREAM_CAPTURE_INVALIDATED
    driver.begin_capture(stream)
    assert code(lambda: driver.wait_for_stream(stream)) is Error.STREAM_CAPTURE_UNSUPPORTED
    assert code(lambda: driver.end_capture(stream)) is Error.STREAM_CAPTURE_INVALIDATED
    event = driver.create_event()
    driver.begin_capture(stream)
    driver.memset(va, 0, 4, stream)
    driver.record_event(event, stream)
    driver.wait_event(other, event)
    driver.memset(va, 0, 4, other)
    assert code(lambda: driver.end_capture(other)) is Error.STREAM_CAPTURE_UNMATCHED
    assert code(lambda: driver.query_event(event)) is Error.CAPTURED_EVENT
    assert code(lambda: driver.end_capture(stream)) is Error.STREAM_CAPTURE_UNJOINED
    driver.memset(va, 5, 4, other)
    driver.synchronize()
    assert m.memory.read(va, 4) == b"\5" * 4


def test_a_graph_is_announced_with_one_doorbell_a_channel(
    machine: Callable[..., Machine], fatbin: bytes
) -> None:
    m = machine()
    function = m.register(fatbin)
    stream = m.driver.streams.create()
    m.driver.begin_capture(stream)
    for _ in range(5):
        m.driver.launch(function, (1, 1, 1), (32, 1, 1), [bytes(8), bytes(8), bytes(12)], 0, stream)
    exec_ = GraphExec(m.driver.end_capture(stream))
    m.driver.launch_graph(exec_, stream)  # loads the module
    m.driver.wait_for_stream(stream)
    m.gpu.rung.clear()
    m.driver.launch_graph(exec_, stream)
    assert m.gpu.rung == [stream.channel.token]
    m.driver.wait_for_stream(stream)
    assert len(m.gpu.launches) == 10


def test_the_host_pays_for_its_calls_and_waits_for_the_gpu(
    machine: Callable[..., Machine], fatbin: bytes
) -> None:
    m = machine(timed=True)
    function, stream = m.register(fatbin), m.driver.streams.create()
    path = m.driver.host.path

    def cost(call: Callable[[], None]) -> int:
        before = m.driver.host.now_ns
        call()
        return m.driver.host.now_ns - before

    def launch() -> None:
        m.driver.launch(function, (1, 1, 1), (32, 1, 1), [bytes(8), bytes(8), bytes(12)], 0, stream)

    assert cost(launch) == path.module_ns + path.function_ns + path.launch_call_ns
    assert cost(launch) == path.launch_call_ns
    assert cost(lambda: m.driver.wait_for_stream(stream)) == path.sync_call_ns
    end = m.driver.host.now_ns + 12_345
    m.gpu.reached_ns = lambda va, payload: end  # type: ignore[method-assign]
    assert cost(lambda: m.driver.wait_for_stream(stream)) == 12_345 + path.sync_call_ns


def test_graphs_built_by_hand(machine: Callable[..., Machine]) -> None:
    m = machine()
    va = m.driver.memory_manager.malloc(64)
    graph, inner = Graph(), Graph()
    inner.add(Fill(va, 3, 1, 4))
    last = graph.add(None)
    first = graph.add(Fill(va, 1, 1, 8))
    middle = graph.add(None, [first], child=inner)
    graph.add_dependency(middle, last)
    end = graph.add(Fill(va + 2, 9, 1, 1), [last])
    assert graph.roots() == [first]
    m.driver.launch_graph(GraphExec(graph), m.driver.streams.create())
    m.driver.synchronize()
    assert m.memory.read(va, 8) == bytes([3, 3, 9, 3, 1, 1, 1, 1])
    copy = graph.clone()
    copy.remove(middle)
    assert copy.nodes[last].after == ()
    assert graph.nodes[last].after == (middle,)
    graph.add_dependency(end, first)
    for call in (graph.order, lambda: graph.add(None, [99]), lambda: graph.remove_dependency(first, end)):
        with pytest.raises(CudaError):
            call()


def test_names_in_the_journal(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    m.driver.launch(m.register(fatbin), (1, 1, 1), (32, 1, 1), [bytes(8), bytes(8), bytes(12)])
    submission = m.driver.journal.submissions[-1]
    assert (submission.what, submission.launch) == (f"launch {SCALE}", 0)
    assert m.driver.journal.launches[0].submission == submission.serial
