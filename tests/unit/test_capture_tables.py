"""The recorder's own little tables say the same as the data files; fields are read as the branch lays them out."""

from __future__ import annotations

import re
from pathlib import Path

from warpath.capture import tables

SHIM = Path(__file__).parents[2] / "src" / "shim"


def _cases(name: str) -> dict[int, int]:
    """Case label to returned size of a C header's switch."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for line in (SHIM / name).read_text(encoding="ascii").splitlines():
        if match := re.match(r"\s*case (0x[0-9a-f]+):", line):
            waiting.append(int(match[1], 16))
        elif match := re.match(r"\s*return (\d+);", line):
            found |= dict.fromkeys(waiting, int(match[1]))
            waiting = []
    return found


def test_sizes_of_uvm_requests() -> None:
    rows = {int(key, 16): row[2] for key, row in tables.rows("uvm").items() if row[2]}
    assert _cases("interposer_uvm.h") == rows


def test_sizes_of_allocation_parameters() -> None:
    largest = {name: max(row[2] for row in variants) for name, variants in tables.rows("structs").items()}
    rows = {int(key, 16): largest[row[1]] for key, row in tables.rows("classes").items() if row[1] in largest}
    found = _cases("interposer_classes.h")
    handles = {key: size for key, size in found.items() if key not in rows}
    assert {key: size for key, size in found.items() if key in rows} == rows
    assert set(handles.values()) == {4}  # parameters that are one handle


def test_names() -> None:
    assert tables.escape(0x2B)[0] == "NV_ESC_RM_ALLOC"
    assert tables.uvm(0x21)[0] == "UVM_MAP_EXTERNAL_ALLOCATION"
    assert tables.rm_class(0xC86F) == ("HOPPER_CHANNEL_GPFIFO_A", "NV_CHANNEL_ALLOC_PARAMS")
    assert tables.control(0xC36F0108)[0] == "NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN"
    assert not tables.is_named(tables.control(0x20808159)[0])


def test_a_structure_follows_the_branch() -> None:
    data = bytes(range(256)) * 2
    old = tables.decode("NV_CHANNEL_ALLOC_PARAMS", data, 580)
    new = tables.decode("NV_CHANNEL_ALLOC_PARAMS", data, 610)
    assert old is not None
    assert new is not None
    assert "hHandleVASpace" not in old
    assert old["hUserdMemory"] != new["hUserdMemory"]


def test_what_is_too_short_or_unknown_has_no_fields() -> None:
    assert tables.decode("NV_CHANNEL_ALLOC_PARAMS", bytes(8), 580) is None
    assert tables.decode("NO_SUCH_STRUCT", bytes(8), 580) is None
    assert tables.decode(None, bytes(8), 580) is None
