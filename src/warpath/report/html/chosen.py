"""Which launches a page describes one by one, and the row that every launch gets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpath.report.model import Launch
from warpath.units import format_duration_ns


@dataclass(frozen=True, slots=True)
class Row:
    """A launch in the table of launches. `share` is its part of the longest launch, 0 to 1; `shown` the launch whose
    details stand for it.
    """

    index: int
    name: str
    kernel: str
    shape: str
    duration: str
    share: float
    bound: str
    shown: int | None


def short_name(kernel: str) -> str:
    """`void ns::scan<float, 4>(float *)` is `scan`: a library's full names run to a kilobyte."""
    plain = kernel.removeprefix("void ").replace("(anonymous namespace)::", "")
    name = re.split(r"[(<]", plain, maxsplit=1)[0].split("::")[-1]
    return name.strip() or kernel


def shape(launch: Launch) -> str:
    """`<<<4096, 256>>>`: grid and block without trailing ones."""
    return f"<<<{_extent(launch.grid)}, {_extent(launch.block)}>>>"


def _extent(extent: list[int]) -> str:
    sizes = list(extent)
    while len(sizes) > 1 and sizes[-1] == 1:
        sizes.pop()
    return "x".join(map(str, sizes))


def by_importance(launches: list[Launch]) -> list[Launch]:
    """The longest launch, then the first of each kernel and shape, those with the most time in all first."""
    if not launches:
        return []
    totals: dict[tuple[str, str], int] = {}
    firsts: dict[tuple[str, str], Launch] = {}
    for launch in launches:
        key = _key(launch)
        totals[key] = totals.get(key, 0) + (launch.duration_ns or 0)
        firsts.setdefault(key, launch)
    longest = max(launches, key=lambda launch: launch.duration_ns or 0)
    ordered = sorted(firsts, key=lambda key: -totals[key])
    return [longest, *(firsts[key] for key in ordered if firsts[key] is not longest)]


def rows(launches: list[Launch], detailed: list[Launch]) -> list[Row]:
    """A row for every launch, in order."""
    longest = max((launch.duration_ns or 0 for launch in launches), default=0) or 1
    own = {launch.index for launch in detailed}
    stands_for = {_key(launch): launch.index for launch in reversed(detailed)}
    return [
        Row(
            index=launch.index,
            name=short_name(launch.kernel),
            kernel=launch.kernel,
            shape=shape(launch),
            duration="" if launch.duration_ns is None else format_duration_ns(launch.duration_ns),
            share=(launch.duration_ns or 0) / longest,
            bound=launch.bound,
            shown=launch.index if launch.index in own else stands_for.get(_key(launch)),
        )
        for launch in launches
    ]


def _key(launch: Launch) -> tuple[str, str]:
    return launch.mangled or launch.kernel, shape(launch)
