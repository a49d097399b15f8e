"""The records of a log, as `src/shim/interposer.h` lays them out; numbers as the kernel and the driver gave them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Head:
    """Where and when a record was written: its place in the file, monotonic ns, process and thread."""

    index: int
    offset: int
    time_ns: int
    pid: int
    tid: int


@dataclass(frozen=True, slots=True)
class Process:
    """A process starts (or, `forked`, goes on as a copy); `tracer` and `seccomp` are what /proc says of it."""

    head: Head
    parent: int
    forked: bool
    tracer: int
    seccomp: int
    wall_ns: int
    path: str


@dataclass(frozen=True, slots=True)
class Open:
    """A device file or driver file was opened; `fd` is -1 and `error` an errno when that failed."""

    head: Head
    fd: int
    error: int
    flags: int
    device: int
    path: str


@dataclass(frozen=True, slots=True)
class Close:
    """A device file's descriptor was closed."""

    head: Head
    fd: int


@dataclass(frozen=True, slots=True)
class Dup:
    """A device file's descriptor was duplicated."""

    head: Head
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Block:
    """Memory that an ioctl uses. `state`: 0 all of it, 1 not readable to its end, 2 of assumed size, 3 cut."""

    address: int
    state: int
    data: bytes


@dataclass(frozen=True, slots=True)
class IoctlStart:
    """An ioctl is about to be made; `number` counts those of this process."""

    head: Head
    number: int
    request: int
    argument: int
    fd: int
    device: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class IoctlEnd:
    """The same ioctl came back after `duration_ns` with `result` (and errno `error`)."""

    head: Head
    number: int
    duration_ns: int
    result: int
    error: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Map:
    """A device file was mapped; `handle` is the resource manager's object when it is known, else 0."""

    head: Head
    address: int
    length: int
    offset: int
    fd: int
    protection: int
    flags: int
    error: int
    handle: int
    device: int


@dataclass(frozen=True, slots=True)
class Unmap:
    """Such a mapping went away."""

    head: Head
    address: int
    length: int


@dataclass(frozen=True, slots=True)
class Region:
    """A doorbell page is trapped from now on; `real` is where it was moved."""

    head: Head
    index: int
    handle: int
    address: int
    real: int
    length: int


@dataclass(frozen=True, slots=True)
class Ring:
    """A store to a doorbell page. `state`: 0 ok, 1 the value is no channel's token, 2 the channel's USERD is not
    mapped, 3 not readable, 4 its GP_PUT lies outside the ring.
    """

    head: Head
    number: int
    region: int
    offset: int
    value: int
    state: int
    client: int
    handle: int
    ring: int
    userd: int
    entries: int
    put_before: int
    put_after: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory copied at a ring. `why`: 1 ring entries, 2 pushbuffer, 3 what a copy reads; 4 a module's image, at no
    ring (0). Shorter than `asked` when the rest could not be read.
    """

    head: Head
    ring: int
    why: int
    state: int
    address: int
    asked: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Rung:
    """The store of ring `ring` reached the GPU, `spent_ns` after the program made it."""

    head: Head
    ring: int
    spent_ns: int


@dataclass(frozen=True, slots=True)
class DoorbellRead:
    """A load from a doorbell page."""

    head: Head
    region: int
    offset: int


@dataclass(frozen=True, slots=True)
class Name:
    """What driver function calls with this index are to."""

    head: Head
    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A driver API call begins or `ends`; `instructions` is the thread's count so far, 0 where there is none.
    `result` is that of a call that ends; of one that begins the handle of the function it launches, 0 for others.
    """

    head: Head
    index: int
    ends: bool
    result: int
    instructions: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something the recorder could not do."""

    head: Head
    text: str


@dataclass(frozen=True, slots=True)
class Exit:
    """A process ended in order, after `records` records."""

    head: Head
    records: int


@dataclass(frozen=True, slots=True)
class Activity:
    """One activity record of CUPTI: the part that its versions share, and for kernels the name."""

    head: Head
    data: bytes


@dataclass(frozen=True, slots=True)
class Function:
    """The driver gave out a function: its mangled `name`, or "" for the one that handle `same` has."""

    head: Head
    handle: int
    same: int
    name: str


@dataclass(frozen=True, slots=True)
class Parameters:
    """Where a function's parameters lie, as the driver says: (offset, bytes) in order."""

    head: Head
    handle: int
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Image:
    """A module was loaded from `size` bytes at `address` (0 for text), which lie at `offset` of the file `path` when
    there is one; with address 0 from the whole file.
    """

    head: Head
    address: int
    size: int
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What `warpath trace` itself found out before or after the program ran: driver, GPU, times, kernels."""

    head: Head
    values: dict[str, Any]


Record = (
    Process
    | Open
    | Close
    | Dup
    | IoctlStart
    | IoctlEnd
    | Map
    | Unmap
    | Region
    | Ring
    | Memory
    | Rung
    | DoorbellRead
    | Name
    | Call
    | Note
    | Exit
    | Activity
    | Function
    | Parameters
    | Image
    | Facts
)
