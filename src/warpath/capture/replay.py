"""Plays a recorded command stream into the model GPU: the front end executes the real driver's bytes.

What a copy read from host memory is known only when it was recorded (`trace --with-memory`); what the host itself
wrote into GPU-visible memory, such as a semaphore that the GPU waits for, is not recorded: a wait that nothing in the
recording ends is ended here, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpath.capture.shadow import Ranges
from warpath.capture.stream import Submission
from warpath.capture.trace import Trace
from warpath.capture.work import Copy, Launch, Semaphore, Upload
from warpath.command import gpfifo
from warpath.command.gpfifo import Entry
from warpath.errors import UsageError
from warpath.frontend.engine import Copy as ModelCopy
from warpath.frontend.gpu import ModelGpu
from warpath.frontend.launch import Launch as ModelLaunch

PAGE = 2 << 20  # of the model's memory
DEVICE, CODE = 1, 4  # kinds of allocations in it
_MAPS = "UVM_MAP_EXTERNAL_ALLOCATION"
_MOST_WAITS = 1000  # that are ended one after another: a damaged recording could go on for ever


@dataclass(slots=True)
class Outcome:
    """What the model did: launches with the core's counters, bytes that copies brought to the host, in order."""

    launches: list[ModelLaunch] = field(default_factory=list[ModelLaunch])
    to_host: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    copies: int = 0
    segments: int = 0
    host_releases: int = 0  # waits that the recording does not end
    faults: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    waiting: list[int] = field(default_factory=list[int])


def layout(trace: Trace) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(regions to reserve, code ranges): every address that the recording's GPU work touches, by whole pages."""
    used = _Pages()
    for ioctl in trace.ioctls:
        fields = ioctl.fields or {}
        base, length = fields.get("base"), fields.get("length")
        if ioctl.name == _MAPS and isinstance(base, int) and isinstance(length, int):
            used.add(base, length)
    for submission in trace.submissions:
        used.add(submission.ring.ring, submission.ring.entries * gpfifo.ENTRY_BYTES)
        used.add(submission.ring.userd, gpfifo.USERD_BYTES)
        for segment in submission.segments:
            if isinstance(segment.entry, Entry):
                used.add(segment.entry.va, segment.entry.dwords * 4)
    code = Ranges()
    for load in trace.loads:
        code.add(load.va, load.size)
    for item in trace.work:
        if isinstance(item, Upload):
            used.add(item.va, len(item.data))
        elif isinstance(item, Copy):
            used.add(item.dst, item.bytes)
            if item.src:
                used.add(item.src, item.bytes)
        elif isinstance(item, Semaphore):
            used.add(item.va, 16)
        else:
            _add_launch(used, item)
    return used.regions(), code.all()


def _add_launch(used: _Pages, launch: Launch) -> None:
    used.add(launch.qmd_va, 384)
    if launch.work is not None:
        for bank in launch.work.banks:
            used.add(bank.va, bank.size)


