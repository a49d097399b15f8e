"""Memory that each launch needs until it has run: QMD, spacer QMD, release word, constant bank, grid barrier.

Slots are used in turn; a slot is free again when the launch that used it is finished. Distances are those of
the real driver as captured: QMDs 0x800 apart, spacers in a region of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warpath.driver.address_space import AddressSpace, Kind
from warpath.driver.channel import Fence
from warpath.driver.error import CudaError, Error

COUNT = 1024
QMD_STRIDE = 0x800
SPACER_STRIDE = 0x200
RELEASE_STRIDE = 4
BARRIER_STRIDE = 64
BANK_STRIDE = 0x1400  # parameters up to 4096 bytes, the limit of most GPUs
BIG_BANK_STRIDE = 0x8400  # up to 32764 bytes, which newer ones accept
BIG_COUNT = 16
SHARED_BANK_BYTES, NEXT_BANK_BYTES = 0x10000, 0x900  # banks 7 and 1, as captured: what they hold is not known


@dataclass(slots=True)
class LaunchSlot:
    """Addresses for one launch. The launch after it will have its QMD at `next_qmd_va`; at `context_va` is what all
    launches of a context share: bank 7, and bank 1 behind it.
    """

    qmd_va: int
    next_qmd_va: int
    spacer_va: int
    semaphore_va: int
    barrier_va: int
    bank_va: int
    context_va: int
    user: Fence | None = None

    def used_by(self, fence: Fence) -> None:
        """The launch that occupies the slot until `fence` is done."""
        self.user = fence


class LaunchSlots:
    """Two rings of slots, for ordinary and for large parameter blocks, each allocated on first use."""

    def __init__(self, space: AddressSpace, wait: Callable[[Fence], None]) -> None:
        self._space = space
        self._wait = wait
        self._rings: dict[int, list[LaunchSlot]] = {}
        self._turn: dict[int, int] = {}
        self._context_va = 0

    def take(self, bank_bytes: int) -> LaunchSlot:
        """A free slot whose bank holds `bank_bytes`; waits for its last user when all are taken."""
        stride, count = (BANK_STRIDE, COUNT) if bank_bytes <= BANK_STRIDE else (BIG_BANK_STRIDE, BIG_COUNT)
        if stride not in self._rings:
            self._rings[stride] = self._make(stride, count)
            self._turn[stride] = 0
        slot = self._rings[stride][self._turn[stride]]
        self._turn[stride] = (self._turn[stride] + 1) % count
        if slot.user is not None:
            self._wait(slot.user)
            slot.user = None
        return slot

    def _make(self, bank_stride: int, count: int) -> list[LaunchSlot]:
        qmds = self._region(QMD_STRIDE * count, Kind.SYSTEM, False)
        spacers = self._region(SPACER_STRIDE * count, Kind.SYSTEM, False)
        releases = self._region(RELEASE_STRIDE * count, Kind.SYSTEM, False)
        banks = self._region(bank_stride * count, Kind.SYSTEM, True)
        barriers = self._region(BARRIER_STRIDE * count, Kind.DEVICE, True)  # kernels read and write it
        if not self._context_va:
            self._context_va = self._region(SHARED_BANK_BYTES + NEXT_BANK_BYTES, Kind.SYSTEM, False)
        return [
            LaunchSlot(
                qmd_va=qmds + index * QMD_STRIDE,
                next_qmd_va=qmds + (index + 1) % count * QMD_STRIDE,
                spacer_va=spacers + index * SPACER_STRIDE,
                semaphore_va=releases + index * RELEASE_STRIDE,
                barrier_va=barriers + index * BARRIER_STRIDE,
                bank_va=banks + index * bank_stride,
                context_va=self._context_va,
            )
            for index in range(count)
        ]

    def _region(self, size: int, kind: Kind, on_board: bool) -> int:
        allocation = self._space.allocate(size, kind, self._space.modules if on_board else self._space.system)
        if allocation is None:
            raise CudaError(Error.MEMORY_ALLOCATION, "no room for launch slots")
        self._space.memory.write(allocation.va, bytes(size))  # after a reset it holds old payloads
        return allocation.va


class WordPool:
    """Small pieces of system memory for semaphores of streams and events."""

    BYTES = 32
    _CHUNK = 1024  # pieces allocated at a time

    def __init__(self, space: AddressSpace) -> None:
        self._space = space
        self._free: list[int] = []

    def take(self) -> int:
        """Address of 32 zeroed bytes."""
        if not self._free:
            allocation = self._space.allocate(self.BYTES * self._CHUNK, Kind.SYSTEM)
            if allocation is None:
                raise CudaError(Error.MEMORY_ALLOCATION, "no room for semaphores")
            self._free = [allocation.va + index * self.BYTES for index in reversed(range(self._CHUNK))]
        va = self._free.pop()
        self._space.memory.write(va, bytes(self.BYTES))
        return va

    def give(self, va: int) -> None:
        """Return a piece that nothing pending writes to."""
        self._free.append(va)
