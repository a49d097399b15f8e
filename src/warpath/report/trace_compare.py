"""A model's submission beside the real driver's: method by method, QMD field by field, constant bank word by word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from warpath.report.model import Launch, MethodInfo

SAME, VALUE, ONLY_LEFT, ONLY_RIGHT = "same", "value", "left", "right"
# Methods and fields that hold addresses or running numbers: different in every run, so told apart from the rest. Inline
# data is the QMD and the constant bank, which are compared by field.
_ADDRESSES = (
    "LOAD_INLINE",
    "ADDR",
    "OFFSET_OUT",
    "OFFSET_IN",
    "POINTER",
    "QMD_ADDRESS",
    "SEMAPHORE",
    "PAYLOAD",
    "SEND_PCAS_A",
)
_BANK_ADDRESSES = ("address", "window", "params_", "counter")


@dataclass(frozen=True, slots=True)
class Row:
    """One thing on both sides; None where a side lacks it. `moves` marks addresses and running numbers."""

    what: str
    left: int | None
    right: int | None
    count: int = 1  # consecutive method calls that this row stands for
    moves: bool = False

    @property
    def kind(self) -> str:
        """same, value, left or right."""
        if self.left is None:
            return ONLY_RIGHT
        if self.right is None:
            return ONLY_LEFT
        return SAME if self.left == self.right else VALUE


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two launches side by side."""

    left: Launch
    right: Launch
    methods: list[Row]
    qmd: list[Row]
    bank: list[Row]


def compare(left: Launch, right: Launch) -> Comparison:
    """Lay two launches' submissions side by side."""
    a, b = left.submission, right.submission
    return Comparison(
        left,
        right,
        _methods(a.methods, b.methods),
        _fields(a.qmd, b.qmd, _ADDRESSES),
        _fields(a.constant_bank, b.constant_bank, _BANK_ADDRESSES),
    )


def _methods(left: list[MethodInfo], right: list[MethodInfo]) -> list[Row]:
    """Aligned by name and order; equal neighbours of one method (inline data) become one row."""
    names = [m.name for m in left], [m.name for m in right]
    rows: list[Row] = []
    for tag, a, a_end, b, b_end in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [
                Row(one.name, one.value, other.value, moves=_moves(one.name, _ADDRESSES))
                for one, other in zip(left[a:a_end], right[b:b_end], strict=True)
            ]
            continue
        rows += [Row(m.name, m.value, None, moves=_moves(m.name, _ADDRESSES)) for m in left[a:a_end]]
        rows += [Row(m.name, None, m.value, moves=_moves(m.name, _ADDRESSES)) for m in right[b:b_end]]
    return _joined(rows)


def _joined(rows: list[Row]) -> list[Row]:
    found: list[Row] = []
    for row in rows:
        last = found[-1] if found else None
        if last is not None and last.what == row.what and last.kind == row.kind and row.kind != VALUE:
            found[-1] = Row(last.what, last.left, last.right, last.count + 1, last.moves)
        else:
            found.append(row)
    return found


def _fields(left: Mapping[str, int], right: Mapping[str, int], moving: tuple[str, ...]) -> list[Row]:
    names = dict.fromkeys([*left, *right])
    return [Row(name, left.get(name, 0), right.get(name, 0), moves=_moves(name, moving)) for name in names]


def _moves(name: str, parts: tuple[str, ...]) -> bool:
    return any(part in name for part in parts)
