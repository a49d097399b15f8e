"""GPU memory as far as a recording shows it: bytes that travelled in pushbuffers, or that copies were seen to read."""

from __future__ import annotations

from bisect import bisect_right

_PAGE = 4096


class Shadow:
    """Sparse memory; reading a byte that was never seen gives None for the whole read."""

    def __init__(self) -> None:
        self._pages: dict[int, tuple[bytearray, bytearray]] = {}  # page -> (data, 1 where known)

    def write(self, va: int, data: bytes) -> None:
        """Store what was seen written to `va`."""
        done = 0
        while done < len(data):
            page, offset = divmod(va + done, _PAGE)
            size = min(_PAGE - offset, len(data) - done)
            kept, known = self._pages.setdefault(page, (bytearray(_PAGE), bytearray(_PAGE)))
            kept[offset : offset + size] = data[done : done + size]
            known[offset : offset + size] = b"\1" * size
            done += size

    def prefix(self, va: int, size: int) -> bytes:
        """The bytes at `va` up to the first that is not known, at most `size`."""
        found = bytearray()
        while len(found) < size:
            page, offset = divmod(va + len(found), _PAGE)
            take = min(_PAGE - offset, size - len(found))
            if page not in self._pages:
                break
            kept, known = self._pages[page]
            end = known.find(0, offset, offset + take)
            found += kept[offset : offset + take if end < 0 else end]
            if end >= 0:
                break
        return bytes(found)

    def read(self, va: int, size: int) -> bytes | None:
        """The bytes at `va`, None unless all of them are known."""
        found = self.prefix(va, size)
        return found if len(found) == size else None

    def forget(self, va: int, size: int) -> None:
        """Something that was not seen was written there."""
        first, last = va // _PAGE, (va + size - 1) // _PAGE
        pages = range(first, last + 1) if last - first < len(self._pages) else list(self._pages)
        for page in pages:
            if first <= page <= last and page in self._pages:
                start, end = max(va - page * _PAGE, 0), min(va + size - page * _PAGE, _PAGE)
                self._pages[page][1][start:end] = bytes(end - start)


class Ranges:
    """Address ranges that can be asked which of them holds an address; later ones win over those they overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, size: int) -> None:
        """Add a range; ranges that it overlaps are removed."""
        at = bisect_right(self._starts, start)
        while at > 0 and self._ends[at - 1] > start:
            at -= 1
        end = at
        while end < len(self._starts) and self._starts[end] < start + size:
            end += 1
        self._starts[at:end], self._ends[at:end] = [start], [start + size]

    def find(self, va: int) -> tuple[int, int] | None:
        """(start, size) of the range that holds `va`."""
        at = bisect_right(self._starts, va) - 1
        if at < 0 or va >= self._ends[at]:
            return None
        return self._starts[at], self._ends[at] - self._starts[at]

    def all(self) -> list[tuple[int, int]]:
        """All ranges as (start, size), by address."""
        return [(start, end - start) for start, end in zip(self._starts, self._ends, strict=True)]
