"""Ranges against sets of integers; who handed what to whom; what the core says was touched."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.core_kit import BASE, LOCAL_BYTES, new_memory, run
from tests.unit.launch_kit import flow, instruction, launch
from warpath.account import ranges
from warpath.account.dataflow import DataFlow
from warpath.report import traffic
from warpath.report.diagnoses_terminal import diagnosis_lines, flow_lines
from warpath.report.model import Diagnosis, FlowEdge, Report

GBS = 1000.0


def as_set(a: ranges.Ranges) -> set[int]:
    return {byte for start, end in a.tolist() for byte in range(start, end)}


def as_ranges(numbers: set[int]) -> ranges.Ranges:
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n + 1 for n in numbers if n + 1 not in numbers)
    return np.array(list(zip(starts, ends, strict=True)), dtype=np.uint64).reshape(-1, 2)


sets = st.sets(st.integers(0, 40))


@given(sets, sets)
def test_ranges_are_sets_of_bytes(a: set[int], b: set[int]) -> None:
    left, right = as_ranges(a), as_ranges(b)
    assert as_set(ranges.intersect(left, right)) == a & b
    assert as_set(ranges.subtract(left, right)) == a - b
    assert ranges.size(left) == len(a)


def test_rows_of_a_copy() -> None:
    assert ranges.rows(100, 4, 10, 3).tolist() == [[100, 104], [110, 114], [120, 124]]
    assert ranges.rows(100, 10, 10, 3).tolist() == [[100, 130]]
    assert ranges.rows(100, 0, 10, 3).tolist() == []


def pack(*pairs: tuple[int, int]) -> dict[str, Any]:
    numbers = [bound for pair in pairs for bound in pair]
    total = sum(end - start for start, end in pairs)
    return {
        "sectors": total // 32,
        "bytes": total,
        "granule": 4,
        "ranges": struct.pack(f"<{len(numbers)}Q", *numbers),
    }


def ran(
    reads: list[tuple[int, int]],
    writes: list[tuple[int, int]],
    *,
    dram: tuple[int, int] | None = None,
    ns: int = 1000,
) -> dict[str, Any]:
    counters: dict[str, Any] = {"loads": pack(*reads), "stores": pack(*writes)}
    if dram is not None:
        counters["metrics"] = {"dram__bytes_read.sum": dram[0], "dram__bytes_write.sum": dram[1]}
        counters["duration_ns"] = ns
    return counters


def edges(flow: DataFlow) -> list[tuple[int, int, str, int, int]]:
    return [(e.producer, e.consumer, e.kind, e.bytes, e.dram_bytes) for e in flow.edges()]


def test_a_launch_reads_what_the_last_writer_left() -> None:
    seen = DataFlow(GBS)
    seen.launched(0, ran([], [(0, 1024)]))
    seen.launched(1, ran([], [(512, 1024)]))
    seen.launched(2, ran([(256, 768)], []))
    assert edges(seen) == [(0, 2, "fusion", 256, 256), (1, 2, "fusion", 256, 256)]


def test_reading_again_is_reuse_until_somebody_writes() -> None:
    seen = DataFlow(GBS)
    for index in range(3):
        seen.launched(index, ran([(0, 1024)], []))
    seen.launched(3, ran([(0, 1024)], [(0, 1024)]))
    seen.launched(4, ran([(0, 1024)], []))
    assert edges(seen) == [
        (0, 1, "reuse", 1024, 1024),
        (1, 2, "reuse", 1024, 1024),
        (2, 3, "reuse", 1024, 1024),
        (3, 4, "fusion", 1024, 1024),
    ]


def test_a_copy_in_between_ends_the_flow() -> None:
    seen = DataFlow(GBS)
    seen.launched(0, ran([], [(0, 1024)]))
    seen.copied(None, (0, 512, 512, 1))
    seen.launched(1, ran([(0, 1024)], []))
    assert edges(seen) == [(0, 1, "fusion", 512, 512)]


def test_writes_are_spared_only_where_nobody_else_reads_them() -> None:
    def spared(escape: str) -> int:
        seen = DataFlow(GBS)
        seen.launched(0, ran([], [(0, 1024)], dram=(0, 1024)), (0, 4096) if escape == "host" else (0, 0))
        seen.launched(1, ran([(0, 1024)], [], dram=(1024, 0)))
        if escape == "copy":
            seen.copied((0, 256, 256, 1), (8192, 256, 256, 1))
        if escape == "launch":
            seen.launched(2, ran([(0, 512)], [], dram=(0, 0)))
        return seen.edges()[0].dram_bytes - 1024

    assert [spared(escape) for escape in ("", "copy", "launch", "host")] == [1024, 768, 512, 0]


def test_dram_bytes_follow_what_dram_delivered_and_time_its_rate() -> None:
    seen = DataFlow(GBS)
    seen.launched(0, ran([], [(0, 1 << 20)], dram=(0, 0)))
    seen.launched(1, ran([(0, 1 << 21)], [], dram=(1 << 20, 0), ns=1024))
    (edge,) = seen.edges()
    assert (edge.bytes, edge.dram_bytes) == (1 << 20, 1 << 19)  # half came from DRAM, so half of the edge did
    assert edge.saves_ns == 512  # at 1024 B/ns, its own rate
    assert edge.source.startswith("modelled")


def test_a_launch_that_hardly_uses_dram_is_not_given_its_slow_rate() -> None:
    seen = DataFlow(GBS)
    seen.launched(0, ran([], [(0, 1024)], dram=(0, 0)))
    seen.launched(1, ran([(0, 1024)], [], dram=(1024, 0), ns=100_000))
    assert seen.edges()[0].saves_ns == 2  # 1024 B at 500 B/ns


def test_without_a_clock_an_edge_says_so() -> None:
    seen = DataFlow(GBS)
    seen.launched(0, ran([], [(0, 1 << 20)]))
    seen.launched(1, ran([(0, 1 << 20)], []))
    (edge,) = seen.edges()
    assert (edge.dram_bytes, edge.saves_ns) == (1 << 20, 1049)
    assert edge.source.startswith("computed")


def counted(source: str, **options: Any) -> dict[str, Any]:
    memory = new_memory()
    memory.alloc(BASE, 1 << 22, 1)
    return run(source, memory=memory, count=True, **options).grid.counters


def touched(side: dict[str, Any]) -> list[tuple[int, int]]:
    bounds = memoryview(side["ranges"]).cast("Q").tolist()
    return [(start - BASE, end - BASE) for start, end in zip(bounds[::2], bounds[1::2], strict=True)]


ADDRESS = f"""
    MOV R3,{BASE >> 32:#x}
    MOV R2,{BASE & 0xFFFFFFFF:#x}
"""


def test_the_core_tells_loads_from_stores_to_the_word() -> None:
    got = counted(
        ADDRESS
        + """
        IMAD R4,R0,0x8,R2
        MOV R5,R3
        LDG.E R6,[R4.64]
        IMAD R4,R0,0x4,R2
        STG.E.U8 [R4.64+0x101],R6
        """
    )
    assert (got["loads"]["sectors"], got["loads"]["bytes"]) == (8, 128)
    assert touched(got["loads"]) == [(8 * lane, 8 * lane + 4) for lane in range(32)]
    assert (got["stores"]["sectors"], got["stores"]["bytes"]) == (4, 128)
    assert touched(got["stores"]) == [(0x100, 0x180)]


def test_a_full_warp_in_a_row_is_one_range_across_pages() -> None:
    got = counted(
        ADDRESS
        + """
        IMAD R4,R0,0x10,R2
        MOV R5,R3
        LDG.E.128 R8,[R4.64+0x1fff00]
        """
    )
    assert touched(got["loads"]) == [(0x1FFF00, 0x200100)]
    assert got["loads"]["bytes"] == 512
    assert touched(got["stores"]) == []


def test_d26_more_ranges_than_are_kept_are_rounded_out() -> None:
    got = counted(
        ADDRESS
        + """
        S2R R20,SR_CTAID.X
        IMAD R4,R20,0x400,R2
        IMAD R4,R0,0x20,R4
        MOV R5,R3
        LDG.E R6,[R4.64]
        """,
        grid=512,
    )
    assert got["loads"]["bytes"] == 512 * 32 * 4
    assert got["loads"]["granule"] == 32
    assert touched(got["loads"]) == [(0, 512 * 32 * 32)]


def test_atomics_are_loads_and_stores_and_count_their_words() -> None:
    got = counted(
        ADDRESS
        + """
        LOP3.LUT R4,R0,0x3,RZ,0xc0,!PT
        IMAD R4,R4,0x4,R2
        MOV R5,R3
        RED.E.ADD.STRONG.GPU [R4.64],R0
        """
    )
    assert touched(got["loads"]) == touched(got["stores"]) == [(0, 16)]
    assert sum(memoryview(got["words"]).cast("Q")) == 4


def test_local_memory_is_not_global_and_stands_word_by_word() -> None:
    got = counted(
        f"""
        LOP3.LUT R4,R0,0x1,RZ,0xc0,!PT
        IMAD R4,R4,0x4,RZ
        STL [R4+{(1 << 24) - LOCAL_BYTES:#x}],R0
        """
    )
    assert touched(got["stores"]) == []
    # Two words, each in a line of its own, and in each of the four sectors of it.
    assert (sum(memoryview(got["lines"]).cast("Q")), sum(memoryview(got["sectors"]).cast("Q"))) == (2, 8)


def test_lines_of_the_terminal_name_origin_and_share_lines() -> None:
    report_launches = [
        launch(instruction("EXIT"), index=0, flow=flow(1 << 20, 64)),
        launch(instruction("EXIT"), index=1, flow=flow(1 << 20, 64)),
    ]
    found = Diagnosis(key="few_sms", text="1 block for 128 SMs", source="computed")
    assert diagnosis_lines(launch(diagnoses=[found])) == ["few_sms: 1 block for 128 SMs (computed)"]
    edge = FlowEdge(producer=0, consumer=1, kind="reuse", bytes=1 << 20, dram_bytes=1 << 20, saves_ns=1040)

    lines = flow_lines(cast(Report, SimpleNamespace(launches=report_launches, dataflow=[edge])))
    assert lines[0] == "launches 0 to 1 k: reads 1.05 MB, writes 64 B (computed)"
    assert "worth 1.04 us (modelled)" in lines[1]


def test_flow_of_a_launch_follows_from_what_dram_delivered() -> None:
    counters = ran([(0, 1024)], [(0, 64)], dram=(256, 0))
    got = traffic.flow(counters)
    assert got is not None
    assert (got.read_bytes, got.written_bytes, got.from_l2_bytes, got.fetched_twice_bytes) == (
        1024,
        64,
        768,
        0,
    )
    assert traffic.flow({}) is None
