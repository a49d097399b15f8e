"""Copies and fills end with the right bytes, whatever lies where, and take the way the real driver takes."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.driver.conftest import Machine
from warpath.driver.error import CudaError, Error
from warpath.driver.memory import PointerType
from warpath.driver.transfer import INLINE_BYTES, CopyKind

HOST = 0x5555_0000_0000
TO_DEVICE, TO_HOST, ON_DEVICE, DEFAULT = (
    CopyKind.HOST_TO_DEVICE,
    CopyKind.DEVICE_TO_HOST,
    CopyKind.DEVICE_TO_DEVICE,
    CopyKind.DEFAULT,
)


@pytest.mark.parametrize("size", [1, 3, 4, 1000, INLINE_BYTES, INLINE_BYTES + 1, (1 << 20) + 5, 5 << 20])
def test_round_trip_of_pageable_memory(machine: Callable[..., Machine], size: int) -> None:
    m = machine()
    data = random.Random(size).randbytes(size)
    m.program.own.write(HOST, data)
    va = m.driver.memory_manager.malloc(size)
    other = m.driver.memory_manager.malloc(size)
    m.driver.memcpy(va, HOST, size, TO_DEVICE, mover=m.program)
    assert m.memory.read(va, size) == data
    m.driver.memcpy(other, va, size, ON_DEVICE)
    m.driver.memcpy(HOST + (1 << 30), other, size, TO_HOST, mover=m.program)
    assert m.program.own.read(HOST + (1 << 30), size) == data


def test_small_copies_travel_inline_and_large_ones_in_staged_pieces(machine: Callable[..., Machine]) -> None:
    m = machine()
    va = m.driver.memory_manager.malloc(4 << 20)
    m.driver.memcpy(va, HOST, INLINE_BYTES, TO_DEVICE, mover=m.program)
    assert m.driver.journal.submissions[-1].channel == "compute 0"
    before = m.driver.journal.submitted
    m.driver.memcpy(va, HOST, 4 << 20, TO_DEVICE, mover=m.program)
    pieces = [s for s in m.driver.journal.submissions[before:] if s.what.startswith("copy")]
    assert [(s.channel, s.dwords) for s in pieces] == [("copy to device", 15)] * 4  # as captured


def test_pinned_and_managed_memory_need_no_staging(machine: Callable[..., Machine]) -> None:
    m = machine()
    manager = m.driver.memory_manager
    size = 4 << 20
    device, pinned, managed = manager.malloc(size), manager.malloc_host(size), manager.malloc_managed(size)
    m.memory.write(pinned, b"p" * size)
    for dst, src in ((device, pinned), (managed, device)):
        before = m.driver.journal.submitted
        m.driver.memcpy(dst, src, size, DEFAULT)
        assert m.driver.journal.submitted - before <= 2  # one copy, and the channel's set-up
        assert m.memory.read(dst, size) == b"p" * size


def test_host_to_host(machine: Callable[..., Machine]) -> None:
    m = machine()
    m.program.own.write(HOST, b"hello")
    m.driver.memcpy(HOST + 4096, HOST, 5, CopyKind.HOST_TO_HOST, mover=m.program)
    assert m.program.own.read(HOST + 4096, 5) == b"hello"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    width=st.integers(1, 3000),
    height=st.integers(1, 40),
    gaps=st.tuples(st.integers(0, 64), st.integers(0, 64)),
    device_first=st.booleans(),
)
def test_rows_at_pitches(
    machine: Callable[..., Machine], width: int, height: int, gaps: tuple[int, int], device_first: bool
) -> None:
    m = machine()
    dst_pitch, src_pitch = width + gaps[0], width + gaps[1]
    rows = [random.Random(row).randbytes(width) for row in range(height)]
    device = m.driver.memory_manager.malloc(max(dst_pitch, src_pitch) * height)
    mirror = device if device_first else HOST
    (m.memory if device_first else m.program.own).write(mirror, b"\xee" * (src_pitch * height))
    for row, data in enumerate(rows):
        (m.memory if device_first else m.program.own).write(mirror + row * src_pitch, data)
    dst = HOST + (1 << 30) if device_first else device
    kind = TO_HOST if device_first else TO_DEVICE
    target = m.program.own if device_first else m.memory
    target.write(dst, b"\xdd" * (dst_pitch * height))
    m.driver.memcpy_2d(dst, dst_pitch, mirror, src_pitch, width, height, kind, mover=m.program)
    for row, data in enumerate(rows):
        assert target.read(dst + row * dst_pitch, width) == data
        if row < height - 1:
            assert target.read(dst + row * dst_pitch + width, gaps[0]) == b"\xdd" * gaps[0]


@pytest.mark.parametrize(("element", "value"), [(1, 0xAB), (2, 0xABCD), (4, 0x12345678)])
@pytest.mark.parametrize("count", [1, 7, 200, 5000])
def test_fill(machine: Callable[..., Machine], element: int, value: int, count: int) -> None:
    m = machine()
    va = m.driver.memory_manager.malloc(count * element + 4)
    m.driver.memset(va, value, count, element=element)
    m.driver.synchronize()
    assert m.memory.read(va, count * element + 4) == value.to_bytes(element, "little") * count + bytes(4)


def test_fill_rows(machine: Callable[..., Machine]) -> None:
    m = machine()
    va, pitch = m.driver.memory_manager.malloc_pitch(1000, 3)
    assert pitch == 1024
    m.driver.memset(va, 7, 1000, height=3, pitch=pitch)
    m.driver.synchronize()
    assert m.memory.read(va, 3 * pitch) == (b"\7" * 1000 + bytes(24)) * 3


@pytest.mark.parametrize("kind", [TO_DEVICE, ON_DEVICE])
def test_a_device_pointer_is_needed_where_the_kind_says_so(
    machine: Callable[..., Machine], kind: CopyKind
) -> None:
    m = machine()
    with pytest.raises(CudaError) as caught:
        m.driver.memcpy(HOST, HOST + 4096, 4, kind, mover=m.program)
    assert caught.value.code is Error.INVALID_VALUE


def test_copies_end_with_the_allocation(machine: Callable[..., Machine]) -> None:
    m = machine()
    va = m.driver.memory_manager.malloc(100)
    with pytest.raises(CudaError) as caught:
        m.driver.memcpy(va + 50, HOST, 51, TO_DEVICE, mover=m.program)
    assert caught.value.code is Error.INVALID_VALUE
    m.driver.memcpy(va + 50, HOST, 50, TO_DEVICE, mover=m.program)


def test_pointers_are_told_apart(machine: Callable[..., Machine]) -> None:
    manager = machine().driver.memory_manager
    for va, kind in (
        (manager.malloc(10), PointerType.DEVICE),
        (manager.malloc_host(10), PointerType.HOST),
        (manager.malloc_managed(10), PointerType.MANAGED),
        (HOST, PointerType.UNREGISTERED),
    ):
        assert manager.classify(va).type is kind
    manager.register_host(HOST, 4096)
    assert manager.classify(HOST + 4095).type is PointerType.HOST
    assert manager.classify(HOST + 4096).type is PointerType.UNREGISTERED
    with pytest.raises(CudaError) as caught:
        manager.register_host(HOST + 1, 1)
    assert caught.value.code is Error.HOST_MEMORY_ALREADY_REGISTERED


def test_memory_runs_out_and_frees_wrong_addresses_not_at_all(machine: Callable[..., Machine]) -> None:
    manager = machine().driver.memory_manager
    free, total = manager.info()
    with pytest.raises(CudaError) as caught:
        manager.malloc(total + 1)
    assert caught.value.code is Error.MEMORY_ALLOCATION
    va = manager.malloc(1 << 20)
    assert manager.info() == (free - (1 << 20), total)
    for wrong in (va + 1, HOST):
        with pytest.raises(CudaError) as caught:
            manager.free(wrong)
        assert caught.value.code is Error.INVALID_VALUE
    manager.free(va)
    manager.free(0)
    with pytest.raises(CudaError):
        manager.free(va)
    assert manager.info() == (free, total)
