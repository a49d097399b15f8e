"""A launch over time: occupancy, throughput, and which CTA and warp was where."""

from __future__ import annotations

from collections import defaultdict

from warpath.report.html.figures import Figure, Stroke, figure, line, spans, state_colour
from warpath.report.model import BlockSpan, GpuInfo, Launch, Timeline

MOST_BLOCKS = 5000  # spans in one plot: more cannot be told apart, and cost size
MOST_WARP_SPANS = 5000
_TIME = {"title": "time since the launch began, us"}


def _centres(timeline: Timeline) -> list[float]:
    return [(i + 0.5) * timeline.bin_ns / 1e3 for i in range(len(timeline.warps_active))]


def occupancy(launch: Launch) -> Figure | None:
    """Warps active and issue slots used, percent, with the theoretical occupancy."""
    timeline = launch.timeline
    if timeline is None or not timeline.warps_active:
        return None
    x = _centres(timeline)
    most = 100 * launch.occupancy.warps_per_sm / launch.occupancy.max_warps_per_sm
    return figure(
        [
            line(
                [x[0], x[-1]],
                [most, most],
                "theoretical (computed)",
                "@ink",
                line={"width": 1, "dash": "dot"},
            ),
            line(x, timeline.warps_active, "warps active (modelled)", "@blue"),
            line(x, timeline.issue_active, "issue slots used (modelled)", "@orange"),
        ],
        x=_TIME,
        y={"title": "percent", "range": [0, 104]},
        label="Warps active and issue slots used over time",
    )


def throughput(launch: Launch, gpu: GpuInfo) -> Figure | None:
    """DRAM and L2 bytes per nanosecond, with DRAM's paper bandwidth."""
    timeline = launch.timeline
    if timeline is None or not timeline.dram_bytes:
        return None
    x = _centres(timeline)
    paper = gpu.dram_bandwidth_gbs
    return figure(
        [
            line(
                [x[0], x[-1]],
                [paper, paper],
                "DRAM on paper (quoted)",
                "@ink",
                line={"width": 1, "dash": "dot"},
            ),
            line(x, [b / timeline.bin_ns for b in timeline.dram_bytes], "DRAM (modelled)", "@blue"),
            line(x, [b / timeline.bin_ns for b in timeline.l2_bytes], "L2 (modelled)", "@orange"),
        ],
        x=_TIME,
        y={"title": "GB/s", "rangemode": "tozero"},
        label="DRAM and L2 throughput over time",
    )


def placement(launch: Launch) -> Figure | None:
    """Each CTA on its SM over time; without a timeline, how many CTAs each SM received."""
    timeline = launch.timeline
    if timeline is not None and timeline.blocks:
        return _block_spans(timeline)
    if not launch.sm_blocks:
        return None
    bars = {
        "type": "bar",
        "x": list(range(len(launch.sm_blocks))),
        "y": launch.sm_blocks,
        "name": "CTAs (modelled)",
        "marker": {"color": "@blue"},
        "hovertemplate": "SM %{x}: %{y} CTAs<extra></extra>",
    }
    return figure(
        [bars], x={"title": "SM"}, y={"title": "CTAs", "rangemode": "tozero"}, label="CTAs each SM received"
    )


def _block_spans(timeline: Timeline) -> Figure:
    """A row for each SM, with as many strokes side by side in it as CTAs were there at once."""
    free_at: dict[int, list[int]] = defaultdict(list)  # when each place of an SM becomes free
    placed: list[tuple[BlockSpan, int]] = []
    for span in sorted(timeline.blocks[:MOST_BLOCKS], key=lambda span: span.start_ns):
        places = free_at[span.sm]
        place = next((at for at, free in enumerate(places) if free <= span.start_ns), len(places))
        places[place : place + 1] = [span.end_ns]
        placed.append((span, place))
    most = max(map(len, free_at.values()))
    by_turn: tuple[list[Stroke], list[Stroke]] = ([], [])  # neighbours in time differ in colour
    turns: dict[tuple[int, int], int] = defaultdict(int)
    for span, place in placed:
        text = f"CTA {span.block} on SM {span.sm}: {span.start_ns} to {span.end_ns} ns"
        row = span.sm + place / most
        by_turn[turns[span.sm, place] % 2].append((span.start_ns / 1e3, span.end_ns / 1e3, row, text))
        turns[span.sm, place] += 1
    width = max(1.0, min(6.0, 300 / (most * len(free_at))))
    traces = [
        {**spans(rows, "CTAs (modelled)", colour, width), "showlegend": False}
        for rows, colour in zip(by_turn, ("@blue", "@orange"), strict=True)
    ]
    return figure(traces, x=_TIME, y={"title": "SM"}, label="When each CTA was on its SM")


def warps(launch: Launch) -> Figure | None:
    """What each warp of the watched SM was doing; the longest stretches when there are too many."""
    timeline = launch.timeline
    if timeline is None or not timeline.warps:
        return None
    shown = sorted(timeline.warps, key=lambda span: span.start_ns - span.end_ns)[:MOST_WARP_SPANS]
    rows = {
        key: row
        for row, key in enumerate(
            sorted({(s.sub_partition, s.block, s.warp) for s in timeline.warps}),
        )
    }
    states: dict[str, list[Stroke]] = defaultdict(list)
    for s in shown:
        took = f"{s.end_ns - s.start_ns} ns"
        text = f"CTA {s.block} warp {s.warp}, SMSP {s.sub_partition}: {s.state} at {s.pc:#06x}, {took}"
        row = rows[s.sub_partition, s.block, s.warp]
        states[s.state].append((s.start_ns / 1e3, s.end_ns / 1e3, row, text))
    width = max(2.0, min(8.0, 320 / max(len(rows), 1)))
    traces = [spans(found, state, state_colour(state), width) for state, found in sorted(states.items())]
    return figure(
        traces,
        x=_TIME,
        y={"title": "warp, by sub-partition", "showticklabels": False},
        label=f"What each warp of SM {timeline.watched_sm} was doing",
    )


def warps_note(launch: Launch) -> str:
    """What the warp plot leaves out."""
    timeline = launch.timeline
    if timeline is None:
        return ""
    over = len(timeline.warps) - MOST_WARP_SPANS
    return f"the {over} shortest stretches are left out" if over > 0 else ""


def blocks_note(launch: Launch) -> str:
    """What the placement plot leaves out."""
    over = len(launch.timeline.blocks) - MOST_BLOCKS if launch.timeline else 0
    return f"the last {over} CTAs are left out" if over > 0 else ""
