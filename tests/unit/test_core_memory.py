from __future__ import annotations

import os
import struct

import pytest

from tests.unit.core_kit import BASE, new_memory
from warpath import _core

PAGE = 2 << 20


def test_bytes_round_trip_and_fresh_memory_is_zero() -> None:
    memory = new_memory()
    memory.alloc(BASE, 1000, 1)
    assert memory.read(BASE, 8) == bytes(8)
    memory.write(BASE + 3, b"abc")
    assert memory.read(BASE, 8) == b"\0\0\0abc\0\0"
    memory.copy(BASE + 4, BASE + 3, 3)
    assert memory.read(BASE + 3, 4) == b"aabc"


@pytest.mark.parametrize(
    ("value", "width", "expected"),
    [
        (0x12, 1, b"\x12" * 8),
        (0x1234, 2, b"\x34\x12" * 4),
        (0x1, 4, b"\1\0\0\0" * 2),
        (2, 8, struct.pack("<Q", 2)),
    ],
)
def test_fill(value: int, width: int, expected: bytes) -> None:
    memory = new_memory()
    memory.alloc(BASE, 64, 1)
    memory.fill(BASE, value, 8, width)
    assert memory.read(BASE, 9) == expected + b"\0"


def test_fill_refuses_odd_widths_and_sizes() -> None:
    memory = new_memory()
    memory.alloc(BASE, 64, 1)
    with pytest.raises(ValueError, match="width"):
        memory.fill(BASE, 0, 6, 3)
    with pytest.raises(ValueError, match="multiple"):
        memory.fill(BASE, 0, 6, 4)


def test_pages_are_two_mebibytes() -> None:
    memory = new_memory()
    memory.alloc(BASE + 256, 16, 1)
    assert memory.read(BASE + PAGE - 1, 1) == b"\0"  # same page as the allocation
    with pytest.raises(_core.AccessError) as error:
        memory.read(BASE + PAGE - 1, 2)
    assert (error.value.address, error.value.size) == (BASE + PAGE - 1, 2)
    memory.alloc(BASE + PAGE, 16, 1)
    assert len(memory.read(BASE + PAGE - 1, 2)) == 2
    memory.free(BASE + PAGE)
    with pytest.raises(_core.AccessError):
        memory.read(BASE + PAGE, 1)


def test_extent_and_nearest_know_live_allocations() -> None:
    memory = new_memory()
    memory.alloc(BASE, 100, 1)
    memory.alloc(BASE + 512, 50, 2)
    assert memory.extent(BASE + 99) == (BASE, 100)
    assert memory.extent(BASE + 100) is None
    assert memory.nearest(BASE + 200) == [(BASE, 100, 1), (BASE + 512, 50, 2)]
    memory.free(BASE)
    assert memory.nearest(BASE + 200) == [(BASE + 512, 50, 2)]
    assert memory.allocations() == [(BASE + 512, 50, 2)]


def test_allocations_must_not_overlap_or_leave_their_region() -> None:
    memory = new_memory()
    memory.alloc(BASE, 100, 1)
    with pytest.raises(ValueError, match="overlaps"):
        memory.alloc(BASE + 99, 10, 1)
    with pytest.raises(ValueError, match="outside"):
        memory.alloc(BASE - PAGE, 10, 1)
    with pytest.raises(ValueError, match="no live"):
        memory.free(BASE + 1)
    with pytest.raises(ValueError, match="overlaps"):
        memory.reserve(BASE, PAGE)
    with pytest.raises(ValueError, match="2 MiB"):
        memory.reserve(BASE + (2 << 30), 4096)


def test_shared_region_is_the_file() -> None:
    fd = os.memfd_create("arena")
    os.ftruncate(fd, PAGE)
    memory = _core.Memory()
    memory.reserve(BASE, PAGE, fd)
    memory.alloc(BASE, 4096, 2)
    os.pwrite(fd, b"hello", 16)
    assert memory.read(BASE + 16, 5) == b"hello"
    memory.write(BASE, b"there")
    assert os.pread(fd, 5, 0) == b"there"
    os.close(fd)
    assert memory.read(BASE, 5) == b"there"


def test_view_is_writable_and_keeps_memory_alive() -> None:
    memory = new_memory()
    memory.alloc(BASE, 16, 1)
    view = memory.view(BASE, 16)
    view[0:2] = b"ok"
    assert memory.read(BASE, 2) == b"ok"
    del memory
    assert bytes(view[0:2]) == b"ok"
