"""Decoded methods: what one dword of a pushbuffer asks of one engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warpath.command.classes import MethodSpec

HOST_METHOD_END = 0x100  # methods below are the host engine's, whatever the subchannel, except SET_OBJECT
SET_OBJECT = 0x0000
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Method:
    """One method call: `value` written to byte address `address` of the class bound to `subchannel`.

    `class_id` is None when no object was bound to the subchannel; `spec` is None when the class names no
    such method.
    """

    subchannel: int
    address: int
    value: int
    class_id: int | None
    spec: MethodSpec | None

    @property
    def known(self) -> bool:
        """Whether the class table names this method."""
        return self.spec is not None

    @property
    def name(self) -> str:
        """The method's name with its array index, or `unknown`."""
        return UNKNOWN if self.spec is None else self.spec.label

    @property
    def fields(self) -> dict[str, int]:
        """Field values by name; empty for an unknown method."""
        return {} if self.spec is None else self.spec.decode(self.value)

    def describe(self) -> str:
        """One line: address, name and named fields, e.g. `0x0300 LAUNCH_DMA
        DATA_TRANSFER_TYPE=NON_PIPELINED`.
        """
        head = f"{self.address:#06x} {self.name}"
        if self.spec is None:
            return f"{head} {self.value:#010x}"
        parts: list[str] = []
        for field in self.spec.fields:
            value = field.bits.get(self.value)
            if value or len(self.spec.fields) == 1:
                parts.append(f"{field.name}={field.names.get(value, hex(value))}")
        return " ".join([head, *parts])


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive calls of one method (`values` in order), so that an inline upload is one line of a
    report.
    """

    first: Method
    values: tuple[int, ...]


def collapse(methods: Iterable[Method]) -> list[Run]:
    """Group consecutive calls of one method, or of successive elements of a method array, into runs."""
    runs: list[tuple[Method, list[int]]] = []
    previous: Method | None = None
    for method in methods:
        if previous is not None and _continues(previous, method):
            runs[-1][1].append(method.value)
        else:
            runs.append((method, [method.value]))
        previous = method
    return [Run(first, tuple(values)) for first, values in runs]


def _continues(previous: Method, method: Method) -> bool:
    if (previous.subchannel, previous.class_id) != (method.subchannel, method.class_id):
        return False
    if previous.spec is None or method.spec is None:
        return previous.spec is method.spec and previous.address == method.address
    if method.spec.index is None or previous.spec.index is None:
        return previous.spec is method.spec
    return previous.spec.name == method.spec.name and method.spec.index - previous.spec.index in (0, 1)
