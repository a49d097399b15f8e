"""A launch as the compute work distributor makes it: everything comes from the QMD and from memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from warpath.command import constbank, grid
from warpath.command.constbank import Bank
from warpath.command.grid import ConstantBank, GridType, GridWork
from warpath.command.qmd import Qmd
from warpath.errors import FormatError, UnsupportedError
from warpath.frontend.core_api import Memory
from warpath.frontend.engine import ChannelFault, Submission
from warpath.gpu.occupancy import Occupancy, occupancy
from warpath.gpu.spec import Gpu

_RUNNABLE = (GridType.NULL, GridType.CTA)
_BANKS = 8
_RESERVE_FIRST_SINCE = (
    9  # compute capability from which a program's shared addresses start behind the reserve
)


@dataclass(frozen=True, slots=True)
class Windows:
    """Where a channel put the generic-address windows of shared and local memory."""

    shared: int
    local: int


@dataclass(slots=True)
class Launch:
    """One grid with CTAs to run. `counters` and what follows are filled in when it has ended.

    `placement` is the SM of each CTA, packed u32 in CTA order; empty when nothing is counted. `start_ns` is GPU time,
    None without a clock; `timeline` and `stream` (what was executed, for replays) are the core's, None unless they were
    to be kept.

    `shared_slack` bytes at the end of shared memory are out of bounds though allocated: a checker sets that.

    `form` says how the QMD arrived: `pointer`, `inline` or `dependent`. `constants` holds the bytes of
    constant bank 0 as they were when the grid started.
    """

    index: int
    token: int
    submission: Submission | None
    form: str
    qmd_va: int
    qmd: Qmd
    work: GridWork
    windows: Windows
    occupancy: Occupancy
    layout: str
    constants: bytes
    counters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    placement: bytes = b""
    stream: Any = None
    fault: Mapping[str, Any] | None = None
    start_ns: int | None = None
    timeline: Mapping[str, Any] | None = None
    shared_slack: int = 0

    @property
    def threads(self) -> int:
        """Threads per CTA."""
        x, y, z = self.work.block
        return x * y * z

    @property
    def bank(self) -> Bank:
        """Constant bank 0 by field; FormatError when it is shorter than its layout."""
        return constbank.decode(constbank.load_layout(self.layout), self.constants)

    @property
    def params(self) -> bytes:
        """The kernel's parameters: up to the end the driver wrote down, else all the bank holds."""
        bank = self.bank
        start, end = bank.fields.get("params_start", 0), bank.fields.get("params_end", 0)
        if isinstance(start, int) and isinstance(end, int) and 0 < start <= end:
            return bank.params[: end - start]
        return bank.params

    @property
    def banks(self) -> list[tuple[int, int]]:
        """(address, size) of constant banks 0 to 7; (0, 0) for those the QMD does not have."""
        found: dict[int, ConstantBank] = {bank.index: bank for bank in self.work.banks}
        return [(found[i].va, found[i].size) if i in found else (0, 0) for i in range(_BANKS)]


def is_empty(work: GridWork) -> bool:
    """Whether a grid has no CTA to run: the spacer of newer chips, or zero in a dimension."""
    return work.type == GridType.NULL or 0 in work.grid


def check(work: GridWork) -> None:
    """UnsupportedError for grids that the model cannot run."""
    if work.type not in _RUNNABLE:
        name = GridType(work.type).name if work.type in [kind.value for kind in GridType] else str(work.type)
        raise UnsupportedError(f"QMD type {name} has no model")


def residency(spec: Gpu, work: GridWork) -> Occupancy:
    """Resident CTAs per SM, from the QMD; its shared memory includes what the driver reserves.

    ChannelFault when not a single CTA fits.
    """
    x, y, z = work.block
    if not 0 < x * y * z <= spec.sm.max_threads_per_block:
        raise ChannelFault({"kind": "invalid_launch", "why": f"block {work.block} of {x * y * z} threads"})
    shared = max(work.shared - spec.sm.shared_reserved_bytes, 0)
    found = occupancy(spec.sm, x * y * z, work.registers, shared, barriers=max(work.barriers, 1))
    if found.blocks_per_sm == 0:
        raise ChannelFault({"kind": "invalid_launch", "why": found.refusal or "no CTA fits on an SM"})
    return found


def split_shared(spec: Gpu, work: GridWork) -> tuple[int, int]:
    """(bytes of shared memory that a program's addresses may reach from 0 on, bytes beyond them).

    Compute capability 8.x keeps the driver's reserve where program addresses do not reach.
    """
    reserve = spec.sm.shared_reserved_bytes if spec.sm.major < _RESERVE_FIRST_SINCE else 0
    reserve = min(reserve, work.shared)
    return work.shared - reserve, reserve


def read_constants(memory: Memory, work: GridWork) -> bytes:
    """Constant bank 0; FormatError when the QMD has none."""
    for bank in work.banks:
        if bank.index == 0:
            return memory.read(bank.va, bank.size)
    raise FormatError("the QMD has no constant bank 0")


def read_work(qmd: Qmd) -> GridWork:
    """What a QMD asks for, refused when the model cannot do it."""
    work = grid.read(qmd)
    check(work)
    return work
