"""Copies and fills: which engine moves the bytes, in what pieces, and when the host waits.

* Up to INLINE_BYTES from program memory travel inside the pushbuffer (inline-to-memory, compute channel).
* Larger ones are staged in pieces of 1 MiB and moved by the copy engine, as pageable memory must be.
* Pinned, managed and device memory are read and written by the copy engine directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

from warpath.driver.channel import Channel, Fence
from warpath.driver.error import CudaError, Error
from warpath.driver.memory import Pointer, PointerType
from warpath.driver.staging import PIECE_BYTES, Mover

if TYPE_CHECKING:
    from warpath.driver.stream import Stream
    from warpath.driver.submission import Submitter

INLINE_BYTES = 24 << 10  # where the real driver changes over (arXiv 2604.26889)
INLINE_FILL_BYTES = 1 << 10


class CopyKind(IntEnum):
    """`cudaMemcpyKind`."""

    HOST_TO_HOST = 0
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3
    DEFAULT = 4


@dataclass(frozen=True, slots=True)
class Rows:
    """`height` rows of `width` bytes each, at pitches of their own; a linear copy has one row."""

    dst: int
    src: int
    width: int
    height: int = 1
    dst_pitch: int = 0
    src_pitch: int = 0

    @property
    def bytes(self) -> int:
        """Bytes moved."""
        return self.width * self.height

    def span(self, pitch: int) -> int:
        """Bytes from the first to the last one touched on a side with that pitch."""
        return pitch * (self.height - 1) + self.width

    def flat(self) -> Rows:
        """The same as one row when both sides are dense."""
        if self.height == 1 or self.dst_pitch == self.src_pitch == self.width:
            return Rows(self.dst, self.src, self.bytes, 1, self.bytes, self.bytes)
        return self

    def pieces(self, limit: int) -> Iterator[Rows]:
        """Cut into parts of at most `limit` bytes: whole rows where they fit, else parts of a row."""
        if self.width <= limit:
            step = limit // self.width
            for row in range(0, self.height, step):
                yield self._part(row, 0, self.width, min(step, self.height - row))
            return
        for row in range(self.height):
            for column in range(0, self.width, limit):
                yield self._part(row, column, min(limit, self.width - column), 1)

    def _part(self, row: int, column: int, width: int, height: int) -> Rows:
        dst, src = self.dst + row * self.dst_pitch + column, self.src + row * self.src_pitch + column
        return replace(self, dst=dst, src=src, width=width, height=height)


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy as the program asked for it; `mover` reaches program memory when one side is pageable."""

    rows: Rows
    kind: CopyKind
    mover: Mover | None
    blocking: bool

    @property
    def label(self) -> str:
        """For the report."""
        return f"copy {self.rows.bytes} B {self.kind.name.lower().replace('_', ' ')}"

    def call_ns(self, driver: Submitter) -> int:
        """Host time of the call, without moving bytes to or from the staging buffers."""
        path = driver.host.path
        dst, src = self._sides(driver)
        if dst.type is src.type is PointerType.DEVICE:
            return path.device_copy_call_ns
        inline = dst.visible and not src.visible and self.rows.bytes <= INLINE_BYTES
        return path.small_call_ns if inline else path.copy_call_ns

    def check(self, driver: Submitter) -> None:
        """Error 1 when a side is not what the kind says or is too small."""
        self._sides(driver)

    def submit(self, driver: Submitter, stream: Stream) -> None:
        """Carry the copy out in stream order."""
        dst, src = self._sides(driver)
        rows = self.rows.flat()
        if dst.visible and src.visible:
            to_host = dst.type is PointerType.HOST and src.type is PointerType.DEVICE
            channel = driver.copy_out_channel if to_host else driver.copy_channel
            fence = _engine_copy(driver, stream, channel, rows, self.label)
            if self.blocking:
                driver.wait(fence)
        elif dst.visible:
            _copy_in(driver, stream, rows, self._reach(), self.label, self.blocking)
        elif src.visible:
            _copy_out(driver, stream, rows, self._reach(), self.label)
        else:
            driver.wait_for_stream(stream)
            _copy_on_host(driver, rows, self._reach())

    def _reach(self) -> Mover:
        if self.mover is None:
            raise CudaError(Error.INVALID_VALUE, "program memory cannot be reached from here")
        return self.mover

    def _sides(self, driver: Submitter) -> tuple[Pointer, Pointer]:
        rows = self.rows
        spans = (rows.span(rows.dst_pitch), rows.span(rows.src_pitch))
        on_device = (
            self.kind in (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_DEVICE),
            self.kind in (CopyKind.DEVICE_TO_HOST, CopyKind.DEVICE_TO_DEVICE),
        )
        sides: list[Pointer] = []
        for va, span, must in zip((rows.dst, rows.src), spans, on_device, strict=True):
            pointer = driver.memory_manager.classify(va)
            if must or pointer.visible:
                pointer = driver.memory_manager.device_range(va, span)
            sides.append(pointer)
        return sides[0], sides[1]


