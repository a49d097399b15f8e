"""The account of a launch's time in a terminal: verdict, ledger, what-if, launch overhead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from warpath.report.model import Launch, LedgerTerm, WhatIf
from warpath.report.terms import duration
from warpath.units import format_duration_ns

_LEAST_NS = 1
_INDENT = 2  # columns


def ledger_table(launch: Launch) -> Table:
    """The ledger; its figures sum to the duration, which is the last row."""
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table.add_column(justify="right", no_wrap=True, width=11 + _INDENT)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for term in launch.ledger:
        table.add_row(_amount(term), Text(term.label), Text(f"{term.text} ({term.source})".lstrip()))
    note = f"; {launch.ledger_note}" if launch.ledger_note else ""
    total = sum(term.ns for term in launch.ledger)
    text = Text(f"each effect taken away after those above it{note} (modelled)")
    table.add_row(f"= {_fixed(total)}", Text("duration"), text, style="bold")
    return table


def missing_ledger(launch: Launch) -> str:
    """Why there is no ledger."""
    return launch.ledger_note or "no ledger: the clock did not run (--functional)"


def _amount(term: LedgerTerm) -> str:
    if term.term == "floor":
        return _fixed(term.ns)
    return ("+" if term.ns >= 0 else "-") + _fixed(abs(term.ns))


def _fixed(ns: float) -> str:
    """Microseconds with three decimals, so that a column of nanoseconds sums by eye."""
    return f"{ns / 1000:.3f} us"


def accuracy_lines(launch: Launch) -> Iterator[str]:
    """How far to trust the time above."""
    found = launch.accuracy
    if found is None:
        return
    text = (
        f"accuracy: the clock is {found.mean_error_percent:g} % off on average over {found.launches} launches "
        f"measured on {found.board} (measured)"
    )
    yield f"{text}; outside what was validated: {'; '.join(found.outside)}" if found.outside else text


def what_if_lines(launch: Launch) -> Iterator[str]:
    """Each effect alone, then what a user can change, by what it saves."""
    for kind, heading in (("user", "changes a user can make:"), ("effect", "effects alone:")):
        found = [change for change in launch.what_if if change.kind == kind]
        if found:
            yield heading
            yield from (f"  {line}" for line in _changes(launch, found))


def _changes(launch: Launch, changes: Sequence[WhatIf]) -> Iterator[str]:
    def saved(change: WhatIf) -> int:
        return (launch.duration_ns or 0) - (change.duration_ns or 0)

    known = [change for change in changes if change.duration_ns is not None]
    for change in sorted(known, key=saved, reverse=True):
        if change.kind == "effect" and abs(saved(change)) < _LEAST_NS:
            continue
        text = f"{change.label}: {format_duration_ns(change.duration_ns or 0)}"
        yield f"{text} ({duration(-saved(change))}; {change.source})" + (
            f"; {change.text}" if change.text else ""
        )
    yield from (f"{change.label}: {change.text}" for change in changes if change.duration_ns is None)


def overhead_lines(launch: Launch) -> Iterator[str]:
    """What the launch cost outside the kernel."""
    found = launch.overhead
    if found is None:
        return
    parts = [
        f"launch call up to the doorbell {format_duration_ns(found.submit_ns)}",
        f"doorbell to kernel {format_duration_ns(found.front_ns)}",
    ]
    if found.gap_ns is not None:
        parts.append(f"GPU idle since the launch before it {format_duration_ns(found.gap_ns)}")
    yield f"outside the kernel: {', '.join(parts)} (modelled)"
    if found.load_ns:
        yield f"first launch: {found.load_text or 'module load'}, {format_duration_ns(found.load_ns)} (modelled)"
