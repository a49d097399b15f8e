"""Files the user asks for: refused before the program runs, not after."""

from __future__ import annotations

from pathlib import Path

from warpath.errors import UsageError


def check_writable(path: Path) -> None:
    """UsageError when `path` cannot be written; an existing file keeps its contents until then."""
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    if not existed:
        path.unlink()
