"""Two reports side by side: what they were made with, which launches belong together, and where their time differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from warpath.report import trace_compare
from warpath.report.model import Launch, Report

ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
_STALLS = "smsp__average_warps_issue_stalled_"  # shown by reason, not among the counters
_SAME_RESULT = ("threads", "timed")  # options that change no figure: `timed` shows in the figures themselves
LEAST_CHANGE = 0.01  # of the larger value: figures closer than this count as the same


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both sides; None where a side lacks it."""

    what: str
    left: float | None
    right: float | None
    unit: str = ""
    origin: str = ""

    @property
    def difference(self) -> float | None:
        """Right minus left; None when a side lacks it."""
        return None if self.left is None or self.right is None else self.right - self.left

    @property
    def change(self) -> float:
        """How far apart the two are, as a share of the larger: 0 to 1 (2 when the signs differ)."""
        left, right = self.left or 0.0, self.right or 0.0
        largest = max(abs(left), abs(right))
        return abs(right - left) / largest if largest else 0.0


@dataclass(frozen=True, slots=True)
class LaunchPair:
    """Two launches of one kernel. `terms` are ns, in the ledger's order; the rest is largest difference first.

    `unexplained_ns` is what a measured duration has beyond the modelled one; None unless exactly one was measured.
    `notes` say what a side lacks.
    """

    left: Launch
    right: Launch
    terms: list[Row]
    unexplained_ns: int | None
    figures: list[Row]
    counters: list[Row]
    stalls: list[Row]
    mix: list[Row]  # warp instructions executed by opcode
    notes: list[str]
    submission: trace_compare.Comparison

    @property
    def duration(self) -> Row:
        """Both durations, ns."""
        return Row("duration", self.left.duration_ns, self.right.duration_ns, "ns")


@dataclass(frozen=True, slots=True)
class ReportPair:
    """Two reports. `settings` are what they were made with and differ in: (what, left, right)."""

    left: Report
    right: Report
    settings: list[tuple[str, str, str]]
    launches: list[LaunchPair]
    only_left: list[Launch]
    only_right: list[Launch]


def compare(left: Report, right: Report) -> ReportPair:
    """Lay two reports side by side, launches matched by kernel and order."""
    matched = list(pairs(left, right))
    ours, theirs = {a.index for a, _ in matched}, {b.index for _, b in matched}
    return ReportPair(
        left,
        right,
        list(_settings(left, right)),
        [_pair(a, b) for a, b in matched],
        [launch for launch in left.launches if launch.index not in ours],
        [launch for launch in right.launches if launch.index not in theirs],
    )


def is_recording(report: Report) -> bool:
    """Whether a report comes from a real driver (`warpath trace`); a model's says whether its clock ran."""
    return "timed" not in report.options


def origin(launch: Launch) -> str:
    """Where the duration and the counters of a launch come from."""
    return "measured" if launch.time is None and launch.duration_ns is not None else "modelled"


def origins(*launches: Launch) -> str:
    """`modelled`, `measured`, or both in the order of the sides."""
    return ", ".join(dict.fromkeys(map(origin, launches)))


def pairs(left: Report, right: Report) -> Iterator[tuple[Launch, Launch]]:
    """Launches of the same kernel, in order; what one side alone has is passed over."""
    waiting: dict[str, list[Launch]] = {}
    for launch in right.launches:
        waiting.setdefault(launch.mangled or launch.kernel, []).append(launch)
    for launch in left.launches:
        queue = waiting.get(launch.mangled or launch.kernel)
        if queue:
            yield launch, queue.pop(0)


def _settings(left: Report, right: Report) -> Iterator[tuple[str, str, str]]:
    facts = [
        {
            "board": f"{each.gpu.label}, {each.gpu.sm}",
            "program": " ".join([each.program.path, *each.program.args]),
            **{name: _spoken(value) for name, value in each.options.items() if name not in _SAME_RESULT},
            "warpath": each.warpath,
        }
        for each in (left, right)
    ]
    if is_recording(left) == is_recording(right):
        names = dict.fromkeys([*facts[0], *facts[1]])
    else:
        names = dict.fromkeys(("board", "program"))  # a recorder's options are not a model's
    for name in names:
        a, b = (side.get(name) or "none" for side in facts)
        if a != b:
            yield name, a, b
    yield from _sources(left, right)


def _spoken(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)  # pyright: ignore


