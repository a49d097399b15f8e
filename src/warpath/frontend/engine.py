"""What all engines share: method dispatch, the machine they work on, and how they say that they made
progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any

from warpath.command.classes import MethodSpec
from warpath.command.gpfifo import Entry
from warpath.command.methods import Method
from warpath.command.pushbuffer import DecoderState, Packet, resolve
from warpath.errors import UnsupportedError
from warpath.frontend.core_api import Memory
from warpath.frontend.semaphore import Clock, ReleaseWrite, release
from warpath.gpu.launch_path import TIMELESS, LaunchPath, transfer_ns

_DEVICE_KINDS = (1, 4)  # of `_core.Memory.alloc`: device memory and code
_TIMED_WORDS = 4  # of a release: payload and time
_READINGS = 4096  # (method, value, field) readings remembered: the same few come again with every launch


class Progress(Enum):
    """What an engine has to say when it hands control back before it is done."""

    MOVED = "moved"  # more to do, some was done
    BLOCKED = "blocked"  # waits for memory to change


Steps = Iterator[Progress]
Handler = Callable[[Method], Steps | None]


class ChannelFault(Exception):
    """Work that a real GPU would stop the channel for; `record` is what the driver gets to see."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__(str(record.get("kind", "fault")))
        self.record = dict(record)


@dataclass(frozen=True)
class Submission:
    """One ring entry as it was fetched: where it stood, its bytes, and the packets of its segment.

    `state` is what the channel's decoder knew before them; its doorbell rang at `doorbell_ns`.
    """

    token: int
    index: int
    raw: bytes
    entry: Entry
    packets: tuple[Packet, ...]
    state: DecoderState
    doorbell_ns: int = 0

    @cached_property
    def methods(self) -> tuple[Method, ...]:
        """The method calls, named; made when asked for, since only reports look at all of them."""
        return tuple(method for packet in self.packets for method in resolve(packet, self.state))


@dataclass(frozen=True, slots=True)
class Copy:
    """Bytes moved by an engine: `kind` is copy, fill or inline; `src` is 0 where there is none. Pitches in
    bytes.
    """

    token: int
    kind: str
    src: int
    dst: int
    width: int
    height: int
    src_pitch: int
    dst_pitch: int

    @property
    def bytes(self) -> int:
        """Bytes written."""
        return self.width * self.height


@dataclass(slots=True)
class Machine:
    """The parts of the GPU that engines share. `observers` may have any of on_entry, on_copy,
    on_launch_start, on_launch.
    """

    memory: Memory
    path: LaunchPath = TIMELESS
    clock: Clock = field(default_factory=Clock)
    observers: list[Any] = field(default_factory=list[Any])

    def notify(self, event: str, *arguments: object) -> None:
        """Call `event` of every observer that has it."""
        for observer in self.observers:
            method = getattr(observer, event, None)
            if method is not None:
                method(*arguments)

    def watched(self, event: str) -> bool:
        """Whether any observer wants to know of `event`."""
        return any(hasattr(observer, event) for observer in self.observers)

    def on_device(self, va: int) -> bool:
        """Whether an address is in the device's own memory."""
        found = self.memory.nearest(va)
        return any(kind in _DEVICE_KINDS and base <= va < base + size for base, size, kind in found)

    def transfer(self, size: int, mbs: int, set_up_ns: int = 0) -> None:
        """Let the time of a transfer pass; the rate is in 10^6 bytes a second."""
        self.clock.advance(set_up_ns + transfer_ns(size, mbs))

    def release(self, write: ReleaseWrite) -> None:
        """Write a semaphore."""
        if write.words == _TIMED_WORDS:
            self.clock.advance(self.path.stamp_ns)
        release(self.memory, self.clock, write)


class Engine:
    """Executes the methods of one class bound to one subchannel of a channel.

    A method is handled, kept as state by name, or accepted because it changes nothing that the model has.
    Anything else is refused by name.
    """

    kept: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()

    def __init__(self, machine: Machine, token: int) -> None:
        self.machine = machine
        self.token = token
        self.submission: Submission | None = None
        self.state: dict[str, int] = {}
        self.handlers: dict[str, Handler] = {}

    def execute(self, method: Method) -> Steps | None:
        """Carry out a method; the steps of the work when it may take long or wait."""
        if method.spec is None:
            raise UnsupportedError(f"class {method.class_id or 0:#06x}: {method.describe()}")
        name = method.spec.name
        handler = self.handlers.get(name)
        if handler is not None:
            return handler(method)
        if name in self.kept:
            self.state[name] = method.value
        elif name not in self.accepted:
            raise UnsupportedError(f"class {method.class_id or 0:#06x}: {method.describe()} has no model")
        return None

    def take(self, _first: Method, _packet: Packet) -> int:
        """Carry out the first values of a packet at once, `_first` being its first call; how many that were.

        The calls that are left come one by one through `execute`.
        """
        return 0

    def value(self, name: str) -> int:
        """A kept value, 0 when never written."""
        return self.state.get(name, 0)

    def address(self, upper: str, lower: str) -> int:
        """A 64-bit address kept in two methods."""
        return self.value(upper) << 32 | self.value(lower)


def field_name(method: Method, field_: str) -> str:
    """The header's name for the value of a field, or the number as text; empty when there is no such field."""
    assert method.spec is not None
    return _field_name(method.spec, method.value, field_)


@lru_cache(_READINGS)
def _field_name(spec: MethodSpec, value: int, name: str) -> str:
    for field_ in spec.fields:
        if field_.name == name:
            number = field_.bits.get(value)
            return field_.names.get(number, str(number))
    return ""


def require(method: Method, **expected: str) -> None:
    """UnsupportedError unless every named field that the class has reads as given."""
    for name, text in expected.items():
        found = field_name(method, name)
        if found not in ("", text):
            raise UnsupportedError(f"{method.name} with {name}={found} has no model, only {text}")
