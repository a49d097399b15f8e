"""What happened when inside a launch: the core's cycles as nanoseconds and percent, thinned to what can be looked at.

Every launch keeps its bins. CTAs and warps are kept for the first launch of each kernel, of the first eight kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpath.frontend.launch import Launch as GpuLaunch
from warpath.report.model import BlockSpan, Timeline, WarpSpan

MOST_CTAS = 4096
MOST_KERNELS = 8
_SECTOR = 32  # bytes
_WORD = 16  # bytes in an instruction
_CTA_COLUMNS, _STRETCH_COLUMNS = 4, 7


@dataclass(frozen=True, slots=True)
class _Scale:
    """How long a cycle is."""

    khz: int

    def ns(self, cycles: int) -> int:
        return round(cycles * 1_000_000 / self.khz)


@dataclass(slots=True)
class TimelineBuilder:
    """Makes the timelines of one report; remembers which kernels already have their CTAs and warps in it."""

    detailed: dict[int, int] = field(default_factory=dict[int, int])  # program -> its first launch

    def build(self, raw: Mapping[str, Any], launch: GpuLaunch, first: int) -> Timeline:
        """The timeline of a launch from the core's (`TimedGrid.timeline`); its kernel starts at row `first`."""
        scale = _Scale(launch.counters["sm_clock_khz"])
        bins = _bins(raw, launch)
        shown = self.detailed.get(launch.work.program_va)
        if shown is not None:
            return Timeline(**bins, blocks=[], warps=[], note=f"CTAs and warps: see launch {shown}")
        if len(self.detailed) == MOST_KERNELS:
            note = f"CTAs and warps: kept for the first {MOST_KERNELS} kernels; choose one with --kernel"
            return Timeline(**bins, blocks=[], warps=[], note=note)
        self.detailed[launch.work.program_va] = launch.index
        ctas, left_out = thin_ctas(_rows(raw["ctas"], _CTA_COLUMNS), raw["watched_sm"])
        warps = [
            _stretch(row, scale, first, launch.counters["stall_names"])
            for row in _rows(raw["stretches"], _STRETCH_COLUMNS)
        ]
        notes = [left_out] if left_out else []
        if raw["dropped"]:
            total = len(warps) + raw["dropped"]
            notes.append(f"warps: the first {len(warps)} of {total} stretches on SM {raw['watched_sm']}")
        return Timeline(
            **bins,
            blocks=[
                BlockSpan(block=block, sm=sm, start_ns=scale.ns(start), end_ns=scale.ns(end))
                for block, sm, start, end in ctas
            ],
            warps=warps,
            note="; ".join(notes),
        )


def thin_ctas(ctas: list[tuple[int, ...]], watched_sm: int) -> tuple[list[tuple[int, ...]], str]:
    """At most `MOST_CTAS` rows (block, SM, start, end), and a note on what was left out, empty when nothing was.

    SMs are kept whole: `watched_sm` and as many as fit, evenly spaced.
    """
    if len(ctas) <= MOST_CTAS:
        return ctas, ""
    by_sm = Counter(sm for _, sm, _, _ in ctas)
    order = sorted(by_sm, key=lambda sm: (sm < watched_sm, sm))  # from the watched one on, round
    room = max(MOST_CTAS // max(by_sm.values()), 1)
    chosen = set(order[:: -(-len(order) // room)])
    kept = [row for row in ctas if row[1] in chosen][:MOST_CTAS]
    return kept, f"CTAs: {len(kept)} of {len(ctas)}, those of {len(chosen)} of {len(by_sm)} SMs"


def _bins(raw: Mapping[str, Any], launch: GpuLaunch) -> dict[str, Any]:
    """The series, each bin's share of what its cycles could hold; the last bin ends with the launch."""
    cycles, width = launch.counters["cycles"], raw["bin_cycles"]
    lengths = [min(width, cycles - at) for at in range(0, cycles, width)]

    def percent(name: str, most: int) -> list[float]:
        pairs = zip(_column(raw[name]), lengths, strict=True)
        return [round(100 * value / (most * length), 3) for value, length in pairs]

    return {
        "bin_ns": width * 1_000_000 / launch.counters["sm_clock_khz"],
        "warps_active": percent("warp_cycles", raw["warp_slots"]),
        "issue_active": percent("issued", raw["issue_slots"]),
        "dram_bytes": list(_column(raw["dram_bytes"])),
        "l2_bytes": [sectors * _SECTOR for sectors in _column(raw["l2_sectors"])],
        "watched_sm": raw["watched_sm"],
    }


def _stretch(row: tuple[int, ...], scale: _Scale, first: int, states: Sequence[str]) -> WarpSpan:
    block, warp, part, index, state, start, end = row
    return WarpSpan(
        block=block,
        warp=warp,
        sub_partition=part,
        pc=(index - first) * _WORD,
        state=states[state],
        start_ns=scale.ns(start),
        end_ns=scale.ns(end),
    )


def _column(packed: bytes) -> Sequence[int]:
    return memoryview(packed).cast("Q")


def _rows(packed: bytes, width: int) -> list[tuple[int, ...]]:
    values = memoryview(packed).cast("Q")
    return list(zip(*(values[column::width].tolist() for column in range(width)), strict=True))
