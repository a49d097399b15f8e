"""What device code needs from the driver beyond its module: limits, system call slots, output FIFO, heap."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum

from warpath.driver import output, syscalls
from warpath.driver.address_space import AddressSpace, Kind
from warpath.driver.error import CudaError, Error
from warpath.driver.output import Output
from warpath.gpu.spec import Gpu

Upload = Callable[[int, bytes, int, str], object]


class Limit(IntEnum):
    """`cudaLimit`."""

    STACK_SIZE = 0
    PRINTF_FIFO_SIZE = 1
    MALLOC_HEAP_SIZE = 2
    DEV_RUNTIME_SYNC_DEPTH = 3
    DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4
    MAX_L2_FETCH_GRANULARITY = 5
    PERSISTING_L2_CACHE_SIZE = 6


_DEFAULTS = {
    Limit.STACK_SIZE: 1024,
    Limit.PRINTF_FIFO_SIZE: 1 << 20,
    Limit.MALLOC_HEAP_SIZE: 8 << 20,
    Limit.DEV_RUNTIME_SYNC_DEPTH: 2,
    Limit.DEV_RUNTIME_PENDING_LAUNCH_COUNT: 2048,
    Limit.MAX_L2_FETCH_GRANULARITY: 64,
    Limit.PERSISTING_L2_CACHE_SIZE: 0,
}
_MAX_STACK = 512 << 10  # local memory per thread
_MIN_FIFO = 4 << 10


class Limits:
    """The sizes that `cudaDeviceSetLimit` sets, in bytes or counts; those in use by device code are fixed."""

    def __init__(self, spec: Gpu) -> None:
        self._sm = spec.sm
        self._values = dict(_DEFAULTS)
        self._fixed: set[Limit] = set()

    @property
    def stack(self) -> int:
        """Bytes of stack for each thread."""
        return self._values[Limit.STACK_SIZE]

    def use(self, limit: Limit) -> int:
        """The value, which can no longer change."""
        self._fixed.add(limit)
        return self._values[limit]

    def get(self, number: int) -> int:
        """A limit's value; error 215 when there is none of that number."""
        return self._values[self._known(number)]

    def set(self, number: int, value: int) -> None:
        """Change a limit; error 1 when the value is out of range or in use, 215 for an unknown number."""
        limit = self._known(number)
        if limit in self._fixed or (limit is Limit.STACK_SIZE and value > _MAX_STACK):
            raise CudaError(Error.INVALID_VALUE, f"{limit.name.lower()} cannot become {value} now")
        if limit is Limit.PRINTF_FIFO_SIZE:
            value = max(value, _MIN_FIFO)
        self._values[limit] = value

    def _known(self, number: int) -> Limit:
        if number not in _DEFAULTS or (number == Limit.DEV_RUNTIME_SYNC_DEPTH and self._sm.major >= 9):
            raise CudaError(Error.UNSUPPORTED_LIMIT)
        return Limit(number)


class DeviceSupport:
    """Everything is set up when the first module that needs it is loaded."""

    def __init__(self, space: AddressSpace, upload: Upload, limits: Limits) -> None:
        self._space = space
        self._upload = upload
        self._limits = limits
        self._slots_va = 0
        self._fifo = (0, 0)
        self._heap = (0, 0)

    def provide(self, names: Iterable[str]) -> None:
        """Make the named system calls work."""
        wanted = list(names)
        if not wanted:
            return
        changed = not self._slots_va
        if any(map(syscalls.needs_output, wanted)) and not self._fifo[0]:
            self._fifo = self._allocate(self._limits.use(Limit.PRINTF_FIFO_SIZE))
            header = output.empty_fifo()
            self._upload(self._fifo[0], header, len(header), "set up the output FIFO")
            changed = True
        if any(map(syscalls.needs_heap, wanted)) and not self._heap[0]:
            self._heap = self._allocate(self._limits.use(Limit.MALLOC_HEAP_SIZE))
            self._space.memory.set_heap(*self._heap)
            changed = True
        if changed:
            self._write_slots()

    @property
    def heap(self) -> tuple[int, int] | None:
        """(address, bytes) of the device heap once there is one."""
        return self._heap if self._heap[0] else None

    def drain(self) -> Output | None:
        """Output since the last time, None when there was none."""
        if not self._fifo[0]:
            return None
        found = output.drain(self._space.memory, self._fifo[0])
        return found if found.printed or found.failures or found.dropped else None

    def _write_slots(self) -> None:
        page = syscalls.page(self._fifo, self._heap)
        if not self._slots_va:
            self._slots_va = self._take(len(page), Kind.CODE)
        self._upload(self._slots_va, page, len(page), "set up system calls")

    def _take(self, size: int, kind: Kind) -> int:
        arena = self._space.calls if kind is Kind.CODE else self._space.modules
        allocation = self._space.allocate(size, kind, arena)
        if allocation is None:
            raise CudaError(Error.MEMORY_ALLOCATION, f"no room for {size} bytes of device support memory")
        return allocation.va

    def _allocate(self, size: int) -> tuple[int, int]:
        return self._take(size, Kind.DEVICE), size
