"""Queue meta data: the structure in memory that tells the compute work distributor about one grid.

Every version has its own bit layout (a JSON file under `data/qmd/`, from NVIDIA's cl*qmd.h headers); bit n
is bit n % 32 of dword n // 32. Field names are the header's; `roles` in the data say which field plays
which part, so that `command.grid` reads the same for all versions. V05_01 packs up to five
sub-tasks and has no roles.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from warpath.bits import get_bits
from warpath.errors import FormatError, UnsupportedError


@dataclass(frozen=True, slots=True)
class QmdField:
    """A field, or an array of `count` of them `stride` bits apart."""

    name: str
    hi: int
    lo: int
    stride: int
    count: int
    names: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class QmdFormat:
    """The layout of one QMD version; `bytes` is its size, `classes` the compute classes that define it."""

    version: str
    bytes: int
    classes: tuple[int, ...]
    number: int
    number_bits: tuple[int, int]
    fields: Mapping[str, QmdField]
    roles: Mapping[str, Any] | None
    source: str


@cache
def load_format(version: str) -> QmdFormat:
    """The layout called `version` (`V04_00`); UnsupportedError when there is none."""
    path = resources.files("warpath.command") / "data" / "qmd" / f"{version}.json"
    if version not in versions() or not path.is_file():
        raise UnsupportedError(f"QMD version {version} is not one of {', '.join(versions())}")
    data = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    fields: dict[str, QmdField] = {}
    for name, row in data["fields"].items():
        fields[name] = QmdField(name, row[0], row[1], 0, 1, _names(row[2:]))
    for name, row in data["arrays"].items():
        fields[name] = QmdField(name, row[0], row[1], row[2], row[3], _names(row[4:]))
    bits = data["version_bits"]
    number = data["major"] << 4 | data["minor"]
    where = (bits["major"][0], bits["minor"][1])
    classes = tuple(data["classes"])
    return QmdFormat(version, data["bytes"], classes, number, where, fields, data["roles"], data["source"])


def _names(rest: list[dict[str, int]]) -> dict[int, str]:
    return {value: name for name, value in rest[0].items()} if rest else {}


@cache
def versions() -> tuple[str, ...]:
    """Names of all known versions, oldest first."""
    folder = resources.files("warpath.command") / "data" / "qmd"
    return tuple(sorted(entry.name.removesuffix(".json") for entry in folder.iterdir()))


@cache
def version_of_number(number: int) -> str:
    """The version of major << 4 | minor, as SET_QMD_VERSION.CURRENT holds it; UnsupportedError when
    unknown.
    """
    name = f"V{number >> 4:02d}_{number & 15:02d}"
    return load_format(name).version


def detect(data: bytes | memoryview, compute_class: int) -> str:
    """The version a QMD says it has, among those the compute class defines, newest first; FormatError when
    none.
    """
    for version in reversed(versions()):
        form = load_format(version)
        possible = compute_class in form.classes and len(data) >= form.bytes
        if possible and get_bits(data, *form.number_bits) == form.number:
            return version
    raise FormatError(f"no QMD version of class {compute_class:#06x} matches the {len(data)} bytes given")


@cache
def _places(version: str) -> Mapping[tuple[str, int], tuple[int, int]]:
    """(name, index) -> (lowest bit, mask) of every field."""
    return {
        (spec.name, index): (spec.lo + index * spec.stride, (1 << (spec.hi - spec.lo + 1)) - 1)
        for spec in load_format(version).fields.values()
        for index in range(spec.count)
    }


class Qmd:
    """One QMD: named access to the bits of a mutable structure, which is kept as one integer."""

    def __init__(self, version: str, data: bytes | bytearray | memoryview | None = None) -> None:
        """A QMD of all zeros with its version set, or the one in `data` (FormatError when the size is
        wrong).
        """
        self.format = load_format(version)
        if data is not None and len(data) != self.format.bytes:
            raise FormatError(f"a {version} QMD is {self.format.bytes} bytes, not {len(data)}")
        self._places = _places(version)
        if data is None:
            self._word = self.format.number << self.format.number_bits[1]
        else:
            self._word = int.from_bytes(data, "little")

    @classmethod
    def from_bytes(cls, version: str, data: bytes | memoryview) -> Qmd:
        """The QMD in `data`; FormatError when it is too short or says it has another version."""
        form = load_format(version)
        qmd = cls(version, data[: form.bytes])
        number = get_bits(data, *form.number_bits)
        if number != form.number:
            raise FormatError(f"QMD says version {number >> 4}.{number & 15}, expected {version}")
        return qmd

    def to_bytes(self) -> bytes:
        """The structure as it lies in memory."""
        return self._word.to_bytes(self.format.bytes, "little")

    def copy(self) -> Qmd:
        """Another one that is equal."""
        other = Qmd(self.format.version)
        other._word = self._word
        return other

    def _place(self, name: str, index: int) -> tuple[int, int]:
        place = self._places.get((name, index))
        if place is None:
            raise KeyError(f"QMD {self.format.version} has no field {name}({index})")
        return place

    def get(self, name: str, index: int = 0) -> int:
        """A field's value; KeyError when this version has no such field."""
        low, mask = self._place(name, index)
        return self._word >> low & mask

    def set(self, name: str, value: int, index: int = 0) -> None:
        """Set a field; KeyError when this version has no such field, ValueError when the value does not
        fit.
        """
        low, mask = self._place(name, index)
        if not 0 <= value <= mask:
            raise ValueError(f"{name}({index}) = {value:#x} does not fit in {mask.bit_length()} bits")
        self._word = self._word & ~(mask << low) | value << low

    def has(self, name: str) -> bool:
        """Whether this version has a field of that name."""
        return name in self.format.fields

    def fields(self) -> dict[str, int]:
        """All fields that are not zero, by name (`NAME(i)` in an array), in bit order."""
        found: list[tuple[int, str, int]] = []
        for spec in self.format.fields.values():
            for index in range(spec.count):
                value = self.get(spec.name, index)
                if value:
                    label = spec.name if spec.count == 1 else f"{spec.name}({index})"
                    found.append((spec.lo + index * spec.stride, label, value))
        return {label: value for _, label, value in sorted(found)}

    def unnamed(self) -> dict[int, int]:
        """Dword index to value of set bits that no field names; empty for what a known driver writes."""
        rest = self._word & ~_coverage(self.format.version)
        words = rest.to_bytes(self.format.bytes, "little")
        pairs = ((i // 4, int.from_bytes(words[i : i + 4], "little")) for i in range(0, len(words), 4))
        return {index: value for index, value in pairs if value}


@cache
def _coverage(version: str) -> int:
    mask = 0
    for spec in load_format(version).fields.values():
        for index in range(spec.count):
            mask |= ((1 << (spec.hi - spec.lo + 1)) - 1) << (spec.lo + index * spec.stride)
    return mask
