"""Measured times: CUPTI's activity records in a log, and Nsight Compute's CSV."""

from __future__ import annotations

import csv
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from warpath.capture import log
from warpath.errors import FormatError, UsageError

_COPY, _SET, _KERNEL = 1, 2, 10
_NAME_AT = 104
_UNITS = {
    "ns": 1.0,
    "nsecond": 1.0,
    "us": 1e3,
    "usecond": 1e3,
    "ms": 1e6,
    "msecond": 1e6,
    "s": 1e9,
    "second": 1e9,
}
_DURATION = "gpu__time_duration"
_COLUMNS = ("ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value")


@dataclass(frozen=True, slots=True)
class Measured:
    """One kernel as measured. `start_ns` is on CUPTI's clock, 0 from Nsight Compute; `metrics` by ncu's names."""

    source: str
    kernel: str
    start_ns: int
    duration_ns: float
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    metrics: dict[str, float]


def kernels(records: Sequence[log.Record]) -> list[Measured]:
    """Kernels that CUPTI saw, by start time. FormatError for a record that is too short."""
    found: list[Measured] = []
    for record in records:
        if not isinstance(record, log.Activity):
            continue
        if len(record.data) < 4:
            raise FormatError(f"record {record.head.index}: an activity of {len(record.data)} bytes")
        (kind,) = struct.unpack_from("<I", record.data)
        if kind == _KERNEL:
            found.append(_kernel(record))
    return sorted(found, key=lambda measured: measured.start_ns)


def _kernel(record: log.Activity) -> Measured:
    data = record.data
    if len(data) < _NAME_AT:
        raise FormatError(f"record {record.head.index}: a kernel activity of {len(data)} bytes")
    start, end = struct.unpack_from("<QQ", data, 16)
    gx, gy, gz, bx, by, bz = struct.unpack_from("<6i", data, 52)
    name = data[_NAME_AT:].decode("utf-8", "replace")
    return Measured("CUPTI activity", name, start, float(end - start), (gx, gy, gz), (bx, by, bz), {})


def read_ncu(path: Path) -> list[Measured]:
    """The launches in a CSV that `ncu --csv` printed (one row a metric), in order; FormatError when it is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if '"Metric Name"' in line), None)
    if first is None:
        raise FormatError(
            f'{path} is no CSV of Nsight Compute: no line has the column "Metric Name" (use `ncu --csv`)'
        )
    rows = list(csv.DictReader(lines[first:]))
    missing = [name for name in _COLUMNS if name not in (rows[0] if rows else {})]
    if missing:
        raise FormatError(f"{path}: the CSV has no column {', '.join(missing)}")
    return list(_launches(rows, path))


def _launches(rows: Iterable[dict[str, str]], path: Path) -> Iterator[Measured]:
    by_id: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_id.setdefault(row["ID"], []).append(row)
    for ident, group in by_id.items():
        metrics: dict[str, float] = {}
        duration = 0.0
        for row in group:
            try:
                value = float((row["Metric Value"] or "").replace(",", ""))
            except ValueError:
                continue  # text metrics: launch attributes
            metrics[row["Metric Name"]] = value
            if row["Metric Name"].startswith(_DURATION) or row["Metric Name"] == "Duration":
                unit = row["Metric Unit"]
                if unit not in _UNITS:
                    raise FormatError(
                        f"{path}: launch {ident} has a duration in {unit!r}, which is no unit of time"
                    )
                duration = value * _UNITS[unit]
        yield Measured(
            "Nsight Compute",
            group[0]["Kernel Name"],
            0,
            duration,
            _triple(group[0].get("Grid Size")),
            _triple(group[0].get("Block Size")),
            metrics,
        )


def _triple(text: str | None) -> tuple[int, int, int]:
    parts = [part for part in (text or "").strip("() ").split(",") if part.strip().isdigit()]
    values = [int(part) for part in parts[:3]] + [1, 1, 1]
    return values[0], values[1], values[2]
