"""From the core's records to findings: names, source lines, allocations, and compute-sanitizer's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpath.check import xid
from warpath.check.callstack import Frames
from warpath.check.heap import Heap
from warpath.check.history import KIND_NAMES, History, Record
from warpath.container.demangle import demangle
from warpath.driver.address_space import LOCAL_WINDOW, SHARED_WINDOW
from warpath.driver.context import Driver
from warpath.frontend.launch import Launch
from warpath.report.model import AllocationInfo, Fault, FaultSite, Waiting

_HOST_HEAP = 0x5500_0000_0000
_HOST_TOP = 0x7FFF_FFFF_FFFF
_NULL_PAGE = 0x1_0000
_SPACES = {
    "shared_out_of_range": "__shared__",
    "local_out_of_range": "__local__",
    "stack_overflow": "__local__",
}
RACES = {
    "race_read_after_write": "read-after-write",
    "race_write_after_read": "write-after-read",
    "race_write_after_write": "write-after-write",
}
_SYNC = {
    "divergent_barrier": "Divergent thread(s) in block",
    "barrier_exited": "Divergent thread(s) in block",
    "barrier_count": "Invalid arguments",
    "mask_without_caller": "Invalid arguments",
    "mask_exited": "Divergent thread(s) in warp",
}
DEVICE_FREES = {
    "device_double_free": "Double free",
    "device_invalid_free": "Invalid pointer to free",
}
_HEAP = ("heap_out_of_bounds", "heap_use_after_free")
_PLAIN = {
    **{kind: f"Malloc/Free Error encountered : {words}" for kind, words in DEVICE_FREES.items()},
    "device_assert": "Device-side assert",
    "stack_overflow": "Stack overflow",
    "trap": "Trap instruction",
    "illegal_instruction": "Illegal instruction",
    "invalid_pc": "Invalid program counter",
    "hang": "Launch makes no progress",
    "timeout": "Launch does not end",
}


class Describer:
    """Names things of one driver's program."""

    def __init__(self, driver: Driver, history: History, calls: Mapping[int, str]) -> None:
        self.heap = Heap(self._spot)
        self._driver = driver
        self._history = history
        self._calls = calls

    def call(self, index: int, frames: Frames | None = None) -> str:
        """`API call 3 (cudaMalloc) in main > setup(int)`."""
        name = self._calls.get(index)
        place = frames.describe() if frames is not None else ""
        return f"API call {index}" + (f" ({name})" if name else "") + (f" in {place}" if place else "")

    def spot(self, launch: Launch, record: Mapping[str, Any]) -> FaultSite:
        """Where a record of the core points."""
        return self._spot(launch.work.program_va, record)

    def _spot(self, program_va: int, record: Mapping[str, Any]) -> FaultSite:
        pc = int(record.get("pc", 0))
        place = self._driver.place_of({"program_va": program_va, "pc": pc})
        return FaultSite(
            function=place.demangled if place else "?",
            offset=place.offset if place else pc,
            sass=str(record.get("text", "")),
            file=place.file if place else "",
            line=place.line if place else 0,
            block=list(record.get("block", ())),
            thread=list(record.get("thread", ())),
            access=str(record.get("access", "")),
            inlined=[_source(*call) for call in place.inlined] if place else [],
        )

    def kernel(self, launch: Launch) -> str:
        """The demangled name of a launch's kernel."""
        place = self._driver.place_of({"program_va": launch.work.program_va, "pc": self._entry(launch)})
        return place.demangled if place else "?"

    def _entry(self, launch: Launch) -> int:
        code = self._driver.space.find(launch.work.program_va)
        return launch.work.program_va - code.va if code else 0

    # Accesses

    def where(self, launch: Launch, pc: int) -> str:
        """`file.cu:12`, or `header.hpp:202 < file.cu:12` when it was inlined there; "" without a line table."""
        spot = self.spot(launch, {"pc": pc})
        return " < ".join([_source(spot.file, spot.line), *spot.inlined]) if spot.line else ""

    def owner(self, va: int) -> str:
        """What lies at an address of global memory: `locks+0x4`, or a byte of an allocation; "" when unknown."""
        for module in self._driver.modules:
            for variable in module.variables():
                if 0 <= va - variable.va < variable.size and not variable.is_constant:
                    offset = va - variable.va
                    return demangle(variable.name) + (f"+{offset:#x}" if offset else "")
        near = self._history.nearest(va)
        if near is None or near.distance(va) != 0:
            return ""
        return f"byte {va - near.va:,} of the {near.size:,} allocated by {self.call(near.made, near.made_in)}"

    def fault(
        self,
        launch: Launch,
        record: Mapping[str, Any],
        made: Sequence[str],
        waits: Sequence[Waiting] = (),
    ) -> Fault:
        """What stopped a launch; `made` are lines on how it came about, `waits` who waited in it."""
        kind = str(record["kind"])
        spot = self.spot(launch, record)
        address, size = int(record.get("address", 0)), int(record.get("size", 0))
        space, message = _SPACES.get(kind, "__global__"), str(record.get("message", ""))
        details: list[str] = []
        notes: list[str] = []
        allocation: AllocationInfo | None = None
        if size:
            title = f"Invalid {space} {spot.access or 'access'} of size {size} bytes"
            if kind == "stack_overflow":
                title = _PLAIN[kind]
            if kind == "illegal_address_space":
                details.append(
                    f"Access at {address:#x} is to an address space that the instruction does not take"
                )
                notes.append(f"{message.capitalize()}.")
            elif kind == "misaligned_address":
                details.append(f"Access at {address:#x} is misaligned")
                notes.append(f"{address:#x} is no multiple of {size}: it is off by {address % size}.")
            elif space == "__global__":
                kind, details, notes, allocation = self._address(kind, address, size)
            else:
                details.append(f"Access at {address:#x} is out of bounds")
                notes += self._window(launch, kind, address, size)
        else:
            title = _PLAIN.get(kind, kind.replace("_", " ").capitalize())
            notes.append(message)
        notes += made
        notes += xid.describe(str(record["kind"]), spot.access, address)
        return self._finding(launch, spot, "", kind, title, address=address, size=size, space=space.strip("_"),
                             details=details, notes=notes, allocation=allocation, fatal=True, waits=list(waits),
                             message=message)  # fmt: skip

    def note(self, launch: Launch, record: Mapping[str, Any], made: Sequence[str]) -> Fault:
        """An access outside every allocation that hardware lets pass."""
        spot = self.spot(launch, record)
        address, size = int(record["address"]), int(record["size"])
        kind, details, notes, allocation = self._address("out_of_bounds", address, size)
        notes += made
        notes.append(
            "Hardware lets it pass: the page is mapped (2 MiB pages), so no error is reported there."
        )
        title = f"Invalid __global__ {spot.access} of size {size} bytes"
        return self._finding(launch, spot, "memcheck", kind, title, address=address, size=size, space="global",
                             details=details, notes=notes, allocation=allocation,
                             count=int(record.get("count", 1)))  # fmt: skip

    def _address(
        self, kind: str, address: int, size: int
    ) -> tuple[str, list[str], list[str], AllocationInfo | None]:
        """(kind, details, notes, allocation) of a bad global address."""
        details = [f"Access at {address:#x} is out of bounds"]
        freed = self._history.freed_at(address)
        if freed is not None:
            details.append(f"and is inside a freed allocation at {freed.va:#x} of size {freed.size:,} bytes")
            notes = [
                f"Use after free: {self._where(freed)}, freed by {self.call(freed.freed or 0, freed.freed_in)}."
            ]
            return "use_after_free", details, notes, self._info(freed, address)
        near = self._history.nearest(address)
        notes = self._guess(address)
        if near is None:
            return kind, details, [*notes, "The program has no live allocation."], None
        details.append(_relation(near, address, size))
        notes.append(f"{self._where(near)}; the access is at its start {address - near.va:+#x}.")
        return kind, details, notes, self._info(near, address)

    def _guess(self, address: int) -> list[str]:
        if address < _NULL_PAGE:
            return [f"A null pointer, {address} bytes on."]
        if SHARED_WINDOW <= address < SHARED_WINDOW + (1 << 24) or LOCAL_WINDOW <= address < LOCAL_WINDOW + (
            1 << 24
        ):
            return ["The address lies in another space's window."]
        arena = self._driver.space.host
        of_device = SHARED_WINDOW <= address < arena.base + arena.size  # never mapped in a program
        if _HOST_HEAP <= address <= _HOST_TOP and not of_device:
            return [
                "It looks like a pointer to ordinary host memory (stack, heap or a variable of the program), which the "
                "device cannot reach: copy the data, or allocate it with cudaMallocManaged or cudaMallocHost."
            ]
        return []

    def _where(self, record: Record) -> str:
        return (
            f"{record.size:,} bytes of {KIND_NAMES.get(record.kind, 'device')} memory at {record.va:#x}, "
            f"allocated by {self.call(record.made, record.made_in)}"
        )

    def _info(self, record: Record, address: int) -> AllocationInfo:
        return AllocationInfo(
            address=record.va,
            size=record.size,
            kind=KIND_NAMES.get(record.kind, "device"),
            offset=address - record.va,
            allocated_by=self.call(record.made, record.made_in),
            freed_by=self.call(record.freed, record.freed_in) if record.freed is not None else "",
        )

    def _window(self, launch: Launch, kind: str, address: int, size: int) -> list[str]:
        if kind != "shared_out_of_range":
            lines = [f"The thread has {launch.work.local_high:,} bytes of local memory, stack included."]
            if kind == "stack_overflow":
                lines.append("cudaDeviceSetLimit(cudaLimitStackSize, bytes) makes the stack larger.")
            return lines
        journal = self._driver.journal.launches
        record = journal[launch.index] if launch.index < len(journal) else None
        if record is None:
            return []
        have = record.static_shared + record.dynamic_shared
        lines = [
            f"The block has {have:,} bytes of shared memory (static {record.static_shared:,}, dynamic "
            f"{record.dynamic_shared:,}); the access ends at byte {address + size:,}."
        ]
        if record.dynamic_shared == 0:
            lines.append("Was the third launch argument (bytes of dynamic shared memory) left out?")
        return lines

    # Checks

    def finding(self, launch: Launch, record: Mapping[str, Any]) -> Fault:
        """A finding of the race, sync, initialisation or constant checks."""
        kind = str(record["kind"])
        site, other = self.spot(launch, record["site"]), self.spot(launch, record["other"])
        if kind in RACES:
            return self._race(launch, kind, site, other, record)
        if kind in _SYNC:
            return self._sync(launch, kind, site, other, record)
        if kind in _HEAP:
            return self._in_heap(launch, kind, site, record)
        space = str(record["space"])
        address, size = int(record["address"]), int(record["size"])
        if kind == "uninitialized_read":
            title = f"Uninitialized __{space}__ memory read of size {size} bytes"
            tool, details = "initcheck", [f"Access at {address:#x}"]
            notes = ["Nobody has written these bytes: their content is whatever was there before."]
        else:
            title = f"Invalid __constant__ read of size {size} bytes"
            tool, details = "memcheck", [f"Access at {address:#x} is out of bounds"]
            notes = ["Hardware returns zero."]
        return self._finding(launch, site, tool, kind, title, address=address, size=size, space=space,
                             details=details, notes=notes, count=int(record["count"]))  # fmt: skip

    def _in_heap(self, launch: Launch, kind: str, site: FaultSite, record: Mapping[str, Any]) -> Fault:
        """An access to the device heap outside every block that malloc() handed out and nobody has freed."""
        address, size, block = int(record["address"]), int(record["size"]), record["heap"]
        if kind == "heap_out_of_bounds" and block:  # it may have been freed since
            block = {**block, "freed": None}
        notes = self.heap.lines(block, address)
        notes.append("Hardware lets it pass: the whole heap is mapped, so no error is reported there.")
        return self._finding(launch, site, "memcheck", kind, f"Invalid __global__ {site.access} of size {size} bytes",
                             address=address, size=size, space="global", notes=notes, count=int(record["count"]),
                             details=[f"Access at {address:#x} is out of bounds"],
                             allocation=self.heap.info(block, address))  # fmt: skip

    def _race(
        self, launch: Launch, kind: str, site: FaultSite, other: FaultSite, record: Mapping[str, Any]
    ) -> Fault:
        count, space = int(record["count"]), str(record["space"])
        title = (
            f"Race reported between {other.access.capitalize()} access at {other.where} and "
            f"{site.access.capitalize()} access at {site.where} [{count} hazards]"
        )
        pairs: Sequence[tuple[int, int]] = record["warps"]
        between = ", ".join(f"{a} and {b}" for a, b in pairs[:8]) + (", ..." if len(pairs) > 8 else "")
        same_block = site.block == other.block
        notes = [
            f"{RACES[kind].capitalize()} hazard on __{space}__ memory at {int(record['address']):#x}: {other.who}, "
            f"then {site.who}; nothing orders the two."
        ]
        if same_block and pairs:
            notes.append(f"Between warps {between}.")
        advice = "__syncthreads()" if any(a != b for a, b in pairs) else "__syncwarp()"
        notes.append(
            f"A {advice} between them would."
            if same_block
            else "Blocks of one grid are ordered only by atomics with __threadfence(), or by ending the kernel."
        )
        return self._finding(launch, site, "racecheck", kind, title, address=int(record["address"]),
                             size=int(record["size"]), space=space, notes=notes, count=count, other=other)  # fmt: skip

    def _sync(
        self, launch: Launch, kind: str, site: FaultSite, other: FaultSite, record: Mapping[str, Any]
    ) -> Fault:
        mask, number = int(record["mask"]), int(record["address"])
        first = f"{other.where} ({other.who})"
        notes = {
            "divergent_barrier": [
                f"Barrier {number} was entered at {first} and at {site.where} by the same block."
            ],
            "barrier_exited": [
                f"Barrier {number} at {first} was passed without lanes {mask:#010x} of the warp of {site.who}: they "
                "have ended and never reach it."
            ],
            "barrier_count": [
                f"Barrier {number}: {int(record['size'])} threads here; the first to come was at {first}. Counts "
                "must agree and be multiples of 32."
            ],
            "mask_without_caller": [f"The mask {mask:#010x} does not name the calling thread."],
            "mask_exited": [f"The mask names lanes {mask:#010x}, which ended without calling it."],
        }[kind]
        title = f"Barrier error detected. {_SYNC[kind]}."
        return self._finding(launch, site, "synccheck", kind, title, notes=notes, count=int(record["count"]),
                             other=other if other.where != site.where else None)  # fmt: skip

    def _finding(
        self, launch: Launch, spot: FaultSite, tool: str, kind: str, title: str, **more: Any
    ) -> Fault:
        return Fault(
            tool=tool,
            kind=kind,
            title=title,
            launch=launch.index,
            kernel=self.kernel(launch),
            pc=spot.offset,
            sass=spot.sass,
            file=spot.file,
            line=spot.line,
            block=spot.block,
            thread=spot.thread,
            access=spot.access,
            site=spot,
            **more,
        )


def _source(file: str, line: int) -> str:
    return f"{file.rsplit('/', 1)[-1]}:{line}"


def _relation(record: Record, address: int, size: int) -> str:
    """compute-sanitizer's third line."""
    place = f"the nearest allocation at {record.va:#x} of size {record.size:,} bytes"
    distance = record.distance(address)
    if distance > 0:
        return f"and is {distance:,} bytes after {place}"
    if distance < 0:
        return f"and is {-distance:,} bytes before {place}"
    return f"and runs {address + size - record.end:,} bytes past the end of {place}"
