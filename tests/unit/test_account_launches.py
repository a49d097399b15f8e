"""When launching is the limit, rule by rule; figures worked out by hand."""

from __future__ import annotations

from warpath.account.launches import FEWEST, Launched, follows, graph_ns, judge, runs, saving, span
from warpath.gpu.launch_path import LaunchPath

PATH = LaunchPath(launch_call_ns=4000, doorbell_ns=2000, segment_ns=1000, node_ns=200)
CALL, EXECUTION = 4000, 500


def back_to_back(
    count: int, *, stream: int = 0, start: int = 0, every: int = CALL, execution: int = EXECUTION
) -> list[Launched]:
    """Launches whose kernels end when the GPU, idle in between, has got and executed each."""
    return [
        Launched(stream, at, at + PATH.doorbell_ns + PATH.segment_ns + execution, execution)
        for at in range(start, start + count * every, every)
    ]


def test_a_run_spans_from_its_first_doorbell_to_its_last_kernel() -> None:
    assert span(back_to_back(10)) == 9 * CALL + 2000 + 1000 + 500


def test_a_graph_needs_one_doorbell_and_a_short_gap_between_nodes() -> None:
    assert graph_ns(back_to_back(10), PATH) == 2000 + 1000 + 9 * 200 + 10 * 500
    assert saving(back_to_back(10), PATH) == 39500 - 9800


def test_launches_follow_each_other_while_only_the_call_lies_between() -> None:
    first, second = Launched(0, 0, 0, 0), Launched(0, 6000, 0, 0)
    assert follows(first, second, PATH)
    assert not follows(first, Launched(0, 6001, 0, 0), PATH)


def test_nodes_of_a_graph_do_not_follow_each_other() -> None:
    assert not follows(Launched(0, 5, 0, 0), Launched(0, 5, 0, 0), PATH)


def test_a_pause_ends_a_run() -> None:
    launches = back_to_back(FEWEST) + back_to_back(FEWEST, start=1_000_000)
    assert [len(run) for run in runs(launches, PATH)] == [FEWEST, FEWEST]


def test_streams_have_runs_of_their_own() -> None:
    mixed = [one for pair in zip(back_to_back(10), back_to_back(10, stream=1), strict=True) for one in pair]
    assert [[one.stream for one in run] for run in runs(mixed, PATH)] == [[0] * 10, [1] * 10]


def test_short_runs_are_left_alone() -> None:
    assert judge(back_to_back(FEWEST - 1), PATH) is None
    assert judge(back_to_back(FEWEST), PATH) is not None


def test_long_kernels_are_not_bound_by_their_launches() -> None:
    launches = [Launched(0, n * CALL, (n + 1) * 100_000, 99_000) for n in range(20)]
    assert saving(launches, PATH) < 0.2 * span(launches)
    assert judge(launches, PATH) is None


def test_a_run_that_is_little_of_the_program_is_not_its_limit() -> None:
    long = Launched(0, 10_000_000, 60_000_000, 49_000_000)
    assert judge(back_to_back(20), PATH) is not None
    assert judge([*back_to_back(20), long], PATH) is None


def test_the_finding_carries_its_figures() -> None:
    found = judge(back_to_back(10), PATH)
    assert found is not None
    assert found.figures["launches"] == 10
    assert found.figures["now_us"] == 39.5
    assert found.figures["graph_us"] == 9.8
    assert found.figures["saved_us"] == 29.7
    assert "10 launches follow each other every 4.0 us and execute for 0.5 us each" in found.text
    assert "10 us instead of 40 us" in found.text


def test_no_launches_no_finding() -> None:
    assert judge([], PATH) is None
