"""Two reports side by side in a terminal, at most 100 columns; A is the first, B the second, differences are B - A."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from warpath.report import trace_compare
from warpath.report.compare import LaunchPair, ReportPair, Row, origin, origins
from warpath.report.model import Launch, Report
from warpath.units import format_duration_ns

MOST_LAUNCHES = 8  # in detail; the others are in the overview
MOST_OVERVIEW = 40  # launches, a line each
MOST_ROWS = 10  # of counters, stall reasons and opcodes
LONGEST_NAME = 30  # of a kernel in the overview


def render(
    pair: ReportPair, names: tuple[str, str], console: Console, *, submission: bool, everything: bool
) -> None:
    """Print the comparison. `names` are the files, `submission` adds how the launches reached the GPU, `everything`
    lists all launches and rows.
    """
    for side, name, report in zip("AB", names, (pair.left, pair.right), strict=True):
        console.print(Text(f"{side}: {name}: {_title(report)}"))
    for what, left, right in pair.settings:
        console.print(Text(f"   {what}: {left} (A), {right} (B)"))
    if len(pair.launches) > 1:
        console.print(_overview(pair.launches, everything))
    shown = pair.launches if everything else _largest(pair.launches, MOST_LAUNCHES)
    for one in shown:
        _launch(one, console, submission, everything)
    if len(shown) < len(pair.launches):
        console.print(Text(f"\n{len(pair.launches) - len(shown)} more launches, which differ less (--all)"))
    for side, launches in (("A", pair.only_left), ("B", pair.only_right)):
        for line in _alone(launches):
            console.print(Text(f"only in {side}: {line}"))


def _title(report: Report) -> str:
    return f"{report.program.path or 'a program'} on {report.gpu.label}"


def _largest(launches: Sequence[LaunchPair], most: int) -> list[LaunchPair]:
    """The launches whose durations differ most, in order of launch."""
    found = sorted(launches, key=lambda one: -abs(one.duration.difference or 0))[:most]
    return sorted(found, key=lambda one: one.left.index)


def _alone(launches: Iterable[Launch]) -> Iterator[str]:
    found: dict[str, list[int]] = {}
    for launch in launches:
        found.setdefault(launch.kernel, []).append(launch.index)
    for kernel, indices in found.items():
        listed = ", ".join(map(str, indices[:MOST_ROWS])) + (", ..." if len(indices) > MOST_ROWS else "")
        yield f"{kernel}, launch{'es' if len(indices) > 1 else ''} {listed}"


def _overview(launches: Sequence[LaunchPair], everything: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("launches A, B", no_wrap=True)
    table.add_column("kernel", no_wrap=True, overflow="ellipsis", max_width=LONGEST_NAME)
    for title in ("A", "B", "B - A", "change"):
        table.add_column(title, justify="right", no_wrap=True)
    shown = launches if everything else _largest(launches, MOST_OVERVIEW)
    for one in shown:
        row = one.duration
        table.add_row(f"{one.left.index}, {one.right.index}", Text(one.left.kernel), *_cells(row))
    lefts, rights = ([getattr(one, side).duration_ns or 0 for one in launches] for side in ("left", "right"))
    table.add_section()
    table.add_row("", f"all {len(launches)}", *_cells(Row("all", sum(lefts), sum(rights), "ns")))
    return table


def _launch(one: LaunchPair, console: Console, submission: bool, everything: bool) -> None:
    a, b = one.left, one.right
    console.print()
    title = f"{a.kernel}: launch {a.index} of A {_shape(a)}, {b.index} of B {_shape(b)}"
    console.print(Text(title, style="bold"))
    for note in one.notes:
        console.print(Text(f"  {note}"))
    if a.duration_ns is not None or b.duration_ns is not None:
        console.print(_account(one))
    console.print(_figures([row for row in one.figures if everything or _shown(row)]))
    most = None if everything else MOST_ROWS
    for title, rows in (
        ("counters that differ most", one.counters),
        ("cycles a warp waits per instruction issued", one.stalls),
        ("warp instructions executed", one.mix),
    ):
        if rows:
            console.print(_table(f"{title} ({origins(one.left, one.right)})", rows[:most]))
    if submission:
        _submission(one.submission, console, everything)


def _shape(launch: Launch) -> str:
    return f"<<<{'x'.join(map(str, launch.grid))}, {'x'.join(map(str, launch.block))}>>>"


def _shown(row: Row) -> bool:
    return bool(row.change) or row.what in ("floor", "registers a thread", "achieved occupancy")


def _account(one: LaunchPair) -> Table:
    """The ledger term by term, what the model does not explain, and the durations they sum up to."""
    table = _columns("account of time", "A, ns", "B, ns", "B - A, ns")
    for row in one.terms:
        table.add_row(Text(row.what), _ns(row.left), _ns(row.right), _ns(row.difference, "+"))
    if one.unexplained_ns is not None:
        measured = "A" if one.right.time else "B"
        label = f"not explained by the model ({measured} is measured)"
        cells = [_ns(one.unexplained_ns), "-"] if measured == "A" else ["-", _ns(one.unexplained_ns)]
        table.add_row(label, *cells, "")
    table.add_section()
    row = one.duration
    made = [f"{side} {_made(launch)}" for side, launch in (("A", one.left), ("B", one.right))]
    change = [f"{100 * row.difference / row.left:+.1f} %"] if row.left and row.difference is not None else []
    label = Text(f"duration ({'; '.join(made + change)})")
    table.add_row(label, _ns(row.left), _ns(row.right), _ns(row.difference, "+"), style="bold")
    return table


def _made(launch: Launch) -> str:
    """`modelled, cold caches`, `measured` or `unknown`."""
    if launch.duration_ns is None:
        return "unknown"
    return f"{origin(launch)}, {launch.time.cache} caches" if launch.time else origin(launch)


def _ns(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign},.0f}"


def _figures(rows: Sequence[Row]) -> Table:
    table = _columns("figures", "A", "B", "B - A", "change")
    table.add_column("")
    for row in rows:
        table.add_row(Text(row.what), *_cells(row), row.origin)
    return table


def _table(title: str, rows: Sequence[Row]) -> Table:
    """Names can be long here: no column for the difference."""
    table = _columns(title, "A", "B", "change")
    for row in rows:
        left, right, _, change = _cells(row)
        table.add_row(Text(row.what), left, right, change)
    return table


def _columns(title: str, *numbers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(title, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cells(row: Row) -> list[str]:
    """A, B, B - A, and the change in percent of A. Percentages differ by points (pp)."""
    difference = row.difference
    change = "" if difference is None or not row.left else f"{100 * difference / row.left:+.1f}%"
    sign = "+" if difference and difference > 0 else ""
    apart = _value(difference, "pp" if row.unit == "%" else row.unit)
    return [_value(row.left, row.unit), _value(row.right, row.unit), sign + apart, change]


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "ns":
        return ("-" if value < 0 else "") + format_duration_ns(abs(value))
    text = (
        f"{value:,.0f}" if value == int(value) else f"{value:,.2f}" if abs(value) >= 0.01 else f"{value:.2g}"
    )
    return f"{text}{'' if unit == '%' else ' '}{unit}".rstrip()


def _submission(one: trace_compare.Comparison, console: Console, everything: bool) -> None:
    a, b = one.left.submission, one.right.submission
    sizes = f"{a.pushbuffer_dwords} dwords, {b.pushbuffer_dwords} dwords"
    console.print(Text(f"  segment of {sizes}; QMD {a.qmd_version}, {b.qmd_version}"))
    for title, rows in (("methods", one.methods), ("QMD fields", one.qmd), ("constant bank 0", one.bank)):
        _fields(console, title, rows, everything)


def _fields(console: Console, title: str, rows: list[trace_compare.Row], everything: bool) -> None:
    same = sum(row.count for row in rows if row.kind == trace_compare.SAME)
    moved = sum(row.count for row in rows if row.kind == trace_compare.VALUE and row.moves)
    differ = [
        row
        for row in rows
        if row.kind != trace_compare.SAME and not (row.kind == trace_compare.VALUE and row.moves)
    ]
    found = sum(row.count for row in differ)
    console.print(Text(f"  {title}: {same} the same, {moved} addresses and running numbers, {found} differ"))
    for row in rows if everything else differ:
        times = f" x{row.count}" if row.count > 1 else ""
        console.print(Text(f"    {row.what + times:46} {_hex(row.left):>18} {_hex(row.right):>18}"))


def _hex(value: int | None) -> str:
    return "-" if value is None else f"{value:#x}"
