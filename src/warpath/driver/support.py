"""What device code needs from the driver beyond its own module: system call slots, the output FIFO, the heap."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from warpath.driver import output, syscalls
from warpath.driver.address_space import AddressSpace, Arena, Kind
from warpath.driver.error import CudaError, Error
from warpath.driver.output import Output

FIFO_BYTES = 1 << 20  # cudaLimitPrintfFifoSize
HEAP_BYTES = 8 << 20  # cudaLimitMallocHeapSize
_REGION_BYTES = 2 << 20

Upload = Callable[[int, bytes, int, str], object]


class DeviceSupport:
    """Everything is set up when the first module that needs it is loaded. Sizes can be changed only before that."""

    def __init__(self, space: AddressSpace, upload: Upload) -> None:
        self.fifo_bytes = FIFO_BYTES
        self.heap_bytes = HEAP_BYTES
        self._space = space
        self._upload = upload
        self._slots: Arena | None = None
        self._fifo_va = 0
        self._heap_va = 0

    def provide(self, names: Iterable[str]) -> None:
        """Make the named system calls work."""
        wanted = list(names)
        if not wanted:
            return
        changed = self._slots is None
        if any(map(syscalls.needs_output, wanted)) and not self._fifo_va:
            self._fifo_va = self._allocate(self.fifo_bytes)
            self._upload(self._fifo_va, output.empty_fifo(), len(output.empty_fifo()), "set up the output FIFO")
            changed = True
        if any(map(syscalls.needs_heap, wanted)) and not self._heap_va:
            self._heap_va = self._allocate(self.heap_bytes)
            changed = True
        if changed:
            self._write_slots()

    @property
    def heap(self) -> tuple[int, int] | None:
        """(address, bytes) of the device heap once there is one."""
        return (self._heap_va, self.heap_bytes) if self._heap_va else None

    def set_fifo_bytes(self, size: int) -> None:
        """Error 1 once the FIFO exists."""
        if self._fifo_va:
            raise CudaError(Error.INVALID_VALUE, "the output FIFO is already in use")
        self.fifo_bytes = size

    def set_heap_bytes(self, size: int) -> None:
        """Error 1 once the heap exists."""
        if self._heap_va:
            raise CudaError(Error.INVALID_VALUE, "the device heap is already in use")
        self.heap_bytes = size

    def drain(self) -> Output | None:
        """Output since the last time, None when there was none."""
        if not self._fifo_va:
            return None
        found = output.drain(self._space.memory, self._fifo_va)
        return found if found.printed or found.failures or found.dropped else None

    def _write_slots(self) -> None:
        fifo = (self._fifo_va, self.fifo_bytes if self._fifo_va else 0)
        heap = (self._heap_va, self.heap_bytes if self._heap_va else 0)
        page = syscalls.page(fifo, heap)
        if self._slots is None:
            self._slots = Arena(syscalls.BASE, _REGION_BYTES)
            self._space.memory.reserve(self._slots.base, self._slots.size)
            self._space.allocate(len(page), Kind.CODE, self._slots)
        self._upload(syscalls.BASE, page, len(page), "set up system calls")

    def _allocate(self, size: int) -> int:
        allocation = self._space.allocate(size, Kind.DEVICE, self._space.modules)
        if allocation is None:
            raise CudaError(Error.MEMORY_ALLOCATION, f"no room for {size} bytes of device support memory")
        return allocation.va
