"""Whether a program is bound by its launches, and what a CUDA graph would save.

Looked at are runs: launches of one stream that the host made back to back, without waiting in between. A graph of a run
needs one call and one doorbell; what the kernels execute stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpath.gpu.launch_path import LaunchPath

FEWEST = 8  # launches of a run: below that, making a graph is not worth it
SLOWEST = 1.5  # of the launch call's time between doorbells: beyond that, the host did something else as well
LEAST_SHARE = 0.2  # of a run's time that a graph must save, and of the program's


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch: its stream, when its doorbell rang and its kernel ended, and what it executes between; ns."""

    stream: int
    doorbell_ns: int
    ended_ns: int
    execution_ns: int


@dataclass(frozen=True, slots=True)
class LaunchBound:
    """What was found: a sentence, and the figures it rests on (times in us)."""

    text: str
    figures: dict[str, float]


def judge(launches: Iterable[Launched], path: LaunchPath) -> LaunchBound | None:
    """What a program's launches, in the order in which they were made, say; None when they are not the limit."""
    everything = list(launches)
    found = [run for run in runs(everything, path) if saving(run, path) >= LEAST_SHARE * span(run)]
    if not found:
        return None
    saved, whole = sum(saving(run, path) for run in found), span(everything)
    if saved < LEAST_SHARE * whole:
        return None
    now = sum(span(run) for run in found)
    count = sum(len(run) for run in found)
    executing = sum(one.execution_ns for run in found for one in run)
    figures = {
        "launches": count,
        "us_per_launch": now / count / 1e3,
        "executing_us_per_launch": executing / count / 1e3,
        "now_us": now / 1e3,
        "graph_us": (now - saved) / 1e3,
        "saved_us": saved / 1e3,
        "saved_percent_of_program": 100 * saved / whole,
    }
    text = (
        f"launching is the limit: {count} launches follow each other every {now / count / 1e3:.1f} us and execute "
        f"for {executing / count / 1e3:.1f} us each; as CUDA graphs they would take {(now - saved) / 1e3:.0f} us "
        f"instead of {now / 1e3:.0f} us"
    )
    return LaunchBound(text, figures)


def runs(launches: Sequence[Launched], path: LaunchPath) -> list[list[Launched]]:
    """Launches that follow each other in a stream as fast as the host can make them, at least FEWEST together."""
    current: dict[int, list[Launched]] = {}
    found: list[list[Launched]] = []
    for launch in launches:
        run = current.get(launch.stream)
        if run is not None and follows(run[-1], launch, path):
            run.append(launch)
        else:
            current[launch.stream] = [launch]
            found.append(current[launch.stream])
    return [run for run in found if len(run) >= FEWEST]


def follows(before: Launched, launch: Launched, path: LaunchPath) -> bool:
    """Whether nothing but the launch call lies between two doorbells. Nodes of a graph share one."""
    apart = launch.doorbell_ns - before.doorbell_ns
    return 0 < apart <= SLOWEST * path.launch_call_ns


def span(launches: Sequence[Launched]) -> int:
    """From the first doorbell to the end of the last kernel; ns."""
    return max(one.ended_ns for one in launches) - min(one.doorbell_ns for one in launches)


def graph_ns(run: Sequence[Launched], path: LaunchPath) -> int:
    """The same run as a graph, from the doorbell to the end of its last kernel."""
    executing = sum(one.execution_ns for one in run)
    return path.doorbell_ns + path.segment_ns + (len(run) - 1) * path.node_ns + executing


def saving(run: Sequence[Launched], path: LaunchPath) -> int:
    """What a graph saves of a run, ns; negative when it saves nothing."""
    return span(run) - graph_ns(run, path)
