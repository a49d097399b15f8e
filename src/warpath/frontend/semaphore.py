"""Semaphores in memory: what a release writes, when an acquire is satisfied, and the clock that stamps
them.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from warpath.errors import UnsupportedError
from warpath.frontend.core_api import Memory

_TIMER_STEP_NS = 32  # the hardware timer's granularity
_REMEMBERED = 4096  # payloads of one semaphore: more than a ring holds


class Clock:
    """GPU time in nanoseconds. Each channel has its own, since channels work side by side: it advances by what the
    model says work took, waits for what the work waits for, and a bit with every stamp.
    """

    def __init__(self) -> None:
        self._now: dict[int, int] = {}  # by channel
        self._channel = 0
        self._free: dict[str, int] = {}  # when a unit that channels share is free
        self._reached: dict[int, tuple[list[int], list[int]]] = {}  # by address: payloads, and when each came

    @property
    def now_ns(self) -> int:
        """Time of the channel that is being served."""
        return self._now.get(self._channel, 0)

    @property
    def latest_ns(self) -> int:
        """Time of the channel that is furthest."""
        return max(self._now.values(), default=0)

    def serve(self, channel: int) -> None:
        """From now on work is that of `channel`."""
        self._channel = channel

    def advance(self, nanoseconds: int) -> None:
        """Let time pass."""
        self._now[self._channel] = self.now_ns + nanoseconds

    def reach(self, time_ns: int) -> None:
        """The channel goes on at `time_ns`, unless it is later already."""
        self._now[self._channel] = max(self.now_ns, time_ns)

    def occupy(self, unit: str, nanoseconds: int) -> None:
        """Work on a unit that channels share: it starts when the unit is free."""
        self.reach(self._free.get(unit, 0))
        self.advance(nanoseconds)
        self._free[unit] = self.now_ns

    def stamp(self) -> int:
        """A time later than all stamps of the channel before it."""
        self.advance(_TIMER_STEP_NS)
        return self.now_ns

    def note(self, va: int, payload: int) -> None:
        """A semaphore has been written."""
        payloads, times = self._reached.setdefault(va, ([], []))
        if payloads and payload <= payloads[-1]:  # it starts again
            payloads.clear()
            times.clear()
        if len(payloads) == _REMEMBERED:
            del payloads[: _REMEMBERED // 2], times[: _REMEMBERED // 2]
        payloads.append(payload)
        times.append(self.now_ns)

    def reached_ns(self, va: int, payload: int) -> int:
        """When the rising value at `va` first was `payload` or more; 0 for what the GPU did not write."""
        payloads, times = self._reached.get(va, ([], []))
        at = bisect_left(payloads, payload)
        return times[at] if at < len(times) else 0


@dataclass(frozen=True, slots=True)
class ReleaseWrite:
    """A release: `words` is 1 (payload), 2 (64-bit payload) or 4 (payload and time).

    `reduction` is ADD, MIN, MAX, INC, DEC, AND, OR or XOR, or None for a plain store; `wide` makes the
    payload 64-bit.
    """

    va: int
    payload: int
    words: int
    wide: bool = False
    reduction: str | None = None
    signed: bool = False


_REDUCTIONS: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda old, new: old + new,
    "MIN": min,
    "MAX": max,
    "INC": lambda old, new: 0 if old >= new else old + 1,
    "DEC": lambda old, new: new if old == 0 or old > new else old - 1,
    "AND": lambda old, new: old & new,
    "OR": lambda old, new: old | new,
    "XOR": lambda old, new: old ^ new,
}


def reduction_name(text: str) -> str:
    """The operation behind a header's name for it: RED_ADD, IADD and ADD are all ADD."""
    name = text.removeprefix("RED_")
    if name not in _REDUCTIONS:
        name = name.removeprefix("I")
    if name not in _REDUCTIONS:
        raise UnsupportedError(f"semaphore reduction {text} has no model")
    return name


def release(memory: Memory, clock: Clock, write: ReleaseWrite) -> None:
    """Carry out a release."""
    size = 8 if write.wide or write.words == 2 else 4
    payload = write.payload & ((1 << (8 * size)) - 1)
    if write.reduction is not None:
        payload = _reduce(memory, write, payload, size)
    if write.words == 4:
        memory.write(write.va, struct.pack("<QQ", payload, clock.stamp()))
    else:
        memory.write(write.va, payload.to_bytes(size, "little"))
    clock.note(write.va, payload)


def _reduce(memory: Memory, write: ReleaseWrite, payload: int, size: int) -> int:
    assert write.reduction is not None
    old = int.from_bytes(memory.read(write.va, size), "little", signed=write.signed)
    new = int.from_bytes(payload.to_bytes(size, "little"), "little", signed=write.signed)
    return _REDUCTIONS[write.reduction](old, new) & ((1 << (8 * size)) - 1)


def _circular(value: int, payload: int, bits: int) -> bool:
    return (value - payload) % (1 << bits) < 1 << (bits - 1)


_CONDITIONS: dict[str, Callable[[int, int, int], bool]] = {
    "ACQUIRE": lambda value, payload, _bits: value == payload,
    "ACQ_STRICT_GEQ": lambda value, payload, _bits: value >= payload,
    "ACQ_CIRC_GEQ": _circular,
    "ACQ_GEQ": _circular,
    "ACQ_AND": lambda value, payload, _bits: value & payload != 0,
    "ACQ_NOR": lambda value, payload, bits: ~(value | payload) & ((1 << bits) - 1) != 0,
}


def satisfied(operation: str, value: int, payload: int, bits: int) -> bool:
    """Whether an acquire by that operation may pass; values have `bits` bits."""
    return _CONDITIONS[operation](value, payload, bits)


def is_acquire(operation: str) -> bool:
    """Whether the operation of that name waits."""
    return operation in _CONDITIONS
