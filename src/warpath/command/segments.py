"""Segments as the CUDA driver writes them, on top of the raw `Writer`: uploads, copies, fills, semaphores,
launches.

Order and values follow the H200 capture (driver 580.159.04); `docs/command-stream.md` shows the words.
Subchannel 1 carries the compute class, 4 the copy class, 0 the host's semaphores.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache

from warpath.command.classes import ClassTable, load_class
from warpath.command.methods import SET_OBJECT
from warpath.command.pushbuffer import Writer
from warpath.command.qmd import Qmd

HOST, COMPUTE, COPY = 0, 1, 4  # subchannels

MAX_INLINE_BYTES = 0x10000  # the driver uses a copy engine for more; 0xd600 bytes inline were seen
STAGED_COPY_BYTES = 1 << 20  # pageable copies go through pinned staging in pieces of this size

_QMD_POINTER_LIMIT = 1 << 40
_SCHEDULE = ("SEND_SIGNALING_PCAS2_B", {"PCAS_ACTION": 10})  # INVALIDATE_PREFETCH_COPY_SCHEDULE
_OLD_SCHEDULE = ("SEND_SIGNALING_PCAS_B", {"INVALIDATE": 1, "SCHEDULE": 1})  # up to Turing


@dataclass(frozen=True, slots=True)
class Classes:
    """Class ids of a chip: ring, compute and copy engine."""

    channel: int
    compute: int
    copy: int


class SegmentWriter(Writer):
    """A `Writer` that knows the classes of its channel and calls methods by name."""

    def __init__(self, classes: Classes) -> None:
        super().__init__()
        self.classes = classes
        self.tables: dict[int, ClassTable] = {
            HOST: load_class(classes.channel),
            COMPUTE: load_class(classes.compute),
            COPY: load_class(classes.copy),
        }

    def call(self, subchannel: int, name: str, *values: int) -> None:
        """Values to the method called `name` and its successors, as one increasing packet."""
        self.incr(subchannel, self.tables[subchannel].address(name), *values)

    def flags(self, subchannel: int, method: str, **fields: int) -> int:
        """The value of `method` with the named fields set."""
        return _flags(self.tables[subchannel].id, method, tuple(fields.items()))


@cache
def _flags(class_id: int, method: str, fields: tuple[tuple[str, int], ...]) -> int:
    return load_class(class_id).method(method).encode(**dict(fields))


@dataclass(frozen=True, slots=True)
class Semaphore:
    """A word in memory and what to write to it (or to wait for); `va` 4-byte aligned, 16 for four-word
    releases.
    """

    va: int
    payload: int


def _split(va: int) -> tuple[int, int]:
    return va >> 32, va & 0xFFFFFFFF


def bind(writer: SegmentWriter) -> None:
    """First words of a compute channel: bind the compute class to subchannel 1 and the copy class to 4."""
    _bind(writer, COMPUTE)
    writer.call(COMPUTE, "NO_OPERATION", 0)
    _bind(writer, COPY)


def bind_copy(writer: SegmentWriter) -> None:
    """First words of a copy channel."""
    _bind(writer, COPY)


def _bind(writer: SegmentWriter, subchannel: int) -> None:
    writer.incr(subchannel, SET_OBJECT, writer.tables[subchannel].id)


def compute_state(
    writer: SegmentWriter, *, shared_window: int, local_window: int, spa_version: int, qmd_number: int
) -> None:
    """State that the driver sets once: address windows (VAs), SPA version (major << 8 | minor), QMD version.

    `qmd_number` is major << 4 | minor of the QMD version this channel will use (0x40 for V04_00).
    """
    for letter, word in zip("AB", _split(shared_window), strict=True):
        writer.call(COMPUTE, f"SET_SHADER_SHARED_MEMORY_WINDOW_{letter}", word)
    writer.call(COMPUTE, "SET_SPA_VERSION", spa_version)
    if "SET_TEXTURE_HEADER_VERSION" in writer.tables[COMPUTE].by_name:  # since Hopper
        writer.call(COMPUTE, "SET_TEXTURE_HEADER_VERSION", 1)
    version = writer.flags(COMPUTE, "SET_QMD_VERSION", CURRENT=qmd_number, OLDEST_SUPPORTED=1)
    writer.call(COMPUTE, "SET_QMD_VERSION", version)
    for letter, word in zip("AB", _split(local_window), strict=True):
        writer.call(COMPUTE, f"SET_SHADER_LOCAL_MEMORY_WINDOW_{letter}", word)


def inline_upload(writer: SegmentWriter, va: int, data: bytes) -> None:
    """Write `data` to `va` from within the pushbuffer (inline-to-memory of the compute class)."""
    if not data:
        return
    writer.call(COMPUTE, "OFFSET_OUT_UPPER", *_split(va))
    writer.call(COMPUTE, "LINE_LENGTH_IN", len(data), 1)
    launch = writer.flags(COMPUTE, "LAUNCH_DMA", DST_MEMORY_LAYOUT=1, SYSMEMBAR_DISABLE=1)
    writer.call(COMPUTE, "LAUNCH_DMA", launch)
    padded = data + bytes(-len(data) % 4)
    words = struct.unpack(f"<{len(padded) // 4}I", padded)
    writer.nonincr(COMPUTE, writer.tables[COMPUTE].address("LOAD_INLINE_DATA"), words)


def invalidate_code(writer: SegmentWriter) -> None:
    """Drop cached instructions; follows every code upload, in a segment of its own."""
    value = writer.flags(COMPUTE, "INVALIDATE_SHADER_CACHES_NO_WFI", INSTRUCTION=1)
    writer.call(COMPUTE, "INVALIDATE_SHADER_CACHES_NO_WFI", value)


def invalidate_constants(writer: SegmentWriter) -> None:
    """Drop cached constants."""
    value = writer.flags(COMPUTE, "INVALIDATE_SHADER_CACHES_NO_WFI", CONSTANT=1)
    writer.call(COMPUTE, "INVALIDATE_SHADER_CACHES_NO_WFI", value)


def semaphore_release(writer: SegmentWriter, semaphore: Semaphore, *, flush: bool = True) -> None:
    """Report semaphore of the compute class: 16 bytes (payload, 0, timestamp) once all work before it has
    ended.
    """
    flags = writer.flags(COMPUTE, "SET_REPORT_SEMAPHORE_D", FLUSH_DISABLE=int(not flush))
    writer.call(COMPUTE, "SET_REPORT_SEMAPHORE_A", *_split(semaphore.va), semaphore.payload, flags)


def host_acquire(writer: SegmentWriter, semaphore: Semaphore) -> None:
    """Hold the channel until the word has reached the payload (circular >=, 32 bits), letting other
    channels run.
    """
    execute = writer.flags(HOST, "SEM_EXECUTE", OPERATION=3, ACQUIRE_SWITCH_TSG=1)
    _host_semaphore(writer, semaphore, execute)


def host_release(writer: SegmentWriter, semaphore: Semaphore) -> None:
    """Write the 4-byte payload from the host engine after the channel's earlier work has ended."""
    _host_semaphore(writer, semaphore, writer.flags(HOST, "SEM_EXECUTE", OPERATION=1, RELEASE_WFI=1))


