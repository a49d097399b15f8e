"""Memory management: device, pinned and managed allocations, and what a pointer points to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from warpath.driver.address_space import AddressSpace, Allocation, Kind, align_up
from warpath.driver.channel import Fence
from warpath.driver.error import CudaError, Error

PITCH_ALIGNMENT = 512  # bytes; what cudaMallocPitch rounds rows up to


class PointerType(IntEnum):
    """`cudaMemoryType`."""

    UNREGISTERED = 0
    HOST = 1
    DEVICE = 2
    MANAGED = 3


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a pointer points: its type and, unless into ordinary program memory, the allocation."""

    va: int
    type: PointerType
    allocation: Allocation | None = None
    mapped: bool = False  # program memory that cudaHostRegister made known

    @property
    def visible(self) -> bool:
        """Whether the GPU can reach it."""
        return self.allocation is not None

    def room(self) -> int:
        """Bytes from the pointer to the end of its allocation."""
        if self.allocation is None:
            raise ValueError("program memory has no known end")
        return self.allocation.va + self.allocation.size - self.va


class MemoryManager:
    """cudaMalloc and its relatives.

    `check` raises when the context is unusable; `synchronize` also waits for all work, as freeing memory does.
    """

    def __init__(
        self, space: AddressSpace, check: Callable[[], None], synchronize: Callable[[], None]
    ) -> None:
        self._space = space
        self._check = check
        self._synchronize = synchronize
        self._registered: dict[int, int] = {}  # start -> size of pageable ranges made known to CUDA
        self._leaving: dict[int, Sequence[Fence]] = {}  # freed in stream order: gone when the fences are done

    def malloc(self, size: int) -> int:
        """Device memory, at least 256-byte aligned; error 2 when the board is full. Size 0 gives a null
        pointer.
        """
        return self._allocate(size, Kind.DEVICE, "device memory")

    def malloc_pitch(self, width: int, height: int, depth: int = 1) -> tuple[int, int]:
        """(address, pitch in bytes) of a pitched allocation of `height * depth` rows of `width` bytes."""
        pitch = align_up(max(width, 1), PITCH_ALIGNMENT)
        return self.malloc(pitch * height * depth), pitch

    def malloc_host(self, size: int) -> int:
        """Pinned host memory at an address that program and GPU share."""
        return self._allocate(size, Kind.HOST, "pinned host memory")

    def malloc_managed(self, size: int) -> int:
        """Managed memory; the model keeps it in the host arena, at an address that program and GPU share."""
        if size == 0:
            raise CudaError(Error.INVALID_VALUE, "managed allocations cannot be empty")
        return self._allocate(size, Kind.MANAGED, "managed memory")

    def free(self, va: int) -> None:
        """Free device or managed memory; error 1 for an address that no allocation starts at. Null is
        ignored.
        """
        self._release(va, (Kind.DEVICE, Kind.MANAGED))

    def free_after(self, va: int, fences: Sequence[Fence]) -> None:
        """Free device memory once `fences` are done; error 1 as for `free`. Does not wait."""
        self._check()
        self._owned(va, (Kind.DEVICE, Kind.MANAGED))
        self._leaving[va] = fences
        self.sweep()

    def host_free(self, va: int) -> None:
        """Free pinned memory; error 1 for an address that no allocation starts at. Null is ignored."""
        self._release(va, (Kind.HOST,))

    def register_host(self, va: int, size: int) -> None:
        """Make program memory known as page-locked; the model still stages copies from it."""
        self._check()
        if size == 0 or va == 0:
            raise CudaError(Error.INVALID_VALUE, "nothing to register")
        if any(start < va + size and va < start + length for start, length in self._registered.items()):
            raise CudaError(Error.HOST_MEMORY_ALREADY_REGISTERED)
        self._registered[va] = size

    def unregister_host(self, va: int) -> None:
        """Undo `register_host`; error 713 for an address that was not registered."""
        if self._registered.pop(va, None) is None:
            raise CudaError(Error.HOST_MEMORY_NOT_REGISTERED)

    def classify(self, va: int) -> Pointer:
        """What `va` points to."""
        allocation = self._space.find(va)
        types = {
            Kind.DEVICE: PointerType.DEVICE,
            Kind.HOST: PointerType.HOST,
            Kind.MANAGED: PointerType.MANAGED,
        }
        if allocation is not None and allocation.kind in types:
            return Pointer(va, types[allocation.kind], allocation)
        known = self.is_registered(va)
        return Pointer(va, PointerType.HOST if known else PointerType.UNREGISTERED, mapped=known)

    def is_registered(self, va: int) -> bool:
        """Whether `va` lies in program memory that `register_host` made known."""
        return any(start <= va < start + size for start, size in self._registered.items())

    def device_range(self, va: int, size: int) -> Pointer:
        """The pointer, checked to have `size` bytes the GPU can reach; error 1 otherwise."""
        pointer = self.classify(va)
        if not pointer.visible:
            raise CudaError(Error.INVALID_VALUE, f"{va:#x} is not memory that the device can reach")
        if size > pointer.room():
            raise CudaError(
                Error.INVALID_VALUE, f"{size} bytes at {va:#x} reach past the end of the allocation"
            )
        return pointer

    def info(self) -> tuple[int, int]:
        """(free, total) bytes of the board."""
        self.sweep()
        return self._space.free_bytes, self._space.board_bytes

    def _allocate(self, size: int, kind: Kind, what: str) -> int:
        self._check()
        if size == 0:
            return 0
        self.sweep()
        allocation = self._space.allocate(size, kind)
        if allocation is None and self._leaving:
            self._synchronize()
            self.sweep()
            allocation = self._space.allocate(size, kind)
        if allocation is None:
            free, total = self.info()
            raise CudaError(
                Error.MEMORY_ALLOCATION, f"{size} bytes of {what}: {free} of {total} bytes are free"
            )
        if self._space.watcher is not None:
            self._space.watcher.on_allocate(allocation)
        return allocation.va

    def _release(self, va: int, kinds: tuple[Kind, ...]) -> None:
        self._check()
        if va == 0:
            return
        self._synchronize()  # pending work may still use it
        self.sweep()
        self._owned(va, kinds)
        self._space.release(va)

    def _owned(self, va: int, kinds: tuple[Kind, ...]) -> None:
        allocation = self._space.find(va)
        if allocation is None or allocation.va != va or allocation.kind not in kinds or va in self._leaving:
            raise CudaError(
                Error.INVALID_VALUE, f"{va:#x} is not the start of a live allocation of this kind"
            )

    def sweep(self) -> None:
        """Let go of what was freed in stream order and is no longer used."""
        for va, fences in list(self._leaving.items()):
            if all(fence.done for fence in fences):
                del self._leaving[va]
                self._space.release(va)
