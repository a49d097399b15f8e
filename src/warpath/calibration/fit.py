"""From raw microbenchmark data to parameters of the timing model.

Each value has one formula over one or two probes; nothing is fitted to a kernel. Raw data: `Raw`, as `collect`
writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from warpath.errors import FormatError

SECTOR = 32
LINE = 128
WARPS_PER_PARTITION = 8  # of the probes with 32 warps
OVERHEAD = 33  # cycles that the step-by-step chain adds to what it measures: two clock reads
ISSUE_TO_UNIT = 7  # cycles from issue to the shared units: queue, port


@dataclass(frozen=True)
class Raw:
    """Probes timed inside kernels, and records of profiled launches by program."""

    probes: Sequence[Mapping[str, Any]]
    profiled: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
    sms: int
    l2_slices: int
    l2_bytes: int
    dram_channels: int

    @cached_property
    def _probe_index(self) -> dict[tuple[str, float], float]:
        return {(str(row["what"]), float(row["x"])): float(row["cycles"]) for row in self.probes}

    def probe(self, what: str, x: float) -> float:
        """One probe's figure; FormatError when it was not taken."""
        try:
            return self._probe_index[what, float(x)]
        except KeyError:
            raise FormatError(f"the raw data has no probe {what!r} at {x:g}: collect it again") from None

    def launch(
        self, program: str, kernel: str, grid: int, block: int, cache: str = "cold"
    ) -> Mapping[str, Any]:
        """The first record of a launch, caches cold or warm."""
        for row in self.profiled[program][cache]:
            shape = (_first(row["grid"]), _first(row["block"]))
            if str(row["kernel"]).startswith(kernel + "(") and shape == (grid, block):
                return row
        raise FormatError(f"the raw data has no launch {kernel}<<<{grid}, {block}>>> of {program}")

    @property
    def clock_ghz(self) -> float:
        """SM clock while profiling."""
        return max(row["gpc__cycles_elapsed.avg.per_second"] for row in self.profiled["launch"]["cold"]) / 1e9


def _first(shape: str) -> int:
    return int(str(shape).strip("() ").split(",")[0])


def issue(raw: Raw) -> dict[str, int]:
    """Units of a sub-partition and what answers inside the SM."""
    every = {
        name: raw.probe(f"{name}_4", 32) / WARPS_PER_PARTITION for name in ("lop3", "imad", "dfma", "mufu")
    }
    bars = {warps: raw.probe("bar_stride0", warps) for warps in (1, 32)}
    step = (bars[32] - bars[1]) / 31
    return {
        "class_int_interval": round(every["lop3"]),
        "class_imad_interval": round(every["imad"]),
        "class_fp64_interval": round(every["dfma"]),
        "class_xu_interval": round(every["mufu"]),
        "class_fp32_interval": round(2 * raw.probe("ffma_4", 32) / WARPS_PER_PARTITION),
        "xu_latency": round(raw.probe("mufu_1", 1)),
        "fp64_latency": round(raw.probe("dfma_1", 1)),
        "shuffle_latency": round(raw.probe("shfl_1", 1)) - ISSUE_TO_UNIT,
        "lsu_interval": round(raw.probe("shfl_4", 32) / 32),
        "misc_interval": round(raw.probe("s2r_smid", 32) / 32),
        "data_interval": round((raw.probe("lds_warps1", 32) - raw.probe("lds_warps1", 1)) / 31),
        "barrier_interval": round(step),
        "barrier_latency": int(bars[1] - step),
    }


def stores(raw: Raw) -> dict[str, int]:
    """How fast an SM sends stores, by bytes, sectors and lines."""
    return {
        "store_port_bytes": 1 << (round(raw.probe("push16_bytes_per_clk_per_cta", 1)) - 1).bit_length(),
        "store_line_256": round(raw.probe("store_ctas1", 32) / 32 * 256),
        "store_sector_256": round(raw.probe("store_ctas1", 8) / 32 * 256),
    }


def l2(raw: Raw) -> dict[str, int]:
    """L2: ways to it, its rates, the fabric between its halves, dirty lines."""
    near, far = raw.probe("l2_64k_second", 1), raw.probe("l2_64k_second", 99)
    written = raw.launch("bandwidth", "write4", 65536, 256)
    stayed = 65536 * 256 * 16 - written["dram__bytes_write.sum"]

    def per_slice(name: str) -> int:
        bytes_per_clock = raw.probe(name, raw.sms) * raw.sms
        return round(raw.l2_slices * SECTOR / bytes_per_clock * 256)

    return {
        "distance_spread": round(far - near),
        "reply_port_bytes": round(raw.probe("pull16_bytes_per_clk_per_cta", 1)),
        "l2_sector_256": per_slice("pull16_bytes_per_clk_per_cta"),
        "l2_write_sector_256": per_slice("push16_bytes_per_clk_per_cta"),
        "l2_fabric_latency": round(raw.probe("l2_16m_touched_by_all", 90) - raw.probe("l2_16m_second", 70)),
        "l2_dirty_percent": round(100 * stayed / raw.l2_bytes),
    }


def dram(raw: Raw) -> dict[str, int]:
    """DRAM: latency beyond L2, refresh from the slow tail, the bus from a long read."""
    late = (raw.probe("dram_64k", 99) - raw.probe("dram_64k", 80)) / 0.75
    read = raw.launch("bandwidth", "read4", 65536, 256)
    rate = read["dram__bytes_read.sum"] / read["gpu__time_duration.sum"] / raw.clock_ghz  # bytes a cycle
    percent = 8  # of the steps in dram_64k that came late
    return {
        "dram_latency": round(raw.probe("dram_64k", 5) - raw.probe("l2_64k_second", 5)) + 15,
        "dram_refresh_percent": percent,
        "dram_refresh_cycles": round(late / 50) * 50,
        "dram_access_256": round(raw.dram_channels * 64 / rate * 256 * (100 - percent) / 100),
    }


def launch(raw: Raw) -> dict[str, int]:
    """Launch: set-up, and how CTAs follow each other."""
    some, many = (raw.launch("launch", "empty", grid, 32) for grid in (4224, 33792))
    slope = (many["gpu__time_duration.sum"] - some["gpu__time_duration.sum"]) / (33792 - 4224) * raw.clock_ghz
    return {
        "complete_interval_256": round(slope * 256),
        "warp_launch_interval": round(raw.probe("warp_spread_t1024_w2000", 1024) / 31),
    }


def atomics(raw: Raw) -> dict[str, int]:
    """Atomics at L2: passes on one word."""
    one, two = (
        raw.profiled["atomics"]["cold"][index]["gpu__time_duration.sum"] * raw.clock_ghz for index in (0, 4)
    )
    requests = (1 << 18) / 32
    return {"atomic_pass_256": round((one - two) / requests / 16 * 256)}


def fit(raw: Raw) -> dict[str, int]:
    """All parameters of the clock that the raw data decide; those of the launch path: `fit_launch`."""
    found: dict[str, int] = {}
    for part in (issue, stores, l2, dram, launch, atomics):
        found.update(part(raw))
    return found
