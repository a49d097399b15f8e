"""What the methods of a recording amount to: uploads, copies, fills, launches, semaphores; in the order of submission.

Nothing is executed. Launches that a QMD starts by naming a dependent are followed as the compute work distributor
does it, so that the kernels of a graph are counted one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from warpath.capture.shadow import Shadow
from warpath.capture.stream import Submission
from warpath.command import grid
from warpath.command.classes import find_class
from warpath.command.grid import DependentAction, GridType, GridWork
from warpath.command.methods import Method
from warpath.command.qmd import Qmd, detect, version_of_number
from warpath.errors import WarpathError

_LARGE_QMD_SINCE = 0xCBC0
_SCHEDULES = frozenset(
    {
        "SCHEDULE",
        "PREFETCH_SCHEDULE",
        "INVALIDATE_COPY_SCHEDULE",
        "INVALIDATE_PREFETCH_COPY_SCHEDULE",
    }
)
_MOST_CHAIN = 100_000  # launches or words that one method may set off: a damaged QMD could name itself


@dataclass(frozen=True, slots=True)
class Where:
    """The submission and the segment (by place in it) that some work stands in."""

    submission: Submission
    segment: int


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes that travelled in the pushbuffer to `va`."""

    where: Where
    va: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy-engine transfer: `kind` is copy or fill; `data` is what it read when that was recorded."""

    where: Where
    kind: str
    src: int
    dst: int
    width: int
    lines: int
    data: bytes | None

    @property
    def bytes(self) -> int:
        """Bytes written."""
        return self.width * self.lines


@dataclass(frozen=True, slots=True)
class Launch:
    """A grid. `form` is how it was triggered: pointer, inline or dependent. `qmd` is None when the QMD was not seen."""

    where: Where
    form: str
    qmd_va: int
    qmd: Qmd | None
    work: GridWork | None
    constants: bytes | None
    problem: str


@dataclass(frozen=True, slots=True)
class Semaphore:
    """A semaphore that is released, or that the channel waits for (`acquires`)."""

    where: Where
    engine: str
    acquires: bool
    va: int
    payload: int


Work = Upload | Copy | Launch | Semaphore


@dataclass(slots=True)
class _Slot:
    qmd: Qmd
    work: GridWork
    scheduled: bool
    dependences: int


class Interpreter:
    """Follows the methods of all channels of one process."""

    def __init__(self) -> None:
        self.memory = Shadow()
        self._state: dict[
            tuple[int, int], dict[str, int]
        ] = {}  # (token, subchannel) -> last value of each method
        self._inline: dict[tuple[int, int], tuple[int, bytearray]] = {}  # -> bytes to come, bytes so far
        self._slots: dict[int, _Slot] = {}
        self._qmd_words: dict[tuple[int, int], dict[int, int]] = {}
        self._handlers: dict[str, dict[str, Callable[[Where, Method, dict[str, int]], Iterator[Work]]]] = {
            "compute": {
                "LAUNCH_DMA": self._begin_upload,
                "LOAD_INLINE_DATA": self._upload,
                "CALL_MME_DATA": self._repeat,
                "SEND_SIGNALING_PCAS_B": self._pcas,
                "SEND_SIGNALING_PCAS2_B": self._pcas2,
                "LOAD_INLINE_QMD_DATA": self._inline_qmd,
                "SET_REPORT_SEMAPHORE_D": self._report,
            },
            "copy": {"LAUNCH_DMA": self._copy},
            "host": {"SEM_EXECUTE": self._host_semaphore},
        }
        self._handlers["inline"] = self._handlers["compute"]

    def submission(self, submission: Submission) -> Iterator[Work]:
        """The work of one doorbell."""
        for position, segment in enumerate(submission.segments):
            where = Where(submission, position)
            for method in segment.methods:
                yield from self._method(where, method)

    def _method(self, where: Where, method: Method) -> Iterator[Work]:
        table = None if method.class_id is None else find_class(method.class_id)
        if table is None or method.spec is None:
            return
        state = self._state.setdefault((where.submission.ring.value, method.subchannel), {})
        state[method.spec.name] = method.value
        handler = self._handlers.get(table.kind, {}).get(method.spec.name)
        if handler is not None:
            yield from handler(where, method, state)

    # --- inline copies -----------------------------------------------------------------------------------

    def _begin_upload(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        width, lines = state.get("LINE_LENGTH_IN", 0), state.get("LINE_COUNT", 1)
        size = -(-width // 4) * 4 * lines if width else 0
        self._inline[_key(where, method)] = (size, bytearray())
        return iter(())

    def _upload(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        size, data = self._inline.get(_key(where, method), (0, bytearray()))
        data += method.value.to_bytes(4, "little")
        if not size or len(data) < size:
            return
        del self._inline[_key(where, method)]
        va = _address(state, "OFFSET_OUT_UPPER", "OFFSET_OUT")
        width, lines = state.get("LINE_LENGTH_IN", 0), state.get("LINE_COUNT", 1)
        for line in range(lines):
            part = bytes(data[line * width : (line + 1) * width])
            at = va + line * state.get("PITCH_OUT", 0)
            self.memory.write(at, part)
            yield Upload(where, at, part)

    def _repeat(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        """The driver's macro 0, as small memsets use it: so many inline data words of one value (read off an H200)."""
        for _ in range(min(state.get("CALL_MME_MACRO", 0), _MOST_CHAIN)):
            if _key(where, method) not in self._inline:
                return
            yield from self._upload(where, method, state)

    # --- the copy engine ---------------------------------------------------------------------------------

    def _copy(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        fields = _named(method)
        if fields.get("DATA_TRANSFER_TYPE") not in (None, "NONE"):
            yield self._transfer(where, fields, state)
        if fields.get("SEMAPHORE_TYPE") not in (None, "NONE"):
            va, payload = (
                _address(state, "SET_SEMAPHORE_A", "SET_SEMAPHORE_B"),
                state.get("SET_SEMAPHORE_PAYLOAD", 0),
            )
            yield Semaphore(where, "copy", False, va, payload)

    def _transfer(self, where: Where, fields: Mapping[str, str], state: dict[str, int]) -> Copy:
        lines = state.get("LINE_COUNT", 1) if fields.get("MULTI_LINE_ENABLE") == "TRUE" else 1
        width = state.get("LINE_LENGTH_IN", 0)
        src = _address(state, "OFFSET_IN_UPPER", "OFFSET_IN_LOWER")
        dst = _address(state, "OFFSET_OUT_UPPER", "OFFSET_OUT_LOWER")
        if fields.get("REMAP_ENABLE") == "TRUE":
            components = state.get("SET_REMAP_COMPONENTS", 0)
            width *= ((components >> 16 & 3) + 1) * ((components >> 24 & 3) + 1)
            self.memory.forget(dst, width * lines)
            return Copy(where, "fill", 0, dst, width, lines, None)
        data = _recorded(where.submission, src, width) if lines == 1 else None
        data = data or (self.memory.read(src, width) if lines == 1 else None)
        if data is None:
            self.memory.forget(dst, (lines - 1) * state.get("PITCH_OUT", 0) + width)
        else:
            self.memory.write(dst, data)
        return Copy(where, "copy", src, dst, width, lines, data)

    # --- launches ----------------------------------------------------------------------------------------

    def _pcas(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        if method.fields.get("SCHEDULE"):
            yield from self._schedule(where, state.get("SEND_PCAS_A", 0) << 8, method, state, "pointer")

    def _pcas2(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        va, action = state.get("SEND_PCAS_A", 0) << 8, _named(method).get("PCAS_ACTION", "")
        if action in _SCHEDULES:
            yield from self._schedule(where, va, method, state, "pointer")
        elif action == "DECREMENT_DEPENDENCE":
            yield from self._depend(where, va, method, state)

    def _inline_qmd(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        assert method.spec is not None
        words = self._qmd_words.setdefault(_key(where, method), {})
        words[method.spec.index or 0] = method.value
        large = bool(state.get("SET_INLINE_QMD_ADDRESS_A", 0) >> 30 & 1)
        count = 96 if large else 64
        if method.spec.index != count - 1:
            return
        upper = state.get("SET_INLINE_QMD_ADDRESS_A", 0) & 0x1FF
        va = (upper << 32 | state.get("SET_INLINE_QMD_ADDRESS_B", 0)) << 8
        self.memory.write(va, struct.pack(f"<{count}I", *(words.get(i, 0) for i in range(count))))
        self._qmd_words.pop(_key(where, method))
        yield from self._schedule(where, va, method, state, "inline")

    def _load(self, va: int, method: Method, state: dict[str, int]) -> _Slot | str:
        """The QMD at `va`, or why there is none."""
        compute_class = method.class_id or 0
        data = self.memory.read(va, 384 if compute_class >= _LARGE_QMD_SINCE else 256)
        if data is None:
            return f"the QMD at {va:#x} was not seen being written"
        number = state.get("SET_QMD_VERSION")
        try:
            version = detect(data, compute_class) if number is None else version_of_number(number & 0xFFFF)
            qmd = Qmd.from_bytes(version, data)
            work = grid.read(qmd)
        except WarpathError as error:
            return f"QMD at {va:#x}: {error}"
        return _Slot(qmd, work, False, work.dependences)

    def _schedule(
        self, where: Where, va: int, method: Method, state: dict[str, int], form: str
    ) -> Iterator[Work]:
        slot = self._load(va, method, state)
        if isinstance(slot, str):
            yield Launch(where, form, va, None, None, None, slot)
            return
        slot.scheduled = not _waits_for_another(slot)
        self._slots[va] = slot
        yield from self._run(where, va, method, state, form)

    def _depend(self, where: Where, va: int, method: Method, state: dict[str, int]) -> Iterator[Work]:
        if va not in self._slots:
            slot = self._load(va, method, state)
            if isinstance(slot, str):
                return
            self._slots[va] = slot
        self._slots[va].dependences -= 1
        yield from self._run(where, va, method, state, "dependent")

    def _run(self, where: Where, va: int, method: Method, state: dict[str, int], form: str) -> Iterator[Work]:
        """The grid at `va` if it is ready, and those that its end sets off."""
        queue = [va]
        for count in range(_MOST_CHAIN):
            if not queue:
                return
            at = queue.pop(0)
            slot = self._slots.get(at)
            if slot is None or not slot.scheduled or slot.dependences > 0:
                continue
            if slot.work.type != GridType.NULL and 0 not in slot.work.grid:
                yield self._launch(where, at, slot, form if count == 0 else "dependent")
            self._rearm(at, slot)
            for dependent in slot.work.dependents:
                self._trigger(dependent.va, dependent.action, method, state)
                queue.append(dependent.va)

    def _rearm(self, va: int, slot: _Slot) -> None:
        """A QMD that copies itself back on completion waits again; any other is used up."""
        if slot.qmd.has("SELF_COPY_ON_COMPLETION") and slot.qmd.get("SELF_COPY_ON_COMPLETION"):
            slot.dependences = slot.work.dependences
            slot.scheduled = not _waits_for_another(slot)
        else:
            self._slots.pop(va, None)

    def _trigger(self, va: int, action: int, method: Method, state: dict[str, int]) -> None:
        slot = self._slots.get(va) or self._load(va, method, state)
        if isinstance(slot, str):
            return
        self._slots[va] = slot
        if action == DependentAction.DECREMENT_DEPENDENCE:
            slot.dependences -= 1
        else:
            slot.scheduled = True

    def _launch(self, where: Where, va: int, slot: _Slot, form: str) -> Launch:
        constants = None
        for bank in slot.work.banks:
            if bank.index == 0:
                # The driver rounds the size up, so its end need not have been written.
                constants = self.memory.prefix(bank.va, bank.size) or None
        return Launch(where, form, va, slot.qmd, slot.work, constants, "")

    # --- semaphores --------------------------------------------------------------------------------------

    def _report(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        va = _address(state, "SET_REPORT_SEMAPHORE_A", "SET_REPORT_SEMAPHORE_B")
        yield Semaphore(where, "compute", False, va, state.get("SET_REPORT_SEMAPHORE_C", 0))

    def _host_semaphore(self, where: Where, method: Method, state: dict[str, int]) -> Iterator[Work]:
        va = _address(state, "SEM_ADDR_HI", "SEM_ADDR_LO") & ~3
        acquires = "ACQ" in _named(method).get("OPERATION", "")
        yield Semaphore(where, "host", acquires, va, state.get("SEM_PAYLOAD_LO", 0))


def _waits_for_another(slot: _Slot) -> bool:
    """Whether a QMD that was scheduled by method still waits for one whose end schedules it.

    Read off the graphs of an H200 (driver 580): every node after the first is scheduled by method when the graph is
    uploaded, with REQUIRE_SCHEDULING_PCAS and no dependence left, and yet runs once per graph launch, in order.
    """
    requires = slot.qmd.has("REQUIRE_SCHEDULING_PCAS") and slot.qmd.get("REQUIRE_SCHEDULING_PCAS")
    return bool(requires) and slot.work.dependences == 0


def _key(where: Where, method: Method) -> tuple[int, int]:
    return where.submission.ring.value, method.subchannel


def _address(state: Mapping[str, int], upper: str, lower: str) -> int:
    return state.get(upper, 0) << 32 | state.get(lower, 0)


def _named(method: Method) -> dict[str, str]:
    """Field values by the header's names."""
    assert method.spec is not None
    values = ((f, f.bits.get(method.value)) for f in method.spec.fields)
    return {f.name: f.names.get(value, str(value)) for f, value in values}


def _recorded(submission: Submission, va: int, size: int) -> bytes | None:
    """What the recorder read at the source of a copy; pieces of one source follow each other."""
    found = b""
    for piece in submission.memory:
        if piece.address == va + len(found) and len(found) < size:
            found += piece.data
    return found if size and len(found) >= size else None


def interpret(submissions: Iterator[Submission]) -> Iterator[Work]:
    """The work of all submissions; each process has memory of its own."""
    by_process: dict[int, Interpreter] = {}
    for submission in submissions:
        yield from by_process.setdefault(submission.ring.head.pid, Interpreter()).submission(submission)
