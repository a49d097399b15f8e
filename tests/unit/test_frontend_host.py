"""Ring, semaphores, faults and channels of the model GPU."""

from __future__ import annotations

import struct

import pytest

from tests.unit.frontend_fakes import ENTRIES, Rig
from warpath.command import segments
from warpath.command.gpfifo import ControlEntry, Entry
from warpath.command.segments import Semaphore
from warpath.errors import FormatError, UnsupportedError
from warpath.frontend.semaphore import satisfied
from warpath.gpu import spec

FLAG = 0x7F0000000000
A, B = 0x0A, 0x0B


@pytest.fixture
def rig() -> Rig:
    rig = Rig(spec.load("rtx4090"))
    rig.memory.alloc(FLAG, 0x1000)
    rig.channel(A)
    rig.channel(B)
    return rig


def test_a_doorbell_only_marks_and_run_consumes_the_ring(rig: Rig) -> None:
    writer = rig.writer()
    segments.host_release(writer, Semaphore(FLAG, 7))
    rig.push(A, writer.to_bytes())
    assert rig.memory.word(FLAG) == 0
    rig.gpu.run()
    assert rig.memory.word(FLAG) == 7
    assert rig.gp_get(A) == 1
    assert [m.name for m in rig.seen.entries[0][1]][-1] == "SEM_EXECUTE"


def test_the_ring_wraps(rig: Rig) -> None:
    for payload in range(1, 2 * ENTRIES):
        writer = rig.writer()
        segments.host_release(writer, Semaphore(FLAG, payload))
        rig.push(A, writer.to_bytes())
        rig.gpu.run()
        assert rig.memory.word(FLAG) == payload
    assert rig.gp_get(A) == (2 * ENTRIES - 1) % ENTRIES


def test_an_acquire_waits_for_another_channel(rig: Rig) -> None:
    writer = rig.writer()
    segments.host_acquire(writer, Semaphore(FLAG, 5))
    segments.host_release(writer, Semaphore(FLAG + 16, 1))
    rig.push(A, writer.to_bytes())
    rig.gpu.run()
    assert rig.gpu.waiting == [A]
    assert (rig.memory.word(FLAG + 16), rig.gp_get(A)) == (0, 0)
    writer = rig.writer()
    segments.host_release(writer, Semaphore(FLAG, 6))
    rig.push(B, writer.to_bytes())
    rig.gpu.run()
    assert rig.gpu.waiting == []
    assert rig.memory.word(FLAG + 16) == 1


def test_a_run_ends_when_it_has_got_what_it_is_for(rig: Rig) -> None:
    for token, flag in ((A, FLAG), (B, FLAG + 16)):
        for count in (1, 2):
            writer = rig.writer()
            segments.host_release(writer, Semaphore(flag, count))
            rig.push(token, writer.to_bytes())
    rig.gpu.run(until=lambda: rig.memory.word(FLAG) == 1)
    assert (rig.memory.word(FLAG), rig.memory.word(FLAG + 16)) == (1, 0)
    rig.gpu.run(until=lambda: rig.memory.word(FLAG) == 2)  # the other channel's turn comes first
    assert (rig.memory.word(FLAG), rig.memory.word(FLAG + 16)) == (2, 1)
    rig.gpu.run()
    assert (rig.memory.word(FLAG), rig.memory.word(FLAG + 16)) == (2, 2)


def test_the_driver_may_release_an_acquire_from_the_cpu(rig: Rig) -> None:
    writer = rig.writer()
    segments.host_acquire(writer, Semaphore(FLAG, 0x80000000))
    rig.push(A, writer.to_bytes())
    rig.memory.write(FLAG, struct.pack("<I", 1))  # 1 is before 0x80000000 on the circle
    rig.gpu.run()
    assert rig.gpu.waiting == [A]
    rig.memory.write(FLAG, struct.pack("<I", 0x80000001))
    rig.gpu.run()
    assert rig.gpu.waiting == []


@pytest.mark.parametrize(
    ("operation", "value", "payload", "passes"),
    [
        ("ACQUIRE", 3, 3, True),
        ("ACQUIRE", 4, 3, False),
        ("ACQ_STRICT_GEQ", 0xFFFFFFFF, 3, True),
        ("ACQ_CIRC_GEQ", 0xFFFFFFFF, 3, False),
        ("ACQ_CIRC_GEQ", 2, 0xFFFFFFFF, True),
        ("ACQ_AND", 4, 6, True),
        ("ACQ_AND", 8, 6, False),
        ("ACQ_NOR", 0xFFFFFFF0, 0xF, False),
        ("ACQ_NOR", 0, 0xF, True),
    ],
)
def test_acquire_conditions(operation: str, value: int, payload: int, passes: bool) -> None:
    assert satisfied(operation, value, payload, 32) is passes


def test_reductions_and_time_stamps_of_host_semaphores(rig: Rig) -> None:
    writer = rig.writer()
    reduce_add = writer.flags(0, "SEM_EXECUTE", OPERATION=6, REDUCTION=5)
    stamp = writer.flags(0, "SEM_EXECUTE", OPERATION=1, RELEASE_TIMESTAMP=1)
    for _ in range(2):
        writer.call(0, "SEM_ADDR_LO", FLAG & 0xFFFFFFFF, FLAG >> 32, 5, 0, reduce_add)
    writer.call(0, "SEM_ADDR_LO", (FLAG + 16) & 0xFFFFFFFF, FLAG >> 32, 9, 0, stamp)
    writer.call(0, "SEM_ADDR_LO", (FLAG + 32) & 0xFFFFFFFF, FLAG >> 32, 9, 0, stamp)
    rig.push(A, writer.to_bytes())
    rig.gpu.run()
    assert rig.memory.word(FLAG) == 10
    first, second = (struct.unpack("<IIQ", rig.memory.read(FLAG + 16 * i, 16)) for i in (1, 2))
    assert first[:2] == (9, 0)
    assert 0 < first[2] < second[2]


