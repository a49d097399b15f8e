"""Boards and SM generations as data: every number is read from `data/*.toml` and keeps its source key.

A board file names its generation file; together they resolve to one `Gpu`. A value is written
`name = {v = 128, src = "NV+DB", note = "..."}`; `src` is keys of `data/sources.toml` joined by `+`.
The unit is the end of the name (`_bytes`, `_mhz`, `_gbs`, `_cycles`, ...), or of its table's name.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from warpath.errors import UsageError
from warpath.units import Figure, Origin

Value = int | float | bool | str | tuple[int | float | str, ...]

DATA = Path(__file__).parent / "data"

_UNITS = {
    "bytes": "B",
    "mhz": "MHz",
    "bits": "bit",
    "gbs": "GB/s",
    "us": "us",
    "cycles": "cycles",
    "percent": "%",
    "per_clock": "1/clk",
}
_ORIGINS = {"CALC": Origin.COMPUTED, "MEAS": Origin.MEASURED, "ASSUMED": Origin.MODELLED}


_SUSTAINED = "dram_percent.peak_sustained"
_REFERENCE = "h200"


@dataclass(frozen=True, slots=True)
class Datum:
    """One value of a data file, its source keys, and what a reader should know about it."""

    value: Value
    source: str
    note: str = ""

    @property
    def origin(self) -> Origin:
        """Computed, measured here, chosen for the model, or (the rule) quoted; the first key decides."""
        return _ORIGINS.get(self.source.split("+")[0], Origin.QUOTED)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sourced:
    """Base of `Sm` and `Gpu`: the raw entries behind the fields, by name (`group.name` inside a table)."""

    data: Mapping[str, Datum] = field(repr=False)

    def source(self, name: str) -> str:
        """The source key(s) of a value, such as `NV+DB`; UsageError for a name that has none."""
        return self._datum(name).source

    def note(self, name: str) -> str:
        """The remark kept with a value, or an empty string."""
        return self._datum(name).note

    def figures(self) -> dict[str, Figure]:
        """Every value with unit, origin and source, in the order of the data file."""
        return {
            name: Figure(_printable(datum.value), unit(name), datum.origin, datum.source)
            for name, datum in self.data.items()
        }

    def _datum(self, name: str) -> Datum:
        try:
            return self.data[name]
        except KeyError:
            raise UsageError(f"no sourced value is called {name!r}{_nearest(name, self.data)}") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class Sm(Sourced):
    """One compute capability: limits per SM unless the name says otherwise. Registers are 32 bits wide."""

    name: str  # "sm_89"
    major: int
    minor: int

    warp_size: int
    sub_partitions: int  # each with its own warp scheduler
    max_threads_per_block: int
    max_threads: int
    max_warps: int
    max_blocks: int
    barrier_pool: int | None  # barriers shared by resident blocks; None where they never limit occupancy

    registers: int
    registers_per_block: int
    max_registers_per_thread: int  # addressable: R0 to R254
    max_allocated_registers_per_thread: int  # what the launch check compares with
    min_launch_registers: int  # the driver asks for at least this many, whatever the compiler used
    register_unit: int  # registers per warp are rounded up to this

    shared_bytes: int
    shared_per_block_bytes: int  # without opting in
    shared_per_block_optin_bytes: int
    shared_reserved_bytes: int  # taken by the driver from each block
    shared_unit_bytes: int  # a block's share is rounded up to this
    carveouts_bytes: tuple[int, ...]  # possible sizes of the shared memory part, ascending
    l1_shared_bytes: int  # L1 and shared memory together

    fp32_lanes: int

    param_base: int  # offset of kernel parameters in constant bank 0; a cubin's own record wins
    cbank0: str  # name of the constant bank 0 layout

    channel_class: int
    compute_class: int
    copy_class: int
    usermode_class: int
    qmd_version: str
    qmd_bytes: int
    launch_form: str  # "inline" or "pointer"
    launch_methods: tuple[str, ...]  # compute methods that carry or name the QMD, in order
    launch_action: int | None  # value of the last one in the pointer form
    launch_confidence: str  # high: captured; medium: other drivers do so; low: by analogy

    timing: Mapping[str, Value]  # "pipe_cycles.ffma": 1, ...: what is known, absent when it is not

    @property
    def number(self) -> int:
        """89 for sm_89."""
        return self.major * 10 + self.minor

    @property
    def schedulers(self) -> int:
        """Warp schedulers per SM: one in each sub-partition."""
        return self.sub_partitions


@dataclass(frozen=True, slots=True)
class Classes:
    """Ids of the RM classes that a driver allocates to use this chip."""

    channel: int
    compute: int
    copy: int
    usermode: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Gpu(Sourced):
    """One board. Clocks in MHz, sizes in bytes, bandwidth in GB/s (1e9 bytes)."""

    name: str  # "rtx4090": what --gpu takes
    label: str  # the name cudaDeviceProp reports
    chip: str  # "AD102"
    aliases: tuple[str, ...]
    sm: Sm

    sms: int
    clock_base_mhz: int | None  # None: not published
    clock_boost_mhz: int
    mem_clock_mhz: int  # twice this is the data rate per pin
    bus_width_bits: int
    dram_gbs: float  # as printed by the vendor
    dram_clock_gbs: float  # 2 x memory clock x bus width / 8
    memory_bytes: int
    l2_bytes: int
    pcie_gen: int

    measured: Mapping[str, Value]  # "latency_cycles.l1": 40, "dram_gbs.read": 924, ...: absent when unknown

    @property
    def dram_sustained_gbs(self) -> float:
        """What ncu takes for DRAM's peak: below the data rate by what DRAM needs for itself.

        Measured as a share on the reference board and derived for some others; those without take the reference's.
        """
        own = self.measured.get(_SUSTAINED)
        share = own if isinstance(own, (int, float)) else load(_REFERENCE).measured[_SUSTAINED]
        assert isinstance(share, (int, float))
        return self.dram_clock_gbs * share / 100

    @property
    def classes(self) -> Classes:
        """Class ids of the generation's chips."""
        sm = self.sm
        return Classes(sm.channel_class, sm.compute_class, sm.copy_class, sm.usermode_class)

    @property
    def qmd_version(self) -> str:
        """Version of the QMD the driver writes, such as `V03_00`."""
        return self.sm.qmd_version

    @property
    def launch_form(self) -> str:
        """`inline`: the QMD travels in the pushbuffer; `pointer`: only its address does."""
        return self.sm.launch_form

    @property
    def param_base(self) -> int:
        """Byte offset of kernel parameters in constant bank 0 (the cubin's own record wins)."""
        return self.sm.param_base

    @property
    def cbank0(self) -> str:
        """Name of the constant bank 0 layout."""
        return self.sm.cbank0

    def source(self, name: str) -> str:
        """The source key(s) of a board's value, else of its generation's value so called."""
        return super().source(name) if name in self.data else self.sm.source(name)


