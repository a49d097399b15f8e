"""Times on the command line."""

from __future__ import annotations

import argparse

import pytest

from warpath.cli import numbers


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2", 2), ("0.5s", 0.5), ("250ms", 0.25), ("3us", 3e-6), ("40ns", 4e-8), ("2min", 120), ("1e3", 1000)],
)
def test_times_with_and_without_a_unit(text: str, seconds: float) -> None:
    assert numbers.seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "0", "0ms", "-1s", "nan", "s", "2h", "1 0s"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        numbers.seconds(text)
