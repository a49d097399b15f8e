"""What a QMD says in terms that are the same for every version: `GridWork`, read from a QMD and written
into one.

Which field plays which part comes from the `roles` of the version's data file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from warpath.command.qmd import Qmd
from warpath.errors import UnsupportedError


class GridType(IntEnum):
    """QMD_TYPE. Versions before V04 only tell queues from grids; their grids count as CTA."""

    QUEUE = 0
    NULL = 1
    CTA = 2
    GPC_CGA = 3
    GPU_CGA = 4
    GPU_GPC_CGA = 5


class DependentAction(IntEnum):
    """What the end of a grid does to a dependent QMD."""

    INCREMENT_PUT = 0
    SCHEDULE = 1
    INVALIDATE_COPY_SCHEDULE = 3
    DECREMENT_DEPENDENCE = 4


class Structure(IntEnum):
    """What a semaphore release writes: payload and timestamp (16 bytes), the 4-byte payload, 8-byte
    payload.
    """

    FOUR_WORDS = 0
    ONE_WORD = 1
    TWO_WORDS = 2


@dataclass(frozen=True, slots=True)
class ConstantBank:
    """Constant bank `index`: `size` bytes at `va`."""

    index: int
    va: int
    size: int


@dataclass(frozen=True, slots=True)
class Release:
    """A semaphore written when the grid has ended; `reduction` is the operation (0 = add ...), None for a
    plain store.
    """

    va: int
    payload: int
    structure: int = Structure.ONE_WORD
    wide: bool = False
    reduction: int | None = None


@dataclass(frozen=True, slots=True)
class Dependent:
    """A QMD that the end of this grid acts upon; `va` is 256-byte aligned."""

    va: int
    action: int


@dataclass(frozen=True, slots=True)
class GridWork:
    """One grid as the compute work distributor sees it. Sizes in bytes, local memory per thread."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    program_va: int
    registers: int
    shared: int = 0
    local_low: int = 0
    local_high: int = 0
    barriers: int = 0
    type: int = GridType.CTA
    cluster: tuple[int, int, int] = (0, 0, 0)
    banks: tuple[ConstantBank, ...] = ()
    releases: tuple[Release, ...] = ()
    dependents: tuple[Dependent, ...] = field(default=())
    dependences: int = 0


def read(qmd: Qmd) -> GridWork:
    """Read a QMD; UnsupportedError for a version without roles (V05_01)."""
    roles = _roles(qmd)
    cluster = tuple(qmd.get(name) for name in roles["cluster"] or ())
    return GridWork(
        grid=_triple(qmd, roles["grid"]),
        block=_triple(qmd, roles["block"]),
        program_va=_address(qmd, roles["program"], 0),
        registers=qmd.get(roles["registers"]),
        shared=_scaled(qmd, roles["shared"]),
        local_low=_scaled(qmd, roles["local_low"]),
        local_high=_scaled(qmd, roles["local_high"]),
        barriers=qmd.get(roles["barriers"]),
        type=_type(qmd, roles),
        cluster=(cluster[0], cluster[1], cluster[2]) if cluster else (0, 0, 0),
        banks=tuple(_banks(qmd, roles)),
        releases=tuple(_release(qmd, row) for row in roles["releases"] if qmd.get(*row["enable"])),
        dependents=tuple(_dependent(qmd, row) for row in roles["dependents"] if qmd.get(*row["enable"])),
        dependences=qmd.get(roles["dependences"]) if roles["dependences"] else 0,
    )


def write(qmd: Qmd, work: GridWork) -> None:
    """Set the fields for `work` and leave all others; ValueError when a number does not fit its field."""
    roles = _roles(qmd)
    for names, values in ((roles["grid"], work.grid), (roles["block"], work.block)):
        _set_all(qmd, names, values)
    if roles["cluster"]:
        _set_all(qmd, roles["cluster"], work.cluster)
    elif any(work.cluster):
        raise UnsupportedError(f"QMD {qmd.format.version} has no clusters")
    _set_address(qmd, roles["program"], 0, work.program_va)
    qmd.set(roles["registers"], work.registers)
    qmd.set(roles["barriers"], work.barriers)
    for role in ("shared", "local_low", "local_high"):
        name, shift = roles[role]
        qmd.set(name, -(-getattr(work, role) >> shift))  # rounded up to the field's unit
    _set_type(qmd, roles, work)
    write_links(qmd, work.banks, work.releases, work.dependents)


def write_links(
    qmd: Qmd, banks: Sequence[ConstantBank], releases: Sequence[Release], dependents: Sequence[Dependent]
) -> None:
    """Set what a QMD points to, which differs between launches of one kernel, and leave all else."""
    roles = _roles(qmd)
    for bank in banks:
        _set_address(qmd, roles["bank_address"], bank.index, bank.va)
        name, shift = roles["bank_size"]
        qmd.set(name, (bank.size + (1 << shift) - 1) >> shift, bank.index)
        qmd.set(roles["bank_valid"], 1, bank.index)
    for row, release in zip(roles["releases"], releases, strict=False):
        _set_release(qmd, row, release)
    for row, dependent in zip(roles["dependents"], dependents, strict=False):
        _set_dependent(qmd, row, dependent)
    if len(releases) > len(roles["releases"]) or len(dependents) > len(roles["dependents"]):
        raise UnsupportedError(f"QMD {qmd.format.version} has no room for all releases and dependents")


