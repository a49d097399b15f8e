"""Virtual address arenas: who owns which range of the model GPU's address space.

An `Arena` hands out ranges of one region, first fit, and merges freed neighbours. `AddressSpace` holds the
arenas of the process and registers every allocation with the model's memory, so that each access can be
checked against live allocations.

Layout (all below 2^47):

    0x0000_0002_0000_0000  driver system memory: pushbuffers, rings, USERD, semaphores, QMDs (QMD addresses
                           must stay below 2^40)
    0x0000_66d0_0000_0000  shared and local windows of the generic address space, system call slots
    0x0000_6800_0000_0000  user device memory
    0x0000_6b5a_0000_0000  module images, constant banks, heaps
    host arena             pinned, managed and staging memory, mapped at the same address in the program

The device ranges lie where Linux on x86-64 maps neither executables nor shared libraries, stacks or heaps of a
program (its mmap region starts at 2^47 - 2^44), so an address says what it points to. They are no power of two apart,
so that an index that is wrong by one finds nothing.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

SYSTEM_BASE = 0x2_0000_0000
SYSTEM_SIZE = 0x1000_0000
SHARED_WINDOW = 0x66D0_0000_0000
LOCAL_WINDOW = 0x66D0_0100_0000
CALLS_BASE = 0x66D0_1000_0000
CALLS_SIZE = 0x20_0000
DEVICE_BASE = 0x6800_0000_0000
MODULE_BASE = 0x6B5A_0000_0000
MODULE_SIZE = 0x4_0000_0000

ALIGNMENT = 256
BIG_PAGE = 2 << 20  # hardware maps device memory in pages of 2 MiB
BIG_ALLOCATION = 1 << 20  # from this size on the real driver starts an allocation on a page of its own


class Kind(IntEnum):
    """What an allocation is for; the numbers are the memory model's."""

    DEVICE = 1
    HOST = 2
    MANAGED = 3
    CODE = 4
    SYSTEM = 5


class Memory(Protocol):
    """The model GPU's memory (`_core.Memory`), as far as the driver uses it."""

    def reserve(self, base: int, size: int, fd: int = -1) -> None:
        """Add an address region."""
        ...

    def alloc(self, va: int, size: int, kind: int) -> None:
        """Register a live allocation and map its pages."""
        ...

    def free(self, va: int) -> None:
        """End an allocation."""
        ...

    def read(self, va: int, size: int) -> bytes:
        """What the CPU sees at an address."""
        ...

    def write(self, va: int, data: bytes) -> None:
        """A store by the CPU."""
        ...

    def set_heap(self, va: int, size: int) -> None:
        """Say which memory device-side malloc hands out."""
        ...


class Watcher(Protocol):
    """Wants to know what the program allocates and frees."""

    def on_allocate(self, allocation: Allocation) -> None:
        """The program got an allocation."""
        ...

    def on_release(self, allocation: Allocation) -> bool:
        """An allocation ends; True keeps its addresses from being used again."""
        ...


