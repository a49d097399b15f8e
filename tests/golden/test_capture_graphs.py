"""Graphs of a real driver on the model: grids that schedule each other, and memsets by the driver's macro."""

from __future__ import annotations

from tests.golden.test_capture_traces import replay_recording

STREAM_AND_GRAPH = 3129657508  # what the program printed on the H200 for both halves


def test_a_graph_replayed_ten_times_gives_what_the_gpu_gave() -> None:
    outcome = replay_recording("graph")
    assert (len(outcome.launches), outcome.faults, outcome.waiting) == (400, [], [])
    assert {data for _, data in outcome.to_host} == {STREAM_AND_GRAPH.to_bytes(4, "little") * 64}


def test_streams_events_and_a_host_callback() -> None:
    outcome = replay_recording("streams")
    assert (len(outcome.launches), outcome.host_releases) == (11, 1)
    first, *rest = [list(memoryview(data).cast("I")) for _, data in outcome.to_host]
    assert first == [i + 10 for i in range(4096)]
    assert rest == [[10] * 4096] * 2