def _host_semaphore(writer: SegmentWriter, semaphore: Semaphore, execute: int) -> None:
    upper, lower = _split(semaphore.va)
    writer.call(HOST, "SEM_ADDR_LO", lower, upper, semaphore.payload, 0, execute)


def copy(writer: SegmentWriter, src: int, dst: int, size: int, semaphore: Semaphore | None = None) -> None:
    """Copy `size` bytes with a copy engine, then release `semaphore`. The ranges may not overlap."""
    writer.call(COPY, "OFFSET_IN_UPPER", *_split(src), *_split(dst))
    writer.call(COPY, "LINE_LENGTH_IN", size)
    writer.call(COPY, "LAUNCH_DMA", _transfer(writer))
    if semaphore is not None:
        copy_release(writer, semaphore)


def copy_2d(
    writer: SegmentWriter,
    src: int,
    dst: int,
    width: int,
    height: int,
    src_pitch: int,
    dst_pitch: int,
    semaphore: Semaphore | None = None,
) -> None:
    """Copy `height` lines of `width` bytes; pitches in bytes."""
    writer.call(COPY, "OFFSET_IN_UPPER", *_split(src), *_split(dst), src_pitch, dst_pitch, width, height)
    writer.call(COPY, "LAUNCH_DMA", _transfer(writer, MULTI_LINE_ENABLE=1))
    if semaphore is not None:
        copy_release(writer, semaphore)


def fill(
    writer: SegmentWriter,
    dst: int,
    value: int,
    count: int,
    *,
    width: int = 4,
    height: int = 1,
    pitch: int = 0,
    semaphore: Semaphore | None = None,
) -> None:
    """Write `count` elements of `width` (1, 2 or 4) bytes, `height` lines `pitch` bytes apart, through the
    remap unit.
    """
    writer.call(COPY, "SET_REMAP_CONST_A", value)
    remap = writer.flags(COPY, "SET_REMAP_COMPONENTS", DST_X=4, COMPONENT_SIZE=width - 1)
    writer.call(COPY, "SET_REMAP_COMPONENTS", remap)
    if height > 1:
        writer.call(COPY, "PITCH_OUT", pitch)
    writer.call(COPY, "LINE_COUNT", height)
    writer.call(COPY, "OFFSET_OUT_UPPER", *_split(dst))
    writer.call(COPY, "LINE_LENGTH_IN", count)
    several = {"MULTI_LINE_ENABLE": 1} if height > 1 else {}
    writer.call(COPY, "LAUNCH_DMA", _transfer(writer, REMAP_ENABLE=1, FLUSH_ENABLE=1, **several))
    if semaphore is not None:
        copy_release(writer, semaphore)