@dataclass(frozen=True, slots=True)
class Fill:
    """`cudaMemset` and `cuMemsetD*`: elements of 1, 2 or 4 bytes in rows at a pitch (bytes)."""

    va: int
    value: int
    element: int
    width: int  # elements in a row
    height: int = 1
    pitch: int = 0

    @property
    def label(self) -> str:
        """For the report."""
        return f"fill {self.width * self.element * self.height} B"

    def call_ns(self, driver: Submitter) -> int:
        """Host time of the call."""
        small = self.width * self.element * self.height <= INLINE_FILL_BYTES
        return driver.host.path.small_call_ns if small else driver.host.path.fill_call_ns

    def check(self, driver: Submitter) -> None:
        """Error 1 when the range is not memory that the device can reach, or not aligned to the element."""
        if self.element not in (1, 2, 4) or self.va % self.element:
            raise CudaError(
                Error.INVALID_VALUE, f"{self.va:#x} is not aligned to elements of {self.element} bytes"
            )
        row = self.width * self.element
        driver.memory_manager.device_range(self.va, (self.pitch or row) * (self.height - 1) + row)

    def submit(self, driver: Submitter, stream: Stream) -> None:
        """Carry the fill out in stream order."""
        row = self.width * self.element
        pitch = self.pitch or row
        dense = self.height == 1 or pitch == row
        if dense and row * self.height <= INLINE_FILL_BYTES:
            pattern = (self.value & ((1 << 8 * self.element) - 1)).to_bytes(self.element, "little")
            data = pattern * (self.width * self.height)
            segment = driver.segment(stream, stream.channel)
            segment.upload(self.va, data)
        else:
            channel = driver.copy_channel
            segment = driver.segment(stream, channel)
            width, height = (self.width * self.height, 1) if dense else (self.width, self.height)
            segment.fill(self.va, self.value, self.element, width, height, pitch)
        segment.submit(self.label)


def _engine_copy(driver: Submitter, stream: Stream, channel: Channel, rows: Rows, label: str) -> Fence:
    segment = driver.segment(stream, channel)
    segment.copy(rows.dst, rows.src, rows.width, rows.height, rows.dst_pitch, rows.src_pitch)
    return segment.submit(label)


def _copy_in(driver: Submitter, stream: Stream, rows: Rows, mover: Mover, label: str, blocking: bool) -> None:
    """Program memory to memory the device can reach."""
    fence: Fence | None = None
    for piece in rows.pieces(PIECE_BYTES):
        buffer = driver.staging_in.acquire()
        for row in range(piece.height):
            mover.copy_in(piece.src + row * piece.src_pitch, piece.width, buffer + row * piece.width)
        driver.host.move(piece.bytes, driver.host.path.staging_up_mbs)
        if rows.height == 1 and rows.width <= INLINE_BYTES:
            segment = driver.segment(stream, stream.channel)
            segment.upload(piece.dst, driver.memory.read(buffer, piece.width))
            fence = segment.submit(label)
        else:
            staged = replace(piece, src=buffer, src_pitch=piece.width)
            fence = _engine_copy(driver, stream, driver.copy_channel, staged, label)
            driver.staging_in.used_by(fence)
    if fence is not None and blocking:
        driver.wait(fence)


def _copy_out(driver: Submitter, stream: Stream, rows: Rows, mover: Mover, label: str) -> None:
    """Memory the device can reach to program memory; the host always waits, as it has to move the bytes."""
    waiting: tuple[Rows, int, Fence] | None = None
    for piece in rows.pieces(PIECE_BYTES):
        buffer = driver.staging_out.acquire()
        staged = replace(piece, dst=buffer, dst_pitch=piece.width)
        fence = _engine_copy(driver, stream, driver.copy_out_channel, staged, label)
        if waiting is not None:
            _deliver(driver, waiting, mover)
        waiting = (piece, buffer, fence)
    if waiting is not None:
        _deliver(driver, waiting, mover)


def _deliver(driver: Submitter, waiting: tuple[Rows, int, Fence], mover: Mover) -> None:
    piece, buffer, fence = waiting
    driver.wait(fence)
    for row in range(piece.height):
        mover.copy_out(buffer + row * piece.width, piece.width, piece.dst + row * piece.dst_pitch)
    driver.host.move(piece.bytes, driver.host.path.staging_down_mbs)


def _copy_on_host(driver: Submitter, rows: Rows, mover: Mover) -> None:
    """Program memory to program memory, through a staging buffer since only the program reaches both."""
    for piece in rows.pieces(PIECE_BYTES):
        buffer = driver.staging_in.acquire()
        for row in range(piece.height):
            mover.copy_in(piece.src + row * piece.src_pitch, piece.width, buffer)
            mover.copy_out(buffer, piece.width, piece.dst + row * piece.dst_pitch)
