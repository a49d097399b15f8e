"""Ioctls by name: what was asked of the resource manager or of UVM, of which object, and what came back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpath.capture import log, tables
from warpath.capture.tables import Value

CONTROL_FILE, GPU_FILE, UVM_FILE = 1, 2, 3
ALLOC, CONTROL, TRANSFER = 0x2B, 0x2A, 0xD3
_TYPE_F = 0x46
_SIZE_OF_ALLOC = {48: "NVOS64_PARAMETERS", 40: "NVOS64_PARAMETERS", 32: "NVOS21_PARAMETERS"}


@dataclass(frozen=True, slots=True)
class Ioctl:
    """One ioctl. `detail` is the class or control command it names, "" for others; `fields` and `params` are the values
    after it came back (None where no table has the structure for this driver); `opaque` is what no table explains,
    in hex.
    """

    start: log.IoctlStart
    end: log.IoctlEnd | None  # None: the process ended inside
    name: str
    detail: str
    fields: dict[str, Value] | None
    params: dict[str, Value] | None
    opaque: str
    named: bool  # name and detail come from tables

    @property
    def time_ns(self) -> int:
        """When it was made, on the log's clock."""
        return self.start.head.time_ns

    @property
    def duration_ns(self) -> int:
        """How long the kernel took; 0 when it never came back."""
        return 0 if self.end is None else self.end.duration_ns

    @property
    def status(self) -> int | None:
        """The resource manager's own status, None where there is none."""
        value = (self.fields or {}).get("status")
        return value if isinstance(value, int) else None


def pair(records: Sequence[log.Record], branch: int) -> Iterator[Ioctl]:
    """All ioctls in the order in which they came back, those that never did last."""
    waiting: dict[tuple[int, int], log.IoctlStart] = {}
    for record in records:
        if isinstance(record, log.IoctlStart):
            waiting[record.head.pid, record.number] = record
        elif isinstance(record, log.IoctlEnd):
            start = waiting.pop((record.head.pid, record.number), None)
            if start is not None:
                yield decode(start, record, branch)
    for start in waiting.values():
        yield decode(start, None, branch)


def decode(start: log.IoctlStart, end: log.IoctlEnd | None, branch: int) -> Ioctl:
    """Name one ioctl and take its structures apart."""
    blocks = end.blocks if end is not None else start.blocks
    if start.device == UVM_FILE:
        name, structure = tables.uvm(start.request)
        return _plain(start, end, name, structure, blocks, branch)
    number, size = start.request & 0xFF, start.request >> 16 & 0x3FFF
    if start.request >> 8 & 0xFF != _TYPE_F:
        return _plain(start, end, f"ioctl {start.request:#x}", None, blocks, branch)
    if number == TRANSFER and blocks and len(blocks[0].data) == 16:
        number = int.from_bytes(blocks[0].data[:4], "little")
        size = int.from_bytes(blocks[0].data[4:8], "little")
        blocks = blocks[1:]
    name, structure = tables.escape(number)
    if number == ALLOC:
        return _with_params(start, end, name, _SIZE_OF_ALLOC.get(size, ""), blocks, branch)
    if number == CONTROL:
        return _with_params(start, end, name, "NVOS54_PARAMETERS", blocks, branch)
    return _plain(start, end, name, structure, blocks, branch)


def _plain(
    start: log.IoctlStart,
    end: log.IoctlEnd | None,
    name: str,
    structure: str | None,
    blocks: Sequence[log.Block],
    branch: int,
) -> Ioctl:
    data = blocks[0].data if blocks else b""
    fields = tables.decode(structure, data, branch) if data else {}
    opaque = data.hex() if fields is None else ""
    return Ioctl(start, end, name, "", fields, None, opaque, tables.is_named(name))


def _with_params(
    start: log.IoctlStart,
    end: log.IoctlEnd | None,
    name: str,
    structure: str,
    blocks: Sequence[log.Block],
    branch: int,
) -> Ioctl:
    data = blocks[0].data if blocks else b""
    fields = tables.decode(structure, data, branch)
    if fields is None:
        return Ioctl(start, end, name, "", None, None, data.hex(), tables.is_named(name))
    about = fields.get("hClass", fields.get("cmd"))
    assert isinstance(about, int)
    detail, inner = tables.rm_class(about) if "hClass" in fields else tables.control(about)
    raw = blocks[1].data if len(blocks) > 1 else b""
    params = tables.decode(inner, raw, branch) if raw else {}
    opaque = raw.hex() if params is None else ""
    return Ioctl(start, end, name, detail, fields, params, opaque, tables.is_named(detail))