def copy_release(writer: SegmentWriter, semaphore: Semaphore) -> None:
    """Release a 16-byte semaphore (payload, 0, timestamp) from the copy engine, after a flush."""
    writer.call(COPY, "SET_SEMAPHORE_A", *_split(semaphore.va), semaphore.payload)
    launch = writer.flags(COPY, "LAUNCH_DMA", FLUSH_ENABLE=1, SEMAPHORE_TYPE=2)
    writer.call(COPY, "LAUNCH_DMA", launch)


def _transfer(writer: SegmentWriter, **extra: int) -> int:
    flags = {"DATA_TRANSFER_TYPE": 2, "SRC_MEMORY_LAYOUT": 1, "DST_MEMORY_LAYOUT": 1, **extra}
    return writer.flags(COPY, "LAUNCH_DMA", **flags)


@dataclass(frozen=True, slots=True)
class LaunchSegment:
    """Everything one kernel launch puts in the pushbuffer.

    `constants` is bank 0 before the parameters and goes to `bank_va`; `params` follow at `bank_va +
    param_base`. `slot` is the 4-byte word that the QMD's release will overwrite; it is reset to its payload
    first. `report` is the channel's progress semaphore. The spacer, where the generation uses one, has its
    own address.
    """

    bank_va: int
    constants: bytes
    param_base: int
    params: bytes
    qmd: Qmd
    qmd_va: int
    report: Semaphore
    slot: Semaphore | None = None
    spacer: Qmd | None = None
    spacer_va: int = 0


def launch_pointer_form(writer: SegmentWriter, launch: LaunchSegment) -> None:
    """Launch by pointer (seen on GH100): QMDs are uploaded inline, then scheduled by a PCAS pair each."""
    _upload_bank(writer, launch)
    if launch.spacer is not None:
        inline_upload(writer, launch.spacer_va, launch.spacer.to_bytes())
        _send_pcas(writer, launch.spacer_va)
    inline_upload(writer, launch.qmd_va, launch.qmd.to_bytes())
    _reset_slot(writer, launch)
    _send_pcas(writer, launch.qmd_va)
    semaphore_release(writer, launch.report, flush=False)


def launch_inline_form(writer: SegmentWriter, launch: LaunchSegment) -> None:
    """Launch by LOAD_INLINE_QMD_DATA (seen on GA10x, AD10x, GB20x): the last dword stores the QMD and
    schedules it.
    """
    _upload_bank(writer, launch)
    if launch.spacer is not None:
        _load_inline_qmd(writer, launch.spacer_va, launch.spacer)
    _reset_slot(writer, launch)
    _load_inline_qmd(writer, launch.qmd_va, launch.qmd)
    semaphore_release(writer, launch.report, flush=False)


def _upload_bank(writer: SegmentWriter, launch: LaunchSegment) -> None:
    inline_upload(writer, launch.bank_va, launch.constants)
    inline_upload(writer, launch.bank_va + launch.param_base, launch.params)


def _reset_slot(writer: SegmentWriter, launch: LaunchSegment) -> None:
    if launch.slot is not None:
        inline_upload(writer, launch.slot.va, struct.pack("<I", launch.slot.payload))


def _check_qmd_va(va: int) -> None:
    if va & 0xFF or not 0 <= va < _QMD_POINTER_LIMIT:
        raise ValueError(f"QMD address {va:#x} is not a multiple of 256 below 2**40")


def _send_pcas(writer: SegmentWriter, qmd_va: int) -> None:
    _check_qmd_va(qmd_va)
    writer.call(COMPUTE, "SEND_PCAS_A", qmd_va >> 8)
    method, fields = _SCHEDULE if _SCHEDULE[0] in writer.tables[COMPUTE].by_name else _OLD_SCHEDULE
    writer.call(COMPUTE, method, writer.flags(COMPUTE, method, **fields))


def _load_inline_qmd(writer: SegmentWriter, qmd_va: int, qmd: Qmd) -> None:
    _check_qmd_va(qmd_va)
    data = qmd.to_bytes()
    words = struct.unpack(f"<{len(data) // 4}I", data)
    upper: dict[str, int] = {"QMD_ADDRESS_SHIFTED8_UPPER": qmd_va >> 40}
    if len(data) > 256:
        upper["INLINE_SIZE"] = 1
    first = writer.flags(COMPUTE, "SET_INLINE_QMD_ADDRESS_A", **upper)
    writer.call(COMPUTE, "SET_INLINE_QMD_ADDRESS_A", first, (qmd_va >> 8) & 0xFFFFFFFF, *words)
