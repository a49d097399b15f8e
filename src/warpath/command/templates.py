"""QMDs as the CUDA driver fills them: a kernel's grid, and the empty "spacer" grid between two kernels.

The fixed values are those of the H200 capture (driver 580.159.04, V04_00); a version that lacks a field
leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from warpath.command import grid
from warpath.command.grid import Dependent, DependentAction, GridType, GridWork
from warpath.command.qmd import Qmd

_KERNEL_CONSTANTS: Mapping[str, int] = {
    "QMD_GROUP_ID": 0x3F,
    "API_VISIBLE_CALL_LIMIT": 1,  # no check
    "SAMPLER_INDEX": 1,  # via header index
    "INVALIDATE_TEXTURE_HEADER_CACHE": 1,
    "INVALIDATE_TEXTURE_SAMPLER_CACHE": 1,
    "INVALIDATE_TEXTURE_DATA_CACHE": 1,
    "INVALIDATE_SHADER_DATA_CACHE": 1,
    "INVALIDATE_SHADER_CONSTANT_CACHE": 1,
    "CWD_MEMBAR_TYPE": 1,  # L1_SYSMEMBAR
    "ENABLE_PROGRAM_PRE_EXIT": 1,
    "ARRIVE_AT_LATCH_VALID": 1,
}
# PROGRAM_PREFETCH_SIZE: five kernels of 384 to 8064 bytes were recorded with their code in units of 256 bytes, plus 8.
_PREFETCH_UNIT, _PREFETCH_BEYOND = 256, 8
_CONFIG_UNIT = 4096
_SPACER_REGISTERS = 8


@dataclass(frozen=True, slots=True)
class SharedConfig:
    """Shared memory carve-outs that the grid accepts and prefers, in bytes, each a multiple of 4 KiB."""

    minimum: int
    maximum: int
    target: int


def shared_config_code(size: int) -> int:
    """The value of the *_SM_CONFIG_SHARED_MEM_SIZE fields for a carve-out of `size` bytes."""
    return size // _CONFIG_UNIT + 1


def kernel_qmd(
    version: str,
    work: GridWork,
    *,
    sass_version: int,
    shared_config: SharedConfig,
    code_bytes: int = 0,
    latch: int = 0,
    prefetch_bank: int | None = None,
) -> Qmd:
    """The QMD of a kernel.

    `sass_version` is major * 16 + minor of the compute capability (0x90); `code_bytes` bounds the
    instruction prefetch; `latch` is the id that the grid arrives at for a programmatic dependent launch;
    `prefetch_bank` is the constant bank to fetch before the grid starts (the driver gives bank 5 the
    address of bank 0 for this).
    """
    qmd = Qmd(version)
    for name, value in _KERNEL_CONSTANTS.items():
        _set(qmd, name, value)
    grid.write(qmd, work)
    qmd.set("SASS_VERSION", sass_version)
    qmd.set("MIN_SM_CONFIG_SHARED_MEM_SIZE", shared_config_code(shared_config.minimum))
    qmd.set("MAX_SM_CONFIG_SHARED_MEM_SIZE", shared_config_code(shared_config.maximum))
    qmd.set("TARGET_SM_CONFIG_SHARED_MEM_SIZE", shared_config_code(shared_config.target))
    _set(qmd, "ARRIVE_AT_LATCH_ID", latch)
    if work.dependents:
        _set(qmd, "DEPENDENT_QMD_PREFETCH", 1)
        _set(qmd, "DEPENDENT_QMD0_PREFETCH", 1)
    if prefetch_bank is not None and qmd.has("CONSTANT_BUFFER_PREFETCH"):
        qmd.set("CONSTANT_BUFFER_PREFETCH", 1, prefetch_bank)
    _set_prefetch(qmd, work.program_va, code_bytes)
    return qmd


def _set_prefetch(qmd: Qmd, program_va: int, code_bytes: int) -> None:
    if not code_bytes or not qmd.has("PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED"):
        return
    size = qmd.format.fields["PROGRAM_PREFETCH_SIZE"]
    limit = (1 << (size.hi - size.lo + 1)) - 1
    qmd.set("PROGRAM_PREFETCH_ADDR_LOWER_SHIFTED", (program_va >> 8) & 0xFFFFFFFF)
    qmd.set("PROGRAM_PREFETCH_ADDR_UPPER_SHIFTED", program_va >> 40)
    qmd.set("PROGRAM_PREFETCH_SIZE", min(-(-code_bytes // _PREFETCH_UNIT) + _PREFETCH_BEYOND, limit))


def spacer_qmd(version: str, next_va: int) -> Qmd:
    """An empty grid that waits for two events and then schedules the QMD at `next_va` (V04_00 and later)."""
    qmd = _spacer(version).copy()
    grid.write_links(qmd, (), (), (Dependent(next_va, DependentAction.SCHEDULE),))
    return qmd


@cache
def _spacer(version: str) -> Qmd:
    qmd = Qmd(version)
    grid.write(
        qmd,
        GridWork(
            grid=(0, 0, 0),
            block=(1, 1, 1),
            program_va=0,
            registers=_SPACER_REGISTERS,
            type=GridType.NULL,
            dependences=2,
        ),
    )
    qmd.set("SELF_COPY_ON_COMPLETION", 1)
    qmd.set("SAMPLER_INDEX", 1)
    return qmd


def _set(qmd: Qmd, name: str, value: int) -> None:
    if qmd.has(name):
        qmd.set(name, value)
