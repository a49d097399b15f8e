"""Allocations: device, pinned, managed and stream-ordered memory, and what a pointer points to."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.driver.memory import Pointer, PointerType
from warpath.host.dispatch import entry
from warpath.host.layout import enum

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

_DEVICE = 0


@entry("cudaMalloc", "cuMemAlloc_v2")
def malloc(call: Call, pointer: int, size: int) -> None:
    """Device memory. The driver API refuses a size of 0."""
    if size == 0 and call.library == 0:
        raise CudaError(Error.INVALID_VALUE, "cuMemAlloc of 0 bytes")
    call.driver.host.spend(call.driver.host.path.malloc_call_ns)
    call.out(pointer, "Q", call.driver.memory_manager.malloc(size))


@entry("cudaFree", "cuMemFree_v2")
def free(call: Call, va: int) -> None:
    """Device or managed memory; waits for all work first."""
    call.driver.check()
    call.driver.memory_manager.free(va)
    call.driver.host.spend(call.driver.host.path.free_call_ns)


@entry("cudaMallocPitch")
def malloc_pitch(call: Call, pointer: int, pitch: int, width: int, height: int) -> None:
    """Rows padded so that each starts aligned."""
    va, step = call.driver.memory_manager.malloc_pitch(width, height)
    call.out(pointer, "Q", va)
    call.out(pitch, "Q", step)


@entry("cuMemAllocPitch_v2")
def driver_malloc_pitch(call: Call, pointer: int, pitch: int, width: int, height: int, element: int) -> None:
    """The same with the size of an access, which must be 4, 8 or 16."""
    if element not in (4, 8, 16):
        raise CudaError(Error.INVALID_VALUE, f"element size {element} is not 4, 8 or 16")
    malloc_pitch(call, pointer, pitch, width, height)


@entry("cudaMalloc3D")
def malloc_3d(call: Call, pointer: int, extent: bytes) -> None:
    """Rows and slices padded; the pitched pointer tells how."""
    width, height, depth = struct.unpack("<3Q", extent)
    va, step = call.driver.memory_manager.malloc_pitch(width, height, depth)
    call.out_struct(pointer, "cudaPitchedPtr", {"ptr": va, "pitch": step, "xsize": width, "ysize": height})


@entry("cudaMallocHost", "cuMemAllocHost_v2")
def malloc_host(call: Call, pointer: int, size: int) -> None:
    """Pinned memory at one address for program and GPU."""
    call.out(pointer, "Q", call.driver.memory_manager.malloc_host(size))


@entry("cudaHostAlloc", "cuMemHostAlloc")
def host_alloc(call: Call, pointer: int, size: int, _flags: int) -> None:
    """The same; portable, mapped and write-combined make no difference in the model."""
    call.out(pointer, "Q", call.driver.memory_manager.malloc_host(size))


@entry("cudaFreeHost", "cuMemFreeHost")
def free_host(call: Call, va: int) -> None:
    """Pinned memory."""
    call.driver.memory_manager.host_free(va)


@entry("cudaMallocManaged", "cuMemAllocManaged")
def malloc_managed(call: Call, pointer: int, size: int, flags: int) -> None:
    """Managed memory; `flags` say to what it is attached at first (1 global, 2 host, 4 single)."""
    if flags not in (1, 2, 4):
        raise CudaError(Error.INVALID_VALUE, f"attach flags {flags:#x}")
    call.out(pointer, "Q", call.driver.memory_manager.malloc_managed(size))


@entry("cudaHostRegister", "cuMemHostRegister_v2")
def host_register(call: Call, va: int, size: int, _flags: int) -> None:
    """Page-lock program memory. Copies from it are staged as before; kernels cannot reach it."""
    call.driver.memory_manager.register_host(va, size)


@entry("cudaHostUnregister", "cuMemHostUnregister")
def host_unregister(call: Call, va: int) -> None:
    """Undo it."""
    call.driver.memory_manager.unregister_host(va)


@entry("cudaHostGetDevicePointer", "cuMemHostGetDevicePointer_v2")
def host_get_device_pointer(call: Call, pointer: int, va: int, _flags: int) -> None:
    """Pinned memory has one address on both sides; registered memory has none on the device: error 801."""
    found = call.driver.memory_manager.classify(va)
    if found.type is not PointerType.HOST:
        raise CudaError(Error.INVALID_VALUE, f"{va:#x} is not pinned memory")
    if not found.visible:
        raise CudaError(
            Error.NOT_SUPPORTED, "memory pinned with cudaHostRegister is not mapped to the model GPU"
        )
    call.out(pointer, "Q", va)


@entry("cudaHostGetFlags", "cuMemHostGetFlags")
def host_get_flags(call: Call, pointer: int, va: int) -> None:
    """Portable and mapped."""
    if call.driver.memory_manager.classify(va).type is not PointerType.HOST:
        raise CudaError(Error.INVALID_VALUE, f"{va:#x} is not pinned memory")
    call.out(pointer, "I", 3)


@entry("cudaMemGetInfo", "cuMemGetInfo_v2")
def mem_get_info(call: Call, free_bytes: int, total_bytes: int) -> None:
    """Free and total bytes of the board."""
    free_now, total = call.driver.memory_manager.info()
    call.out(free_bytes, "Q", free_now)
    call.out(total_bytes, "Q", total)


@entry("cudaPointerGetAttributes")
def pointer_get_attributes(call: Call, pointer: int, va: int) -> None:
    """Kind of memory; ordinary program memory is unregistered and no error."""
    found = call.driver.memory_manager.classify(va)
    on_device = found.type in (PointerType.DEVICE, PointerType.MANAGED)
    values = {
        "type": int(found.type),
        "device": -2 if found.type is PointerType.UNREGISTERED else _DEVICE,
        "devicePointer": va if found.visible else 0,
        "hostPointer": va if not on_device or found.type is PointerType.MANAGED else 0,
    }
    call.out_struct(pointer, "cudaPointerAttributes", values)


# Formats of the driver API's pointer attributes, by number.
_ATTRIBUTE_FORMATS = {
    1: "Q",
    2: "I",
    3: "Q",
    4: "Q",
    6: "I",
    7: "Q",
    8: "I",
    9: "i",
    10: "I",
    11: "Q",
    12: "Q",
    13: "I",
}
_CU_HOST, _CU_DEVICE = 1, 2


def _pointer_attribute(call: Call, found: Pointer, attribute: int) -> int:
    """One attribute of memory that CUDA knows."""
    ids = enum("CUpointer_attribute")
    allocation = found.allocation
    on_device = found.type in (PointerType.DEVICE, PointerType.MANAGED)
    values = {
        "CONTEXT": call.runtime.contexts.primary,
        "MEMORY_TYPE": _CU_DEVICE if on_device else _CU_HOST,
        "DEVICE_POINTER": found.va if found.visible else 0,
        "HOST_POINTER": 0 if found.type is PointerType.DEVICE else found.va,
        "SYNC_MEMOPS": 0,
        "BUFFER_ID": allocation.serial if allocation else 0,
        "IS_MANAGED": int(found.type is PointerType.MANAGED),
        "DEVICE_ORDINAL": _DEVICE,
        "IS_LEGACY_CUDA_IPC_CAPABLE": 0,
        "RANGE_START_ADDR": allocation.va if allocation else found.va,
        "RANGE_SIZE": allocation.size if allocation else 0,
        "MAPPED": int(found.visible),
    }
    for name, value in values.items():
        if ids[f"CU_POINTER_ATTRIBUTE_{name}"] == attribute:
            return value
    raise CudaError(Error.NOT_SUPPORTED, f"pointer attribute {attribute} is not supported")


@entry("cuPointerGetAttribute")
def driver_pointer_get_attribute(call: Call, pointer: int, attribute: int, va: int) -> None:
    """One attribute; error 1 for memory that CUDA does not know."""
    found = call.driver.memory_manager.classify(va)
    if found.type is PointerType.UNREGISTERED:
        raise CudaError(Error.INVALID_VALUE, f"{va:#x} is not memory that CUDA knows")
    call.out(pointer, _ATTRIBUTE_FORMATS.get(attribute, "Q"), _pointer_attribute(call, found, attribute))


@entry("cuPointerGetAttributes")
def driver_pointer_get_attributes(call: Call, count: int, attributes: int, pointers: int, va: int) -> None:
    """Several at once; memory that CUDA does not know has zeros and is no error."""
    found = call.driver.memory_manager.classify(va)
    if not 0 < count <= len(enum("CUpointer_attribute")):
        raise CudaError(Error.INVALID_VALUE, f"{count} pointer attributes")
    wanted, places = call.take(attributes, f"{count}i"), call.take(pointers, f"{count}Q")
    for attribute, place in zip(wanted, places, strict=True):
        known = found.type is not PointerType.UNREGISTERED
        value = _pointer_attribute(call, found, attribute) if known else 0
        call.out(place, _ATTRIBUTE_FORMATS.get(attribute, "Q"), value)


@entry("cuMemGetAddressRange_v2")
def mem_get_address_range(call: Call, base: int, size: int, va: int) -> None:
    """The allocation that a pointer lies in; either result may be left out."""
    found = call.driver.memory_manager.classify(va)
    if found.allocation is None:
        raise CudaError(Error.INVALID_VALUE, f"{va:#x} lies in no allocation")
    call.out_if(base, "Q", found.allocation.va)
    call.out_if(size, "Q", found.allocation.size)


# Hints about managed memory: accepted where they make sense, without effect on the model.


def _need_managed(call: Call, va: int, size: int) -> None:
    call.driver.memory_manager.device_range(va, size)


@entry("cudaMemPrefetchAsync", "cuMemPrefetchAsync", "cudaMemPrefetchAsync_v2", "cuMemPrefetchAsync_v2")
def mem_prefetch(call: Call, va: int, size: int, *_where: object) -> None:
    """Move managed memory ahead of its use."""
    _need_managed(call, va, size)


@entry("cudaMemAdvise", "cuMemAdvise", "cudaMemAdvise_v2", "cuMemAdvise_v2")
def mem_advise(call: Call, va: int, size: int, *_advice: object) -> None:
    """Say how managed memory will be used."""
    _need_managed(call, va, size)


@entry("cudaStreamAttachMemAsync", "cuStreamAttachMemAsync")
def stream_attach_memory(call: Call, stream: int, va: int, _size: int, _flags: int) -> None:
    """Tie managed memory to a stream."""
    call.stream(stream)
    if call.driver.memory_manager.classify(va).type is not PointerType.MANAGED:
        raise CudaError(Error.INVALID_VALUE, f"{va:#x} is not managed memory")


@entry("cudaCreateChannelDesc", context=False)
def create_channel_desc(call: Call, pointer: int, x: int, y: int, z: int, w: int, kind: int) -> None:
    """The `cudaChannelFormatDesc` with these members; `pointer` is where the function's result goes."""
    call.out(pointer, "5i", x, y, z, w, kind)
