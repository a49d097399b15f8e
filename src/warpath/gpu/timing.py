"""The timing model's parameters of a board: plain integers, from the `[timing]` tables of the data files.

A board's own table wins over its generation's. What neither has is taken from the reference board, the one
that was measured; what follows from the board's published figures (SMs, clocks, L2, DRAM bandwidth) is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpath.errors import UsageError
from warpath.gpu.spec import Gpu, Sourced, load

REFERENCE = "h200"
CLOCK_CONTROLS = ("base", "none")  # ncu's: the SM clock locked to base, or left to boost
# Parameters that stand for times in nanoseconds, though they are counted in SM cycles.
# What does not follow the SM clock: DRAM's rate, and what takes its time in nanoseconds.
_PER_BYTE = ("dram_access_256", "dram_write_256")
_IN_NANOSECONDS = (
    "dram_turnaround_256", "dram_row_256", "dram_latency", "dram_refresh_cycles", "front_end", "back_end",
)  # fmt: skip
NOT_SM_CLOCKED = _PER_BYTE + _IN_NANOSECONDS
_PREFIX = "timing."
_GENERATION_REFERENCE = "sm_90"


@dataclass(frozen=True, slots=True)
class Timing:
    """Parameters by the core's names, and where each comes from: a source key, `computed`, or a board's name."""

    values: Mapping[str, int]
    origins: Mapping[str, str]

    @property
    def inherited(self) -> list[str]:
        """Names whose value was measured on another board."""
        return sorted(name for name, origin in self.origins.items() if origin.startswith("from "))


def resolve(gpu: Gpu, clock_control: str = "none") -> Timing:
    """Parameters of `gpu`, its SM clock locked as ncu's flag says; UsageError when its base clock is not known."""
    if clock_control == "base":
        if gpu.clock_base_mhz is None:
            raise UsageError(f"{gpu.name} has no base clock among its data: --clock-control none")
        unlocked = resolve(gpu)
        return Timing(at_clock(unlocked.values, gpu.clock_base_mhz * 1000), unlocked.origins)
    reference = load(REFERENCE)
    values: dict[str, int] = {}
    origins: dict[str, str] = {}
    tables = ((reference.sm, f"from {REFERENCE}"), (reference, f"from {REFERENCE}"), (gpu.sm, ""), (gpu, ""))
    for table, label in tables:
        for name, value in _own(table).items():
            values[name] = value
            same = table is gpu or table is gpu.sm
            origins[name] = table.source(_PREFIX + name) if same else label
    for name, value in _computed(gpu, reference, values, origins).items():
        values[name] = value
        origins[name] = "computed"
    return Timing(values, origins)


def at_clock(values: Mapping[str, int], khz: int) -> dict[str, int]:
    """Parameters at another SM clock: what DRAM and the front end take in nanoseconds stays."""
    ratio = khz / values["sm_clock_khz"]
    return {**values, **{name: round(values[name] * ratio) for name in NOT_SM_CLOCKED}, "sm_clock_khz": khz}


def _own(table: Sourced) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, datum in table.data.items():
        if name.startswith(_PREFIX) and isinstance(datum.value, int):
            found[name.removeprefix(_PREFIX)] = datum.value
    return found


def _computed(
    gpu: Gpu, reference: Gpu, values: Mapping[str, int], origins: Mapping[str, str]
) -> dict[str, int]:
    sm = gpu.sm
    found = {
        "sm_clock_khz": gpu.clock_boost_mhz * 1000,
        "sms": gpu.sms,
        "max_warps": sm.max_warps,
        "sub_partitions": sm.sub_partitions,
        "l1_bytes": sm.l1_shared_bytes,
        "l2_bytes": gpu.l2_bytes,
        "l2_slices": values["dram_channels"],
    }
    if gpu is reference:
        return found
    # DRAM moves its bytes with the reference's efficiency; times in ns, rates per byte.
    clock = gpu.clock_boost_mhz / reference.clock_boost_mhz
    per_byte = reference.dram_clock_gbs / gpu.dram_clock_gbs * clock
    lanes = values["dram_channels"] / int(_own(reference)["dram_channels"])
    for name in _PER_BYTE:
        if origins[name].startswith("from "):
            found[name] = round(values[name] * per_byte * lanes)
    for name in _IN_NANOSECONDS:
        if origins[name].startswith("from "):
            found[name] = round(values[name] * clock)
    return found
