"""The report as a JSON file: the image of report/model.py."""

from __future__ import annotations

from pathlib import Path

import msgspec

from warpath.errors import FormatError, UsageError
from warpath.report import files
from warpath.report.model import Report


def write(report: Report, path: Path) -> None:
    """Write `report` to `path`; UsageError when the place cannot be written."""
    files.write(path, msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n", "the report")


def read(path: Path) -> Report:
    """Read a report; FormatError when it is not one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise UsageError(f"cannot read the report {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise FormatError(f"{path} is not a warpath report: {error}") from error
