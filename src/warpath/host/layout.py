"""Structures of the CUDA APIs, as the program's compiler laid them out.

Offsets come from the headers' debug information (`data/structs.json`, written by `src/shim/generate.py`), one
set per runtime major version, since some structures grew between 12 and 13.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeAlias

Value: TypeAlias = "int | float | bytes | tuple[int, ...]"


@cache
def document(name: str) -> Any:
    """A table of `host/data`, parsed once."""
    return json.loads(resources.files("warpath.host").joinpath(f"data/{name}.json").read_text())


def enum(name: str) -> dict[str, int]:
    """Constant name -> value of one enumeration of the headers."""
    return document("enums")[name]


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure: size in bytes and, by dotted member name, offset and `struct` format."""

    name: str
    size: int
    fields: dict[str, tuple[int, str]]

    def unpack(self, data: bytes) -> dict[str, Any]:
        """Every member's value: an integer, a float, bytes, or a tuple for an array of numbers."""
        if len(data) != self.size:
            raise ValueError(f"{self.name} has {self.size} bytes, not {len(data)}")
        out: dict[str, Any] = {}
        for name, (offset, form) in self.fields.items():
            values = struct.unpack_from("<" + form, data, offset)
            out[name] = values[0] if len(values) == 1 else values
        return out

    def pack(self, values: dict[str, Value]) -> bytes:
        """The structure with the given members, all others zero; members it does not have are left out.

        A member is left out silently because the versions differ in which members they have.
        """
        data = bytearray(self.size)
        for name, value in values.items():
            if name in self.fields:
                offset, form = self.fields[name]
                struct.pack_into("<" + form, data, offset, *(value if isinstance(value, tuple) else (value,)))
        return bytes(data)


@cache
def layout(name: str, major: int = 13) -> Layout:
    """The layout of a structure for runtime 12 or 13; the driver API's are those of 13."""
    entry = document("structs")["12" if major == 12 else "13"][name]
    return Layout(
        name, entry["size"], {key: (offset, form) for key, (offset, form) in entry["fields"].items()}
    )


@cache
def signatures(library: str) -> dict[str, str]:
    """Function name -> "result: argument ..." of `runtime13`, `runtime12` or `driver`."""
    return document("signatures")[library]


@cache
def proc_addresses() -> dict[str, list[tuple[int, str]]]:
    """Driver function -> (CUDA version from which on, exported symbol), oldest first."""
    return {name: [(v, s) for v, s in entries] for name, entries in document("procaddress")["driver"].items()}
