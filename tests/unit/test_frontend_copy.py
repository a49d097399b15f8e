"""Copies, fills and inline uploads of the model GPU."""

from __future__ import annotations

import struct

import pytest

from tests.unit.frontend_fakes import Rig
from warpath.command import segments
from warpath.command.segments import COMPUTE, COPY, SegmentWriter, Semaphore
from warpath.errors import FormatError, UnsupportedError
from warpath.gpu import spec

SRC, DST = 0x7F0000000000, 0x7F0000100000
TOKEN = 0x10012
BYTES = bytes(range(256)) * 16


@pytest.fixture
def rig() -> Rig:
    rig = Rig(spec.load("h200"))
    rig.memory.alloc(SRC, 0x1000)
    rig.memory.alloc(DST, 0x1000)
    rig.memory.write(SRC, BYTES)
    rig.channel(TOKEN)
    return rig


def _writer(rig: Rig) -> SegmentWriter:
    writer = rig.writer()
    segments.bind(writer)
    return writer


def _run(rig: Rig, writer: SegmentWriter) -> None:
    rig.push(TOKEN, writer.to_bytes())
    rig.gpu.run()


def test_linear_copy_with_a_stamped_semaphore(rig: Rig) -> None:
    writer = _writer(rig)
    segments.copy(writer, SRC + 3, DST + 5, 100, Semaphore(DST + 0xF00, 0x5D))
    _run(rig, writer)
    assert rig.memory.read(DST, 106) == bytes(5) + BYTES[3:103] + b"\0"
    payload, zero, time = struct.unpack("<IIQ", rig.memory.read(DST + 0xF00, 16))
    assert (payload, zero, time) == (0x5D, 0, rig.gpu.time_ns)
    copy = rig.seen.copies[0]
    assert (copy.kind, copy.src, copy.dst, copy.bytes) == ("copy", SRC + 3, DST + 5, 100)


def test_two_dimensional_copy(rig: Rig) -> None:
    writer = _writer(rig)
    segments.copy_2d(writer, SRC, DST, 4, 3, 16, 8)
    segments.copy(writer, SRC, DST + 0x100, 1)  # LINE_COUNT stays 3, but this is one line
    _run(rig, writer)
    assert rig.memory.read(DST, 24) == b"".join(BYTES[16 * i : 16 * i + 4] + bytes(4) for i in range(3))
    assert rig.memory.read(DST + 0x100, 20) == bytes(20)


@pytest.mark.parametrize(("width", "value"), [(1, 0xAB), (2, 0xBEEF), (3, 0x123456), (4, 0xDEADBEEF)])
def test_fills_of_all_widths(rig: Rig, width: int, value: int) -> None:
    writer = _writer(rig)
    segments.fill(writer, DST + 4, value, 5, width=width)
    _run(rig, writer)
    assert rig.memory.read(DST, 4 + 5 * width + 1) == bytes(4) + value.to_bytes(width, "little") * 5 + b"\0"
    assert (rig.seen.copies[0].kind, rig.seen.copies[0].bytes) == ("fill", 5 * width)


def test_fill_of_several_lines(rig: Rig) -> None:
    writer = _writer(rig)
    segments.fill(writer, DST, 7, 2, width=1, height=3, pitch=4)
    _run(rig, writer)
    assert rig.memory.read(DST, 12) == b"\7\7\0\0" * 3


