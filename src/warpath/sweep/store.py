"""Where a sweep keeps its reports: one JSON file per point, named by the content it was made from.

A finished point is `KEY.json`, the report that `warpath explain --json` writes. A failed one is `KEY.failed.json`
and is tried again. Files appear whole, so a sweep can be broken off at any time and several can share a folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from warpath import __version__
from warpath.errors import UsageError, WarpathError
from warpath.report import json as report_json
from warpath.report.model import Report
from warpath.sweep.points import Point


class Store:
    """The folder; made when it is not there, UsageError when it cannot be."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests: dict[str, str] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot keep reports in {folder}: {error.strerror}") from error

    def path(self, point: Point) -> Path:
        """Where the report of a finished point is."""
        return self.folder / f"{point.key}.json"

    def find(self, point: Point) -> Report | None:
        """The report of `point`, if it finished before and every file its build read is unchanged."""
        path = self.path(point)
        if not path.is_file():
            return None
        try:
            report = report_json.read(path)
        except WarpathError:
            return None  # of an older version, or damaged: made again
        return report if self._holds(report) else None

    def keep(self, point: Point, data: bytes) -> Report | None:
        """Keep the report of a finished point and return it; None when it is not of the sources that are here."""
        report = report_json.decode(data, point.title)
        if not self._holds(report):
            return None
        self._write(self.path(point), data)
        self._failed(point).unlink(missing_ok=True)
        return report

    def keep_failure(self, point: Point, reason: str) -> None:
        """Keep why a point failed."""
        document = {"point": point.settings, "reason": reason}
        self._write(self._failed(point), json.dumps(document, indent=1).encode() + b"\n")
        self.path(point).unlink(missing_ok=True)

    def _holds(self, report: Report) -> bool:
        """Whether this warpath made the report, from the sources and headers that are here."""
        files = report.compile.files if report.compile else {}
        return report.warpath == __version__ and all(
            self._digest(path) == digest for path, digest in files.items()
        )

    def _failed(self, point: Point) -> Path:
        return self.folder / f"{point.key}.failed.json"

    def _write(self, path: Path, data: bytes) -> None:
        new = path.with_name(f".new-{os.getpid()}-{path.name}")
        try:
            new.write_bytes(data)
            new.replace(path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise UsageError(f"cannot write {path}: {error.strerror}") from error

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            try:
                self._digests[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            except OSError:
                self._digests[path] = ""
        return self._digests[path]
