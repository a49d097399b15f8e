"""Sets of bytes as sorted, disjoint [start, end) ranges: arrays of shape (n, 2), unsigned 64-bit addresses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ranges = NDArray[np.uint64]
EMPTY: Ranges = np.empty((0, 2), dtype=np.uint64)
_TOP = np.iinfo(np.uint64).max


def unpack(packed: bytes) -> Ranges:
    """Ranges of the core: start and end after one another, little-endian u64, ascending and disjoint."""
    return np.frombuffer(packed, dtype="<u8").reshape(-1, 2)


def rows(start: int, width: int, pitch: int = 0, height: int = 1) -> Ranges:
    """The bytes of a copy: `height` rows of `width` bytes, `pitch` apart."""
    if width <= 0 or height <= 0:
        return EMPTY
    if height == 1 or pitch == width:
        return np.array([[start, start + width * height]], dtype=np.uint64)
    starts = np.uint64(start) + np.arange(height, dtype=np.uint64) * np.uint64(pitch)
    return np.stack([starts, starts + np.uint64(width)], axis=1)


def size(a: Ranges) -> int:
    """Bytes in the set."""
    return int((a[:, 1] - a[:, 0]).sum())


def intersect(a: Ranges, b: Ranges) -> Ranges:
    """Bytes in both sets."""
    if not len(a) or not len(b) or a[-1, 1] <= b[0, 0] or b[-1, 1] <= a[0, 0]:
        return EMPTY
    first = np.searchsorted(b[:, 1], a[:, 0], side="right")
    last = np.searchsorted(b[:, 0], a[:, 1], side="left")
    counts = last - first
    mine = np.repeat(np.arange(len(a)), counts)
    offsets = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
    theirs = np.repeat(first, counts) + offsets
    return np.stack([np.maximum(a[mine, 0], b[theirs, 0]), np.minimum(a[mine, 1], b[theirs, 1])], axis=1)


def subtract(a: Ranges, b: Ranges) -> Ranges:
    """Bytes of `a` that are not in `b`."""
    if not len(intersect(a, b)):
        return a
    starts = np.concatenate([np.zeros(1, dtype=np.uint64), b[:, 1]])
    ends = np.concatenate([b[:, 0], np.array([_TOP], dtype=np.uint64)])
    return intersect(a, np.stack([starts, ends], axis=1)[starts < ends])
