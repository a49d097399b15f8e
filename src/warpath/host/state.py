"""What is remembered per process and per thread of the program, and the log of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warpath.host.connection import Connection

Dim3 = tuple[int, int, int]


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
        }


def show_argument(value: Any) -> Any:
    """Addresses in hexadecimal, structures by their bytes, small numbers as they are."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and value > 0xFFFF_FFFF:
        return hex(value)
    return list(value) if isinstance(value, tuple) else value


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
    capture_mode: int = 0


@dataclass(slots=True)
class Variable:
    """A registered `__device__`, `__constant__` or `__managed__` variable."""

    module: int
    name: str
    size: int
    constant: bool
    managed: bool


@dataclass(slots=True)
class ProcessState:
    """One process of the program.

    `functions` and `variables` map host addresses to what was registered there. `initialised` is set by the first
    call that needs a context; a child forked after that cannot use CUDA (`broken`), as with the real driver.
    """

    pid: int
    image: int
    functions: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    variables: dict[int, Variable] = field(default_factory=dict[int, Variable])
    managed: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
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
            dict(self.functions),
            dict(self.variables),
            dict(self.managed),
            texts=dict(self.texts),
            mapped=self.mapped,
            initialised=self.initialised,
            broken=self.initialised,
        )
