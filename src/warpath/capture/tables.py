"""Names of the driver's ioctls, classes, control commands and structures, per driver branch.

The data files are trimmed from NVIDIA's published kernel module headers, 515 to 610; see `docs/howto/add-ioctl.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, cast

KNOWN_BRANCHES = range(515, 611)
Value = int | str | list[int]


@cache
def rows(name: str) -> Mapping[str, Any]:
    """The rows of one data file."""
    path = resources.files("warpath.capture") / "data" / f"{name}.json"
    return cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))["rows"]


def escape(number: int) -> tuple[str, str | None]:
    """(name, structure) of an escape of the control and GPU device files; structures with a choice are `A|B`."""
    name, structure = rows("escapes").get(hex(number), (f"escape {number:#x}", None))
    return name, structure


def uvm(request: int) -> tuple[str, str | None]:
    """(name, structure) of a request to the UVM device file."""
    name, structure, _ = rows("uvm").get(f"{request:#x}", (f"UVM request {request:#x}", None, 0))
    return name, structure


def rm_class(class_id: int) -> tuple[str, str | None]:
    """(name, structure of the allocation parameters) of a class."""
    name, structure = rows("classes").get(f"{class_id:#06x}", (f"class {class_id:#06x}", None))
    return name, structure


def control(command: int) -> tuple[str, str | None]:
    """(name, structure of the parameters) of a control command."""
    name, structure = rows("controls").get(f"{command:#010x}", (f"control {command:#010x}", None))
    return name, structure


def is_named(name: str) -> bool:
    """Whether a name of this module comes from a table."""
    return " 0x" not in name


def decode(structure: str | None, data: bytes, branch: int) -> dict[str, Value] | None:
    """The fields of a structure as that driver branch lays it out; None when no table has it for data of this size.

    Integers are unsigned, arrays of integers are lists, text ends at its first zero, anything else is hex.
    """
    variants = rows("structs").get(structure) if structure else None
    if variants is None:
        return None
    fitting = [row for row in variants if row[0] <= branch <= row[1]] or [variants[-1]]
    _, _, size, fields = fitting[0]
    if size > len(data):
        return None
    return {
        row[0]: _value(data[row[1] : row[1] + row[2]], row[3] if len(row) > 3 else None) for row in fields
    }


def _value(raw: bytes, form: int | str | None) -> Value:
    if form == "text":
        return raw.split(b"\0")[0].decode("ascii", "replace")
    if isinstance(form, int):
        return [int.from_bytes(raw[i : i + form], "little") for i in range(0, len(raw), form)]
    return int.from_bytes(raw, "little") if len(raw) <= 8 else raw.hex()