def _sources(left: Report, right: Report) -> Iterator[tuple[str, str, str]]:
    """Files of both builds whose contents differ."""
    if left.compile and right.compile:
        for path, digest in left.compile.files.items():
            other = right.compile.files.get(path, digest)
            if digest != other:
                yield path, f"sha256 {digest[:12]}", f"sha256 {other[:12]}"


def _pair(left: Launch, right: Launch) -> LaunchPair:
    unexplained = None
    if left.duration_ns is not None and right.duration_ns is not None and origin(left) != origin(right):
        sign = 1 if left.time else -1
        unexplained = sign * (right.duration_ns - left.duration_ns)
    return LaunchPair(
        left,
        right,
        _terms(left, right),
        unexplained,
        _figures(left, right),
        _counters(left, right),
        _ordered(_rows(left.stalls, right.stalls)) if left.stalls and right.stalls else [],
        _ordered(_rows(_mix(left), _mix(right))) if _mix(left) and _mix(right) else [],
        list(_notes(left, right)),
        trace_compare.compare(left, right),
    )


def _terms(left: Launch, right: Launch) -> list[Row]:
    """The union of both ledgers, in order of appearance."""
    labels = {term.term: term.label for launch in (left, right) for term in launch.ledger}
    a, b = ({term.term: term.ns for term in launch.ledger} for launch in (left, right))
    return [Row(label, a.get(term), b.get(term), "ns") for term, label in labels.items()]


def _figures(left: Launch, right: Launch) -> list[Row]:
    """What a reader looks at first; rows that neither side has are left out."""
    a, b = (_facts(launch) for launch in (left, right))
    rows = [Row(what, a[what][0], b[what][0], unit, source) for what, (_, unit, source) in a.items()]
    counted = [launch for launch in (left, right) if ACHIEVED in launch.counters]
    left_achieved, right_achieved = left.counters.get(ACHIEVED), right.counters.get(ACHIEVED)
    rows.append(Row("achieved occupancy", left_achieved, right_achieved, "%", origins(*counted)))
    return [row for row in rows if row.left is not None or row.right is not None]


def _facts(launch: Launch) -> dict[str, tuple[float | None, str, str]]:
    occ = launch.occupancy
    threads = (
        launch.grid[0] * launch.grid[1] * launch.grid[2] * launch.block[0] * launch.block[1] * launch.block[2]
    )
    most = occ.max_warps_per_sm
    return {
        "floor": (launch.floor_ns or None, "ns", "computed"),
        "SM clock": (launch.time.sm_clock_mhz if launch.time else None, "MHz", "modelled"),
        "threads": (threads, "", "computed"),
        "registers a thread": (launch.registers, "", "computed"),
        "shared memory a block": (launch.shared_bytes, "B", "computed"),
        "blocks an SM": (occ.blocks_per_sm or None, "", "computed"),
        "theoretical occupancy": (100 * occ.warps_per_sm / most if most else None, "%", "computed"),
        "waves": (occ.waves or None, "", "computed"),
    }


def _counters(left: Launch, right: Launch) -> list[Row]:
    """Those that both sides have and that differ, the largest change first."""
    both = [name for name in left.counters if name in right.counters and not name.startswith(_STALLS)]
    rows = [Row(name, left.counters[name], right.counters[name]) for name in both]
    differ = [row for row in rows if row.change >= LEAST_CHANGE]
    return sorted(differ, key=lambda row: -row.change)


def _rows(left: Mapping[str, float], right: Mapping[str, float]) -> list[Row]:
    """All names of both sides, 0 where a side has none."""
    return [Row(name, left.get(name, 0), right.get(name, 0)) for name in dict.fromkeys([*left, *right])]


def _ordered(rows: Iterable[Row]) -> list[Row]:
    """Those that differ, the largest difference first."""
    differ = (row for row in rows if row.change >= LEAST_CHANGE)
    return sorted(differ, key=lambda row: -abs(row.difference or 0))


def _mix(launch: Launch) -> Counter[str]:
    """Warp instructions executed by opcode, without predicates and modifiers; empty when nothing was counted."""
    found: Counter[str] = Counter()
    for instruction in launch.instructions:
        words = instruction.sass.split()
        if instruction.executed and words:
            found[words[words[0].startswith("@")].partition(".")[0]] += instruction.executed
    return found


def _notes(left: Launch, right: Launch) -> Iterator[str]:
    for side, launch in (("A", left), ("B", right)):
        if launch.time is None and launch.duration_ns is None:
            yield f"{side} has no duration: the clock did not run (--functional), or nothing was measured"
        elif launch.time is not None and not launch.ledger:
            yield f"{side} has no ledger of time"
