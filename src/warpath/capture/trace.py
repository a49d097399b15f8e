"""A recording taken apart as far as the tables go: what every view and the replay start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from warpath.capture import activity, calls, functions, images, ioctls, kernels, log, stream, tables, work
from warpath.capture.activity import Measured
from warpath.capture.calls import ApiCall
from warpath.capture.ioctls import Ioctl
from warpath.capture.kernels import Named
from warpath.capture.shadow import Ranges
from warpath.capture.stream import Channel, Submission
from warpath.capture.work import Copy, Launch, Upload, Work
from warpath.command import constbank
from warpath.errors import FormatError, WarpathError

DEFAULT_BRANCH = 580  # of recordings that do not say their driver
_ENDS = (
    "cuDevicePrimaryCtxRelease",
    "cuDevicePrimaryCtxReset",
    "cuCtxDestroy",
    "cuLibraryUnload",
    "cuModuleUnload",
)
_LOADS = ("cuLibraryLoad", "cuModuleLoad", "cuLibraryGet", "cuModuleGet")
_FACTS: dict[str, type] = {
    "driver": str,
    "gpu": str,
    "program": str,
    "arguments": list,
    "options": dict,
    "kernels": list,
    "exit_code": int,
    "traced_ns": int,
    "untraced_ns": int,
}
PHASES = ("init", "context", "load", "steady", "end")


@dataclass(frozen=True, slots=True)
class Load:
    """Code that was put into GPU memory: by `how` (inline or copy), in the submission `ring`, `size` bytes at `va`."""

    ring: log.Ring
    how: str
    va: int
    size: int
    names: tuple[Named, ...]


def _program_address(layout: str, constants: bytes) -> int:
    try:
        value = constbank.decode(constbank.load_layout(layout), constants).fields.get("program_address", 0)
    except WarpathError:
        return 0
    return value if isinstance(value, int) else 0


class Trace:
    """Everything in one log, decoded on first use."""

    def __init__(self, recording: log.Log) -> None:
        self.log = recording
        self.facts: dict[str, Any] = {}
        for record in recording.records:
            if isinstance(record, log.Facts):
                self.facts |= record.values
        for name, kind in _FACTS.items():
            if name in self.facts and not isinstance(self.facts[name], kind):
                raise FormatError(f"the recording says {self.facts[name]!r} for {name}")

    @property
    def driver(self) -> str:
        """The driver's version, "" when the recording does not say."""
        return self.facts.get("driver", "")

    @property
    def branch(self) -> int:
        """The driver's branch (580 of 580.159.04)."""
        head = self.driver.split(".")[0]
        return int(head) if head.isdigit() else DEFAULT_BRANCH

    @property
    def branch_known(self) -> bool:
        """Whether the tables were made with this branch in view."""
        return self.driver[:1].isdigit() and self.branch in tables.KNOWN_BRANCHES

    @cached_property
    def ioctls(self) -> list[Ioctl]:
        """All ioctls."""
        return list(ioctls.pair(self.log.records, self.branch))

    @cached_property
    def channels(self) -> dict[tuple[int, int, int], Channel]:
        """Channels by (process, client, handle)."""
        return stream.channels(self.ioctls)

    @cached_property
    def submissions(self) -> list[Submission]:
        """All doorbells."""
        return list(stream.submissions(self.log.records, self.channels))

    @cached_property
    def work(self) -> list[Work]:
        """What the submissions ask for."""
        return list(work.interpret(iter(self.submissions)))

    @cached_property
    def launches(self) -> list[Launch]:
        """Grids in the order of submission."""
        return [item for item in self.work if isinstance(item, Launch)]

    @cached_property
    def calls(self) -> list[ApiCall]:
        """Driver API calls by start."""
        return calls.join(self.log.records)

    @cached_property
    def within(self) -> calls.Within:
        """Which call a record was written in."""
        return calls.Within(self.calls)

    @cached_property
    def measured(self) -> list[Measured]:
        """Kernels that CUPTI timed."""
        return activity.kernels(self.log.records)

    @cached_property
    def named(self) -> dict[int, Named]:
        """Kernels by address: those whose code the tracing run found in files, and those that API calls name."""
        rows = self.facts.get("kernels", [])
        try:
            found = [Named.from_json(row) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"the recording's list of kernels is malformed: {error}") from error
        return {named.va: named for named in (*reversed(self._called.values()), *found)}

    @cached_property
    def _called(self) -> dict[int, Named]:
        """Kernels that the launching call names, by place in `launches`."""
        said = functions.Functions(self.log.records)
        return functions.name_launches(self.launches, self.calls, self.within, said, self._code_address)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(launch): place for place, launch in enumerate(self.launches)}

    def _code_address(self, launch: Launch) -> int:
        """Where a launch's code is. CUPTI's stub in front of it leaves the kernel's address in constant bank 0."""
        assert launch.work is not None
        if launch.constants is None or launch.qmd is None or not launch.qmd.has("SASS_VERSION"):
            return launch.work.program_va
        version = launch.qmd.get("SASS_VERSION")
        address = _program_address(f"sm_{version >> 4}{version & 15}", launch.constants)
        return address or launch.work.program_va

    def kernel_of(self, launch: Launch) -> Named | None:
        """The kernel of a launch: what its call names, or what lies at its address."""
        if launch.work is None:
            return None
        there = self.named.get(launch.work.program_va) or self.named.get(self._code_address(launch))
        called = self._called.get(self._places.get(id(launch), -1))
        if there is None or called is None:
            return there or called
        return there if there.mangled == called.mangled else called

    def kernel_name(self, launch: Launch) -> str:
        """The kernel's name, or where its code is."""
        named = self.kernel_of(launch)
        if named is not None:
            return named.name
        return "unknown" if launch.work is None else f"code at {launch.work.program_va:#x}"

    @cached_property
    def host_ranges(self) -> list[tuple[int, int]]:
        """(start, size) of host memory that the GPU can reach: system memory that the driver mapped or registered."""
        system = {
            (i.start.head.pid, (i.fields or {}).get("hObjectNew"))
            for i in self.ioctls
            if i.detail.startswith("NV01_MEMORY_SYSTEM")
        }
        found: list[tuple[int, int]] = []
        for record in self.log.records:
            if not isinstance(record, log.Map) or record.error:
                continue
            if record.device == ioctls.CONTROL_FILE or (record.head.pid, record.handle) in system:
                found.append((record.address, record.length))
        for ioctl in self.ioctls:
            fields = ioctl.fields or {}
            start, limit = fields.get("pMemory"), fields.get("limit")
            if ioctl.name == "NV_ESC_RM_ALLOC_MEMORY" and isinstance(start, int) and isinstance(limit, int):
                found.append((start, limit + 1))
        return found

    def find_kernels(self, paths: Sequence[Path]) -> list[Named]:
        """The kernels of these programs and libraries that the recording shows being uploaded."""
        known = [cubin for path in paths for cubin in kernels.cubins(path)]
        return kernels.match(self._code_writes(), known)

    def find_in_images(self) -> list[Named]:
        """The kernels of the images that modules were loaded from, as far as they are in the log or still in files.

        Nothing is read when every launch has a name already.
        """
        if all(launch.work is None or self.kernel_of(launch) for launch in self.launches):
            return []
        majors = frozenset(
            launch.qmd.get("SASS_VERSION") >> 4
            for launch in self.launches
            if launch.qmd is not None and launch.qmd.has("SASS_VERSION")
        )
        known = [
            cubin
            for data, where in images.contents(self.log.records)
            for cubin in kernels.in_image(data, where, majors)
        ]
        return kernels.match(self._code_writes(), known)

    def _code_writes(self) -> list[tuple[int, bytes]]:
        """Uploads and copies, with neighbouring pieces of one submission joined: a module can take several."""
        joined: list[tuple[int, bytes]] = []
        for item in self.work:
            if isinstance(item, Upload):
                va, data = item.va, item.data
            elif isinstance(item, Copy) and item.data is not None:
                va, data = item.dst, item.data
            else:
                continue
            if joined and joined[-1][0] + len(joined[-1][1]) == va:
                joined[-1] = joined[-1][0], joined[-1][1] + data
            else:
                joined.append((va, data))
        return joined

    @cached_property
    def loads(self) -> list[Load]:
        """Code uploads: those writes that a launched program's address lies in."""
        entries = sorted({x.work.program_va for x in self.launches if x.work is not None})
        found: list[Load] = []
        for item in self.work:
            if isinstance(item, Upload):
                va, size, how = item.va, len(item.data), "inline"
            elif isinstance(item, Copy) and item.kind == "copy":
                va, size, how = item.dst, item.bytes, "copy"
            else:
                continue
            inside = [entry for entry in entries if va <= entry < va + size]
            if inside:
                names = tuple(self.named[entry] for entry in inside if entry in self.named)
                found.append(Load(item.where.submission.ring, how, va, size, names))
        return found

    @cached_property
    def context_end(self) -> int:
        """When the context stood: the end of the call that made the last channel, or that channel's own time."""
        made = [i for i in self.ioctls if i.detail.endswith("_CHANNEL_GPFIFO_A") and i.status == 0]
        if not made:
            return 0
        first = made[0].start.head
        creating = [i for i in made if i.start.head.pid == first.pid]
        index = self.within.find(creating[0].start.head)
        if index is not None:
            return self.calls[index].end_ns
        return creating[-1].time_ns + creating[-1].duration_ns

    @cached_property
    def _load_spans(self) -> Ranges:
        """Times in which code is loaded: calls made for that, and a call that loads lazily, up to the launch in it."""
        spans = Ranges()
        launched: dict[int, int] = {}  # call -> time of its last launch
        for launch in self.launches:
            index = self.within.find(launch.where.submission.ring.head)
            if index is not None:
                launched[index] = launch.where.submission.ring.head.time_ns
        for load in self.loads:
            index = self.within.find(load.ring.head)
            if index is None:
                spans.add(load.ring.head.time_ns, 1)
                continue
            call = self.calls[index]
            spans.add(
                call.start_ns,
                launched.get(index, min(call.end_ns, load.ring.head.time_ns + 1)) - call.start_ns,
            )
        for call in self.calls:
            if call.depth == 0 and call.name.startswith(_LOADS):
                spans.add(call.start_ns, max(call.duration_ns, 1))
        return spans

    def phase(self, head: log.Head) -> str:
        """What the program was doing: init, context, load, steady or end."""
        index = self.within.find(head)
        name = "" if index is None else self.calls[index].name
        if name == "cuInit":
            return "init"
        if name.startswith(_ENDS):
            return "end"
        if head.time_ns <= self.context_end:
            return "context" if head.time_ns > self._init_end else "init"
        return "load" if self._load_spans.find(head.time_ns) else "steady"

    @cached_property
    def _init_end(self) -> int:
        return next((call.end_ns for call in self.calls if call.name == "cuInit"), 0)
