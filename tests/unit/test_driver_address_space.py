"""Arenas and the address space: ranges never overlap, come back, and merge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpath.driver.address_space import (
    ALIGNMENT,
    BIG_ALLOCATION,
    BIG_PAGE,
    DEVICE_BASE,
    AddressSpace,
    Arena,
    Kind,
)

BOARD = 64 << 20
HOST = (0x7E00_0000_0000, 1 << 26)


class Registered:
    """A memory that only keeps count of what it is told."""

    def __init__(self) -> None:
        self.live: dict[int, tuple[int, int]] = {}

    def reserve(self, base: int, size: int, fd: int = -1) -> None:
        assert base % BIG_PAGE == 0
        assert size % BIG_PAGE == 0

    def alloc(self, va: int, size: int, kind: int) -> None:
        assert va not in self.live
        self.live[va] = (size, kind)

    def free(self, va: int) -> None:
        del self.live[va]

    def set_heap(self, va: int, size: int) -> None:
        raise NotImplementedError

    def read(self, va: int, size: int) -> bytes:
        raise NotImplementedError

    def write(self, va: int, data: bytes) -> None:
        raise NotImplementedError


@pytest.fixture
def space() -> AddressSpace:
    return AddressSpace(Registered(), BOARD, HOST)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 5000), st.integers(0, 30)), max_size=60))
def test_arena_ranges_stay_apart_and_merge_again(steps: list[tuple[bool, int, int]]) -> None:
    arena = Arena(0x1000, 1 << 16)
    taken: dict[int, int] = {}
    for take, size, pick in steps:
        if take or not taken:
            va = arena.take(size)
            if va is None:
                continue
            assert va % ALIGNMENT == 0
            assert arena.base <= va
            assert va + size <= arena.base + arena.size
            assert all(va + size <= other or other + length <= va for other, length in taken.items())
            taken[va] = size
        else:
            va = sorted(taken)[pick % len(taken)]
            arena.give(va, taken.pop(va))
    assert arena.used == sum(taken.values())
    for va, size in taken.items():
        arena.give(va, size)
    assert arena.take(arena.size) == arena.base


def test_first_fit_uses_a_freed_range_again(space: AddressSpace) -> None:
    first, second = (space.allocate(1000, Kind.DEVICE) for _ in range(2))
    assert first is not None
    assert second is not None
    assert (first.va, second.va) == (DEVICE_BASE, DEVICE_BASE + 1024)
    space.release(first.va)
    again = space.allocate(900, Kind.DEVICE)
    assert again is not None
    assert again.va == first.va


def test_large_allocations_start_on_a_page(space: AddressSpace) -> None:
    space.allocate(1, Kind.DEVICE)
    large = space.allocate(BIG_ALLOCATION, Kind.DEVICE)
    assert large is not None
    assert large.va == DEVICE_BASE + BIG_PAGE


def test_board_memory_is_the_limit_and_comes_back(space: AddressSpace) -> None:
    assert space.allocate(BOARD + 1, Kind.DEVICE) is None
    whole = space.allocate(BOARD, Kind.DEVICE)
    assert whole is not None
    assert space.free_bytes == 0
    assert space.allocate(1, Kind.DEVICE) is None
    assert space.allocate(1, Kind.HOST) is not None
    space.release(whole.va)
    assert space.free_bytes == BOARD


def test_find_knows_the_exact_end(space: AddressSpace) -> None:
    found = space.allocate(1000, Kind.DEVICE)
    assert found is not None
    assert space.find(found.va + 999) == found
    assert space.find(found.va + 1000) is None
    assert space.find(found.va - 1) is None
    space.release(found.va)
    assert space.find(found.va) is None


def test_every_allocation_is_registered_with_its_kind(space: AddressSpace) -> None:
    memory = space.memory
    assert isinstance(memory, Registered)
    kinds = (Kind.DEVICE, Kind.HOST, Kind.MANAGED, Kind.CODE, Kind.SYSTEM)
    allocations = [space.allocate(300, kind) for kind in kinds]
    assert sorted(memory.live.values()) == sorted((300, int(kind)) for kind in kinds)
    space.clear()
    assert memory.live == {}
    assert all(allocation is not None for allocation in allocations)
    assert space.free_bytes == BOARD
