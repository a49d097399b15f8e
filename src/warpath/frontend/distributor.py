"""The compute work distributor: QMDs become launches, wait for what they depend on, and set off others when
they end.

A QMD runs when it has been scheduled and its dependence counter has reached zero. Scheduling is not a
dependence: the H200 driver's spacer (counter 2) is scheduled at once, released once by the end of its
kernel, and once more by the next launch. This reading of the capture is an inference.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from warpath.command.grid import Dependent, DependentAction, GridWork, Release, Structure
from warpath.command.qmd import Qmd, detect, version_of_number
from warpath.errors import UnsupportedError
from warpath.frontend import launch as launches
from warpath.frontend.engine import Machine, Steps, Submission
from warpath.frontend.execution import Executor
from warpath.frontend.launch import Launch, Windows
from warpath.frontend.semaphore import ReleaseWrite, reduction_name
from warpath.gpu.occupancy import Occupancy
from warpath.gpu.spec import Gpu

_WORDS = {Structure.FOUR_WORDS: 4, Structure.ONE_WORD: 1, Structure.TWO_WORDS: 2}
_REDUCTIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")
_LARGE_QMD_SINCE = 0xCBC0  # compute class
_SIZES = (256, 384)


@dataclass(frozen=True, slots=True)
class Context:
    """The channel a QMD came in on: its compute class, windows, and the QMD version it announced, if any."""

    token: int
    compute_class: int
    qmd_number: int | None
    windows: Windows
    submission: Submission | None


@dataclass(slots=True)
class _Slot:
    """A QMD that the distributor holds."""

    va: int
    qmd: Qmd
    work: GridWork
    form: str
    scheduled: bool
    dependences: int

    @property
    def ready(self) -> bool:
        return self.scheduled and self.dependences == 0


class Distributor:
    """Holds the QMDs of all channels and runs those that are ready."""

    def __init__(self, machine: Machine, executor: Executor, spec: Gpu) -> None:
        self._machine = machine
        self._executor = executor
        self._spec = spec
        self._slots: dict[int, _Slot] = {}
        self._count = 0
        self._occupancies: dict[tuple[tuple[int, int, int], int, int, int], Occupancy] = {}

    @property
    def waiting(self) -> list[int]:
        """Addresses of QMDs that were loaded and have not run."""
        return sorted(self._slots)

    def load(self, va: int, context: Context, form: str) -> None:
        """Read the QMD at `va`, replacing what was held for that address."""
        data = self._machine.memory.read(va, qmd_bytes(context.compute_class))
        if context.qmd_number is None:
            version = detect(data, context.compute_class)
        else:
            version = version_of_number(context.qmd_number)
        qmd = Qmd.from_bytes(version, data)
        work = launches.read_work(qmd)
        self._slots[va] = _Slot(va, qmd, work, form, scheduled=False, dependences=work.dependences)

    def drop(self, va: int) -> None:
        """Forget what is held for an address; memory is read again when it is needed."""
        self._slots.pop(va, None)

    def schedule(self, va: int, context: Context, form: str, *, reload: bool) -> Steps:
        """Mark a QMD as scheduled, and run it and all that follows from it as far as they are ready."""
        self._schedule(va, context, form, reload=reload)
        return self._run_ready(context, [va])

    def depend(self, va: int, context: Context, delta: int) -> Steps:
        """Change a QMD's dependence counter by `delta`; run it if that makes it ready."""
        self._depend(va, context, delta)
        return self._run_ready(context, [va])

    def _schedule(self, va: int, context: Context, form: str, *, reload: bool) -> None:
        if reload or va not in self._slots:
            self.load(va, context, form)
        self._slots[va].scheduled = not _waits_for_another(self._slots[va])

    def _depend(self, va: int, context: Context, delta: int) -> None:
        if va not in self._slots:
            self.load(va, context, "dependent")
        slot = self._slots[va]
        slot.dependences = max(slot.dependences + delta, 0)

    def _run_ready(self, context: Context, candidates: list[int]) -> Steps:
        queue = deque(candidates)
        while queue:
            slot = self._slots.get(queue.popleft())
            if slot is None or not slot.ready:
                continue
            self._end(slot)
            if not launches.is_empty(slot.work):
                yield from self._executor.run(self._launch(slot, context))
            for release in slot.work.releases:
                self._machine.release(_write(release))
            for dependent in slot.work.dependents:
                self._trigger(dependent, context)
                queue.append(dependent.va)

    def _end(self, slot: _Slot) -> None:
        """A QMD that copies itself back on completion waits again as it did at first; any other is used up."""
        if slot.qmd.has("SELF_COPY_ON_COMPLETION") and slot.qmd.get("SELF_COPY_ON_COMPLETION"):
            slot.dependences = slot.work.dependences
            slot.scheduled = not _waits_for_another(slot)
        else:
            del self._slots[slot.va]

    def _trigger(self, dependent: Dependent, context: Context) -> None:
        if dependent.action == DependentAction.DECREMENT_DEPENDENCE:
            self._depend(dependent.va, context, -1)
        elif dependent.action in (DependentAction.SCHEDULE, DependentAction.INVALIDATE_COPY_SCHEDULE):
            if (
                dependent.action == DependentAction.INVALIDATE_COPY_SCHEDULE
                or dependent.va not in self._slots
            ):
                self.load(dependent.va, context, "dependent")
            self._slots[dependent.va].scheduled = True
        else:
            raise UnsupportedError(f"dependent QMD action {dependent.action} has no model")

    def _launch(self, slot: _Slot, context: Context) -> Launch:
        if slot.qmd.has("INVALIDATE_INSTRUCTION_CACHE") and slot.qmd.get("INVALIDATE_INSTRUCTION_CACHE"):
            self._executor.invalidate_instructions()
        index = self._count
        self._count += 1
        return Launch(
            index=index,
            token=context.token,
            submission=context.submission,
            form=slot.form,
            qmd_va=slot.va,
            qmd=slot.qmd,
            work=slot.work,
            windows=context.windows,
            occupancy=self._residency(slot.work),
            layout=self._spec.cbank0,
            constants=launches.read_constants(self._machine.memory, slot.work),
        )

    def _residency(self, work: GridWork) -> Occupancy:
        shape = (work.block, work.registers, work.shared, work.barriers)
        if shape not in self._occupancies:
            self._occupancies[shape] = launches.residency(self._spec, work)
        return self._occupancies[shape]


def _waits_for_another(slot: _Slot) -> bool:
    """Whether a QMD that was scheduled by method still waits for one whose end schedules it.

    Read off the graphs of an H200 (driver 580): every node after the first is scheduled by method when the graph is
    uploaded, with REQUIRE_SCHEDULING_PCAS and no dependence, and yet runs once per graph launch, in order.
    """
    requires = slot.qmd.has("REQUIRE_SCHEDULING_PCAS") and slot.qmd.get("REQUIRE_SCHEDULING_PCAS")
    return bool(requires) and slot.work.dependences == 0


def qmd_bytes(compute_class: int) -> int:
    """Size of the largest QMD of a compute class."""
    return _SIZES[compute_class >= _LARGE_QMD_SINCE]


def _write(release: Release) -> ReleaseWrite:
    reduction = None if release.reduction is None else reduction_name(_REDUCTIONS[release.reduction])
    words = _WORDS[Structure(release.structure)]
    return ReleaseWrite(release.va, release.payload, words, release.wide, reduction)
