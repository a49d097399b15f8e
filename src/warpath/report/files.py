"""Output files: whether they can be written is known before the program runs."""

from __future__ import annotations

from pathlib import Path

from warpath.errors import UsageError


def check_writable(path: Path, what: str) -> None:
    """UsageError when `what` cannot be written to `path`. What is there already stays as it is."""
    there = path.exists()
    if there and not (path.is_file() or path.is_dir()):
        return  # a pipe or a device: opening it could wait for its reader
    try:
        path.open("ab").close()
    except OSError as error:
        raise cannot_write(path, what, error) from error
    if not there:
        path.unlink()


def write(path: Path, data: bytes, what: str) -> None:
    """Write `data` to `path`; UsageError when that fails."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise cannot_write(path, what, error) from error


def cannot_write(path: Path, what: str, error: OSError) -> UsageError:
    """The line that the user gets to see."""
    return UsageError(f"cannot write {what} to {path}: {error.strerror}")
