"""What the rules found, and what launches hand to one another, as lines of text; every figure with its origin."""

from __future__ import annotations

from collections import defaultdict

from warpath.report.model import FlowEdge, Launch, LaunchFlow, Report
from warpath.units import format_bytes, format_duration_ns

MOST_EDGES = 8  # shown, those worth most first

# What an edge's bytes are to the consumer.
_KINDS = {"fusion": "written by", "reuse": "read by"}


def diagnosis_lines(launch: Launch) -> list[str]:
    """One line for each diagnosis of a launch, in the order of the rules."""
    return [f"{found.key}: {found.text} ({found.source})" for found in launch.diagnoses]


def flow_lines(report: Report) -> list[str]:
    """The data flow between launches: what each one touched, then the hand-overs that are worth most.

    Launches of one kernel that touched the same amounts share a line, edges between the same kernels too.
    """
    if not any(launch.flow for launch in report.launches):
        return []
    return [*_touched(report), *_edges(report)]


def _touched(report: Report) -> list[str]:
    alike: dict[tuple[str, LaunchFlow], list[int]] = defaultdict(list)
    for launch in report.launches:
        if launch.flow is not None:
            alike[launch.kernel, launch.flow].append(launch.index)
    return [
        f"{_numbers(indices)} {_short(kernel)}: {_flow(flow)}" for (kernel, flow), indices in alike.items()
    ]


def _flow(flow: LaunchFlow) -> str:
    parts = [f"reads {format_bytes(flow.read_bytes)}, writes {format_bytes(flow.written_bytes)} (computed)"]
    parts += [
        f"{format_bytes(amount)} {what} ({origin})"
        for amount, what, origin in (
            (flow.unused_bytes, "fetched in sectors and asked for by no lane", "computed"),
            (flow.fetched_twice_bytes, "fetched beyond once, code and constants included", "modelled"),
            (flow.from_l2_bytes, "read were still in L2", "modelled"),
        )
        if amount
    ]
    return "; ".join(parts)


def _edges(report: Report) -> list[str]:
    names = {launch.index: _short(launch.kernel) for launch in report.launches}
    alike: dict[tuple[str, str, str], list[FlowEdge]] = defaultdict(list)
    for edge in report.dataflow:
        alike[names[edge.producer], names[edge.consumer], edge.kind].append(edge)
    groups = sorted(alike.items(), key=lambda item: -sum(edge.saves_ns for edge in item[1]))
    shown = [item for item in groups if any(edge.dram_bytes for edge in item[1])][:MOST_EDGES]
    lines = [_edge(*key, edges) for key, edges in shown]
    if rest := len(groups) - len(shown):
        lines.append(
            f"{rest} other pairs of kernels: their bytes were in L2, or are worth less; --json has all"
        )
    return lines


def _edge(producer: str, consumer: str, kind: str, edges: list[FlowEdge]) -> str:
    total, dram, saves = (
        sum(getattr(edge, name) for edge in edges) for name in ("bytes", "dram_bytes", "saves_ns")
    )
    pairs = ", ".join(f"{edge.producer} -> {edge.consumer}" for edge in edges[:4])
    pairs += f" and {len(edges) - 4} more" if len(edges) > 4 else ""
    return (
        f"{kind}: {consumer} reads {format_bytes(total)} {_KINDS[kind]} {producer} ({pairs}); as one kernel, "
        f"{format_bytes(dram)} less of DRAM traffic, worth {format_duration_ns(saves)} ({edges[0].source})"
    )


def _short(kernel: str) -> str:
    """A kernel's name without return type and parameters."""
    return kernel.removeprefix("void ").partition("(")[0] or kernel


def _numbers(indices: list[int]) -> str:
    """`launch 3`, `launches 1 to 10` or `launches 1, 3, 5`."""
    if len(indices) == 1:
        return f"launch {indices[0]}"
    if indices[-1] - indices[0] == len(indices) - 1:
        return f"launches {indices[0]} to {indices[-1]}"
    shown = ", ".join(map(str, indices[:6]))
    return f"launches {shown}{', ...' if len(indices) > 6 else ''}"