def names() -> list[str]:
    """Names of all boards, sorted."""
    return sorted(path.stem for path in DATA.glob("*.toml") if not _is_shared_file(path.stem))


def sm_names() -> list[str]:
    """Names of all generations, ascending: `sm_75` first."""
    return sorted((path.stem for path in DATA.glob("sm_*.toml")), key=lambda name: int(name[3:]))


def load(name: str) -> Gpu:
    """The board called `name` (case, spaces, dashes and vendor words do not matter; aliases work)."""
    key = _key(name)
    boards = names()
    for board in boards:
        if _key(board) == key:
            return _board(board)
    spoken = {_key(alias): board for board in boards for alias in _board(board).aliases}
    if key in spoken:
        return _board(spoken[key])
    raise UsageError(
        f"unknown GPU {name!r}{_nearest(key, [*boards, *spoken])} `warpath gpus` lists all that are known"
    )


@cache
def load_sm(name: str) -> Sm:
    """The generation called `sm_89` or `89`; UsageError with the known ones otherwise."""
    name = name if name.startswith("sm_") else f"sm_{name}"
    if name not in sm_names():
        raise UsageError(f"unknown generation {name!r}: known are {', '.join(sm_names())}")
    fields, data, timing = _resolve(name, Sm)
    major, minor = divmod(int(name[3:]), 10)
    return Sm(name=name, major=major, minor=minor, data=data, timing=timing, **fields)


@cache
def references() -> Mapping[str, str]:
    """Source key to full reference."""
    return MappingProxyType(cast(dict[str, str], _read("sources")))


def unit(name: str) -> str:
    """The unit named by the end of a value's name, else by the end of its table's name."""
    group, _, inner = name.rpartition(".")
    for text in (inner, group):
        for suffix, unit in _UNITS.items():
            if text.endswith(f"_{suffix}"):
                return unit
    return ""


@cache
def _board(name: str) -> Gpu:
    fields, data, measured = _resolve(name, Gpu)
    sm = load_sm(fields.pop("sm"))
    return Gpu(name=name, sm=sm, data=data, measured=measured, **fields)


def _resolve(
    stem: str, kind: type[Sourced]
) -> tuple[dict[str, Any], Mapping[str, Datum], Mapping[str, Value]]:
    """A data file as constructor arguments, its sourced entries, and its tables flattened to `group.name`."""
    arguments: dict[str, Any] = {
        field.name: None for field in dataclasses.fields(kind) if str(field.type).endswith("| None")
    }
    data: dict[str, Datum] = {}
    extras: dict[str, Value] = {}
    for name, entry in _read(stem).items():
        if not isinstance(entry, dict):  # plain names such as label, chip, aliases
            arguments[name] = _freeze(entry)
        elif "v" in entry:
            data[name] = _datum(cast(dict[str, Any], entry))
            arguments[name] = data[name].value
        else:
            for inner, value in cast(dict[str, dict[str, Any]], entry).items():
                data[f"{name}.{inner}"] = datum = _datum(value)
                extras[f"{name}.{inner}"] = datum.value
    return arguments, MappingProxyType(data), MappingProxyType(extras)


def _datum(entry: Mapping[str, Any]) -> Datum:
    return Datum(_freeze(entry["v"]), entry["src"], entry.get("note", ""))


def _freeze(value: Any) -> Any:
    return tuple(cast(list[Any], value)) if isinstance(value, list) else value


def _read(stem: str) -> dict[str, Any]:
    with (DATA / f"{stem}.toml").open("rb") as file:
        return tomllib.load(file)


def _is_shared_file(stem: str) -> bool:
    return stem == "sources" or stem.startswith("sm_")


def _key(name: str) -> str:
    """`NVIDIA GeForce RTX-4090` and `rtx4090` are the same board."""
    return re.sub(r"nvidia|geforce|tesla|[^a-z0-9]", "", name.lower())


def _nearest(name: str, known: Any) -> str:
    import difflib  # only errors need it, and loading a board should cost little

    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {', '.join(close)}?" if close else "."


def _printable(value: Value) -> float | int | str:
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value)
    return value
