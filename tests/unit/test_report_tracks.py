"""The writer of Perfetto traces: nesting, order, lanes; read back with the package's own schema."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.perfetto_kit import parse
from warpath.report.tracks import Slice, Trace, lanes, queue

SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda span: (span[0], span[0] + span[1]))
)


def test_groups_tracks_counters_and_words_come_back() -> None:
    trace = Trace()
    group = trace.group("GPU")
    track = trace.track("kernels", group)
    counter = trace.counter("warps", group, "%")
    trace.slices(track, [Slice("k", 10, 30, {"grid": "4x1x1", "registers": 12, "waves": 0.5})])
    trace.instant(track, 12, "here")
    trace.values(counter, [(10, 1.5), (20, 0.0)])
    found = parse(trace.serialize())
    (k,) = found.slices["GPU/kernels"]
    assert (k.name, k.start, k.end, k.depth) == ("k", 10, 30, 0)
    assert k.words == {"grid": "4x1x1", "registers": 12, "waves": 0.5}
    assert found.instants["GPU/kernels"] == [(12, "here")]
    assert found.values["GPU/warps"] == [(10, 1.5), (20, 0.0)]
    assert found.units["GPU/warps"] == "%"


def test_stages_lie_within_their_kernel_and_kernels_meet_without_overlap() -> None:
    trace = Trace()
    track = trace.track("kernels", trace.group("GPU"))
    trace.slices(
        track, [Slice("b", 30, 40), Slice("a", 10, 30), Slice("late", 20, 30), Slice("early", 10, 20)]
    )
    found = parse(trace.serialize()).slices["GPU/kernels"]
    assert [(s.name, s.depth) for s in found] == [("a", 0), ("early", 1), ("late", 1), ("b", 0)]


def test_a_slice_that_would_outlast_the_one_around_it_ends_with_it() -> None:
    trace = Trace()
    track = trace.track("calls", trace.group("host"))
    trace.slices(track, [Slice("outer", 0, 10), Slice("inner", 5, 15)])
    found = parse(trace.serialize()).slices["host/calls"]
    assert [(s.name, s.start, s.end) for s in found] == [("outer", 0, 10), ("inner", 5, 10)]


@given(SPANS)
def test_any_slices_make_a_sound_track(spans: list[tuple[int, int]]) -> None:
    trace = Trace()
    trace.slices(trace.track("t", trace.group("g")), [Slice(str(i), *span) for i, span in enumerate(spans)])
    found = parse(trace.serialize()).slices["g/t"]
    assert sorted(s.start for s in found) == sorted(start for start, _ in spans)


@given(SPANS)
def test_a_queue_never_overlaps_and_loses_nothing(spans: list[tuple[int, int]]) -> None:
    found = queue(Slice(str(i), *span) for i, span in enumerate(spans))
    assert sorted(int(item.name) for item in found) == list(range(len(spans)))
    for before, after in itertools.pairwise(found):
        assert before.end_ns <= after.start_ns


@given(SPANS)
def test_spans_of_a_lane_never_overlap_and_lanes_are_as_few_as_can_be(spans: list[tuple[int, int]]) -> None:
    spans = sorted((start, end + 1) for start, end in spans)
    found = lanes(spans)
    free: dict[int, int] = {}
    for (start, end), lane in zip(spans, found, strict=True):
        assert free.get(lane, 0) <= start
        free[lane] = end
    most = max((sum(a <= at < b for a, b in spans) for at, _ in spans), default=0)
    assert len(free) == most
