"""Copies and fills, linear, 2D and 3D, in the runtime's and the driver's forms."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpath.driver.error import CudaError, Error
from warpath.driver.transfer import CopyKind
from warpath.host.dispatch import entry

if TYPE_CHECKING:
    from warpath.driver.stream import Stream
    from warpath.host.dispatch import Call


def copy_kind(kind: int) -> CopyKind:
    """`cudaMemcpyKind`; error 21 for a direction that does not exist."""
    try:
        return CopyKind(kind)
    except ValueError:
        raise CudaError(Error.INVALID_MEMCPY_DIRECTION, f"copy direction {kind}") from None


def _copy(call: Call, dst: int, src: int, size: int, kind: CopyKind, stream: Stream, blocking: bool) -> None:
    call.driver.memcpy(dst, src, size, kind, stream, call.mover, blocking=blocking)


@entry("cudaMemcpy")
def memcpy(call: Call, dst: int, src: int, size: int, kind: int) -> None:
    """Wait until the bytes are there."""
    _copy(call, dst, src, size, copy_kind(kind), call.stream(0), blocking=True)


@entry("cudaMemcpyAsync")
def memcpy_async(call: Call, dst: int, src: int, size: int, kind: int, stream: int) -> None:
    """Queue the copy; pageable memory is moved before the call returns."""
    _copy(call, dst, src, size, copy_kind(kind), call.stream(stream), blocking=False)


@entry("cudaMemcpyPeer")
def memcpy_peer(call: Call, dst: int, _dst_device: int, src: int, _src_device: int, size: int) -> None:
    """With one device: a copy inside it."""
    _copy(call, dst, src, size, CopyKind.DEVICE_TO_DEVICE, call.stream(0), blocking=True)


@entry("cudaMemcpyPeerAsync")
def memcpy_peer_async(
    call: Call, dst: int, _dst_device: int, src: int, _src_device: int, size: int, stream: int
) -> None:
    """The same in a stream."""
    _copy(call, dst, src, size, CopyKind.DEVICE_TO_DEVICE, call.stream(stream), blocking=False)


# Symbols


def _symbol_range(call: Call, symbol: int, offset: int, size: int) -> int:
    variable = call.driver.registry.variable(symbol)
    if offset + size > variable.size:
        raise CudaError(
            Error.INVALID_VALUE, f"{offset} + {size} bytes exceed {variable.name} ({variable.size} bytes)"
        )
    return variable.va + offset


@entry("cudaMemcpyToSymbol")
def memcpy_to_symbol(call: Call, symbol: int, src: int, size: int, offset: int, kind: int) -> None:
    """Into a `__device__` or `__constant__` variable."""
    _copy(
        call,
        _symbol_range(call, symbol, offset, size),
        src,
        size,
        copy_kind(kind),
        call.stream(0),
        blocking=True,
    )


@entry("cudaMemcpyToSymbolAsync")
def memcpy_to_symbol_async(
    call: Call, symbol: int, src: int, size: int, offset: int, kind: int, stream: int
) -> None:
    """The same in a stream."""
    target = _symbol_range(call, symbol, offset, size)
    _copy(call, target, src, size, copy_kind(kind), call.stream(stream), blocking=False)


@entry("cudaMemcpyFromSymbol")
def memcpy_from_symbol(call: Call, dst: int, symbol: int, size: int, offset: int, kind: int) -> None:
    """Out of a variable."""
    _copy(
        call,
        dst,
        _symbol_range(call, symbol, offset, size),
        size,
        copy_kind(kind),
        call.stream(0),
        blocking=True,
    )


@entry("cudaMemcpyFromSymbolAsync")
def memcpy_from_symbol_async(
    call: Call, dst: int, symbol: int, size: int, offset: int, kind: int, stream: int
) -> None:
    """The same in a stream."""
    source = _symbol_range(call, symbol, offset, size)
    _copy(call, dst, source, size, copy_kind(kind), call.stream(stream), blocking=False)


# The driver API's linear copies


@entry("cuMemcpy")
def driver_memcpy(call: Call, dst: int, src: int, size: int) -> None:
    """Any two addresses."""
    _copy(call, dst, src, size, CopyKind.DEFAULT, call.stream(0), blocking=True)


@entry("cuMemcpyAsync")
def driver_memcpy_async(call: Call, dst: int, src: int, size: int, stream: int) -> None:
    """The same in a stream."""
    _copy(call, dst, src, size, CopyKind.DEFAULT, call.stream(stream), blocking=False)


_DRIVER_KINDS = {
    "cuMemcpyHtoD": CopyKind.HOST_TO_DEVICE,
    "cuMemcpyDtoH": CopyKind.DEVICE_TO_HOST,
    "cuMemcpyDtoD": CopyKind.DEVICE_TO_DEVICE,
}


def _driver_kind(call: Call) -> CopyKind:
    return _DRIVER_KINDS[call.name.partition("Async")[0].partition("_")[0]]


@entry("cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2")
def driver_memcpy_kind(call: Call, dst: int, src: int, size: int) -> None:
    """The direction is in the name."""
    _copy(call, dst, src, size, _driver_kind(call), call.stream(0), blocking=True)


@entry("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2")
def driver_memcpy_kind_async(call: Call, dst: int, src: int, size: int, stream: int) -> None:
    """The same in a stream."""
    _copy(call, dst, src, size, _driver_kind(call), call.stream(stream), blocking=False)


# 2D and 3D


@dataclass(frozen=True, slots=True)
class Box:
    """`depth` slices of `height` rows of `width` bytes; pitches in bytes, slice heights in rows."""

    dst: int
    dst_pitch: int
    dst_rows: int
    src: int
    src_pitch: int
    src_rows: int
    width: int
    height: int
    depth: int
    kind: CopyKind

    def copy(self, call: Call, stream: Stream, blocking: bool) -> None:
        """Slice by slice, as a single one when slices follow each other without a gap."""
        dense = self.depth == 1 or self.dst_rows == self.src_rows == self.height
        slices = 1 if dense else self.depth
        rows = self.height * self.depth if dense else self.height
        for index in range(slices if self.depth else 0):
            call.driver.memcpy_2d(
                self.dst + index * self.dst_rows * self.dst_pitch,
                self.dst_pitch,
                self.src + index * self.src_rows * self.src_pitch,
                self.src_pitch,
                self.width,
                rows,
                self.kind,
                stream,
                call.mover,
                blocking=blocking,
            )


@entry("cudaMemcpy2D")
def memcpy_2d(
    call: Call, dst: int, dst_pitch: int, src: int, src_pitch: int, width: int, height: int, kind: int
) -> None:
    """Rows at pitches of their own."""
    _rows(call, dst, dst_pitch, src, src_pitch, width, height, kind, 0, blocking=True)


@entry("cudaMemcpy2DAsync")
def memcpy_2d_async(
    call: Call,
    dst: int,
    dst_pitch: int,
    src: int,
    src_pitch: int,
    width: int,
    height: int,
    kind: int,
    stream: int,
) -> None:
    """The same in a stream."""
    _rows(call, dst, dst_pitch, src, src_pitch, width, height, kind, stream, blocking=False)


def _rows(
    call: Call,
    dst: int,
    dst_pitch: int,
    src: int,
    src_pitch: int,
    width: int,
    height: int,
    kind: int,
    stream: int,
    *,
    blocking: bool,
) -> None:
    box = Box(dst, dst_pitch, height, src, src_pitch, height, width, height, 1, copy_kind(kind))
    box.copy(call, call.stream(stream), blocking)


def runtime_box(values: dict[str, Any]) -> Box:
    """From `cudaMemcpy3DParms`; error 801 for arrays."""
    if values["srcArray"] or values["dstArray"]:
        raise CudaError(Error.NOT_SUPPORTED, "CUDA arrays are not supported")

    def start(side: str) -> int:
        pitch, rows = values[f"{side}Ptr.pitch"], values[f"{side}Ptr.ysize"]
        x, y, z = (values[f"{side}Pos.{axis}"] for axis in "xyz")
        return values[f"{side}Ptr.ptr"] + (z * rows + y) * pitch + x

    width, height, depth = (values[f"extent.{name}"] for name in ("width", "height", "depth"))
    return Box(
        start("dst"),
        values["dstPtr.pitch"],
        values["dstPtr.ysize"] or height,
        start("src"),
        values["srcPtr.pitch"],
        values["srcPtr.ysize"] or height,
        width,
        height,
        depth,
        copy_kind(values["kind"]),
    )


@entry("cudaMemcpy3D")
def memcpy_3d(call: Call, parameters: int) -> None:
    """A box between pitched pointers."""
    runtime_box(call.take_struct(parameters, "cudaMemcpy3DParms")).copy(call, call.stream(0), blocking=True)


@entry("cudaMemcpy3DAsync")
def memcpy_3d_async(call: Call, parameters: int, stream: int) -> None:
    """The same in a stream."""
    runtime_box(call.take_struct(parameters, "cudaMemcpy3DParms")).copy(
        call, call.stream(stream), blocking=False
    )


_CU_HOST, _CU_DEVICE, _CU_ARRAY, _CU_UNIFIED = 1, 2, 3, 4


def driver_box(values: dict[str, Any]) -> Box:
    """From CUDA_MEMCPY2D or CUDA_MEMCPY3D; error 801 for arrays."""
    types = (values["dstMemoryType"], values["srcMemoryType"])
    if _CU_ARRAY in types:
        raise CudaError(Error.NOT_SUPPORTED, "CUDA arrays are not supported")
    if not all(_CU_HOST <= kind <= _CU_UNIFIED for kind in types):
        raise CudaError(Error.INVALID_VALUE, f"memory types {types}")
    kinds = {
        (_CU_DEVICE, _CU_HOST): CopyKind.HOST_TO_DEVICE,
        (_CU_HOST, _CU_DEVICE): CopyKind.DEVICE_TO_HOST,
        (_CU_DEVICE, _CU_DEVICE): CopyKind.DEVICE_TO_DEVICE,
    }
    width, height, depth = values["WidthInBytes"], values["Height"], values.get("Depth", 1)

    def side(name: str) -> tuple[int, int, int]:
        base = values[f"{name}Host"] if values[f"{name}MemoryType"] == _CU_HOST else values[f"{name}Device"]
        pitch, rows = values[f"{name}Pitch"] or width, values.get(f"{name}Height", 0) or height
        start = (values.get(f"{name}Z", 0) * rows + values[f"{name}Y"]) * pitch + values[f"{name}XInBytes"]
        return base + start, pitch, rows

    return Box(*side("dst"), *side("src"), width, height, depth, kinds.get(types, CopyKind.DEFAULT))


@entry("cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2")
def driver_memcpy_2d(call: Call, parameters: int) -> None:
    """A rectangle."""
    driver_box(call.take_struct(parameters, "CUDA_MEMCPY2D")).copy(call, call.stream(0), blocking=True)


@entry("cuMemcpy2DAsync_v2")
def driver_memcpy_2d_async(call: Call, parameters: int, stream: int) -> None:
    """The same in a stream."""
    driver_box(call.take_struct(parameters, "CUDA_MEMCPY2D")).copy(call, call.stream(stream), blocking=False)


@entry("cuMemcpy3D_v2")
def driver_memcpy_3d(call: Call, parameters: int) -> None:
    """A box."""
    driver_box(call.take_struct(parameters, "CUDA_MEMCPY3D")).copy(call, call.stream(0), blocking=True)


@entry("cuMemcpy3DAsync_v2")
def driver_memcpy_3d_async(call: Call, parameters: int, stream: int) -> None:
    """The same in a stream."""
    driver_box(call.take_struct(parameters, "CUDA_MEMCPY3D")).copy(call, call.stream(stream), blocking=False)


# Fills


@entry("cudaMemset")
def memset(call: Call, va: int, value: int, size: int) -> None:
    """Bytes; returns before it is done, as for device memory on hardware."""
    call.driver.memset(va, value, size, call.stream(0))


@entry("cudaMemsetAsync")
def memset_async(call: Call, va: int, value: int, size: int, stream: int) -> None:
    """The same in a stream."""
    call.driver.memset(va, value, size, call.stream(stream))


@entry("cudaMemset2D")
def memset_2d(call: Call, va: int, pitch: int, value: int, width: int, height: int) -> None:
    """Rows."""
    call.driver.memset(va, value, width, call.stream(0), height=height, pitch=pitch)


@entry("cudaMemset2DAsync")
def memset_2d_async(
    call: Call, va: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    """The same in a stream."""
    call.driver.memset(va, value, width, call.stream(stream), height=height, pitch=pitch)


def _memset_3d(call: Call, pitched: bytes, value: int, extent: bytes, stream: Stream) -> None:
    va, pitch, _, rows = struct.unpack("<4Q", pitched)
    width, height, depth = struct.unpack("<3Q", extent)
    for index in range(depth):
        call.driver.memset(va + index * pitch * rows, value, width, stream, height=height, pitch=pitch)


@entry("cudaMemset3D")
def memset_3d(call: Call, pitched: bytes, value: int, extent: bytes) -> None:
    """A box."""
    _memset_3d(call, pitched, value, extent, call.stream(0))


@entry("cudaMemset3DAsync")
def memset_3d_async(call: Call, pitched: bytes, value: int, extent: bytes, stream: int) -> None:
    """The same in a stream."""
    _memset_3d(call, pitched, value, extent, call.stream(stream))


def _element(call: Call) -> int:
    """Bytes of an element, from names such as cuMemsetD2D16Async."""
    digits = call.name.partition("Async")[0].partition("_")[0].rpartition("D")[2]
    return int(digits) // 8


@entry("cuMemsetD8_v2", "cuMemsetD16_v2", "cuMemsetD32_v2")
def driver_memset(call: Call, va: int, value: int, count: int) -> None:
    """Elements of 1, 2 or 4 bytes."""
    call.driver.memset(va, value, count, call.stream(0), element=_element(call))


@entry("cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async")
def driver_memset_async(call: Call, va: int, value: int, count: int, stream: int) -> None:
    """The same in a stream."""
    call.driver.memset(va, value, count, call.stream(stream), element=_element(call))


@entry("cuMemsetD2D8_v2", "cuMemsetD2D16_v2", "cuMemsetD2D32_v2")
def driver_memset_2d(call: Call, va: int, pitch: int, value: int, width: int, height: int) -> None:
    """Rows of elements."""
    call.driver.memset(va, value, width, call.stream(0), element=_element(call), height=height, pitch=pitch)


@entry("cuMemsetD2D8Async", "cuMemsetD2D16Async", "cuMemsetD2D32Async")
def driver_memset_2d_async(
    call: Call, va: int, pitch: int, value: int, width: int, height: int, stream: int
) -> None:
    """The same in a stream."""
    call.driver.memset(
        va, value, width, call.stream(stream), element=_element(call), height=height, pitch=pitch
    )