def _roles(qmd: Qmd) -> Any:
    if qmd.format.roles is None:
        raise UnsupportedError(
            f"QMD {qmd.format.version} holds sub-tasks, which this version does not handle"
        )
    return qmd.format.roles


def _triple(qmd: Qmd, names: Sequence[str]) -> tuple[int, int, int]:
    x, y, z = (qmd.get(name) for name in names)
    return x, y, z


def _set_all(qmd: Qmd, names: Sequence[str], values: Sequence[int]) -> None:
    for name, value in zip(names, values, strict=True):
        qmd.set(name, value)


def _scaled(qmd: Qmd, role: Sequence[Any]) -> int:
    name, shift = role
    return qmd.get(name) << shift


def _address(qmd: Qmd, role: Sequence[Any], index: int) -> int:
    low, high, shift = role
    return (qmd.get(high, index) << 32 | qmd.get(low, index)) << shift


def _set_address(qmd: Qmd, role: Sequence[Any], index: int, va: int) -> None:
    low, high, shift = role
    if va & ((1 << shift) - 1):
        raise ValueError(f"address {va:#x} is not aligned to {1 << shift} bytes")
    qmd.set(low, (va >> shift) & 0xFFFFFFFF, index)
    qmd.set(high, va >> shift >> 32, index)


def _type(qmd: Qmd, roles: Any) -> int:
    if roles["type"]:
        return qmd.get(roles["type"])
    return GridType.QUEUE if qmd.get(roles["is_queue"]) else GridType.CTA


def _set_type(qmd: Qmd, roles: Any, work: GridWork) -> None:
    if roles["type"]:
        qmd.set(roles["type"], work.type)
    else:
        qmd.set(roles["is_queue"], int(work.type == GridType.QUEUE))
    if roles["dependences"]:
        qmd.set(roles["dependences"], work.dependences)


def _banks(qmd: Qmd, roles: Any) -> list[ConstantBank]:
    count = qmd.format.fields[roles["bank_valid"]].count
    name, shift = roles["bank_size"]
    return [
        ConstantBank(i, _address(qmd, roles["bank_address"], i), qmd.get(name, i) << shift)
        for i in range(count)
        if qmd.get(roles["bank_valid"], i)
    ]


def _release(qmd: Qmd, row: Any) -> Release:
    va = _joined(qmd, row["address"])
    reduction = qmd.get(*row["reduction_op"]) if qmd.get(*row["reduction"]) else None
    wide = bool(row["wide"] and qmd.get(*row["wide"]))
    return Release(va, _joined(qmd, row["payload"]), qmd.get(*row["structure"]), wide, reduction)


def _joined(qmd: Qmd, names: Sequence[str]) -> int:
    return sum(qmd.get(name) << (32 * i) for i, name in enumerate(names))


def _set_joined(qmd: Qmd, names: Sequence[str], value: int) -> None:
    for i, name in enumerate(names):
        last = i == len(names) - 1
        qmd.set(name, value >> (32 * i) if last else (value >> (32 * i)) & 0xFFFFFFFF)


def _set_flag(qmd: Qmd, target: Sequence[Any] | None, value: int) -> None:
    if target is not None:
        qmd.set(target[0], value, target[1])
    elif value:
        raise UnsupportedError(f"QMD {qmd.format.version} has no 64-bit semaphore payload")


def _set_release(qmd: Qmd, row: Any, release: Release) -> None:
    _set_joined(qmd, row["address"], release.va)
    _set_joined(qmd, row["payload"], release.payload)
    _set_flag(qmd, row["enable"], 1)
    _set_flag(qmd, row["structure"], release.structure)
    _set_flag(qmd, row["wide"], int(release.wide))
    _set_flag(qmd, row["reduction"], int(release.reduction is not None))
    _set_flag(qmd, row["reduction_op"], release.reduction or 0)


def _dependent(qmd: Qmd, row: Any) -> Dependent:
    action = qmd.get(*row["action"]) if row["action"] else DependentAction.SCHEDULE
    return Dependent(qmd.get(row["pointer"]) << 8, action)


def _set_dependent(qmd: Qmd, row: Any, dependent: Dependent) -> None:
    if dependent.va & 0xFF:
        raise ValueError(f"dependent QMD {dependent.va:#x} is not aligned to 256 bytes")
    qmd.set(row["pointer"], dependent.va >> 8)
    _set_flag(qmd, row["enable"], 1)
    if row["action"]:
        _set_flag(qmd, row["action"], dependent.action)
