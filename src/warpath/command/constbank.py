"""Constant bank 0: what the driver puts in front of a kernel's parameters, one layout per generation.

The layouts are driver-private observations (sources in `data/constbank.json`), except that the parameter
base also stands in every cubin (EIATTR_PARAM_CBANK), which wins. Words without a name are kept by offset.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from warpath.errors import FormatError, UnsupportedError

FieldValue = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BankField:
    """`count` little-endian integers of `size` bytes from `offset`."""

    name: str
    offset: int
    size: int
    count: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Constant bank 0 of one generation; parameters start at `param_base` unless the cubin says otherwise."""

    name: str
    param_base: int
    fields: Mapping[str, BankField]
    source: str


@dataclass(frozen=True, slots=True)
class Bank:
    """A decoded bank: named fields, parameter bytes, and the non-zero words before them that have no name."""

    layout: Layout
    fields: Mapping[str, FieldValue]
    params: bytes
    unnamed: Mapping[int, int]


@cache
def _layouts() -> Mapping[str, Layout]:
    path = resources.files("warpath.command") / "data" / "constbank.json"
    data = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    found: dict[str, Layout] = {}
    for name, row in data.items():
        fields = {key: BankField(key, *spec) for key, spec in row["fields"].items()}
        found[name] = Layout(name, row["param_base"], fields, row["source"])
    return found


def load_layout(name: str) -> Layout:
    """The layout called `name` (`sm_90`); UnsupportedError when there is none."""
    layout = _layouts().get(name)
    if layout is None:
        raise UnsupportedError(f"constant bank layout {name} is not one of {', '.join(_layouts())}")
    return layout


def float_bits(value: float) -> int:
    """IEEE-754 single-precision bits, for fields that hold a float."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def build(
    layout: Layout,
    params: bytes = b"",
    *,
    param_base: int | None = None,
    unnamed: Mapping[int, int] | None = None,
    **fields: FieldValue,
) -> bytes:
    """The bank up to the last parameter byte.

    `unnamed` maps byte offsets to words without a name. KeyError for a field the layout lacks, ValueError
    when a value does not fit or a field lies behind the parameter base.
    """
    base = layout.param_base if param_base is None else param_base
    buffer = bytearray(base)
    for offset, word in (unnamed or {}).items():
        _store(buffer, offset, 4, word)
    store(layout, buffer, **fields)
    return bytes(buffer) + params


def store(layout: Layout, buffer: bytearray, **fields: FieldValue) -> None:
    """Set fields in a bank that was built before; errors as for `build`."""
    for name, value in fields.items():
        field = layout.fields[name]
        values = value if isinstance(value, tuple) else (value,)
        if len(values) != field.count:
            raise ValueError(f"constant bank field {name} takes {field.count} values, not {len(values)}")
        for index, item in enumerate(values):
            _store(buffer, field.offset + index * field.size, field.size, item)


def _store(buffer: bytearray, offset: int, size: int, value: int) -> None:
    if not 0 <= offset <= len(buffer) - size:
        raise ValueError(
            f"constant bank offset {offset:#x} lies outside the {len(buffer):#x} bytes before parameters"
        )
    if not 0 <= value < 1 << (8 * size):
        raise ValueError(f"{value:#x} does not fit in {size} bytes at constant bank offset {offset:#x}")
    buffer[offset : offset + size] = value.to_bytes(size, "little")


def decode(layout: Layout, data: bytes | memoryview, param_base: int | None = None) -> Bank:
    """Take a bank apart; FormatError when it ends before the parameter base."""
    base = layout.param_base if param_base is None else param_base
    if len(data) < base:
        raise FormatError(f"constant bank 0 of {len(data):#x} bytes ends before its parameter base {base:#x}")
    rest = bytearray(data[:base])
    fields: dict[str, FieldValue] = {}
    for field in layout.fields.values():
        end = field.offset + field.size * field.count
        if end > base:
            continue
        raw = bytes(data[field.offset : end])
        values = tuple(
            int.from_bytes(raw[i * field.size : (i + 1) * field.size], "little") for i in range(field.count)
        )
        fields[field.name] = values if field.count > 1 else values[0]
        rest[field.offset : end] = bytes(end - field.offset)
    words = {i: int.from_bytes(rest[i : i + 4], "little") for i in range(0, base, 4)}
    return Bank(layout, fields, bytes(data[base:]), {offset: word for offset, word in words.items() if word})
