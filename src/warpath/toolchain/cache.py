"""The content cache shared by every tool: `$XDG_CACHE_HOME/warpath/<kind>/<sha256>`.

Entries are immutable and appear whole (written aside, then renamed), so concurrent runs need no lock.
Without a writable cache folder a private temporary one serves the process.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

KINDS = ("build", "index", "disasm", "jit")
_UNUSED_FOR_S = 30 * 24 * 3600  # entries not touched for this long are removed when a new build is made


@cache
def _folder(configured: str) -> Path:
    folder = Path(configured) / "warpath"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    private = Path(tempfile.mkdtemp(prefix="warpath-"))
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


def cache_folder(kind: str) -> Path:
    """The folder for one of the `KINDS` of entry, made on first use."""
    configured = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = _folder(configured) / kind
    folder.mkdir(exist_ok=True)
    return folder


def key_of(parts: Iterable[bytes | str]) -> str:
    """sha256 over the parts, each with its length, as 64 hex digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def read_entry(kind: str, key: str) -> bytes | None:
    """The bytes stored under `key`, or None."""
    path = cache_folder(kind) / key
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write_entry(kind: str, key: str, data: bytes) -> None:
    """Store `data` under `key`; a reader sees the old entry or the new one, never a part."""
    folder = cache_folder(kind)
    handle, name = tempfile.mkstemp(prefix=".new-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(folder / key)
    except BaseException:
        Path(name).unlink()
        raise


def remove_unused(kind: str) -> None:
    """Drop entries of `kind` made or used more than thirty days ago."""
    oldest = time.time() - _UNUSED_FOR_S
    for path in cache_folder(kind).iterdir():
        try:
            if path.stat().st_mtime >= oldest:
                continue
        except FileNotFoundError:
            continue  # another run removed it first
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
