"""Puts the page together: one part for each launch that is described, within a budget of bytes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import jinja2

from warpath.report import files
from warpath.report.html import account, assets, chosen, code, overtime, path, sectors, segment
from warpath.report.html.figures import Figure
from warpath.report.model import Launch, Report
from warpath.units import format_bytes, format_duration_ns

BUDGET = 4_400_000  # bytes of all launches described: with plotly and the tables, below 8 MB
MOST_ROWS = 2000  # launches in the table
MOST_CALLS = 500  # API calls listed one by one


def write(report: Report, file: Path) -> None:
    """Write the page; UsageError when the place cannot be written."""
    files.write(file, render(report).encode(errors="replace"), "the page")  # a file name need not be text


def render(report: Report) -> str:
    """The page as text."""
    environment = _environment()
    described = _describe(environment, report)
    shown = [launch for launch in report.launches if launch.index in described]
    longest = max(shown, key=lambda launch: launch.duration_ns or 0, default=None)
    return environment.get_template("page.html").render(
        report=report,
        style=assets.style(),
        script=assets.script(),
        plotly=assets.plotly() if shown else "",
        rows=chosen.rows(report.launches[:MOST_ROWS], shown),
        launches=[described[launch.index] for launch in shown],
        first=longest.index if longest else None,
        left_out=len(report.launches) - len(shown),
        calls=Counter(call.call for call in report.api),
        api=report.api[:MOST_CALLS],
        api_left_out=max(len(report.api) - MOST_CALLS, 0),
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("warpath.report.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": format_duration_ns, "size": format_bytes, "shape": chosen.shape}
    environment.filters["short"] = chosen.short_name
    environment.filters["embedded"] = assets.embedded
    return environment


def _describe(environment: jinja2.Environment, report: Report) -> dict[int, str]:
    """The parts of the launches that matter most, by index, until the budget is spent."""
    template = environment.get_template("launch.html")
    parts: dict[int, str] = {}
    room = BUDGET
    for launch in chosen.by_importance(report.launches):
        part = template.render(_launch(report, launch))
        size = len(part.encode(errors="replace"))
        if size > room and parts:
            break
        room -= size
        parts[launch.index] = part
    return parts


def _launch(report: Report, launch: Launch) -> dict[str, Any]:
    """All that the templates of one launch show."""
    calls, stub = path.stub(report, launch)
    return {
        "report": report,
        "launch": launch,
        "id": f"l{launch.index}",
        "stopped": any(fault.fatal and fault.launch == launch.index for fault in report.faults),
        "key_figures": path.figures(report, launch),
        "stages": path.stages(report, launch),
        "compiler_facts": path.compiler_facts(report, launch),
        "stub_calls": calls,
        "stub": stub,
        "words": segment.words(launch.submission),
        "ring_entry": segment.ring_entry(launch.submission),
        "resources": path.RESOURCES,
        "steps": account.waterfall(launch),
        "stalls": account.stalls(launch),
        "blocks_note": overtime.blocks_note(launch),
        "warps_note": overtime.warps_note(launch),
        "sector_maps": sectors.maps(launch),
        "sectors_not_drawn": sectors.not_drawn(launch),
        "code": code.code(launch, report.compile),
        "figures": _figures(report, launch),
    }


def _figures(report: Report, launch: Launch) -> dict[str, Figure]:
    """The plots that there is something to plot for."""
    made = {
        "roofline": account.roofline(report, launch),
        "occupancy": overtime.occupancy(launch),
        "throughput": overtime.throughput(launch, report.gpu),
        "placement": overtime.placement(launch),
        "warps": overtime.warps(launch),
    }
    return {name: plot for name, plot in made.items() if plot is not None}
