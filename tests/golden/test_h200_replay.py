"""The captured command stream played into the model GPU: it makes the launch that the real driver meant."""

from __future__ import annotations

import struct

import pytest

from tests.golden import h200_capture
from tests.unit.frontend_fakes import FakeCore, FakeMemory, Recorder, disassemble
from warpath.command import gpfifo
from warpath.command.grid import GridType
from warpath.frontend.gpu import ModelGpu
from warpath.gpu import spec

COMPUTE, COPY_IN, COPY_OUT = 0x0A, 0x10012, 0x30016
RINGS = {COMPUTE: 0x200600000, COPY_IN: 0x200618000, COPY_OUT: 0x200624000}
ENTRIES = 1024
USERD = 0x2000  # behind the ring
STAGING_IN, DA, DC, STAGING_OUT = 0x7FCA22700000, 0x7FCA20800000, 0x7FCA21000000, 0x7FCA22900000
COPY_IN_SEMAPHORE, COPY_OUT_SEMAPHORE, REPORT = 0x20460FF70, 0x20460FF30, 0x20460FFF0
CODE, BANK = 0x7FCA237A0000, 0x7FCA22280000
MIB = 1 << 20


class Replay:
    """The model of an H200 with the captured channels; `play` puts one captured entry where it lay."""

    def __init__(self) -> None:
        self.memory = FakeMemory()
        self.core = FakeCore()
        self.gpu = ModelGpu(spec.load("h200"), self.memory, disassemble, core=self.core)
        self.seen = Recorder()
        self.gpu.observers.append(self.seen)
        for base, size in (
            *((ring, 0x3000) for ring in RINGS.values()),
            *((0x200800000, 4 * MIB), (0x202800000, 2 * MIB), (0x203000000, MIB)),
            *((0x20460F000, 0x1000), (0x204637000, 0x1000), (0x204E0C000, 0x5000)),
            *((STAGING_IN, MIB), (STAGING_OUT, MIB), (DA, MIB), (DC, MIB)),
            *((0x7FCA22000000, 0x300000), (CODE, 0x1000), (0x7FCA22C00000, 0x10000)),
        ):
            self.memory.alloc(base, size)
        for token, ring in RINGS.items():
            self.gpu.add_channel(token, ring, ENTRIES, ring + USERD)
            if token != COMPUTE:
                self._bind_copy(token)

    def _bind_copy(self, token: int) -> None:
        """The first segment of a copy channel, which the trimmed capture leaves out."""
        data = struct.pack("<II", 0x20018000, 0xC8B5)
        self.memory.write(0x202800000, data)
        self._ring(token, 0, gpfifo.Entry(0x202800000, 2).to_bytes())

    def play(self, segment: h200_capture.Segment) -> None:
        entry = gpfifo.decode(segment.entry)
        assert isinstance(entry, gpfifo.Entry)
        self.memory.write(entry.va, segment.data)
        self._ring(segment.token, segment.index, segment.entry)

    def _ring(self, token: int, index: int, entry: bytes) -> None:
        """The capture has gaps: GP_GET is moved to where the entry lies."""
        ring = RINGS[token]
        self.memory.write(ring + 8 * index, entry)
        self.memory.write(ring + USERD + gpfifo.USERD_GP_PUT, (index + 1).to_bytes(4, "little"))
        self.gpu.channel(token).get = index
        self.gpu.doorbell(token)
        self.gpu.run()


@pytest.fixture(scope="module")
def replay() -> Replay:
    replay = Replay()
    replay.memory.write(STAGING_IN, b"staged" * 1000)
    replay.memory.write(DC, b"result" * 1000)
    replay.memory.write(COPY_IN_SEMAPHORE, (0x52).to_bytes(4, "little"))  # what the acquire waits for
    for segment in h200_capture.read():
        replay.play(segment)
    return replay


def test_nothing_faults_and_nothing_waits(replay: Replay) -> None:
    assert replay.gpu.faults == []
    assert replay.gpu.waiting == []


def test_the_launch_is_vadd(replay: Replay) -> None:
    (launch,) = replay.seen.launches
    assert (launch.work.grid, launch.work.block) == ((4096, 1, 1), (256, 1, 1))
    assert (launch.work.registers, launch.work.program_va, launch.work.type) == (16, CODE, GridType.CTA)
    assert launch.params == struct.pack("<QQQI", DA, 0x7FCA20C00000, DC, 0x100000)
    assert (launch.windows.shared, launch.form) == (0x7FCB00000000, "pointer")
    assert launch.occupancy.blocks_per_sm == 8
    assert launch.submission.index == 66


def test_the_program_is_the_code_that_was_uploaded(replay: Replay) -> None:
    ((sm, base, code, _),) = replay.core.programs
    assert (sm, base) == (90, CODE)
    upload = next(s for s in h200_capture.read() if (s.token, s.index) == (COMPUTE, 63))
    assert upload.words[9] == 0xFF017B82
    assert code[:0x280] == struct.pack("<160I", *upload.words[9 : 9 + 160])


def test_semaphores_have_the_captured_payloads(replay: Replay) -> None:
    assert replay.memory.word(REPORT) == 0x43
    assert replay.memory.word(0x204637F3C) == 6
    assert replay.memory.word(COPY_IN_SEMAPHORE) == 0x5D
    assert replay.memory.word(COPY_OUT_SEMAPHORE) == 2
    assert replay.gpu.waiting_qmds == [0x204E10000]


def test_copies_moved_the_bytes(replay: Replay) -> None:
    assert replay.memory.read(DA, 6000) == b"staged" * 1000
    assert replay.memory.read(STAGING_OUT, 6000) == b"result" * 1000
    kinds = [copy.kind for copy in replay.seen.copies]
    assert kinds.count("copy") == 2
    assert kinds.count("fill") == 1
    assert sum(copy.bytes for copy in replay.seen.copies if copy.kind == "fill") == 0x2400 * 4
