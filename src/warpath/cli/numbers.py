"""Argument types: numbers with bounds, so that a wrong one is a usage error and not a surprise later."""

from __future__ import annotations

import argparse

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "min": 60.0, "s": 1.0}  # "s" last: others end in it


def count(text: str) -> int:
    """A whole number, 0 or more."""
    return int(_at_least(text, int, 0))


def positive(text: str) -> int:
    """A whole number, 1 or more."""
    return int(_at_least(text, int, 1))


def seconds(text: str) -> float:
    """A time above 0 in seconds, or with one of the units ns, us, ms, s, min."""
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "s")
    value = _at_least(text.removesuffix(unit), float, 0.0) * _UNITS[unit]
    if value == 0 or value != value:
        raise argparse.ArgumentTypeError(f"{text} is no time above 0")
    return value


def _at_least(text: str, kind: type[int] | type[float], least: float) -> int | float:
    try:
        value = kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{text} is below {least:g}")
    return value
