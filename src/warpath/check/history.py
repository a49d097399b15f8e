"""Every allocation the program has made, also those it has freed: where a bad address came from."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from warpath.check.callstack import Frames
from warpath.driver.address_space import Allocation, Kind

QUARANTINE_BYTES = 1 << 30
PADDING_BYTES = (
    4096  # between allocations of a checked run, so that running over one does not land in the next
)
KIND_NAMES = {Kind.DEVICE: "device", Kind.HOST: "pinned host", Kind.MANAGED: "managed"}


@dataclass(slots=True)
class Record:
    """One allocation: `made` and `freed` are indices of API calls, `freed` None while it lives."""

    va: int
    size: int
    kind: Kind
    made: int
    freed: int | None = None
    made_in: Frames | None = None
    freed_in: Frames | None = None

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.va + self.size

    def distance(self, va: int) -> int:
        """Bytes from the allocation to `va`: 0 inside, negative before it."""
        if va < self.va:
            return va - self.va
        return 0 if va < self.end else va - self.end + 1


class History:
    """Told by the driver of allocations and frees. `calls` says the index of the API call in progress, `frames`
    where the program makes it.

    With `quarantine`, freed ranges are not handed out again until there are too many of them.
    """

    def __init__(
        self, calls: Callable[[], int], frames: Callable[[], Frames | None], *, quarantine: bool
    ) -> None:
        self._calls = calls
        self._frames = frames
        self._quarantine = quarantine
        self._live: dict[int, Record] = {}
        self._starts: list[int] = []
        self._freed: deque[Record] = deque(maxlen=100_000)
        self._held = 0

    def on_allocate(self, allocation: Allocation) -> None:
        """The program got an allocation."""
        record = Record(
            allocation.va, allocation.size, allocation.kind, self._calls(), made_in=self._frames()
        )
        self._live[record.va] = record
        insort(self._starts, record.va)

    def on_release(self, allocation: Allocation) -> bool:
        """An allocation ends; whether its addresses must stay unused."""
        record = self._live.pop(allocation.va, None)
        if record is None:
            return False
        self._starts.remove(record.va)
        record.freed = self._calls()
        record.freed_in = self._frames()
        self._freed.append(record)
        if not self._quarantine or self._held + allocation.reserved > QUARANTINE_BYTES:
            return False
        self._held += allocation.reserved
        return True

    def live(self) -> list[Record]:
        """What the program has not freed."""
        return [self._live[va] for va in self._starts]

    def freed_at(self, va: int) -> Record | None:
        """The allocation last freed that held `va`."""
        return next((record for record in reversed(self._freed) if record.va <= va < record.end), None)

    def nearest(self, va: int) -> Record | None:
        """The live allocation closest to `va`."""
        index = bisect_right(self._starts, va)
        around = [self._live[start] for start in self._starts[max(index - 1, 0) : index + 1]]
        return min(around, key=lambda record: abs(record.distance(va)), default=None)
