"""Argument types: numbers with bounds, so that a wrong one is a usage error and not a surprise later."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number, 0 or more."""
    return int(_at_least(text, int, 0))


def positive(text: str) -> int:
    """A whole number, 1 or more."""
    return int(_at_least(text, int, 1))


def seconds(text: str) -> float:
    """A time above 0."""
    value = _at_least(text, float, 0.0)
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
