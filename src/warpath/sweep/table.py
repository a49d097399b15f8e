"""The summary of a sweep: one row per kernel of a point, for the terminal, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from warpath.report.model import Launch, LedgerTerm, Report
from warpath.sweep.points import GPU, Point
from warpath.units import format_duration_ns

OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
FLOOR = "floor"
LEGEND = "floor computed, all else modelled; ratio: duration over floor; occupancy: achieved"
FIGURES = ("duration", "floor", "ratio", "occupancy", "bound by", "largest term")


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of one point. Times in ns, summed over its launches; the rest is that of its longest launch.

    `terms` are the ledger's without the floor, by label. A failed point is one row with a `reason` and no kernel.
    """

    point: Point
    report: str = ""  # file name in the store
    reason: str = ""
    kernel: str = ""
    launches: int = 0
    duration_ns: int | None = None
    floor_ns: float = 0.0
    occupancy: float | None = None  # achieved, percent of the warps an SM can hold
    bound: str = ""
    terms: tuple[tuple[str, int], ...] = ()

    @property
    def ratio(self) -> float | None:
        """Duration over floor; None when either is missing."""
        return self.duration_ns / self.floor_ns if self.duration_ns and self.floor_ns else None

    @property
    def largest(self) -> tuple[str, int] | None:
        """The ledger term that costs most."""
        return max(self.terms, key=lambda term: term[1], default=None)


def finished(point: Point, report: Report, file: str) -> list[Row]:
    """The rows of a point that finished, kernels in order of their first launch."""
    kernels: dict[str, list[Launch]] = {}
    for launch in report.launches:
        kernels.setdefault(launch.kernel, []).append(launch)
    return [_row(point, file, launches) for launches in kernels.values()]


def _row(point: Point, file: str, launches: list[Launch]) -> Row:
    longest = max(launches, key=lambda launch: launch.duration_ns or 0)
    durations = [launch.duration_ns for launch in launches if launch.duration_ns is not None]
    return Row(
        point,
        file,
        kernel=longest.kernel,
        launches=len(launches),
        duration_ns=sum(durations) if durations else None,
        floor_ns=sum(launch.floor_ns for launch in launches),
        occupancy=longest.counters.get(OCCUPANCY),
        bound=longest.bound,
        terms=_terms(term for launch in launches for term in launch.ledger),
    )


def _terms(ledger: Iterable[LedgerTerm]) -> tuple[tuple[str, int], ...]:
    found: dict[str, int] = {}
    for term in ledger:
        if term.term != FLOOR:
            found[term.label] = found.get(term.label, 0) + term.ns
    return tuple(found.items())


def swept(rows: Sequence[Row]) -> list[str]:
    """The parameters with more than one value among `rows`; the first of all when each has one."""
    names = list(rows[0].point.settings) if rows else []
    varied = [name for name in names if len({row.point.settings[name] for row in rows}) > 1]
    return varied or names[:1]


def render(rows: Sequence[Row], console: Console) -> None:
    """Print a table for each kernel; failed points below, each with its reason."""
    kernels: dict[str, list[Row]] = {}
    for row in rows:
        if not row.reason:
            kernels.setdefault(row.kernel, []).append(row)
    for kernel, members in kernels.items():
        console.print(Text(kernel, style="bold"))
        console.print(_table(members, swept(rows)))
    if kernels:
        console.print(Text(LEGEND, style="dim"))
    failed = [row for row in rows if row.reason]
    if failed:
        console.print(Text(f"{len(failed)} failed:", style="bold red"))
        reasons = Table.grid(padding=(0, 1))
        for row in failed:
            reasons.add_row("", Text(f"{row.point.title}:"), Text(row.reason))
        console.print(reasons)


def _table(rows: Sequence[Row], names: list[str]) -> Table:
    repeated = any(row.launches > 1 for row in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(Text(name), justify="left" if name == GPU else "right", no_wrap=True)
    if repeated:
        table.add_column("launches", justify="right", no_wrap=True)
    for title in FIGURES:
        words = title in FIGURES[-2:]
        table.add_column(title, justify="left" if words else "right", no_wrap=not words)
    for row in rows:
        cells = [Text(row.point.settings[name]) for name in names]
        cells += [Text(str(row.launches))] if repeated else []
        table.add_row(*cells, *map(Text, figures(row)))
    return table


def figures(row: Row) -> list[str]:
    """A finished row's figures as text, in the order of the table's columns from the duration on."""
    largest = row.largest
    return [
        "-" if row.duration_ns is None else format_duration_ns(row.duration_ns),
        format_duration_ns(row.floor_ns) if row.floor_ns else "-",
        "-" if row.ratio is None else f"{row.ratio:.2f}",
        "-" if row.occupancy is None else f"{row.occupancy:.1f}%",
        row.bound or "-",
        "-" if largest is None else f"{format_duration_ns(largest[1])} {largest[0]}",
    ]


def record(row: Row) -> dict[str, Any]:
    """The row as plain values: `set` by name, times in ns, `ledger` by label; `state` is finished or failed."""
    return {
        "set": dict(row.point.settings),
        "state": "failed" if row.reason else "finished",
        "reason": row.reason,
        "report": row.report,
        "kernel": row.kernel,
        "launches": row.launches,
        "duration_ns": row.duration_ns,
        "floor_ns": row.floor_ns,
        "ratio": row.ratio,
        "achieved_occupancy_percent": row.occupancy,
        "bound": row.bound,
        "largest_term": row.largest[0] if row.largest else "",
        "largest_term_ns": row.largest[1] if row.largest else None,
        "ledger": dict(row.terms),
    }


def to_json(rows: Sequence[Row]) -> str:
    """All rows, failed ones too."""
    return json.dumps([record(row) for row in rows], indent=1) + "\n"


def to_csv(rows: Sequence[Row]) -> str:
    """A column for each parameter, then the figures of `record`, then one for each ledger term."""
    records = [record(row) for row in rows]
    labels = list(dict.fromkeys(label for each in records for label in each["ledger"]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(records[0]["set"]) if records else []
    figures = [name for name in (records[0] if records else ()) if name not in ("set", "ledger")]
    writer.writerow([*names, *figures, *labels])
    for each in records:
        cells = [each["set"][name] for name in names] + [each[name] for name in figures]
        writer.writerow(cells + [each["ledger"].get(label) for label in labels])
    return text.getvalue()