def test_remap_swizzles_and_keeps(rig: Rig) -> None:
    writer = _writer(rig)
    rig.memory.write(DST, b"\xee" * 12)
    fields = {"DST_X": 1, "DST_Y": 6, "DST_Z": 5, "NUM_SRC_COMPONENTS": 1, "NUM_DST_COMPONENTS": 2}
    writer.call(COPY, "SET_REMAP_CONST_B", 0x44)
    writer.call(COPY, "SET_REMAP_COMPONENTS", writer.flags(COPY, "SET_REMAP_COMPONENTS", **fields))
    writer.call(COPY, "OFFSET_IN_UPPER", SRC >> 32, SRC & 0xFFFFFFFF, DST >> 32, DST & 0xFFFFFFFF)
    writer.call(COPY, "LINE_LENGTH_IN", 3)
    flags = {"DATA_TRANSFER_TYPE": 1, "SRC_MEMORY_LAYOUT": 1, "DST_MEMORY_LAYOUT": 1, "REMAP_ENABLE": 1}
    writer.call(COPY, "LAUNCH_DMA", writer.flags(COPY, "LAUNCH_DMA", **flags))
    _run(rig, writer)
    assert rig.memory.read(DST, 12) == b"\x01\xee\x44\x03\xee\x44\x05\xee\x44" + b"\xee" * 3


def test_reducing_and_one_word_semaphores_of_the_copy_engine(rig: Rig) -> None:
    writer = _writer(rig)
    rig.memory.write(DST, struct.pack("<II", 40, 99))
    writer.call(COPY, "SET_SEMAPHORE_A", DST >> 32, DST & 0xFFFFFFFF, 2)
    flags = {"SEMAPHORE_TYPE": 1, "SEMAPHORE_REDUCTION": 5, "SEMAPHORE_REDUCTION_ENABLE": 1}
    writer.call(COPY, "LAUNCH_DMA", writer.flags(COPY, "LAUNCH_DMA", **flags))
    _run(rig, writer)
    assert rig.memory.read(DST, 8) == struct.pack("<II", 42, 99)


@pytest.mark.parametrize("field", ["SRC_TYPE", "DST_TYPE"])
def test_physical_copies_have_no_model(rig: Rig, field: str) -> None:
    writer = _writer(rig)
    flags = {"DATA_TRANSFER_TYPE": 2, "SRC_MEMORY_LAYOUT": 1, "DST_MEMORY_LAYOUT": 1, field: 1}
    writer.call(COPY, "LAUNCH_DMA", writer.flags(COPY, "LAUNCH_DMA", **flags))
    with pytest.raises(UnsupportedError, match=field):
        _run(rig, writer)


def test_block_linear_copies_have_no_model(rig: Rig) -> None:
    writer = _writer(rig)
    writer.call(COPY, "LAUNCH_DMA", 2)
    with pytest.raises(UnsupportedError, match="BLOCKLINEAR"):
        _run(rig, writer)


def test_inline_upload_of_odd_length(rig: Rig) -> None:
    writer = _writer(rig)
    segments.inline_upload(writer, DST + 1, b"abcde")
    _run(rig, writer)
    assert rig.memory.read(DST, 8) == b"\0abcde\0\0"
    assert rig.seen.copies[0].kind == "inline"


def test_inline_upload_with_a_semaphore(rig: Rig) -> None:
    writer = _writer(rig)
    writer.call(COMPUTE, "SET_I2M_SEMAPHORE_A", DST >> 32, (DST + 16) & 0xFFFFFFFF, 8)
    writer.call(COMPUTE, "LINE_LENGTH_IN", 4, 1, DST >> 32, DST & 0xFFFFFFFF)
    flags = {"DST_MEMORY_LAYOUT": 1, "COMPLETION_TYPE": 2, "SEMAPHORE_STRUCT_SIZE": 1}
    writer.call(COMPUTE, "LAUNCH_DMA", writer.flags(COMPUTE, "LAUNCH_DMA", **flags))
    writer.call(COMPUTE, "LOAD_INLINE_DATA", 0x11223344)
    _run(rig, writer)
    assert rig.memory.read(DST, 24) == bytes.fromhex("44332211") + bytes(12) + b"\x08" + bytes(7)


def test_inline_data_out_of_place(rig: Rig) -> None:
    writer = _writer(rig)
    writer.call(COMPUTE, "LOAD_INLINE_DATA", 1)
    with pytest.raises(FormatError, match="without a LAUNCH_DMA"):
        _run(rig, writer)
