"""The observer that finds faults: it sees every launch of the model GPU before, during and after."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpath.check import hang, slices, text, waits
from warpath.check.callstack import Frames, capture
from warpath.check.describe import DEVICE_FREES, RACES, Describer
from warpath.check.history import KIND_NAMES, PADDING_BYTES, History
from warpath.check.suppress import Rule, split
from warpath.driver.context import Driver
from warpath.driver.error import CudaError
from warpath.frontend.launch import Launch
from warpath.host.session import Runtime
from warpath.report.model import AllocationInfo, Fault
from warpath.report.recorder import Names
from warpath.units import format_duration_ns

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
_FREES = ("cudaFree", "cuMemFree_v2", "cudaFreeHost", "cuMemFreeHost", "cudaFreeAsync", "cuMemFreeAsync")
_NO_REGISTER = 0xFFFF_FFFF
_STEP = 1_000_000  # warp instructions between looks at a running grid


@dataclass(frozen=True, slots=True)
class Limits:
    """When a launch that does not end is stopped: host seconds, warp instructions, model time. None: never."""

    seconds: float | None = None
    instructions: int | None = None
    model_ns: int | None = None


def to_stderr(finding: Fault) -> None:
    """Print a finding when it is found."""
    print(text.render(finding), file=sys.stderr, flush=True)


class Watch:
    """Collects `faults`. With no tools it only explains what stops launches, and what hardware lets pass."""

    def __init__(
        self,
        tools: Sequence[str] = (),
        *,
        limits: Limits | None = None,
        rules: Sequence[Rule] = (),
        leaks: bool = False,
        show: Callable[[Fault], None] = to_stderr,
    ) -> None:
        self.faults: list[Fault] = []
        self.suppressed = 0
        self._tools = frozenset(tools)
        self._limits = limits or Limits()
        self._rules = rules
        self._leaks = leaks
        self._show = show
        self._checker: Any = None
        self._grid: Any = None
        self._started = 0.0
        self._steps = 0

    def attach(self, core: Any, driver: Driver, runtime: Runtime) -> None:
        """Before the program starts: the driver tells of allocations, the core is told what to check."""
        self._core, self._driver, self._runtime = core, driver, runtime
        self.history = History(lambda: runtime.calls, self._frames, quarantine="memcheck" in self._tools)
        self._describe = Describer(driver, self.history, _CallNames(runtime))
        driver.space.watcher = self.history
        runtime.on_error = self._refused
        if "memcheck" in self._tools:
            driver.space.padding = PADDING_BYTES
        if self._tools:
            self._checker = core.Checker(
                driver.memory,
                races="racecheck" in self._tools,
                sync="synccheck" in self._tools,
                initialized="initcheck" in self._tools,
                memcheck="memcheck" in self._tools,
            )

    def _frames(self) -> Frames | None:
        """Where the program makes the call in progress. It takes a moment, so only checked runs look."""
        caller = self._runtime.caller if self._tools else None
        return capture(*caller) if caller is not None else None

    def _refused(self, call: str, error: CudaError) -> None:
        """A launch that was not even tried: say why, with the numbers, once."""
        if "aunch" not in call or not error.detail or self._driver.sticky_error is not None:
            return
        self._runtime.complain(
            f"{call} was refused with error {error.code.value} ({error.code.name}): {error.detail}"
        )

    # What the model GPU tells

    def on_launch_start(self, launch: Launch) -> None:
        """What was freed in stream order before is gone, though a pool would keep it mapped; shared memory ends where
        the program's request does, not where its allocation is rounded to.
        """
        if "memcheck" not in self._tools:
            return
        self._driver.memory_manager.sweep()
        journal = self._driver.journal.launches
        if launch.index < len(journal):
            record = journal[launch.index]
            rounded = launch.work.shared - self._driver.spec.sm.shared_reserved_bytes
            launch.shared_slack = max(rounded - record.static_shared - record.dynamic_shared, 0)

    def on_grid(self, launch: Launch, grid: Any) -> None:
        """A grid is about to run."""
        self._grid = grid
        self._started = time.monotonic()
        self._steps = 0
        launch.pause_ns = self._limits.model_ns
        if self._checker is not None:
            self._checker.name_masks(self._masks(launch))
            self._checker.name_launch(launch.index)
            self._describe.heap.codes[launch.index] = launch.work.program_va
            grid.watch(self._checker)

    def on_step(self, launch: Launch, grid: Any) -> None:
        """A grid has run for a while: stop it when it has had its time."""
        self._steps += 1
        limit = self._passed(launch)
        if limit:
            launch.fault = {
                **_first(launch, grid),
                "kind": "timeout",
                "message": f"still running after {limit}",
            }

    def _passed(self, launch: Launch) -> str:
        """The limit that the launch has come to, if any."""
        limits = self._limits
        if limits.model_ns is not None and (launch.elapsed_ns or 0) >= limits.model_ns:
            return f"{format_duration_ns(limits.model_ns)} of model time"
        if limits.seconds is not None and time.monotonic() - self._started > limits.seconds:
            return f"{limits.seconds:g} s of this machine"
        if limits.instructions is not None and self._steps * _STEP > limits.instructions:
            return f"{limits.instructions:,} warp instructions"
        return ""

    def on_launch(self, launch: Launch) -> None:
        """A grid has ended, one way or the other."""
        grid = self._grid
        self._grid = None
        if grid is None:
            return
        for note in grid.notes if not self._tools or "memcheck" in self._tools else ():
            self._add(self._describe.note(launch, note, self._made(grid, note)))
        if self._checker is not None:
            self._checked(launch, self._checker.findings(grid))
            if not self._checker.complete:
                self._say(
                    "launch touched more memory than the race check follows; what is beyond was not checked"
                )
        if launch.fault is not None and not self._is_ours(launch.fault):
            kind = launch.fault["kind"]
            if kind in ("hang", "timeout"):
                story = self._stuck(launch, grid)
                self._add(self._describe.fault(launch, launch.fault, story.lines(), story.records()))
            else:
                made = self._made(grid, launch.fault) + self._freed(launch.fault)
                self._add(self._describe.fault(launch, launch.fault, made))

    def _freed(self, fault: Mapping[str, Any]) -> list[str]:
        """On the block that a wrong device-side free() meant."""
        if self._checker is None or fault["kind"] not in DEVICE_FREES:
            return []
        return self._describe.heap.lines(self._checker.heap_block(fault["address"]), fault["address"])

    def _is_ours(self, fault: Mapping[str, Any]) -> bool:
        """Whether the model's limits caused the fault; the run then ends with a line that says which."""
        address = fault.get("address")
        return fault["kind"] == "unsupported_instruction" or (
            isinstance(address, int) and self._driver.memory_manager.is_registered(address)
        )

    def _checked(self, launch: Launch, records: Sequence[Mapping[str, Any]]) -> None:
        """What a racy read finds unwritten depends on the order, so only the race is reported there."""
        racy = {record[at]["pc"] for record in records if record["kind"] in RACES for at in ("site", "other")}
        for record in records:
            if record["kind"] != "uninitialized_read" or record["site"]["pc"] not in racy:
                self._add(self._describe.finding(launch, record))

    # At the program's end

    def finish(self) -> None:
        """Look at what frees were refused and, when asked for, what was never freed."""
        if "memcheck" not in self._tools:
            return
        for record in self._runtime.api:
            if (
                record.call in _FREES
                and record.result == 1
                and record.args
                and isinstance(record.args[0], int)
            ):
                self._add(self._bad_free(record.call, record.index, record.args[0]))
        for block in self._checker.heap_leaks() if self._leaks else ():
            self._add(self._describe.heap.leak(block))
        for block in self.history.live() if self._leaks else ():
            self._add(
                Fault(
                    tool="memcheck",
                    kind="leak",
                    title=f"Leaked {block.size:,} bytes at {block.va:#x}",
                    address=block.va,
                    size=block.size,
                    notes=[
                        f"{KIND_NAMES.get(block.kind, 'device').capitalize()} memory, allocated by "
                        f"{self._describe.call(block.made, block.made_in)}, never freed."
                    ],
                )
            )

    def _bad_free(self, call: str, index: int, va: int) -> Fault:
        freed = self.history.freed_at(va)
        kind, notes, info = "invalid_free", ["No allocation starts at this address."], None
        if freed is not None and freed.va == va:
            kind = "double_free"
            notes = [
                f"Already freed by {self._describe.call(freed.freed or 0, freed.freed_in)}; "
                f"allocated by {self._describe.call(freed.made, freed.made_in)}."
            ]
            info = AllocationInfo(address=va, size=freed.size, kind=KIND_NAMES.get(freed.kind, "device"), offset=0,
                                  allocated_by=self._describe.call(freed.made, freed.made_in),
                                  freed_by=self._describe.call(freed.freed or 0, freed.freed_in))  # fmt: skip
        return Fault(
            tool="memcheck",
            kind=kind,
            title=f'Program hit cudaErrorInvalidValue (error 1) due to "invalid argument" on CUDA API call to {call}.',
            address=va,
            notes=[f"API call {index}: {call}({va:#x}).", *notes],
            allocation=info,
        )

    def _add(self, finding: Fault) -> None:
        kept, covered = split([finding], self._rules)
        self.suppressed += covered
        for one in kept:
            self.faults.append(one)
            self._show(one)

    def _say(self, message: str) -> None:
        print(f"warpath: {message}", file=sys.stderr, flush=True)

    def _masks(self, launch: Launch) -> list[tuple[int, int]]:
        """(instruction, register) of the kernel's *_sync functions: the compiler notes where their masks are."""
        place = Names(self._driver).place(launch.work.program_va)
        if place is None:
            return []
        words = {attribute.name: attribute.words for attribute in place.kernel.attributes}
        offsets, registers = (
            words.get("COOP_GROUP_INSTR_OFFSETS", ()),
            words.get("COOP_GROUP_MASK_REGIDS", ()),
        )
        start = place.va - place.base
        known = zip(offsets, registers, strict=False)
        return [((start + offset) // 16, word & 0xFFFF) for offset, word in known if word != _NO_REGISTER]

    def _made(self, grid: Any, record: Mapping[str, Any]) -> list[str]:
        return slices.explain(grid.text, int(record.get("pc", 0)) // 16) if record.get("size") else []

    def _stuck(self, launch: Launch, grid: Any) -> hang.Story:
        executed = memoryview(grid.counters["executed"]).cast("Q").tolist()
        graph = waits.read(grid.groups(), self._core.probe_hang(grid))
        return hang.Story(
            graph, grid, lambda pc: self._describe.where(launch, pc), self._describe.owner, executed
        )


class _CallNames(Mapping[int, str]):
    """Names of API calls by index; the call in progress has none yet."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __getitem__(self, index: int) -> str:
        return self._runtime.api[index].call

    def get(self, key: int, default: Any = None) -> Any:  # a list answers IndexError, not KeyError
        """The name, or `default`."""
        return self._runtime.api[key].call if 0 <= key < len(self._runtime.api) else default

    def __iter__(self) -> Any:
        return iter(range(len(self._runtime.api)))

    def __len__(self) -> int:
        return len(self._runtime.api)


def _first(launch: Launch, grid: Any) -> dict[str, Any]:
    """Where the first group that runs is, as a fault record says it."""
    groups: list[dict[str, Any]] = grid.groups()
    running = [group for group in groups if group["state"] in ("running", "ready")]
    group = (running or groups or [dict[str, Any]()])[0]
    mask = int(group.get("mask", 1)) or 1
    thread = int(group.get("warp", 0)) * 32 + (mask & -mask).bit_length() - 1
    x, y, _ = launch.work.block
    return {
        "pc": group.get("pc", 0),
        "text": group.get("text", ""),
        "block": group.get("block", (0, 0, 0)),
        "thread": (thread % x, thread // x % y, thread // x // y),
        "address": 0,
        "size": 0,
        "access": "",
    }
