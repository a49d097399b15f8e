"""Quantities that know where they come from, so that nothing unlabelled is ever printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Origin(Enum):
    """How a figure came about."""

    COMPUTED = "computed"  # arithmetic on the program and the specification
    MODELLED = "modelled"  # what the model GPU did
    MEASURED = "measured"  # read off real hardware
    QUOTED = "quoted"  # a published number


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its unit, origin and, for quoted ones, the source key."""

    value: float | int | str
    unit: str
    origin: Origin
    source: str = ""


def format_bytes(count: int) -> str:
    """Decimal megabytes for traffic, plain bytes below 10 kB: `8.39 MB`, `512 B`."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e4, "kB")):
        if count >= limit:
            return f"{count / (1e3 if unit == 'kB' else limit):.2f} {unit}"
    return f"{count} B"


def format_duration_ns(duration: float) -> str:
    """Nanoseconds below one microsecond, then microseconds with two decimals, milliseconds, seconds."""
    for limit, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if duration >= limit:
            return f"{duration / limit:.2f} {unit}"
    return f"{duration:.0f} ns"
