"""The exception tree. Every error a user can cause is one of these: one clear line, one exit code.

The command line turns a `WarpathError` into its message on stderr and its `exit_code`; anything else is a bug.
"""

from __future__ import annotations


class WarpathError(Exception):
    """Base of all expected errors; the message is one line that says what, where and what to do."""

    exit_code = 1


class ToolError(WarpathError):
    """A compiler or another external tool failed or is missing; `output` is what it printed."""

    exit_code = 1

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class UsageError(WarpathError):
    """The request cannot be carried out as given: a wrong name, path or option."""

    exit_code = 2


class FormatError(UsageError):
    """A file or byte stream is malformed: names the structure, the offset and the value found."""


class UnsupportedError(WarpathError):
    """Valid input that this version cannot handle: an opcode, a class, an API."""

    exit_code = 3
