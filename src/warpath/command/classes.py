"""Class tables: which method an address names, and which fields its 32-bit value has.

One JSON file per class under `data/classes/`, named by the class id in hex (`cbc0.json`), read on first use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from warpath.bits import Bits
from warpath.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a method's value; `names` maps the values that have a name."""

    name: str
    bits: Bits
    names: Mapping[int, str]


@dataclass(frozen=True, slots=True, eq=False)
class MethodSpec:
    """A method as the class header declares it; `index` is the element of a method array, else None.

    There is one object for each method, so they are compared by identity.
    """

    name: str
    address: int
    index: int | None
    fields: tuple[Field, ...]

    @property
    def label(self) -> str:
        """`LAUNCH_DMA`, or `LOAD_INLINE_QMD_DATA(3)` for an array element."""
        return self.name if self.index is None else f"{self.name}({self.index})"

    def decode(self, value: int) -> dict[str, int]:
        """Field name to field value."""
        return {field.name: field.bits.get(value) for field in self.fields}

    def encode(self, **values: int) -> int:
        """The 32-bit value with the named fields set; KeyError for an unknown field, ValueError when too
        large.
        """
        known = {field.name: field.bits for field in self.fields}
        word = 0
        for name, value in values.items():
            word = known[name].set(word, value)
        return word


@dataclass(frozen=True, slots=True)
class ClassTable:
    """All methods of one class; `kind` is host, compute, copy or inline."""

    id: int
    name: str
    kind: str
    source: str
    by_address: Mapping[int, MethodSpec]
    by_name: Mapping[str, MethodSpec]

    def find(self, address: int) -> MethodSpec | None:
        """The method at byte address `address`, None when the header names none."""
        return self.by_address.get(address)

    def method(self, name: str) -> MethodSpec:
        """The method called `name` (element 0 of an array); UnsupportedError when this class has none."""
        spec = self.by_name.get(name)
        if spec is None:
            raise UnsupportedError(f"class {self.name} ({self.id:#06x}) has no method {name}")
        return spec

    def address(self, name: str) -> int:
        """Byte address of the method called `name`."""
        return self.method(name).address


def find_class(class_id: int) -> ClassTable | None:
    """The table of a class, None when this version has no table for it."""
    return _load(class_id)


def load_class(class_id: int) -> ClassTable:
    """The table of a class; UnsupportedError when there is none."""
    table = _load(class_id)
    if table is None:
        raise UnsupportedError(
            f"class {class_id:#06x} is not one this version knows ({', '.join(known_classes())})"
        )
    return table


def known_classes() -> list[str]:
    """Ids of all classes with a table, in hex, sorted."""
    folder = resources.files("warpath.command") / "data" / "classes"
    return sorted(entry.name.removesuffix(".json") for entry in folder.iterdir())


@cache
def _load(class_id: int) -> ClassTable | None:
    path = resources.files("warpath.command") / "data" / "classes" / f"{class_id:04x}.json"
    if not path.is_file():
        return None
    data = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    by_address: dict[int, MethodSpec] = {}
    by_name: dict[str, MethodSpec] = {}
    for text, row in data["methods"].items():
        for spec in _expand(int(text, 16), row):
            by_address.setdefault(spec.address, spec)
            by_name.setdefault(spec.name, spec)
    return ClassTable(data["class"], data["name"], data["kind"], data["source"], by_address, by_name)


def _expand(address: int, row: Mapping[str, Any]) -> list[MethodSpec]:
    fields = tuple(_field(name, spec) for name, spec in row["fields"].items())
    if "array" not in row:
        return [MethodSpec(row["name"], address, None, fields)]
    stride, count = row["array"]
    return [MethodSpec(row["name"], address + i * stride, i, fields) for i in range(count)]


def _field(name: str, spec: list[Any]) -> Field:
    names: dict[int, str] = {}
    for text, value in spec[2].items() if len(spec) > 2 else ():
        names.setdefault(value, text)  # headers give some values two names: the first is the general one
    return Field(name, Bits(spec[0], spec[1]), names)
