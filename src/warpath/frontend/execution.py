"""Runs launches on the core: code read from memory becomes programs, grids are stepped to their end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from warpath.frontend.clocked import Clock, kept
from warpath.frontend.core_api import Core, Text
from warpath.frontend.engine import ChannelFault, Copy, Machine, Progress, Steps
from warpath.frontend.launch import Launch, split_shared
from warpath.gpu.spec import Gpu

Disassemble = Callable[[bytes], Sequence[Text]]


@dataclass(frozen=True, slots=True)
class Options:
    """How grids run: warp instructions per step, alone and beside work of other channels, host threads (0 = all),
    whether to count, whether the clock runs (`timed`), what happens to the caches before a launch
    (`cache_control`, as ncu's: all = flushed, none) and to the SM clock (`clock_control`, as ncu's: base, none), how
    many warp instructions of a timed launch are kept for replays (`record`; whole CTAs, the first ones), and whether
    the clock keeps what happened when (`timeline`).
    """

    budget: int = 1_000_000
    crowded_budget: int = 100_000
    threads: int = 0
    count: bool = True
    timed: bool = False
    cache_control: str = "none"
    clock_control: str = "none"
    record: int = 0
    timeline: bool = False


@dataclass(slots=True)
class _Code:
    """The code of one allocation; `fetched` is the instruction cache's age when it was last read."""

    base: int
    digest: bytes
    program: Any
    fetched: int


class Executor:
    """The part of the GPU that runs code. One program is made per allocation of code and kept while its
    bytes last.

    As on hardware, code is looked at again only after an invalidation of the instruction cache.
    """

    def __init__(
        self, core: Core, machine: Machine, spec: Gpu, disassemble: Disassemble, options: Options
    ) -> None:
        self._core = core
        self._machine = machine
        self._spec = spec
        self._disassemble = disassemble
        self._options = options
        self._clock: Clock | None = None
        self.crowded = False  # whether other channels wait for their turn
        self._codes: dict[int, _Code] = {}
        self._age = 0

    def invalidate_instructions(self) -> None:
        """Look at memory again before the next launch."""
        self._age += 1

    def program(self, va: int) -> Any:
        """The core's program for the code around `va`."""
        extent = self._machine.memory.extent(va)
        if extent is None:
            raise ChannelFault({"kind": "illegal_address", "address": va, "size": 16, "access": "execute"})
        base, size = extent
        code = self._codes.get(base)
        if code is not None and code.fetched == self._age:
            return code.program
        data = self._machine.memory.read(base, size)
        digest = hashlib.blake2b(data).digest()
        if code is None or code.digest != digest:
            program = self._core.Program(self._spec.sm.number, base, data, self._disassemble(data))
            code = self._codes[base] = _Code(base, digest, program, self._age)
        code.fetched = self._age
        return code.program

    def run(self, launch: Launch) -> Steps:
        """Run a launch to its end; ChannelFault when the grid faults."""
        self._machine.notify("on_launch_start", launch)
        grid = self._grid(launch)
        self._machine.notify("on_grid", launch, grid)
        clock = self._started_clock() if self._options.timed else None
        runner = self._timed(clock, grid, launch) if clock else grid
        while (status := runner.step(self._budget, self._options.threads)) == "running":
            launch.elapsed_ns = clock.elapsed_ns(runner) if clock else None
            self._machine.notify("on_step", launch, grid)
            if launch.fault is not None:  # an observer stops it
                break
            yield Progress.MOVED
        launch.counters = clock.counters(grid, runner, launch) if clock else dict(grid.counters)
        launch.stream = runner.stream() if clock else None
        launch.placement = grid.placement() if self._options.count else b""
        launch.timeline = clock.timeline(runner) if clock else None
        self._pass_time(launch)
        if status == "fault":
            launch.fault = {**(grid.fault or {"kind": "unknown"}), "launch": launch.index}
        self._machine.notify("on_launch", launch)
        if launch.fault is not None:
            raise ChannelFault({**launch.fault, "program_va": launch.work.program_va})

    def _pass_time(self, launch: Launch) -> None:
        """Kernels take the SMs one after another. What they need before and after is the time between segments, in
        which the set-up of one overlaps with the drain of the one before.
        """
        duration = int(launch.counters.get("duration_ns", 0))
        clock = self._machine.clock
        clock.occupy("compute", int(launch.counters.get("execution_ns", duration)))
        if self._options.timed:
            launch.start_ns = clock.now_ns - duration

    def rehearse(self, launch: Launch, flush: bool) -> dict[str, Any]:
        """Counters of a launch as it would run now, caches flushed before or not; memory is put back.

        For `on_launch_start`: what ncu does when it replays a kernel.
        """
        clock = self._started_clock()
        with kept(self._machine.memory):
            grid = self._grid(launch)
            if not flush:
                clock.put_back()
            timed = clock.start(grid, launch, flush)
            while timed.step(self._options.budget, self._options.threads) == "running":
                pass
            return clock.counters(grid, timed, launch)

    def on_copy(self, copy: Copy) -> None:
        """The clock's caches see what copy engines write to the device's own memory."""
        if not self._options.timed or not self._machine.on_device(copy.dst):
            return
        rows = [copy.dst + row * copy.dst_pitch for row in range(copy.height)] or [copy.dst]
        for row in rows:
            self._started_clock().copied(row, copy.width)

    def _started_clock(self) -> Clock:
        if self._clock is None:
            self._clock = Clock(self._core, self._spec, self._options.clock_control)
        return self._clock

    def _timed(self, clock: Clock, grid: Any, launch: Launch) -> Any:
        options = self._options
        flush = options.cache_control == "all"
        record = options.record if launch.recorded else 0
        return clock.start(grid, launch, flush, record, options.timeline)

    @property
    def _budget(self) -> int:
        return self._options.crowded_budget if self.crowded else self._options.budget

    def _grid(self, launch: Launch) -> Any:
        work = launch.work
        shared, reserved = split_shared(self._spec, work)
        shared -= launch.shared_slack
        return self._core.Grid(
            self._machine.memory,
            self.program(work.program_va),
            work.program_va,
            work.grid,
            work.block,
            work.registers,
            shared,
            work.local_high,
            launch.banks,
            launch.windows.shared,
            launch.windows.local,
            self._spec.sms,
            launch.occupancy.blocks_per_sm,
            self._options.count,
            self._spec.sm.max_warps,
            reserved,
        )
