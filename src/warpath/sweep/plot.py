"""The sweep as a web page of one file: durations over the first parameter, where the time goes, and the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Any

import plotly.graph_objects as go  # pyright: ignore[reportMissingTypeStubs]
from plotly.colors import qualitative  # pyright: ignore[reportMissingTypeStubs]

from warpath.sweep.points import GPU
from warpath.sweep.table import FIGURES, FLOOR, Row, figures, swept
from warpath.units import format_duration_ns

_PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>$title</title><style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.3rem; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: right; } th { background: #f4f4f4; }
td, th { white-space: nowrap; } .text { text-align: left; white-space: normal; }
.failed { color: #a00; } .wide { overflow-x: auto; }
</style></head><body><h1>$title</h1>
<p>Durations and their parts are modelled, floors computed. Caches: $caches. $kept</p>
$figures<div class="wide"><table>$table</table></div></body></html>
""")


def page(rows: Sequence[Row], title: str, caches: str) -> str:
    """The whole page; it loads nothing from anywhere."""
    good = [row for row in rows if row.duration_ns is not None]
    names = swept(rows)
    x = next((name for name in names if name != GPU and _numeric(rows, name)), names[-1])
    drawn = [_durations(good, names, x)] if good else []
    if any(row.terms for row in good):
        drawn.append(_ledger(good, names))
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=not at, config={"displaylogo": False})
        for at, figure in enumerate(drawn)
    ]
    failed = sum(1 for row in rows if row.reason)
    kept = f"{failed} points failed." if failed else ""
    return _PAGE.substitute(
        title=escape(title), caches=caches, kept=kept, figures="\n".join(parts), table=_table(rows, names)
    )


def _figure() -> Any:
    """An empty figure; plotly's own types are incomplete."""
    return go.Figure()


def _numeric(rows: Sequence[Row], name: str) -> bool:
    try:
        return all(math.isfinite(float(row.point.settings[name])) for row in rows)
    except ValueError:
        return False


def _durations(rows: Sequence[Row], names: list[str], x: str) -> Any:
    """A line for each combination of the other parameters and the kernel; its floor dashed in the same colour."""
    lines: dict[str, list[Row]] = {}
    others = [name for name in names if name != x]
    several = len({row.kernel for row in rows}) > 1
    for row in rows:
        lines.setdefault(_label(row, others, several), []).append(row)
    numeric = _numeric(rows, x)
    figure = _figure()
    for at, (label, members) in enumerate(lines.items()):
        colour = qualitative.D3[at % len(qualitative.D3)]
        if numeric:
            members = sorted(members, key=lambda row: float(row.point.settings[x]))
        values = [float(row.point.settings[x]) if numeric else row.point.settings[x] for row in members]
        common: dict[str, Any] = {"x": values, "legendgroup": label, "mode": "lines+markers"}
        figure.add_scatter(
            y=[(row.duration_ns or 0) / 1e3 for row in members],
            name=escape(label or "duration"),
            line={"color": colour},
            text=[_hover(row) for row in members],
            hovertemplate="%{text}<extra></extra>",
            **common,
        )
        figure.add_scatter(
            y=[row.floor_ns / 1e3 or None for row in members],
            name=escape(f"{label} floor".strip()),
            line={"color": colour, "dash": "dash"},
            marker={"symbol": "line-ew-open"},
            hovertemplate="floor %{y:.2f} us<extra></extra>",
            **common,
        )
    logarithmic = numeric and _geometric({float(row.point.settings[x]) for row in rows})
    kind = "log" if logarithmic else "linear" if numeric else "category"
    ticks = sorted({row.point.settings[x] for row in rows}, key=float) if logarithmic else None
    figure.update_xaxes(title=escape(x), type=kind, tickvals=ticks, ticktext=ticks)
    figure.update_yaxes(title="us", rangemode="tozero")
    if logarithmic:
        figure.update_yaxes(type="log", exponentformat="none")
    return figure.update_layout(template="plotly_white", height=480, title="Duration and floor")


def _geometric(values: set[float]) -> bool:
    """Whether a logarithmic axis shows the values better: the largest is far above the smallest."""
    return min(values) > 0 and max(values) >= 16 * min(values)


def _ledger(rows: Sequence[Row], names: list[str]) -> Any:
    """A bar for each row: the floor, then every term on top; terms that helped go below zero."""
    several = len({row.kernel for row in rows}) > 1
    x = [escape(_label(row, names, several)) for row in rows]
    labels = list(dict.fromkeys(label for row in rows for label, _ in row.terms))
    figure = _figure()
    colours = [*qualitative.D3, *qualitative.Set3]
    figure.add_bar(x=x, y=[row.floor_ns / 1e3 for row in rows], name=FLOOR, marker={"color": "#bbb"})
    for at, label in enumerate(labels):
        values = [dict(row.terms).get(label, 0) / 1e3 for row in rows]
        if any(values):
            figure.add_bar(x=x, y=values, name=escape(label), marker={"color": colours[at % len(colours)]})
    figure.update_xaxes(type="category")
    figure.update_yaxes(title="us")
    return figure.update_layout(
        template="plotly_white", barmode="relative", height=480, title="Where the time goes"
    )


def _label(row: Row, names: list[str], several: bool) -> str:
    words = [
        row.point.settings[name] if name == GPU else f"{name}={row.point.settings[name]}" for name in names
    ]
    return " ".join([*words, *([row.kernel] if several else [])])


def _hover(row: Row) -> str:
    largest = row.largest
    lines = [
        escape(row.point.title),
        escape(row.kernel),
        f"duration {format_duration_ns(row.duration_ns or 0)}",
        f"{row.ratio:.2f} times the floor" if row.ratio else "",
        f"largest term: {escape(largest[0])} {format_duration_ns(largest[1])}" if largest else "",
    ]
    return "<br>".join(line for line in lines if line)


def _table(rows: Sequence[Row], names: list[str]) -> str:
    kernels = {row.kernel for row in rows if row.kernel}
    titles = [*names, *(["kernel"] if len(kernels) > 1 else []), *FIGURES]
    lines = ["<tr>" + _cells("th", titles)]
    for row in rows:
        settings = [row.point.settings[name] for name in names]
        if row.reason:
            reason = f'<td class="text" colspan="{len(titles) - len(names)}">{escape(row.reason)}</td>'
            lines.append(f'<tr class="failed">{_cells("td", settings)}{reason}')
        else:
            kernel = [row.kernel] if len(kernels) > 1 else []
            lines.append("<tr>" + _cells("td", [*settings, *kernel, *figures(row)]))
    return "</tr>\n".join(lines) + "</tr>"


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts)
