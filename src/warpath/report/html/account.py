"""Where a launch's time went: the ledger as a waterfall, stalls as a stack, the roofline."""

from __future__ import annotations

import math
from dataclasses import dataclass

from warpath.report.html.chosen import shape
from warpath.report.html.figures import Figure, figure, line, state_colour
from warpath.report.model import Launch, Report

_SHOWN_STALLS = 12


@dataclass(frozen=True, slots=True)
class Step:
    """One bar of the waterfall. `left` and `width` are percent of its longest extent."""

    term: str
    label: str
    ns: int
    source: str
    text: str
    kind: str  # floor, cost, help or total
    left: float
    width: float


def waterfall(launch: Launch) -> list[Step]:
    """Each ledger term starts where the one before it ended; the last bar is their sum, the duration."""
    if not launch.ledger:
        return []
    ends: list[int] = []
    for term in launch.ledger:
        ends.append((ends[-1] if ends else 0) + term.ns)
    low, high = min(0, *ends), max(1, *ends)

    def bar(start: int, end: int) -> tuple[float, float]:
        return 100 * (min(start, end) - low) / (high - low), 100 * abs(end - start) / (high - low)

    steps: list[Step] = []
    for term, end in zip(launch.ledger, ends, strict=True):
        kind = "floor" if term.term == "floor" else "help" if term.ns < 0 else "cost"
        extent = bar(end - term.ns, end)
        steps.append(Step(term.term, term.label, term.ns, term.source, term.text, kind, *extent))
    return [*steps, Step("total", "duration", ends[-1], "modelled", "", "total", *bar(0, ends[-1]))]


@dataclass(frozen=True, slots=True)
class Stall:
    """Cycles a warp spent in one state for each instruction it issued, and their share of all, in percent."""

    reason: str
    cycles: float
    percent: float
    colour: str


def stalls(launch: Launch) -> list[Stall]:
    """The largest states first; what is left after `_SHOWN_STALLS` is one sum."""
    total = sum(launch.stalls.values())
    if not total:
        return []
    ordered = sorted(launch.stalls.items(), key=lambda item: -item[1])
    kept = [(reason, cycles) for reason, cycles in ordered[:_SHOWN_STALLS] if cycles]
    rest = total - sum(cycles for _, cycles in kept)
    if rest > 1e-9 * total:
        kept.append(("other", rest))
    return [
        Stall(reason, cycles, 100 * cycles / total, state_colour(reason).removeprefix("@"))
        for reason, cycles in kept
    ]


@dataclass(frozen=True, slots=True)
class Point:
    """A launch on the roofline: warp instructions per DRAM byte, and per nanosecond."""

    launch: Launch
    intensity: float
    rate: float


def point(launch: Launch) -> Point | None:
    """Where a launch lies; None without a duration, DRAM traffic or instructions."""
    instructions = launch.counters.get("smsp__inst_executed.sum", 0)
    moved = launch.counters.get("dram__bytes_read.sum", 0) + launch.counters.get("dram__bytes_write.sum", 0)
    if not launch.duration_ns or not moved or not instructions:
        return None
    return Point(launch, instructions / moved, instructions / launch.duration_ns)


def peak_rate(report: Report, launch: Launch) -> float:
    """Warp instructions per nanosecond when every scheduler of the board issues each cycle."""
    occupancy = launch.occupancy
    if launch.time is None or not occupancy.warps_per_scheduler:
        return 0.0
    schedulers = report.gpu.sms * round(occupancy.warps_per_sm / occupancy.warps_per_scheduler)
    return schedulers * launch.time.sm_clock_mhz / 1e3


def roofline(report: Report, launch: Launch) -> Figure | None:
    """The instruction roofline: DRAM at paper bandwidth and peak issue rate, with every launch of the report."""
    here, peak = point(launch), peak_rate(report, launch)
    if here is None or not peak:
        return None
    points = [found for each in report.launches if (found := point(each)) is not None]
    bandwidth = report.gpu.dram_bandwidth_gbs
    ridge = peak / bandwidth
    lowest = min(ridge, *(p.intensity for p in points)) / 4
    highest = max(ridge, *(p.intensity for p in points)) * 8
    roofs = [
        line(
            [lowest, ridge, highest],
            [lowest * bandwidth, peak, peak],
            f"roof: {bandwidth:g} GB/s (quoted), {peak:.0f} instructions/ns (computed)",
            "@ink",
            hoverinfo="skip",
        )
    ]
    others = [p for p in points if p.launch.index != launch.index][:500]
    groups = (("other launches", "@grey", others, 7), (f"launch {launch.index}", "@blue", [here], 13))
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [p.intensity for p in group],
            "y": [p.rate for p in group],
            "text": [f"launch {p.launch.index} {shape(p.launch).replace('<', '&lt;')}" for p in group],
            "name": f"{name} (modelled)",
            "marker": {"color": colour, "size": size, "line": {"color": "@paper", "width": 1}},
            "hovertemplate": "%{text}<br>%{x:.3g} instructions/B<br>%{y:.3g} instructions/ns<extra></extra>",
        }
        for name, colour, group, size in groups
        if group
    ]
    bottom = min(lowest * bandwidth, *(p.rate for p in points)) / 2
    return figure(
        [*roofs, *dots],
        x={
            "type": "log",
            "dtick": 1,
            "exponentformat": "power",
            "title": "warp instructions per DRAM byte",
            "range": [math.log10(lowest), math.log10(highest)],
        },
        y={
            "type": "log",
            "dtick": 1,
            "exponentformat": "power",
            "title": "warp instructions per ns",
            "range": [math.log10(bottom), math.log10(peak * 3)],
        },
        label=f"Roofline: launch {launch.index} at {here.intensity:.3g} instructions per byte, {here.rate:.3g} per ns",
    )
