"""Time on the way to the GPU: the data, and how channels spend it."""

from __future__ import annotations

import struct
from dataclasses import fields

import pytest

from tests.unit.frontend_fakes import Rig
from warpath.command import segments
from warpath.command.segments import Semaphore
from warpath.driver.host_clock import HostClock
from warpath.errors import UsageError
from warpath.gpu import spec, timing
from warpath.gpu.launch_path import TIMELESS, LaunchPath, resolve, transfer_ns

FLAG = 0x7F0000000000
A, B = 0x0A, 0x0B
STEP = 32  # of the timer that stamps
PATH = LaunchPath(doorbell_ns=2000, segment_ns=1000, node_ns=200, stamp_ns=10)


@pytest.fixture
def rig() -> Rig:
    rig = Rig(spec.load("rtx4090"))
    rig.pace(PATH)
    rig.memory.alloc(FLAG, 0x1000)
    for token in (A, B):
        rig.channel(token)
        writer = rig.writer()
        segments.bind(writer)
        rig.push(token, writer.to_bytes())
    rig.gpu.run()
    return rig


def stamp(rig: Rig, token: int, va: int, at_ns: int | None, *, after: Semaphore | None = None) -> None:
    """A segment that writes the time, perhaps after an acquire."""
    writer = rig.writer()
    if after is not None:
        segments.host_acquire(writer, after)
    segments.semaphore_release(writer, Semaphore(va, 1))
    rig.push(token, writer.to_bytes(), at_ns)


def time_at(rig: Rig, va: int) -> int:
    return struct.unpack("<Q", rig.memory.read(va + 8, 8))[0]


def test_every_cost_of_the_reference_board_has_a_source() -> None:
    h200 = spec.load("h200")
    for field in fields(LaunchPath):
        if field.name != "origin":
            assert h200.source(f"launch.{field.name}") in ("MEAS", "ASSUMED")
            assert getattr(resolve(h200), field.name) > 0


def test_other_boards_scale_rates_and_inherit_times() -> None:
    h200, other = spec.load("h200"), spec.load("rtx4090")
    measured, inherited = resolve(h200), resolve(other)
    assert (measured.origin, inherited.origin) == ("h200", "h200")
    assert inherited.launch_call_ns == measured.launch_call_ns
    assert inherited.pcie_up_mbs == round(measured.pcie_up_mbs / 2)  # PCIe 4 against 5
    ratio = other.dram_clock_gbs / h200.dram_clock_gbs
    assert inherited.device_copy_mbs == round(measured.device_copy_mbs * ratio)
    assert inherited.staging_up_mbs == measured.staging_up_mbs  # the CPU's


def test_transfers_take_bytes_over_rate() -> None:
    assert transfer_ns(55_300, 55_300) == 1000
    assert transfer_ns(1 << 30, TIMELESS.pcie_up_mbs) == 0


def test_the_host_waits_only_for_what_is_later() -> None:
    clock = HostClock(PATH)
    clock.spend(500)
    clock.reach(400)
    assert clock.now_ns == 500
    clock.reach(900)
    clock.move(1000, 1000)
    assert clock.now_ns == 1900


def test_an_idle_channel_starts_a_doorbell_later(rig: Rig) -> None:
    stamp(rig, A, FLAG, 50_000)
    rig.gpu.run()
    assert time_at(rig, FLAG) == 50_000 + 2000 + 1000 + 10 + STEP


def test_queued_segments_are_a_segment_apart(rig: Rig) -> None:
    for index in range(3):
        stamp(rig, A, FLAG + 16 * index, 50_000)
    rig.gpu.run()
    first, second, third = (time_at(rig, FLAG + 16 * index) for index in range(3))
    assert second - first == third - second == 1000 + 10 + STEP


def test_what_came_with_one_doorbell_follows_closely(rig: Rig) -> None:
    stamp(rig, A, FLAG, None)
    stamp(rig, A, FLAG + 16, 50_000)
    rig.gpu.run()
    assert time_at(rig, FLAG) == 50_000 + 2000 + 1000 + 10 + STEP
    assert time_at(rig, FLAG + 16) - time_at(rig, FLAG) == 200 + 10 + STEP


def test_channels_work_side_by_side_until_one_waits(rig: Rig) -> None:
    stamp(rig, A, FLAG, 50_000)
    stamp(rig, B, FLAG + 16, 10_000)
    stamp(rig, B, FLAG + 32, 10_000, after=Semaphore(FLAG, 1))
    rig.gpu.run()
    assert time_at(rig, FLAG + 16) < 20_000
    assert time_at(rig, FLAG + 32) == time_at(rig, FLAG) + 1000 + 10 + STEP


def test_the_driver_can_ask_when_a_payload_was_reached(rig: Rig) -> None:
    stamp(rig, A, FLAG, 50_000)
    rig.gpu.run()
    assert rig.gpu.reached_ns(FLAG, 1) == time_at(rig, FLAG)
    assert rig.gpu.reached_ns(FLAG, 2) == rig.gpu.reached_ns(FLAG + 64, 1) == 0


def test_the_base_clock_slows_cycles_and_leaves_dram_alone() -> None:
    gpu = spec.load("rtx4090")
    boost, base = timing.resolve(gpu).values, timing.resolve(gpu, "base").values
    assert gpu.clock_base_mhz is not None
    assert base["sm_clock_khz"] == gpu.clock_base_mhz * 1000
    ratio = base["sm_clock_khz"] / boost["sm_clock_khz"]
    assert base["dram_access_256"] == round(
        boost["dram_access_256"] * ratio
    )  # fewer cycles, the same nanoseconds
    assert base["request_latency"] == boost["request_latency"]


def test_a_board_without_a_base_clock_says_so() -> None:
    with pytest.raises(UsageError, match="h200 has no base clock"):
        timing.resolve(spec.load("h200"), "base")
