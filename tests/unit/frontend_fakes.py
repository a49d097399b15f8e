"""Stand-ins for the compiled core, and a little driver: the front end is driven through memory alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from warpath.command import gpfifo
from warpath.command.segments import Classes, SegmentWriter
from warpath.frontend.gpu import ModelGpu
from warpath.gpu.launch_path import LaunchPath
from warpath.gpu.spec import Gpu

ENTRIES = 16
RING_VA, USERD_VA, PUSH_VA = 0x200600000, 0x200602000, 0x200800000


class AccessError(Exception):
    def __init__(self, address: int, size: int) -> None:
        super().__init__(f"{size} bytes at {address:#x} are not mapped")
        self.address = address
        self.size = size


class FakeMemory:
    """Allocations as byte arrays."""

    def __init__(self) -> None:
        self.live: dict[int, bytearray] = {}

    def alloc(self, va: int, size: int) -> None:
        self.live[va] = bytearray(size)

    def _find(self, va: int, size: int) -> tuple[bytearray, int]:
        for base, data in self.live.items():
            if base <= va and va + size <= base + len(data):
                return data, va - base
        raise AccessError(va, size)

    def read(self, va: int, size: int) -> bytes:
        data, offset = self._find(va, size)
        return bytes(data[offset : offset + size])

    def write(self, va: int, data: bytes) -> None:
        buffer, offset = self._find(va, len(data))
        buffer[offset : offset + len(data)] = data

    def fill(self, va: int, value: int, size: int, width: int) -> None:
        self.write(va, value.to_bytes(width, "little") * (size // width))

    def copy(self, dst: int, src: int, size: int) -> None:
        self.write(dst, self.read(src, size))

    def extent(self, va: int) -> tuple[int, int]:
        for base, data in self.live.items():
            if base <= va < base + len(data):
                return base, len(data)
        raise AccessError(va, 1)

    def word(self, va: int) -> int:
        return int.from_bytes(self.read(va, 4), "little")


@dataclass
class FakeGrid:
    """Runs `core.kernel` on its last step; keeps its constructor's arguments by name."""

    core: FakeCore
    arguments: dict[str, Any]
    left: int
    fault: dict[str, Any] | None = None
    counters: dict[str, Any] = field(default_factory=dict[str, Any])

    def placement(self) -> bytes:
        return b""

    def step(self, budget_warp_instructions: int, threads: int) -> str:
        assert budget_warp_instructions > 0
        assert threads >= 0
        self.left -= 1
        if self.left > 0:
            return "running"
        self.fault = self.core.kernel(self)
        self.counters = {"instructions": 42, "duration_ns": 1000}
        return "fault" if self.fault else "done"


class FakeCore:
    """A core whose kernels are Python functions; `programs` and `grids` list what the front end made."""

    NAMES = (
        *("memory", "program", "entry_va", "grid", "block", "registers", "shared_bytes", "local_bytes"),
        *(
            "const_banks",
            "shared_window",
            "local_window",
            "sms",
            "blocks_per_sm",
            "count",
            "warps_per_sm",
            "shared_reserved",
        ),
    )
    AccessError = AccessError

    def __init__(self, steps: int = 1) -> None:
        self.steps = steps
        self.kernel: Callable[[FakeGrid], dict[str, Any] | None] = lambda _grid: None
        self.programs: list[tuple[int, int, bytes, list[tuple[str, str, str]]]] = []
        self.grids: list[FakeGrid] = []

    def Program(self, sm: int, base_va: int, code: bytes, text: list[tuple[str, str, str]]) -> int:  # noqa: N802
        self.programs.append((sm, base_va, code, text))
        return len(self.programs) - 1

    def Grid(self, *arguments: Any) -> FakeGrid:  # noqa: N802
        grid = FakeGrid(self, dict(zip(self.NAMES, arguments, strict=True)), self.steps)
        self.grids.append(grid)
        return grid


def disassemble(code: bytes) -> list[tuple[str, str, str]]:
    return [("", "NOP", "")] * (len(code) // 16)


class Recorder:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self.copies: list[Any] = []
        self.launches: list[Any] = []

    def on_entry(self, _channel: Any, entry: Any, methods: Any) -> None:
        self.entries.append((entry, methods))

    def on_copy(self, copy: Any) -> None:
        self.copies.append(copy)

    def on_launch(self, launch: Any) -> None:
        self.launches.append(launch)


class Rig:
    """A model GPU with channels, each with ring, USERD and pushbuffer at its own place."""

    def __init__(self, spec: Gpu, steps: int = 1) -> None:
        self.spec = spec
        self.memory = FakeMemory()
        self.core = FakeCore(steps)
        self.gpu = ModelGpu(spec, self.memory, disassemble, core=self.core)
        self.seen = Recorder()
        self.gpu.observers.append(self.seen)
        self._put: dict[int, int] = {}
        self._head: dict[int, int] = {}
        self._base: dict[int, int] = {}

    def pace(self, path: LaunchPath) -> None:
        """Let work take time on its way, as under the clock."""
        self.gpu._machine.path = path  # pyright: ignore[reportPrivateUsage]

    def channel(self, token: int) -> None:
        """Add a channel whose structures lie 32 MiB apart from the next one's."""
        base = RING_VA + len(self._base) * 0x2000000
        self.memory.alloc(base, 0x4000)
        self.memory.alloc(base + PUSH_VA - RING_VA, 0x100000)
        self.gpu.add_channel(token, base, ENTRIES, base + USERD_VA - RING_VA)
        self._base[token], self._put[token], self._head[token] = base, 0, 0

    def writer(self) -> SegmentWriter:
        classes = self.spec.classes
        return SegmentWriter(Classes(classes.channel, classes.compute, classes.copy))

    def push(self, token: int, data: bytes, at_ns: int | None = 0) -> None:
        """Put one segment into a channel's ring and ring the doorbell at a time; None: do not ring it."""
        base = self._base[token]
        va = base + PUSH_VA - RING_VA + self._head[token]
        self._head[token] += len(data)
        self.memory.write(va, data)
        self.ring(token, gpfifo.Entry(va, len(data) // 4).to_bytes(), at_ns)

    def ring(self, token: int, entry: bytes, at_ns: int | None = 0) -> None:
        """Write a raw ring entry and ring the doorbell."""
        base, index = self._base[token], self._put[token]
        self.memory.write(base + 8 * index, entry)
        self._put[token] = (index + 1) % ENTRIES
        put = base + USERD_VA - RING_VA + gpfifo.USERD_GP_PUT
        self.memory.write(put, self._put[token].to_bytes(4, "little"))
        if at_ns is not None:
            self.gpu.doorbell(token, at_ns)

    def gp_get(self, token: int) -> int:
        return self.memory.word(self._base[token] + USERD_VA - RING_VA + gpfifo.USERD_GP_GET)
