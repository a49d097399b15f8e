"""A bench for the clock: hand-written programs with their control words, run on one board's timing."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpath import _core
from warpath.gpu import spec, timing

BOARD = spec.load("h200")
BASE = 0x7F0000000000
CODE = BASE
CONSTANTS = BASE + (2 << 20)
DATA = BASE + (4 << 20)
DATA_BYTES = 8 << 20
LOCAL_WINDOW = 0x7E0000000000
SHARED_WINDOW = 0x7E8000000000


@dataclass(frozen=True)
class Line:
    """One instruction: nvdisasm's text, and the control word."""

    text: str
    stall: int = 1
    yield_: bool = False
    writes: int = 7
    reads: int = 7
    waits: Sequence[int] = ()
    reuse: int = 0

    def split(self) -> tuple[str, str, str]:
        """Predicate, opcode, operands."""
        words = self.text.split(" ", 1) if not self.text.startswith("@") else self.text.split(" ", 2)
        predicate = words.pop(0) if self.text.startswith("@") else ""
        return predicate, words[0], words[1] if len(words) > 1 else ""

    def encode(self) -> bytes:
        """16 bytes that hold nothing but the control word."""
        mask = sum(1 << scoreboard for scoreboard in self.waits)
        high = self.stall << 41 | (not self.yield_) << 45 | self.writes << 46 | self.reads << 49
        return struct.pack("<QQ", 0, high | mask << 52 | self.reuse << 58)


@dataclass
class Run:
    """What a timed grid measured."""

    status: str
    result: Mapping[str, Any]
    grid: Any
    timeline: Any  # None unless asked for

    @property
    def cycles(self) -> int:
        """Of the whole launch."""
        return self.result["cycles"]

    def stalls(self, line: int) -> dict[str, int]:
        """Cycles by reason that warps waited at an instruction."""
        row = len(_core.STALLS)
        values = memoryview(self.result["instructions"]["stalls"]).cast("Q")[line * row : (line + 1) * row]
        return dict(zip(_core.STALLS, values, strict=True))

    @property
    def memory(self) -> Mapping[str, int]:
        """L2 and DRAM counts."""
        return self.result["memory"]


def column(run: Run, name: str) -> list[int]:
    """One list of a run's timeline."""
    return memoryview(run.timeline[name]).cast("Q").tolist()


def rows(run: Run, name: str, width: int) -> list[list[int]]:
    """The same, `width` numbers a row."""
    values = column(run, name)
    return [values[i : i + width] for i in range(0, len(values), width)]


@dataclass
class Bench:
    """One GPU's memory system, kept between runs."""

    changes: Mapping[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self.params = dict(timing.resolve(BOARD).values) | dict(self.changes)
        self.system = _core.MemorySystem(self.params)
        self.memory = _core.Memory()
        self.memory.reserve(BASE, 16 << 20)
        for va, size in ((CODE, 1 << 20), (CONSTANTS, 1 << 12), (DATA, DATA_BYTES)):
            self.memory.alloc(va, size, 1)

    def start(
        self,
        lines: Sequence[Line],
        *,
        grid: int = 1,
        threads: int = 32,
        shared: int = 0,
        timeline: bool = False,
    ) -> tuple[Any, Any]:
        """A grid of the program of `lines`, and the clock it has not run under yet."""
        code = b"".join(line.encode() for line in lines)
        program = _core.Program(90, CODE, code, [line.split() for line in lines])
        assert program.undeclared() == []
        launch = _core.Grid(
            self.memory, program, CODE, (grid, 1, 1), (threads, 1, 1), 32, shared, 0, [(CONSTANTS, 1 << 12)],
            SHARED_WINDOW, LOCAL_WINDOW, BOARD.sms, min(32, 2048 // threads),
        )  # fmt: skip
        return launch, _core.TimedGrid(launch, self.system, 224 << 10, 1, 0, timeline)

    def run(
        self,
        lines: Sequence[Line],
        *,
        grid: int = 1,
        threads: int = 32,
        shared: int = 0,
        host_threads: int = 1,
        budget: int = 1_000_000,
        timeline: bool = False,
    ) -> Run:
        """Run a program of `lines` to its end; code not seen before is cold."""
        launch, timed = self.start(lines, grid=grid, threads=threads, shared=shared, timeline=timeline)
        status = "running"
        while status == "running":
            status = timed.step(budget, host_threads)
        return Run(status, timed.result(), launch, timed.timeline())


EXIT = Line("EXIT", stall=5)
