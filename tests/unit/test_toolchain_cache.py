from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from warpath.toolchain import cache


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "warpath"


def test_entries_round_trip_and_leave_nothing_else(private_cache: Path) -> None:
    assert cache.read_entry("jit", "k") is None
    cache.write_entry("jit", "k", b"one")
    cache.write_entry("jit", "k", b"two")
    assert cache.read_entry("jit", "k") == b"two"
    assert [path.name for path in (private_cache / "jit").iterdir()] == ["k"]


def test_keys_depend_on_where_parts_end() -> None:
    assert cache.key_of(["ab", "c"]) != cache.key_of(["a", "bc"])
    assert cache.key_of([b"ab"]) == cache.key_of(["ab"])


def test_unused_entries_are_removed(private_cache: Path) -> None:
    cache.write_entry("jit", "old", b"")
    cache.write_entry("jit", "new", b"")
    folder = private_cache / "jit" / "oldfolder"
    folder.mkdir()
    (folder / "file").touch()
    past = time.time() - 31 * 24 * 3600
    os.utime(private_cache / "jit" / "old", (past, past))
    os.utime(folder, (past, past))
    cache.remove_unused("jit")
    assert [path.name for path in (private_cache / "jit").iterdir()] == ["new"]


def test_an_unusable_cache_folder_falls_back_to_a_private_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocker))
    cache.write_entry("jit", "k", b"x")
    assert cache.read_entry("jit", "k") == b"x"
    assert not cache.cache_folder("jit").is_relative_to(tmp_path)
