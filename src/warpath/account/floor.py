"""The floor of a launch: the time that no tuning of this program on this board can go below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpath.gpu.spec import Gpu

SECTOR = 32  # bytes


@dataclass(frozen=True, slots=True)
class Floor:
    """The larger of two: `kind` is `dram` (compulsory bytes at paper bandwidth) or `issue` (instructions at peak)."""

    kind: str
    ns: float
    bytes: int  # compulsory, whichever kind is larger
    stored_bytes: int  # of them, stores that cannot stay in L2
    instructions: int  # warp instructions
    dram_ns: float
    issue_ns: float


def floor(counters: Mapping[str, Any], gpu: Gpu) -> Floor:
    """The floor from a launch's counters.

    Compulsory are the distinct sectors that loads touch, once, and what stores write beyond the size of L2. A kernel
    that reads back what it wrote itself, or finds its input in L2, needs less and can be faster than its floor.
    """
    loaded = int(counters.get("load_footprint_sectors", 0)) * SECTOR
    written = int(counters.get("stores", {}).get("sectors", 0)) * SECTOR
    stored = max(written - gpu.l2_bytes, 0)
    dram_ns = (loaded + stored) / gpu.dram_gbs
    instructions = int(counters.get("inst_executed", 0))
    slots = gpu.sms * gpu.sm.sub_partitions * gpu.clock_boost_mhz  # warp instructions per us
    issue_ns = instructions / slots * 1000
    kind = "issue" if issue_ns > dram_ns else "dram"
    return Floor(kind, max(dram_ns, issue_ns), loaded + stored, stored, instructions, dram_ns, issue_ns)