def align_up(value: int, alignment: int) -> int:
    """`value` rounded up to a multiple of `alignment`."""
    return -(-value // alignment) * alignment


@dataclass(frozen=True, slots=True)
class Allocation:
    """A live range: `size` is what was asked for, `reserved` what it occupies, `serial` its age."""

    va: int
    size: int
    reserved: int
    kind: Kind
    serial: int


class Arena:
    """First-fit allocator over [base, base + size)."""

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.size = size
        self.used = 0
        self._holes: list[tuple[int, int]] = [(base, size)]  # sorted by address, never adjacent

    def __contains__(self, va: int) -> bool:
        return self.base <= va < self.base + self.size

    def take(self, size: int, alignment: int = ALIGNMENT) -> int | None:
        """Address of a free range of `size` bytes, or None when no hole is large enough."""
        for index, (start, length) in enumerate(self._holes):
            va = align_up(start, alignment)
            if va + size > start + length:
                continue
            before = (start, va - start)
            after = (va + size, start + length - va - size)
            self._holes[index : index + 1] = [hole for hole in (before, after) if hole[1]]
            self.used += size
            return va
        return None

    def give(self, va: int, size: int) -> None:
        """Return a range; it merges with free neighbours."""
        insort(self._holes, (va, size))
        self.used -= size
        index = bisect_right(self._holes, (va, size)) - 1
        for left in (index, index - 1):  # merge with the right neighbour first, then with the left one
            if 0 <= left < len(self._holes) - 1:
                (start, length), (next_start, next_length) = self._holes[left : left + 2]
                if start + length == next_start:
                    self._holes[left : left + 2] = [(start, length + next_length)]


class AddressSpace:
    """All arenas of one context, the live allocations in them, and the board's memory budget (bytes)."""

    def __init__(self, memory: Memory, board_bytes: int, host: tuple[int, int]) -> None:
        self.memory = memory
        self.board_bytes = board_bytes
        # Twice the board, so that holes between allocations do not use it up.
        self.device = Arena(DEVICE_BASE, align_up(2 * board_bytes, BIG_PAGE))
        self.modules = Arena(MODULE_BASE, MODULE_SIZE)
        self.system = Arena(SYSTEM_BASE, SYSTEM_SIZE)
        self.calls = Arena(CALLS_BASE, CALLS_SIZE)
        self.host = Arena(*host)
        for arena in (self.device, self.modules, self.system, self.calls):
            memory.reserve(arena.base, arena.size)
        self._live: dict[int, Allocation] = {}
        self._starts: list[int] = []
        self._serial = 0
        self.watcher: Watcher | None = None
        self.padding = 0  # bytes kept free behind each allocation of the program
        self.pinned = 0  # bytes of device memory taken by allocations that are backed by the board

    @property
    def free_bytes(self) -> int:
        """Board memory that is not allocated."""
        return self.board_bytes - self.pinned

    def allocate(
        self, size: int, kind: Kind, arena: Arena | None = None, alignment: int = 0
    ) -> Allocation | None:
        """Allocate and register `size` bytes; None when the board or the arena is full.

        The default arena follows from the kind. Sizes are rounded up to 256 bytes in the arena, while the
        live range that the memory checks is exactly `size`.
        """
        arena = arena or self._arena_of(kind)
        reserved = align_up(max(size, 1), ALIGNMENT)
        padding = self.padding if kind in (Kind.DEVICE, Kind.HOST, Kind.MANAGED) else 0
        on_board = kind in (Kind.DEVICE, Kind.CODE)
        if on_board and reserved > self.free_bytes:
            return None
        if not alignment:
            alignment = BIG_PAGE if size >= BIG_ALLOCATION and arena is self.device else ALIGNMENT
        va = arena.take(reserved + padding, alignment)
        if va is None:
            return None
        self._serial += 1
        allocation = Allocation(va, size, reserved + padding, kind, self._serial)
        self.memory.alloc(va, size, int(kind))
        self._live[va] = allocation
        insort(self._starts, va)
        if on_board:
            self.pinned += allocation.reserved
        return allocation

    def release(self, va: int) -> Allocation | None:
        """Free the allocation that starts at `va`; None when there is none."""
        allocation = self._live.pop(va, None)
        if allocation is None:
            return None
        self._starts.remove(va)
        self.memory.free(va)
        if self.watcher is not None and self.watcher.on_release(allocation):
            return self._unpin(allocation)
        for arena in (self.device, self.modules, self.system, self.calls, self.host):
            if va in arena:
                arena.give(va, allocation.reserved)
        return self._unpin(allocation)

    def _unpin(self, allocation: Allocation) -> Allocation:
        if allocation.kind in (Kind.DEVICE, Kind.CODE):
            self.pinned -= allocation.reserved
        return allocation

    def clear(self) -> None:
        """Free everything."""
        for va in list(self._starts):
            self.release(va)

    def find(self, va: int) -> Allocation | None:
        """The live allocation that contains `va`."""
        index = bisect_right(self._starts, va) - 1
        if index < 0:
            return None
        allocation = self._live[self._starts[index]]
        return allocation if va < allocation.va + max(allocation.size, 1) else None

    def live(self) -> list[Allocation]:
        """Every live allocation, in the order of their addresses."""
        return [self._live[va] for va in self._starts]

    def _arena_of(self, kind: Kind) -> Arena:
        if kind is Kind.DEVICE:
            return self.device
        if kind is Kind.CODE:
            return self.modules
        return self.system if kind is Kind.SYSTEM else self.host
