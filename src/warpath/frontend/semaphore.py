"""Semaphores in memory: what a release writes, when an acquire is satisfied, and the clock that stamps
them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from warpath.errors import UnsupportedError
from warpath.frontend.core_api import Memory

_TIMER_STEP_NS = 32  # the hardware timer's granularity


class Clock:
    """GPU time in nanoseconds: advances by what the model says work took, and a bit with every stamp."""

    def __init__(self) -> None:
        self.now_ns = 0

    def advance(self, nanoseconds: int) -> None:
        """Let time pass."""
        self.now_ns += nanoseconds

    def stamp(self) -> int:
        """A time later than all stamps before it."""
        self.now_ns += _TIMER_STEP_NS
        return self.now_ns


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
