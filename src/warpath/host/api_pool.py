"""Stream-ordered allocation and its memory pools.

The model allocates at once and frees when the stream has arrived, which is one of the orders the API allows.
Memory freed in stream order stays readable to work given to the stream before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.host.api_device import check_device
from warpath.host.dispatch import entry
from warpath.host.layout import enum

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

_PREFIX = "cudaMemPool"
_FLAGS = {
    "ReuseFollowEventDependencies": 1,
    "ReuseAllowOpportunistic": 1,
    "ReuseAllowInternalDependencies": 1,
}
_PINNED, _READ_WRITE = 1, 3


@dataclass(eq=False)
class Pool:
    """What is allocated from a pool: address -> bytes, and the most there has been."""

    live: dict[int, int] = field(default_factory=dict[int, int])
    high: int = 0
    threshold: int = 0
    flags: dict[str, int] = field(default_factory=lambda: dict(_FLAGS))

    @property
    def used(self) -> int:
        """Bytes allocated now."""
        return sum(self.live.values())


def _pool(call: Call, handle: int) -> Pool:
    return call.runtime.handles.get(handle, Pool)


def _allocate(call: Call, pointer: int, size: int, pool: Pool, stream: int) -> None:
    call.stream(stream)
    call.driver.check()
    va = call.driver.memory_manager.malloc(size)
    if va:
        pool.live[va] = size
        pool.high = max(pool.high, pool.used)
    call.out(pointer, "Q", va)


@entry("cudaMallocAsync", "cuMemAllocAsync")
def malloc_async(call: Call, pointer: int, size: int, stream: int) -> None:
    """From the current pool."""
    _allocate(call, pointer, size, call.runtime.pool, stream)


@entry("cudaMallocFromPoolAsync", "cuMemAllocFromPoolAsync")
def malloc_from_pool_async(call: Call, pointer: int, size: int, handle: int, stream: int) -> None:
    """From a given pool."""
    _allocate(call, pointer, size, _pool(call, handle), stream)


@entry("cudaFreeAsync", "cuMemFreeAsync")
def free_async(call: Call, va: int, stream: int) -> None:
    """Free once the stream gets here."""
    if va == 0:
        return
    target = call.stream(stream)
    call.driver.check()
    call.driver.forbid_capture(target)
    call.driver.memory_manager.free_after(va, call.driver.streams.dependencies(target))
    for pool in [call.runtime.pool, *(pool for _, pool in call.runtime.handles.all(Pool))]:
        pool.live.pop(va, None)


@entry("cudaDeviceGetDefaultMemPool", "cuDeviceGetDefaultMemPool")
def get_default_pool(call: Call, pointer: int, device: int) -> None:
    """The pool that exists from the start."""
    check_device(device)
    call.out(pointer, "Q", call.runtime.handles.put(call.runtime.default_pool))


@entry("cudaDeviceGetMemPool", "cuDeviceGetMemPool")
def get_pool(call: Call, pointer: int, device: int) -> None:
    """The pool in use."""
    check_device(device)
    call.out(pointer, "Q", call.runtime.handles.put(call.runtime.pool))


@entry("cudaDeviceSetMemPool", "cuDeviceSetMemPool")
def set_pool(call: Call, device: int, handle: int) -> None:
    """Choose the pool in use."""
    check_device(device)
    call.runtime.pool = _pool(call, handle)


@entry("cudaMemPoolCreate", "cuMemPoolCreate")
def pool_create(call: Call, pointer: int, properties: int) -> None:
    """A pool of pinned device memory; error 801 for shared or host pools."""
    values = call.take_struct(properties, "cudaMemPoolProps")
    if values["allocType"] != _PINNED:
        raise CudaError(Error.INVALID_VALUE, f"allocation type {values['allocType']}")
    if values["location.type"] != 1 or values["handleTypes"]:
        raise CudaError(Error.NOT_SUPPORTED, "only pools of device memory that is not shared are supported")
    call.out(pointer, "Q", call.runtime.handles.put(Pool()))


@entry("cudaMemPoolDestroy", "cuMemPoolDestroy")
def pool_destroy(call: Call, handle: int) -> None:
    """Its memory stays allocated until freed."""
    pool = _pool(call, handle)
    if pool is call.runtime.default_pool:
        raise CudaError(Error.INVALID_VALUE, "the default pool cannot be destroyed")
    if pool is call.runtime.pool:
        call.runtime.pool = call.runtime.default_pool
    call.runtime.handles.drop(handle)


@entry("cudaMemPoolTrimTo", "cuMemPoolTrimTo")
def pool_trim(call: Call, handle: int, _keep: int) -> None:
    """The model keeps nothing in reserve."""
    _pool(call, handle)


def _attribute(attribute: int) -> str:
    for name, number in enum("cudaMemPoolAttr").items():
        if number == attribute:
            return name.removeprefix(_PREFIX)
    raise CudaError(Error.INVALID_VALUE, f"pool attribute {attribute} is not known")


@entry("cudaMemPoolGetAttribute", "cuMemPoolGetAttribute")
def pool_get_attribute(call: Call, handle: int, attribute: int, pointer: int) -> None:
    """Switches are 32 bits wide, sizes 64."""
    pool, name = _pool(call, handle), _attribute(attribute)
    sizes = {
        "AttrReleaseThreshold": pool.threshold,
        "AttrReservedMemCurrent": pool.used,
        "AttrReservedMemHigh": pool.high,
        "AttrUsedMemCurrent": pool.used,
        "AttrUsedMemHigh": pool.high,
    }
    if name in pool.flags:
        call.out(pointer, "i", pool.flags[name])
    elif name in sizes:
        call.out(pointer, "Q", sizes[name])
    else:
        raise CudaError(Error.NOT_SUPPORTED, f"pool attribute {name} is not supported")


@entry("cudaMemPoolSetAttribute", "cuMemPoolSetAttribute")
def pool_set_attribute(call: Call, handle: int, attribute: int, pointer: int) -> None:
    """Switches and the release threshold; high-water marks can be set back to 0."""
    pool, name = _pool(call, handle), _attribute(attribute)
    if name in pool.flags:
        (pool.flags[name],) = call.take(pointer, "i")
    elif name == "AttrReleaseThreshold":
        (pool.threshold,) = call.take(pointer, "Q")
    elif name in ("AttrReservedMemHigh", "AttrUsedMemHigh"):
        pool.high = pool.used
    else:
        raise CudaError(Error.INVALID_VALUE, f"pool attribute {name} cannot be set")


@entry("cudaMemPoolGetAccess", "cuMemPoolGetAccess")
def pool_get_access(call: Call, pointer: int, handle: int, _location: int) -> None:
    """The device reads and writes its own memory."""
    _pool(call, handle)
    call.out(pointer, "i", _READ_WRITE)


@entry("cudaMemPoolSetAccess", "cuMemPoolSetAccess")
def pool_set_access(call: Call, handle: int, _descriptors: int, _count: int) -> None:
    """There is no other device to give access to."""
    _pool(call, handle)
