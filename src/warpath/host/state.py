"""What is remembered per process and per thread of the program, and the log of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from warpath.driver.error import CudaError, Error

if TYPE_CHECKING:
    from warpath.driver.module import Module
    from warpath.driver.stream import Stream
    from warpath.host.connection import Connection

Dim3 = tuple[int, int, int]
T = TypeVar("T")

# Addresses that no program has anything at.
FIRST_HANDLE = 0x5100_0000_0000
FIRST_CONTEXT = 0x5000_0000_0000
HANDLE_STEP = 16


class Handles:
    """Opaque pointers given to the program for streams, events, modules and the like."""

    def __init__(self) -> None:
        self._objects: dict[int, object] = {}
        self._known: dict[int, int] = {}  # id of an object -> its handle
        self._next = FIRST_HANDLE

    def put(self, value: object) -> int:
        """The object's handle, a new one when it has none yet."""
        known = self._known.get(id(value))
        if known is not None:
            return known
        handle = self._next
        self._next += HANDLE_STEP
        self._objects[handle] = value
        self._known[id(value)] = handle
        return handle

    def find(self, handle: int, kind: type[T]) -> T | None:
        """The object behind a handle if it is of that kind."""
        value = self._objects.get(handle)
        return value if isinstance(value, kind) else None

    def get(self, handle: int, kind: type[T]) -> T:
        """The object behind a handle; error 400 when there is none of that kind."""
        value = self.find(handle, kind)
        if value is None:
            raise CudaError(
                Error.INVALID_RESOURCE_HANDLE, f"{handle:#x} is not a live {kind.__name__.lower()}"
            )
        return value

    def drop(self, handle: int) -> None:
        """Forget a handle; the number is not used again."""
        value = self._objects.pop(handle, None)
        if value is not None:
            self._known.pop(id(value), None)

    def drop_all(self, keep: tuple[type, ...]) -> None:
        """Forget every handle whose object is not of one of the kinds kept."""
        for handle, value in list(self._objects.items()):
            if not isinstance(value, keep):
                self.drop(handle)

    def all(self, kind: type[T]) -> list[tuple[int, T]]:
        """Every live handle of one kind."""
        return [(handle, value) for handle, value in self._objects.items() if isinstance(value, kind)]


class Contexts:
    """Handles of contexts: the primary one and those a program creates, all names of the one context there is."""

    def __init__(self) -> None:
        self.primary = FIRST_CONTEXT
        self._live = {FIRST_CONTEXT}
        self._next = FIRST_CONTEXT + HANDLE_STEP

    def create(self) -> int:
        """A new handle."""
        handle = self._next
        self._next += HANDLE_STEP
        self._live.add(handle)
        return handle

    def check(self, handle: int) -> None:
        """Error 201 for a handle that is not a context."""
        if handle not in self._live:
            raise CudaError(Error.DEVICE_UNINITIALIZED, f"{handle:#x} is not a context")

    def destroy(self, handle: int) -> None:
        """Forget a handle; the primary one stays."""
        self.check(handle)
        if handle == self.primary:
            raise CudaError(Error.DEVICE_UNINITIALIZED, "the primary context is released, not destroyed")
        self._live.discard(handle)


@dataclass(frozen=True, slots=True)
class ApiRecord:
    """One API call, for the report. Times in ns of the host's monotonic clock; `args` as the signature types them."""

    index: int
    call: str
    args: tuple[Any, ...]
    result: int
    start_ns: int
    duration_ns: int
    thread: int
    detail: str = ""  # why it failed, in our words

    def to_report(self, origin_ns: int) -> dict[str, Any]:
        """The entry of the report's `api` list; times count from `origin_ns`."""
        return {
            "index": self.index,
            "call": self.call,
            "args": [show_argument(value) for value in self.args],
            "result": self.result,
            "start_ns": self.start_ns - origin_ns,
            "duration_ns": self.duration_ns,
            "thread": self.thread,
            **({"detail": self.detail} if self.detail else {}),
        }


def show_argument(value: object) -> object:
    """Addresses in hexadecimal, structures by their bytes, small numbers as they are."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and value > 0xFFFF_FFFF:
        return hex(value)
    return value


@dataclass(slots=True)
class LaunchConfiguration:
    """What the `<<<>>>` brackets hold, between the push and the pop of the generated code."""

    grid: Dim3
    block: Dim3
    shared: int
    stream: int


@dataclass(slots=True)
class ThreadState:
    """State that CUDA keeps per host thread."""

    tid: int
    last_error: int = 0
    device: int = 0
    configurations: list[LaunchConfiguration] = field(default_factory=list[LaunchConfiguration])
    contexts: list[int] = field(default_factory=list[int])  # the driver API's context stack
    default_stream: Stream | None = None  # the per-thread one, made when first used
    capture_mode: int = 0
    call_started: int = 0  # ns, while a call is in progress or has given way


@dataclass(slots=True)
class ProcessState:
    """One process of the program.

    `modules` are the fat binaries it registered itself; a child shares those of its parent but must not remove
    them. `managed` lists managed variables per fat binary: where the program keeps the pointer, and the name.
    `initialised` is set by the first call that needs a context; a child forked after that cannot use CUDA
    (`broken`), as with the real driver.
    """

    pid: int
    image: int
    modules: dict[int, Module] = field(default_factory=dict[int, "Module"])
    managed: dict[int, list[tuple[int, str]]] = field(default_factory=dict[int, "list[tuple[int, str]]"])
    threads: dict[int, ThreadState] = field(default_factory=dict[int, ThreadState])
    texts: dict[str, int] = field(default_factory=dict[str, int])  # strings placed in the program
    mapped: bool = False
    initialised: bool = False
    broken: bool = False
    worker: Connection | None = None

    def thread(self, tid: int) -> ThreadState:
        """The thread's state, new ones starting clean."""
        state = self.threads.get(tid)
        if state is None:
            state = self.threads[tid] = ThreadState(tid)
        return state

    def forked(self, pid: int) -> ProcessState:
        """The state a child starts with: the same program image, so the same registrations and mappings."""
        return ProcessState(
            pid,
            self.image,
            managed={handle: list(entries) for handle, entries in self.managed.items()},
            texts=dict(self.texts),
            mapped=self.mapped,
            initialised=self.initialised,
            broken=self.initialised,
        )
