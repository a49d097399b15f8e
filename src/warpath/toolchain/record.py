"""What a build left behind, and the index that finds it again by the files it read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from warpath.toolchain.cache import cache_folder, read_entry, write_entry


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the compilation: nvcc's name for it, the program, file made, architecture, bytes, seconds.

    `output` is a name in the build's folder; preprocessed text (`.ii`) is measured and not kept.
    """

    name: str
    tool: str
    output: str
    arch: str
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Unit:
    """The files made of one source; None for those a host-only source has not.

    `stub` holds the launch functions nvcc generates, `host_source` the host half after `<<<>>>` is replaced.
    """

    source: Path
    ptx: Path | None
    cubin: Path | None
    fatbin: Path | None
    stub: Path | None
    host_source: Path | None
    host_object: Path | None


@dataclass(frozen=True)
class Build:
    """A finished build. Paths point into the cache `folder`, which holds every kept file and `nvcc.log`.

    `ptx_registers` counts virtual registers per function and kind; `usage` is ptxas's resource report per
    kernel (registers, barriers, stack, spill_stores, spill_loads, shared, constants). `messages` are nvcc's
    warnings. `device_link` is the cubin that nvlink made (with -rdc=true the one that runs). `files` are the
    user's own sources and headers that were read, with their sha256.
    """

    key: str
    folder: Path
    program: Path
    sm: str
    units: tuple[Unit, ...]
    device_link: Path | None
    stages: list[Stage]
    ptx_registers: dict[str, dict[str, int]]
    usage: dict[str, dict[str, object]]
    messages: str
    cached: bool
    files: dict[str, str] = field(default_factory=dict[str, str])

    def moved(self, folder: Path) -> Build:
        """The same build after its folder was renamed."""

        def there(path: Path | None) -> Path | None:
            return folder / path.name if path else None

        units = tuple(
            Unit(
                unit.source,
                there(unit.ptx),
                there(unit.cubin),
                there(unit.fatbin),
                there(unit.stub),
                there(unit.host_source),
                there(unit.host_object),
            )
            for unit in self.units
        )
        return replace(
            self,
            folder=folder,
            program=folder / self.program.name,
            units=units,
            device_link=there(self.device_link),
        )


class Fingerprint(NamedTuple):
    """A file as it was read; `digest` is empty for toolkit and system headers, told by size and time."""

    path: str
    size: int
    modified_ns: int
    digest: str

    def holds(self) -> bool:
        """Whether the file is still the same."""
        try:
            if self.digest:
                return _digest(self.path) == self.digest
            status = Path(self.path).stat()
        except OSError:
            return False
        return (status.st_size, status.st_mtime_ns) == (self.size, self.modified_ns)


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def fingerprints(paths: Iterable[Path], trusted: Path) -> list[Fingerprint]:
    """Fingerprints in path order; files below `trusted` and /usr are identified by size and time alone."""
    found: list[Fingerprint] = []
    for path in sorted(paths):
        status = path.stat()
        by_time = path.is_relative_to(trusted) or path.is_relative_to("/usr")
        digest = "" if by_time else _digest(str(path))
        modified = status.st_mtime_ns if by_time else 0
        found.append(Fingerprint(str(path), status.st_size, modified, digest))
    return found


def look_up(key: str) -> Build | None:
    """The build recorded under the request `key`, if it is there and every file it read is unchanged."""
    stored = read_entry("index", key)
    if stored is None:
        return None
    entry: dict[str, Any] = json.loads(stored)
    folder = cache_folder("build") / entry["folder"]
    if not all(Fingerprint(*dependency).holds() for dependency in entry["dependencies"]):
        return None
    try:
        os.utime(folder)  # in use: remove_unused spares it
    except FileNotFoundError:
        return None
    files = _own_files(Fingerprint(*dependency) for dependency in entry["dependencies"])
    return _from_json(folder, entry["build"], files)


def store(key: str, build: Build, dependencies: list[Fingerprint]) -> Build:
    """Record `build`, whose folder is in place, under the request `key`."""
    build = replace(build, key=build.folder.name, files=_own_files(dependencies))
    entry = {"folder": build.folder.name, "dependencies": dependencies, "build": _to_json(build)}
    write_entry("index", key, json.dumps(entry).encode())
    return build


def _own_files(dependencies: Iterable[Fingerprint]) -> dict[str, str]:
    """Those that are told by their content: neither the toolkit's nor the system's."""
    return {file.path: file.digest for file in dependencies if file.digest}


def _to_json(build: Build) -> dict[str, Any]:
    """Plain values; kept files by name, so that the cache may move."""
    document = asdict(build)
    document["program"] = build.program.name
    document["device_link"] = build.device_link.name if build.device_link else None
    document["units"] = [
        {name: path and (str(path) if name == "source" else path.name) for name, path in unit.items()}
        for unit in document["units"]
    ]
    for known in ("folder", "key", "cached", "files"):  # from the entry itself
        del document[known]
    return document


def _from_json(folder: Path, document: dict[str, Any], files: dict[str, str]) -> Build:
    def kept(name: str | None) -> Path | None:
        return folder / name if name else None

    units = tuple(
        Unit(source=Path(unit.pop("source")), **{name: kept(path) for name, path in unit.items()})
        for unit in document.pop("units")
    )
    return Build(
        key=folder.name,
        folder=folder,
        program=folder / document.pop("program"),
        units=units,
        device_link=kept(document.pop("device_link")),
        stages=[Stage(**stage) for stage in document.pop("stages")],
        cached=True,
        files=files,
        **document,
    )
