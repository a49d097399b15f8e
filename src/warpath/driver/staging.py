"""Staging: pinned buffers through which pageable host memory reaches the copy engine.

The GPU cannot read ordinary program memory, so a copy of it travels in pieces of 1 MiB through two
alternating buffers per direction. A buffer is used again when the copy that read or filled it is finished.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from warpath.driver.address_space import AddressSpace, Kind
from warpath.driver.channel import Fence
from warpath.driver.error import CudaError, Error

PIECE_BYTES = 1 << 20
_BUFFERS = 2


class Mover(Protocol):
    """Moves bytes between the program's own memory and the host arena; both addresses are the program's."""

    def copy_in(self, source: int, size: int, arena_va: int) -> None:
        """Program memory at `source` to the arena."""
        ...

    def copy_out(self, arena_va: int, size: int, destination: int) -> None:
        """The arena to program memory at `destination`."""
        ...


class Staging:
    """The buffers of one direction, allocated on first use."""

    def __init__(self, space: AddressSpace, wait: Callable[[Fence], None]) -> None:
        self._space = space
        self._wait = wait
        self._buffers: list[int] = []
        self._users: list[Fence | None] = []
        self._turn = 0

    def acquire(self) -> int:
        """A free buffer of PIECE_BYTES; waits for its last user. Error 2 when the arena is full."""
        if len(self._buffers) < _BUFFERS:
            allocation = self._space.allocate(PIECE_BYTES, Kind.HOST)
            if allocation is None:
                raise CudaError(Error.MEMORY_ALLOCATION, "no room for a staging buffer in the host arena")
            self._buffers.append(allocation.va)
            self._users.append(None)
            self._turn = len(self._buffers) - 1
        else:
            self._turn = (self._turn + 1) % _BUFFERS
        user = self._users[self._turn]
        if user is not None:
            self._wait(user)
            self._users[self._turn] = None
        return self._buffers[self._turn]

    def used_by(self, fence: Fence) -> None:
        """Tell who uses the buffer acquired last."""
        self._users[self._turn] = fence

    @property
    def addresses(self) -> frozenset[int]:
        """The buffers, which are not the program's."""
        return frozenset(self._buffers)
