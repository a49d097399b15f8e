"""Plots as plain plotly.js dictionaries. Colours are names such as `@blue`, which the page gives their values,
so that a plot follows light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Figure = dict[str, Any]
Trace = dict[str, Any]
Stroke = tuple[float, float, float, str]  # start, end, row, text

# What a warp is doing, with colours that colour-blind readers can tell apart; the rest is grey.
STATE_COLOURS = {
    "selected": "@green",
    "long_scoreboard": "@blue",
    "short_scoreboard": "@sky",
    "wait": "@yellow",
    "barrier": "@purple",
    "math_pipe_throttle": "@vermilion",
    "lg_throttle": "@orange",
    "mio_throttle": "@orange",
    "imc_miss": "@brown",
    "no_instruction": "@brown",
    "drain": "@ink",
}


def state_colour(state: str) -> str:
    """The colour of a stall reason."""
    return STATE_COLOURS.get(state, "@grey")


def figure(traces: Sequence[Trace], *, x: Mapping[str, Any], y: Mapping[str, Any], label: str) -> Figure:
    """A plot with axis settings `x` and `y`; `label` is read aloud in its place."""
    return {"data": list(traces), "layout": {"xaxis": dict(x), "yaxis": dict(y)}, "label": label}


def line(x: Sequence[float], y: Sequence[float], name: str, colour: str, **more: Any) -> Trace:
    """A line without markers."""
    style = {"color": colour, "width": 2, **more.pop("line", {})}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "name": name,
        "line": style,
        **more,
    }


def spans(rows: Sequence[Stroke], name: str, colour: str, width: float) -> Trace:
    """Horizontal strokes as one trace: far cheaper than a shape each."""
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str | None] = []
    for start, end, row, label in rows:
        x += [start, end, None]
        y += [row, row, None]
        text += [label, label, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "text": text,
        "name": name,
        "line": {"color": colour, "width": width},
        "hovertemplate": "%{text}<extra></extra>",
    }
