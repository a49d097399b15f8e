"""What warps waited for, by source line, in a terminal: Nsight Compute's reasons, and what is waited on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from warpath.report.model import InstructionInfo, Launch
from warpath.report.terms import place

MOST_LINES = 12
_LEAST_SHARE = 0.005  # of all warp cycles, for a line to be listed
_LEAST_REASON = 0.0005  # what would print as 0.0 %
_REASONS = 3  # of a line, the largest
# Reasons that name a scoreboard, which an earlier instruction raised.
_ON_SCOREBOARDS = ("long_scoreboard", "short_scoreboard")
_ISSUING = "selected"


@dataclass(frozen=True, slots=True)
class LineStalls:
    """Warp cycles of the instructions of one source line, by reason; `line` is 0 where the program names none."""

    file: str
    line: int
    cycles: dict[str, int]
    waits_on: tuple[
        InstructionInfo, ...
    ]  # what raises the scoreboards its instructions wait for, longest first

    @property
    def total(self) -> int:
        """Warp cycles of all reasons, issuing included."""
        return sum(self.cycles.values())


def by_line(code: Sequence[InstructionInfo]) -> list[LineStalls]:
    """The stalls of `code` by source line, the line with most warp cycles first."""
    at = {i.pc: i for i in code}
    rows: dict[tuple[str, int], list[InstructionInfo]] = {}
    for i in code:
        if i.stalls:
            rows.setdefault((i.file, i.line), []).append(i)
    found = [LineStalls(*line, _sums(own), _producers(own, at)) for line, own in rows.items()]
    return sorted(found, key=lambda line: -line.total)


def _sums(code: Sequence[InstructionInfo]) -> dict[str, int]:
    """Cycles by reason, largest first."""
    sums: dict[str, int] = {}
    for i in code:
        for reason, cycles in i.stalls.items():
            sums[reason] = sums.get(reason, 0) + cycles
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _producers(
    code: Sequence[InstructionInfo], at: dict[int, InstructionInfo]
) -> tuple[InstructionInfo, ...]:
    """What raises the scoreboards that `code` waits for; those of the instruction that waits longest first."""
    waited = {i.pc: sum(i.stalls.get(reason, 0) for reason in _ON_SCOREBOARDS) for i in code}
    found: dict[int, InstructionInfo] = {}
    for i in sorted(code, key=lambda i: -waited[i.pc]):
        if waited[i.pc]:
            found |= {pc: at[pc] for pcs in i.producers.values() for pc in pcs if pc in at}
    return tuple(found.values())


def stalls_table(launch: Launch) -> Table | None:
    """One row a source line; None when the clock did not run."""
    lines = by_line(launch.instructions)
    total = sum(line.total for line in lines)
    if not total:
        return None
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table.add_column(no_wrap=True, max_width=28)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1)
    table.add_row(Text("    line"), Text("warp cycles"), Text("top reasons (modelled); what the wait is on"))
    for line in lines[:MOST_LINES]:
        if line.total >= _LEAST_SHARE * total:
            name = f"{line.file.rsplit('/', 1)[-1]}:{line.line}" if line.line else "(no line)"
            share = Text(f"{100 * line.total / total:.1f} %")
            table.add_row(Text(f"    {name}"), share, Text("; ".join(_row(line, total))))
    return table


def _row(line: LineStalls, total: int) -> Iterator[str]:
    waits = [
        (reason, cycles)
        for reason, cycles in line.cycles.items()
        if reason != _ISSUING and cycles >= _LEAST_REASON * total
    ]
    shown = [f"{reason} {100 * cycles / total:.1f} %" for reason, cycles in waits[:_REASONS]]
    yield ", ".join(shown) or "it only issues"
    if line.waits_on:
        places = [place(i) for i in line.waits_on[:_REASONS]]
        more = len(line.waits_on) - len(places)
        yield f"waits on {', '.join(places)}{f' and {more} more' if more else ''}"
