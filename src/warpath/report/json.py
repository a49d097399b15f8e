"""The report as a JSON file: the image of report/model.py."""

from __future__ import annotations

from pathlib import Path

import msgspec

from warpath.errors import FormatError, UsageError
from warpath.report import files
from warpath.report.model import SCHEMA, Report


def write(report: Report, path: Path) -> None:
    """Write `report` to `path`; UsageError when the place cannot be written."""
    files.write(path, msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n", "the report")


def read(path: Path) -> Report:
    """Read a report; FormatError when it is not one, or of another schema."""
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"cannot read the report {path}: {error.strerror}") from error


def decode(data: bytes, name: str) -> Report:
    """A report from its JSON; FormatError, which calls it `name`, when it is not one, or of another schema."""
    try:
        schema = msgspec.json.decode(data, type=_Version).schema
        if schema != SCHEMA:
            raise FormatError(f"{name} is a report of schema {schema}; this version reads schema {SCHEMA}")
        return msgspec.json.decode(data, type=Report)
    except msgspec.MsgspecError as error:
        raise FormatError(f"{name} is not a warpath report: {error}") from error


class _Version(msgspec.Struct):
    """The one key that every report has had and will have."""

    schema: int