def test_old_semaphore_methods(rig: Rig) -> None:
    writer = rig.writer()
    for name, value in (("SEMAPHOREA", FLAG >> 32), ("SEMAPHOREB", FLAG & 0xFFFFFFFF), ("SEMAPHOREC", 3)):
        writer.call(0, name, value)
    writer.call(0, "SEMAPHORED", writer.flags(0, "SEMAPHORED", OPERATION=2, RELEASE_SIZE=1))
    rig.push(A, writer.to_bytes())
    rig.gpu.run()
    assert rig.memory.read(FLAG, 8) == struct.pack("<II", 3, 0)


def test_a_run_of_data_crosses_ring_entries(rig: Rig) -> None:
    rig.memory.alloc(0x7F0000100000, 0x1000)
    writer = rig.writer()
    segments.bind(writer)
    segments.inline_upload(writer, 0x7F0000100000, bytes(range(64)))
    data = writer.to_bytes()
    rig.push(A, data[:-20])
    rig.push(A, data[-20:])
    rig.gpu.run()
    assert rig.memory.read(0x7F0000100000, 64) == bytes(range(64))


def test_control_entries(rig: Rig) -> None:
    rig.ring(A, ControlEntry(0).to_bytes())
    rig.gpu.run()
    assert rig.gp_get(A) == 1
    rig.ring(A, ControlEntry(4, 1).to_bytes())
    with pytest.raises(UnsupportedError, match="SET_PB_SEGMENT_EXTENDED_BASE"):
        rig.gpu.run()


def test_a_fault_stops_one_channel_and_drops_its_later_work(rig: Rig) -> None:
    writer = rig.writer()
    segments.bind_copy(writer)
    segments.copy(writer, 0xDEAD0000, FLAG, 64, Semaphore(FLAG, 1))
    rig.push(A, writer.to_bytes())
    rig.push(A, writer.to_bytes())
    rig.gpu.run()
    assert len(rig.gpu.faults) == 1
    fault = rig.gpu.faults[0]
    assert (fault["kind"], fault["address"], fault["token"], fault["method"]) == (
        "illegal_address",
        0xDEAD0000,
        A,
        "LAUNCH_DMA",
    )
    assert (rig.memory.word(FLAG), rig.gp_get(A), rig.gpu.waiting) == (0, 2, [])
    writer = rig.writer()
    segments.host_release(writer, Semaphore(FLAG, 2))
    rig.push(B, writer.to_bytes())
    rig.push(A, writer.to_bytes())
    rig.gpu.run()
    assert rig.memory.word(FLAG) == 2
    assert rig.gp_get(A) == 3


def test_a_ring_entry_outside_memory_is_a_fault(rig: Rig) -> None:
    rig.ring(A, Entry(0x1000, 4).to_bytes())
    rig.gpu.run()
    assert rig.gpu.faults[0]["kind"] == "illegal_address"


def test_methods_without_a_model_stop_the_run_by_name(rig: Rig) -> None:
    writer = rig.writer()
    segments.bind(writer)
    writer.call(segments.COMPUTE, "CALL_MME_MACRO", 5)
    rig.push(A, writer.to_bytes())
    with pytest.raises(UnsupportedError, match=r"0xc9c0.*CALL_MME_MACRO"):
        rig.gpu.run()
    writer = rig.writer()
    writer.incr(3, 0x100, 1)
    rig.push(B, writer.to_bytes())
    with pytest.raises(UnsupportedError, match="subchannel 3"):
        rig.gpu.run()
    rig.gpu.run()


@pytest.mark.parametrize("words", [(0x20012000, 0xDEAD), (0x20012403, 1), (0x20010001, 1)])
def test_unknown_classes_and_methods_stop_the_run(rig: Rig, words: tuple[int, ...]) -> None:
    writer = rig.writer()
    segments.bind(writer)
    rig.push(A, writer.to_bytes() + struct.pack(f"<{len(words)}I", *words))
    with pytest.raises(UnsupportedError):
        rig.gpu.run()


def test_malformed_pushbuffers_and_put_pointers(rig: Rig) -> None:
    rig.push(A, struct.pack("<I", 0xC0000000))
    with pytest.raises(FormatError, match="SEC_OP"):
        rig.gpu.run()
    rig.memory.write(0x200600000 + 0x2000000 + 0x2000 + 0x8C, struct.pack("<I", 99))
    rig.gpu.doorbell(B)
    with pytest.raises(FormatError, match="GP_PUT 99"):
        rig.gpu.run()


def test_poll_is_called_between_steps_and_may_end_the_run(rig: Rig) -> None:
    def poll() -> None:
        raise KeyboardInterrupt

    for payload in (1, 2):
        writer = rig.writer()
        segments.host_release(writer, Semaphore(FLAG, payload))
        rig.push(A, writer.to_bytes())
    with pytest.raises(KeyboardInterrupt):
        rig.gpu.run(poll)
    assert rig.memory.word(FLAG) == 1
    rig.gpu.run()
    assert rig.memory.word(FLAG) == 2


def test_an_unknown_token_is_ignored(rig: Rig) -> None:
    rig.gpu.doorbell(0x77)
    rig.gpu.run()
