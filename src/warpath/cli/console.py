"""The console every command prints to: at most 100 columns, no colour in pipes or with NO_COLOR."""

from __future__ import annotations

from rich.console import Console

WIDTH = 100


def console(stderr: bool = False) -> Console:
    """A console on stdout (or stderr) that never wraps wider than `WIDTH`, whatever the terminal."""
    made = Console(stderr=stderr, highlight=False, emoji=False)
    made.width = WIDTH if not made.is_terminal else min(made.width, WIDTH)
    return made
