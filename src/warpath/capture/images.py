"""The images that modules were loaded from: their bytes from the log, or from the files in which they lay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from warpath.capture import log

IMAGE_BYTES = 4  # why memory is in the log


def contents(records: Sequence[log.Record]) -> Iterator[tuple[bytes, str]]:
    """(bytes, where from) of each image once; those that are neither in the log nor in a file are left out."""
    stored = _stored(records)
    seen: set[tuple[str, int, int]] = set()
    for record in records:
        if not isinstance(record, log.Image):
            continue
        key = record.path, record.address, record.size
        if key in seen:
            continue
        seen.add(key)
        data = stored.get((record.head.pid, record.address), b"")
        if not data or len(data) != record.size:
            data = _from_file(record)
        if data:
            yield data, record.path or f"image at {record.address:#x}"


def _stored(records: Sequence[log.Record]) -> dict[tuple[int, int], bytes]:
    """Images in the log by process and address: pieces follow each other."""
    found: dict[tuple[int, int], list[bytes]] = {}
    pieces: list[bytes] = []
    end = 0
    for record in records:
        if not isinstance(record, log.Memory) or record.why != IMAGE_BYTES:
            continue
        if record.address != end:
            pieces = found.setdefault((record.head.pid, record.address), [])
            pieces.clear()
        pieces.append(record.data)
        end = record.address + len(record.data)
    return {key: b"".join(parts) for key, parts in found.items()}


def _from_file(image: log.Image) -> bytes:
    try:
        with Path(image.path).open("rb") as file:
            file.seek(image.offset)
            return file.read(image.size) if image.address else file.read()
    except (OSError, ValueError):
        return b""
