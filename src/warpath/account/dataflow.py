"""What launches hand to one another: from the bytes each reads and writes, in the order in which they ran.

An edge is `fusion` where a launch reads what another wrote, and `reuse` where it reads what another read; in both
cases nothing wrote those bytes in between. Were the two launches one kernel, the bytes could stay on the SM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpath.account.ranges import EMPTY, Ranges, intersect, rows, size, subtract, unpack
from warpath.report.model import FlowEdge

SECTOR = 32  # bytes
Area = tuple[int, int, int, int]  # address, bytes of a row, bytes from row to row, rows
# A launch that is slower than this share of paper bandwidth waits for something else than DRAM: at its own rate, the
# bytes it was spared would seem to be worth all of its time.
SUSTAINED = 0.5
_TIMED = "modelled: DRAM bytes at the launch's own DRAM rate, at least half of paper bandwidth; nothing else"
_UNTIMED = "computed: as if no cache kept anything, at paper bandwidth, nothing else"


@dataclass(frozen=True, slots=True)
class _Touched:
    """What one launch read and wrote, and its DRAM traffic; `duration_ns` is None when the clock did not run."""

    reads: Ranges
    writes: Ranges
    read_bytes: int  # distinct sectors
    written_bytes: int
    dram_read: int
    dram_written: int
    duration_ns: int | None

    def rate(self, dram_gbs: float) -> float:
        """DRAM bytes a nanosecond that it reached, not less than the sustained share of `dram_gbs`."""
        own = (self.dram_read + self.dram_written) / self.duration_ns if self.duration_ns else 0.0
        return max(own, SUSTAINED * dram_gbs)


def _touched(counters: Mapping[str, Any]) -> _Touched:
    """What a counted launch touched; ranges come rounded out when there were many."""
    metrics = counters.get("metrics", {})
    return _Touched(
        reads=unpack(counters["loads"]["ranges"]),
        writes=unpack(counters["stores"]["ranges"]),
        read_bytes=counters["loads"]["sectors"] * SECTOR,
        written_bytes=counters["stores"]["bytes"],
        dram_read=int(metrics.get("dram__bytes_read.sum", 0)),
        dram_written=int(metrics.get("dram__bytes_write.sum", 0)),
        duration_ns=counters.get("duration_ns"),
    )


@dataclass(slots=True)
class _Written:
    """What a launch wrote: what of it still stands, who read it, and what others than launches saw of it."""

    left: Ranges
    readers: dict[int, Ranges] = field(default_factory=dict[int, Ranges])
    seen: list[Ranges] = field(default_factory=list[Ranges])


class DataFlow:
    """Told of launches and copies in order; `edges` at the end. `dram_gbs` is the board's paper bandwidth."""

    def __init__(self, dram_gbs: float) -> None:
        self._dram_gbs = dram_gbs
        self._launches: dict[int, _Touched] = {}
        self._written: dict[int, _Written] = {}  # by launch, while bytes of it stand
        self._read: dict[int, Ranges] = {}  # what a launch was the last to read, with no write since
        self._edges: list[FlowEdge] = []

    def launched(self, index: int, counters: Mapping[str, Any], shared: tuple[int, int] = (0, 0)) -> None:
        """Launch `index` ran, with the core's counters. `shared` (base, size) is memory the host sees as it is."""
        self._launches[index] = what = _touched(counters)
        for written in self._written.values():
            handed = intersect(what.reads, written.left)
            if len(handed):
                written.readers[index] = handed
        for earlier, read in list(self._read.items()):
            again = intersect(what.reads, read)
            if len(again):
                self._edges.append(self._edge("reuse", earlier, index, again, EMPTY))
                self._read[earlier] = subtract(read, what.reads)
        self._read[index] = what.reads
        self._overwrite(what.writes)
        self._written[index] = _Written(what.writes, seen=[intersect(what.writes, rows(*shared))])

    def copied(self, source: Area | None, target: Area) -> None:
        """A copy engine read `source` (None for a fill) and wrote `target`."""
        for written in self._written.values():
            if source is not None:
                written.seen.append(intersect(written.left, rows(*source)))
        self._overwrite(rows(*target))

    def edges(self) -> list[FlowEdge]:
        """Edges in the order of consumers; call once, when everything has run."""
        for producer in list(self._written):
            self._close(producer)
        return sorted(self._edges, key=lambda edge: (edge.consumer, edge.producer, edge.kind))

    def _overwrite(self, target: Ranges) -> None:
        for producer, written in list(self._written.items()):
            written.left = subtract(written.left, target)
            if not len(written.left):
                self._close(producer)
        self._read = {
            index: left for index, read in self._read.items() if len(left := subtract(read, target))
        }

    def _close(self, producer: int) -> None:
        """Nothing of what `producer` wrote will be read any more: its edges can be drawn."""
        written = self._written.pop(producer)
        for consumer, handed in written.readers.items():
            alone = handed
            for other, theirs in written.readers.items():
                alone = alone if other == consumer else subtract(alone, theirs)
            for seen in written.seen:
                alone = subtract(alone, seen)
            self._edges.append(self._edge("fusion", producer, consumer, handed, alone))

    def _edge(self, kind: str, producer: int, consumer: int, handed: Ranges, alone: Ranges) -> FlowEdge:
        """`alone`: bytes that nobody but the consumer reads, which need not be written at all."""
        maker, user = self._launches[producer], self._launches[consumer]
        count = min(size(handed), user.read_bytes)  # rounded out ranges may overstate it
        if user.duration_ns is None:
            dram, saves = count, count / self._dram_gbs
        else:
            fetched = _share(user.dram_read, count, user.read_bytes)
            spared = _share(maker.dram_written, size(alone), maker.written_bytes)
            dram = fetched + spared
            saves = fetched / user.rate(self._dram_gbs) + spared / maker.rate(self._dram_gbs)
        return FlowEdge(
            producer=producer,
            consumer=consumer,
            kind=kind,
            bytes=count,
            dram_bytes=dram,
            saves_ns=round(saves),
            source=_UNTIMED if user.duration_ns is None else _TIMED,
        )


def _share(traffic: int, part: int, whole: int) -> int:
    """DRAM traffic that `part` of the `whole` bytes touched accounts for; not more than `part`."""
    return min(round(traffic * part / whole), part) if whole else 0
