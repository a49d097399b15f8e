"""Grids under the timing model: the memory system that lives as long as the GPU, and what a timed grid measured."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from typing import Any

from warpath.frontend import metrics
from warpath.frontend.launch import Launch
from warpath.gpu import timing
from warpath.gpu.occupancy import driver_carveout
from warpath.gpu.spec import Gpu

_WRITABLE = (1, 2, 3)  # kinds of allocations that kernels write: device, pinned, managed


@contextlib.contextmanager
def kept(memory: Any) -> Generator[None]:
    """Undo what happens to the contents of allocations inside."""
    saved = [(va, memory.read(va, size)) for va, size, kind in memory.allocations() if kind in _WRITABLE]
    try:
        yield
    finally:
        for va, data in saved:
            memory.write(va, data)


class Clock:
    """The time of one model GPU's launches."""

    def __init__(self, core: Any, spec: Gpu, clock_control: str) -> None:
        self._core = core
        self._spec = spec
        self.timing = timing.resolve(spec, clock_control)
        self._memory = core.MemorySystem(dict(self.timing.values))
        self._flushed = False  # before the launch that runs now

    def copied(self, va: int, size: int) -> None:
        """A copy engine wrote device memory: what fits stays in L2."""
        self._memory.copied(va, size)

    def put_back(self) -> None:
        """A profiler saved and put back memory: each line in L2 is in its home partition alone, and clean."""
        self._memory.put_back()

    def start(self, grid: Any, launch: Launch, flush: bool, record: int = 0, timeline: bool = False) -> Any:
        """`grid`, which has not run yet, under the clock: same `step`, `result` and, if wanted, `timeline`. It pauses
        at the launch's `pause_ns`.

        `flush` empties L2 and what lies before it first; `stream` is then what the first CTAs executed, about
        `record` warp instructions.
        """
        self._flushed = flush
        if flush:
            self._memory.flush()
        carveout = driver_carveout(self._spec.sm, launch.occupancy.request)
        l1_bytes = max(self._spec.sm.l1_shared_bytes - carveout, 16 << 10)
        timed = self._core.TimedGrid(grid, self._memory, l1_bytes, launch.work.program_va, record, timeline)
        if launch.pause_ns is not None:
            timed.pause_at(-(-launch.pause_ns * self.timing.values["sm_clock_khz"] // 1_000_000))
        return timed

    def elapsed_ns(self, timed: Any) -> int:
        """Model time since the launch began."""
        return _ns(timed.now, self.timing.values["sm_clock_khz"])

    def timeline(self, timed: Any) -> dict[str, Any] | None:
        """What happened when (`TimedGrid.timeline`), and what a cycle of all SMs could hold: `warp_slots` warps, and
        `issue_slots` instructions; None unless `timed` kept it.
        """
        raw = timed.timeline()
        if raw is None:
            return None
        sm = self._spec.sm
        return {
            **raw,
            "warp_slots": self._spec.sms * sm.max_warps,
            "issue_slots": self._spec.sms * sm.sub_partitions,
        }

    def counters(self, grid: Any, timed: Any, launch: Launch) -> dict[str, Any]:
        """The launch's counters: the grid's own, memory columns, and `metrics` under Nsight Compute's names.

        `duration_ns` is the sum of `front_ns`, `execution_ns` and `drain_ns`.
        """
        result: Mapping[str, Any] = timed.result()
        counters: dict[str, Any] = dict(grid.counters)
        counters.update({name: value for name, value in result["instructions"].items() if name != "stalls"})
        counters["stall_cycles"] = result["instructions"]["stalls"]
        counters["stall_names"] = self._core.STALLS
        counters["sm_active"] = result["sm_active"]
        counters["excess_sectors"] = result["excess_sectors"]
        khz = self.timing.values["sm_clock_khz"]
        cycles = result["cycles"]
        counters["cycles"] = cycles
        counters["duration_ns"] = _ns(cycles, khz)
        counters["front_ns"] = _ns(result["front_cycles"], khz)
        counters["drain_ns"] = _ns(result["drain_cycles"], khz)
        counters["execution_ns"] = counters["duration_ns"] - counters["front_ns"] - counters["drain_ns"]
        counters["sm_clock_khz"] = khz
        counters["constants_from"] = timing.REFERENCE if self.timing.inherited else self._spec.name
        counters["cache"] = "cold" if self._flushed else "warm"
        counters["utilization"] = metrics.utilization(result, self._spec, self.timing.values)
        counters["metrics"] = metrics.collect(result, counters, launch, self._spec, khz)
        return counters


def _ns(cycles: int, khz: int) -> int:
    return round(cycles * 1_000_000 / khz)
