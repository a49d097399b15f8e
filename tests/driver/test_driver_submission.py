"""Rings, pushbuffers, doorbells: what a submission leaves in memory, and what happens when space runs out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.driver.conftest import Machine
from warpath.command import gpfifo
from warpath.driver import channel as channel_module
from warpath.driver.channel import ENTRIES
from warpath.driver.transfer import CopyKind


def test_a_submission_is_entry_put_and_doorbell(machine: Callable[..., Machine]) -> None:
    m = machine()
    driver, memory = m.driver, m.memory
    channel = driver.channels.compute(0)
    m.gpu.rung.clear()
    segment = driver.segment(driver.streams.legacy, channel)
    va = driver.memory_manager.malloc(64)
    segment.upload(va, b"12345678")
    fence = segment.submit("test")
    put = int.from_bytes(memory.read(channel.userd_va + gpfifo.USERD_GP_PUT, 4), "little")
    entry = gpfifo.decode(memory.read(channel.ring_va + (put - 1) * 8, 8))
    assert isinstance(entry, gpfifo.Entry)
    assert entry.va % 4 == 0
    assert m.gpu.rung == [channel.token]
    assert not fence.done
    driver.wait(fence)
    assert fence.done
    assert memory.read(va, 8) == b"12345678"


def test_layout_is_the_captured_one(machine: Callable[..., Machine]) -> None:
    """USERD right behind a ring of 1024 entries, 0x3000 apart; tokens of the captured machine."""
    driver = machine("h200").driver
    first, second = driver.channels.compute(0), driver.channels.compute(1)
    assert first.userd_va - first.ring_va == 0x2000
    assert second.ring_va - first.ring_va == 0x3000
    assert first.semaphore_va - second.semaphore_va == 16
    tokens = [first.token, second.token, driver.copy_channel.token, driver.copy_out_channel.token]
    assert tokens == [0x0A, 0x0B, 0x1_0012, 0x3_0016]


def test_blackwell_tokens_carry_the_enable_bit(machine: Callable[..., Machine]) -> None:
    assert machine("rtx5090").driver.channels.compute(0).token == 0x4000_000A


def test_a_full_ring_waits_for_the_oldest_segment(machine: Callable[..., Machine]) -> None:
    m = machine()
    driver = m.driver
    va = driver.memory_manager.malloc(ENTRIES * 12)
    total = 3 * ENTRIES
    for index in range(total):
        driver.memset(va + index % ENTRIES * 4, index, 1, element=4)
    driver.synchronize()
    channel = driver.channels.compute(0)
    assert channel.completed == channel.payload >= total
    assert int.from_bytes(m.memory.read(va, 4), "little") == 2 * ENTRIES
    indices = [s.index for s in driver.journal.submissions if s.channel == channel.name]
    assert indices == [number % ENTRIES for number in range(len(indices))]


def test_pushbuffer_space_is_used_again_only_when_free(
    machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 1 << 17
    monkeypatch.setattr(channel_module, "PUSHBUFFER_BYTES", room)
    m = machine()
    driver = m.driver
    size = 20_000
    va = driver.memory_manager.malloc(size)
    source = 0x5000_0000
    count = 3 * room // size
    for index in range(count):
        m.program.own.write(source, bytes([index % 251]) * size)
        driver.memcpy(va, source, size, CopyKind.HOST_TO_DEVICE, mover=m.program, blocking=False)
    driver.synchronize()
    assert m.memory.read(va, size) == bytes([(count - 1) % 251]) * size
    places = [(s.va, s.va + 4 * s.dwords) for s in driver.journal.submissions if s.channel == "compute 0"]
    base = driver.channels.compute(0).pushbuffer_va
    assert all(base <= start < end <= base + room for start, end in places)
    assert len({start for start, _ in places}) < len(places)
