"""The timeline of the report: units, and what is thinned."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

from warpath.report.timeline import MOST_CTAS, MOST_KERNELS, TimelineBuilder, thin_ctas


def pack(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def launch(index: int = 0, program: int = 0x1000) -> Any:
    counters = {"cycles": 150, "sm_clock_khz": 2_000_000, "stall_names": ("selected", "wait")}
    return SimpleNamespace(index=index, counters=counters, work=SimpleNamespace(program_va=program))


RAW = {
    "bin_cycles": 64,
    "watched_sm": 3,
    "warp_slots": 20,
    "issue_slots": 4,
    "warp_cycles": pack(640, 1280, 44),
    "issued": pack(64, 0, 22),
    "dram_bytes": pack(0, 96, 64),
    "l2_sectors": pack(1, 2, 0),
    "ctas": pack(0, 3, 10, 100, 1, 4, 12, 121),
    "stretches": pack(0, 1, 2, 7, 1, 10, 30, 0, 1, 2, 7, 0, 30, 31),
    "dropped": 0,
    "samples": {},
}


def test_cycles_become_nanoseconds_and_shares_of_what_a_bin_could_hold() -> None:
    timeline = TimelineBuilder().build(RAW, launch(), first=5)
    assert timeline.bin_ns == 32
    assert timeline.warps_active == [50, 100, 10]  # the last bin has 22 cycles
    assert timeline.issue_active == [25, 0, 25]
    assert timeline.dram_bytes == [0, 96, 64]
    assert timeline.l2_bytes == [32, 64, 0]
    assert [(b.block, b.sm, b.start_ns, b.end_ns) for b in timeline.blocks] == [(0, 3, 5, 50), (1, 4, 6, 60)]
    first, second = timeline.warps
    assert (first.pc, first.state, first.start_ns, first.end_ns) == (0x20, "wait", 5, 15)
    assert (second.state, second.start_ns, second.end_ns) == ("selected", 15, 16)
    assert (first.block, first.warp, first.sub_partition) == (0, 1, 2)
    assert timeline.note == ""


def test_later_launches_of_a_kernel_keep_their_bins_and_say_where_the_rest_is() -> None:
    builder = TimelineBuilder()
    builder.build(RAW, launch(4), first=0)
    again = builder.build(RAW, launch(5), first=0)
    assert (again.blocks, again.warps, again.note) == ([], [], "CTAs and warps: see launch 4")
    assert again.dram_bytes == [0, 96, 64]


def test_only_the_first_kernels_keep_their_ctas() -> None:
    builder = TimelineBuilder()
    made = [builder.build(RAW, launch(i, 0x1000 * i), first=0) for i in range(MOST_KERNELS + 1)]
    assert [bool(timeline.blocks) for timeline in made] == [True] * MOST_KERNELS + [False]
    assert "--kernel" in made[-1].note


def test_the_note_says_how_many_stretches_there_were() -> None:
    timeline = TimelineBuilder().build({**RAW, "dropped": 40}, launch(), first=0)
    assert timeline.note == "warps: the first 2 of 42 stretches on SM 3"


def test_thinning_keeps_whole_sms_and_the_watched_one() -> None:
    rows = [(block, block % 100, block, block + 1) for block in range(20_000)]
    kept, note = thin_ctas(rows, watched_sm=37)
    sms = {sm for _, sm, _, _ in kept}
    assert 37 in sms
    assert len(kept) <= MOST_CTAS
    assert len(kept) == 200 * len(sms)
    assert note == f"CTAs: {len(kept)} of 20000, those of {len(sms)} of 100 SMs"
    assert max(sms) - min(sms) > 80  # from all over the chip


def test_an_sm_with_too_many_ctas_keeps_its_first() -> None:
    rows = [(block, 0, block, block + 1) for block in range(5000)]
    kept, note = thin_ctas(rows, watched_sm=0)
    assert kept == rows[:MOST_CTAS]
    assert note == f"CTAs: {MOST_CTAS} of 5000, those of 1 of 1 SMs"


def test_few_ctas_are_all_kept() -> None:
    rows = [(block, 0, 0, 1) for block in range(MOST_CTAS)]
    assert thin_ctas(rows, 0) == (rows, "")