class _Pages:
    """Pages that are used, as regions."""

    def __init__(self) -> None:
        self._pages: set[tuple[int, int]] = set()

    def add(self, start: int, size: int) -> None:
        """Use these bytes; nothing for an address or size of 0."""
        if start and size:
            self._pages.add((start // PAGE, (start + size - 1) // PAGE + 1))

    def regions(self) -> list[tuple[int, int]]:
        """(base, size) of what is used, joined where it touches."""
        found: list[list[int]] = []
        for first, end in sorted(self._pages):
            if found and first <= found[-1][1]:
                found[-1][1] = max(found[-1][1], end)
            else:
                found.append([first, end])
        return [(first * PAGE, (end - first) * PAGE) for first, end in found]


class _Watcher:
    """Observes the model GPU for the outcome."""

    def __init__(self, outcome: Outcome, memory: Any, is_host: Callable[[int], bool]) -> None:
        self._outcome = outcome
        self._memory = memory
        self._is_host = is_host

    def on_entry(self, _channel: Any, _entry: Any, _methods: Any) -> None:
        """Count segments."""
        self._outcome.segments += 1

    def on_copy(self, copy: ModelCopy) -> None:
        """Keep what reaches the host."""
        self._outcome.copies += 1
        if copy.kind == "copy" and self._is_host(copy.dst) and not self._is_host(copy.src):
            for line in range(copy.height):
                va = copy.dst + line * copy.dst_pitch
                self._outcome.to_host.append((va, self._memory.read(va, copy.width)))

    def on_launch(self, launch: ModelLaunch) -> None:
        """Keep launches that ended."""
        self._outcome.launches.append(launch)


def replay(trace: Trace, make: Callable[[], tuple[Any, ModelGpu]]) -> Outcome:
    """Play everything in the recording; `make` gives the core's empty memory and a model GPU on it.

    UsageError when there is nothing to play; what the model cannot do stops it as it stops a program.
    """
    if not any(submission.segments for submission in trace.submissions):
        raise UsageError("the recording has no command stream: record without --no-doorbell to replay it")
    memory, gpu = make()
    regions, code = layout(trace)
    for base, size in regions:
        memory.reserve(base, size)
        for start, length, kind in _allocations(base, size, code):
            memory.alloc(start, length, kind)
    outcome = Outcome()
    ranges = trace.host_ranges

    def is_host(va: int) -> bool:
        return any(start <= va < start + size for start, size in ranges)

    gpu.observers.append(_Watcher(outcome, memory, is_host))
    first = trace.submissions[0].ring.head.pid
    known: set[int] = set()
    released = _released(trace)
    for submission in trace.submissions:
        if submission.ring.head.pid == first and submission.segments:
            _play(gpu, memory, submission, known)
            _end_waits(gpu, memory, outcome, released)
    _end_waits(gpu, memory, outcome, frozenset())
    outcome.faults, outcome.waiting = gpu.faults, gpu.waiting
    return outcome


def _allocations(base: int, size: int, code: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """A region cut so that each piece of code is an allocation of its own: the core takes code by allocation."""
    at = base
    for start, length in code:
        if base <= start and start + length <= base + size:
            if start > at:
                yield at, start - at, DEVICE
            yield start, length, CODE
            at = start + length
    if at < base + size:
        yield at, base + size - at, DEVICE


def _released(trace: Trace) -> frozenset[int]:
    """Addresses that GPU work in the recording writes a semaphore to."""
    found = {item.va for item in trace.work if isinstance(item, Semaphore) and not item.acquires}
    for launch in trace.launches:
        if launch.work is not None:
            found |= {release.va for release in launch.work.releases}
    return frozenset(found)


def _play(gpu: ModelGpu, memory: Any, submission: Submission, known: set[int]) -> None:
    ring = submission.ring
    if ring.value not in known:
        known.add(ring.value)
        gpu.add_channel(ring.value, ring.ring, ring.entries, ring.userd)
        gpu.channel(ring.value).get = ring.put_before
    for piece in submission.memory:
        if piece.data:  # what cannot be read from the CPU is device memory, which the model has
            memory.write(piece.address, piece.data)
    for segment in submission.segments:
        if isinstance(segment.entry, Entry):
            if segment.problem:
                raise UsageError(
                    f"a segment of doorbell {ring.number} is not in the recording: {segment.problem}"
                )
            memory.write(segment.entry.va, segment.data)
        memory.write(ring.ring + gpfifo.ENTRY_BYTES * segment.index, segment.raw)
    memory.write(ring.userd + gpfifo.USERD_GP_PUT, ring.put_after.to_bytes(4, "little"))
    gpu.doorbell(ring.value)
    gpu.run()


def _end_waits(gpu: ModelGpu, memory: Any, outcome: Outcome, released: frozenset[int]) -> None:
    """End waits for what nothing in the recording writes: the host did, as after a callback."""
    for _ in range(_MOST_WAITS):
        ended = False
        for token in gpu.waiting:
            host = gpu.channel(token).host
            va, payload = host.address("SEM_ADDR_HI", "SEM_ADDR_LO") & ~3, host.value("SEM_PAYLOAD_LO")
            if va not in released:
                memory.write(va, payload.to_bytes(4, "little"))
                outcome.host_releases += 1
                ended = True
        if not ended:
            return
        gpu.run()
