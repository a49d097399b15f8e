"""What the HTML report's views compute from a report: bars, sectors, dwords, the choice of launches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.report_kit import full_launch
from warpath.command.classes import find_class
from warpath.command.pushbuffer import Writer
from warpath.report.html import account, assets, chosen, code, overtime, page, sectors, segment
from warpath.report.model import (
    CompileInfo,
    GpuInfo,
    InstructionInfo,
    KernelInfo,
    Launch,
    LedgerTerm,
    OccupancyInfo,
    ProgramInfo,
    PtxPart,
    Report,
    Submission,
)

COMPUTE = 0xC9C0
FILE = "/home/someone/k.cu"


def submission(words: list[int]) -> Submission:
    return Submission(
        channel=10,
        gpfifo_entry=0x00030E020001E44C,
        pushbuffer_va=0x20001E44C,
        pushbuffer_dwords=len(words),
        doorbell=10,
        methods=[],
        qmd_va=0,
        qmd_version="V03_00",
        qmd={},
        constant_va=0,
        constant_bank={},
        words=words,
        classes={1: COMPUTE},
    )


def instruction(pc: int, sass: str, line: int, **more: Any) -> InstructionInfo:
    return InstructionInfo(
        pc=pc, sass=sass, file=FILE if line else "", line=line, control="B------:R-:W-:-:S01", stall=1, yield_=False,
        write_barrier=None, read_barrier=None, wait_mask=0, producers={}, executed=4, thread_executed=128, **more,
    )  # fmt: skip


def launch(index: int = 0, mangled: str = "k", grid: int = 4, ns: int | None = 1000, **more: Any) -> Launch:
    fields: dict[str, Any] = {
        "index": index,
        "kernel": f"{mangled}(int)",
        "mangled": mangled,
        "grid": [grid, 1, 1],
        "block": [64, 1, 1],
        "registers": 16,
        "shared_bytes": 0,
        "program_va": 0,
        "param_base": 0x160,
        "params": [],
        "load": None,
        "submission": submission([]),
        "occupancy": OccupancyInfo(
            blocks_per_sm=2,
            warps_per_sm=4,
            warps_per_scheduler=1,
            max_warps_per_sm=48,
            limits={},
            limiter=[],
            waves=1,
        ),
        "duration_ns": ns,
        "counters": {},
        "sm_blocks": [],
        "traffic": [],
        "instructions": [],
        "floor_ns": 400.0,
        "floor_bytes": 0,
    }
    return Launch(**(fields | more))


def report(*launches: Launch, compiled: CompileInfo | None = None) -> Report:
    gpu = GpuInfo(
        name="g",
        label="G",
        sm="sm_89",
        chip="X",
        sms=2,
        dram_bandwidth_gbs=1000,
        dram_bandwidth_source="s",
        l2_bytes=1,
    )
    return Report(
        warpath="0", gpu=gpu, options={}, program=ProgramInfo(path="k.cu", args=[], stdout="", exit_code=0),
        compile=compiled, api=[], copies={}, launches=list(launches), faults=[],
    )  # fmt: skip


def compiled(**kernel: Any) -> CompileInfo:
    info = KernelInfo(
        demangled="k(int)", ptx_registers={}, registers=8, params=[], param_base=0x160, static_shared=0, stack=0,
        instructions=2, fused={}, **kernel,
    )  # fmt: skip
    text = "\n".join(f"line {n}" for n in range(1, 41))
    return CompileInfo(cached=False, stages=[], kernels={"k": info}, members=[], sources={FILE: text})


def test_a_segment_is_shown_dword_by_dword() -> None:
    table = find_class(COMPUTE)
    assert table
    launch_dma = table.address("LAUNCH_DMA")
    writer = Writer()
    writer.incr(1, table.address("LINE_LENGTH_IN"), 352, 1)
    writer.immediate(1, launch_dma, 0x41)
    writer.nop()
    found = segment.words(submission(writer.words()))
    assert [word.value for word in found] == writer.words()
    assert [word.offset for word in found] == [0, 4, 8, 12, 16]
    assert [word.header for word in found] == [True, False, False, True, True]
    assert "ADA_COMPUTE_A" in found[0].text
    assert "LINE_LENGTH_IN" in found[1].text
    assert "LINE_COUNT" in found[2].text
    assert "LAUNCH_DMA" in found[3].text
    assert found[4].text == "no operation"


def test_a_segment_that_was_cut_short_is_shown_as_far_as_it_goes() -> None:
    writer = Writer()
    writer.incr(1, 0x180, *range(8))
    words = writer.words()[:4]
    assert [word.value for word in segment.words(submission(words))] == words


def test_the_ring_entry_names_the_segment() -> None:
    fields = dict(segment.ring_entry(submission([])))
    assert fields["segment address"] == "0x20001e44c"
    assert fields["length"] == "195 dwords"
    assert (
        "reserved"
        in dict(segment.ring_entry(replace(submission([]), gpfifo_entry=(1 << 42) | 2)))["not legal"]
    )


def test_waterfall_bars_join_and_a_help_runs_backwards() -> None:
    terms = [("floor", 400, "computed"), ("hits", -100, "modelled"), ("latency", 700, "modelled")]
    ledger = [LedgerTerm(term=term, label=term, ns=ns, source=source) for term, ns, source in terms]
    floor, help_, cost, total = account.waterfall(launch(ledger=ledger))
    assert (floor.left, floor.width) == (0, 40)
    assert (help_.left, help_.width, help_.kind) == (30, 10, "help")
    assert (cost.left, cost.width) == (30, 70)
    assert (total.left, total.width, total.ns) == (0, 100, 1000)
    assert account.waterfall(launch()) == []


def test_small_stalls_are_one_sum() -> None:
    shown = account.stalls(launch(stalls={f"reason_{n}": float(n) for n in range(1, 21)}))
    assert shown[0].reason == "reason_20"
    assert shown[-1].reason == "other"
    assert sum(stall.percent for stall in shown) == pytest.approx(100)


@pytest.mark.parametrize(
    ("sass", "sample", "lines", "sectors", "fetched"),
    [
        ("LDG.E R0,[R2.64]", [0x1000 + 4 * n for n in range(32)], 1, 4, 128),
        ("LDG.E.128 R0,[R2.64]", [0x1000 + 16 * n for n in range(32)], 4, 16, 512),
        ("LDG.E R0,[R2.64]", [0x1004 + 4 * n for n in range(32)], 2, 5, 160),
        ("LDG.E.64 R0,[R2.64]", [0x107C, *[-1] * 31], 2, 2, 64),  # one lane, across two lines
        ("@!P0 LDG.E.U8 R0,[R2.64]", [0x1000] * 32, 1, 1, 32),
    ],
)
def test_a_request_is_split_into_lines_and_sectors(
    sass: str, sample: list[int], lines: int, sectors: int, fetched: int
) -> None:
    (drawn,) = _maps(instruction(0, sass, 1, requests=1, sample=sample))
    assert len(drawn.rows) == lines
    assert drawn.sectors == sum(len(row.sectors) for row in drawn.rows) == sectors
    assert drawn.fetched == fetched
    assert drawn.asked == len({byte for a in sample if a >= 0 for byte in range(a, a + _width(sass))})


def _maps(*instructions: InstructionInfo) -> list[sectors.RequestMap]:
    return sectors.maps(launch(instructions=list(instructions)))


def _width(sass: str) -> int:
    return {"LDG.E.128": 16, "LDG.E.64": 8, "LDG.E.U8": 1}.get(sass.split("R0")[0].split()[-1], 4)


def test_lanes_that_ask_for_the_same_bytes_share_a_cell() -> None:
    (drawn,) = _maps(instruction(0, "LDS R0,[R2]", 1, requests=1, sample=[0x20, 0x20, 0x24, *[-1] * 29]))
    assert drawn.shared
    assert [cell.lanes for cell in drawn.cells] == ["lanes 0, 1", "lane 2"]


def test_a_scattered_request_says_what_is_not_drawn() -> None:
    (drawn,) = _maps(
        instruction(0, "LDG.E.64 R0,[R2.64]", 1, requests=1, sample=[0x107C + 512 * n for n in range(32)])
    )
    assert len(drawn.rows) == sectors.MOST_LINES
    assert drawn.left_out == 64 - sectors.MOST_LINES


def test_the_instructions_that_moved_most_are_drawn() -> None:
    many = [
        instruction(16 * n, "LDG.E R0,[R2.64]", 1, requests=1, sectors=n % 60, sample=[0x1000, *[-1] * 31])
        for n in range(60)
    ]
    assert [drawn.pc for drawn in _maps(*many)] == [16 * n for n in range(12, 60)]
    assert sectors.not_drawn(launch(instructions=many)) == 12
    assert sectors.not_drawn(launch(instructions=many[:5])) == 0


def test_code_shares_keys_by_source_line_and_shows_text_around_it() -> None:
    info = compiled(
        ptx=[PtxPart(file="", line=0, text=[".reg"]), PtxPart(file=FILE, line=20, text=["add;", "ret;"])]
    )
    shown = code.code(
        launch(instructions=[
            instruction(0, "S2R R0,SR_TID.X", 5, stalls={"wait": 30}),
            instruction(16, "IADD3 R0,R0,R0,RZ", 20, stalls={"wait": 10}),
            instruction(32, "EXIT", 20, stalls={"selected": 60}),
        ]),
        info,
    )  # fmt: skip
    (file,) = shown.source
    assert [run[0].number for run in file.runs] == [1, 16]
    assert [run[-1].number for run in file.runs] == [9, 24]
    costs = {line.number: line.percent for run in file.runs for line in run if line.key is not None}
    assert costs == {5: 30, 20: 70}
    key = next(line.key for line in file.runs[1] if line.number == 20)
    assert [line.key for line in shown.ptx] == [None, key, key]
    assert [line.key == key for line in shown.sass] == [False, True, True]


def test_code_without_the_compiler_s_texts_keeps_line_numbers() -> None:
    shown = code.code(launch(instructions=[instruction(0, "EXIT", 5), instruction(16, "BRA 0x10", 9)]), None)
    assert [[line.number for line in run] for run in shown.source[0].runs] == [[5, 9]]
    assert "finished program" in shown.source_note
    assert "finished program" in shown.ptx_note


def test_launches_are_described_longest_first_then_one_of_each_shape() -> None:
    launches = [
        launch(0, "a", ns=10),
        launch(1, "a", ns=500),
        launch(2, "b", ns=20),
        launch(3, "a", grid=9, ns=1),
    ]
    assert [each.index for each in chosen.by_importance(launches)] == [1, 0, 2, 3]
    rows = chosen.rows(launches, [launches[0], launches[1]])
    assert [row.shown for row in rows] == [0, 1, None, None]
    assert rows[1].share == 1


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("vadd(const float *, int)", "vadd"),
        ("void a::b::scan<float, (x::Y)0>(float *)", "scan"),
        ("(anonymous namespace)::k(int)", "k"),
        ("?", "?"),
    ],
)
def test_short_names(kernel: str, name: str) -> None:
    assert chosen.short_name(kernel) == name


def test_descriptions_stop_at_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    launches = [launch(n, f"k{n}", ns=100 - n) for n in range(6)]
    whole = page.render(report(*launches))
    assert whole.count("<article") == 6
    monkeypatch.setattr(page, "BUDGET", 40_000)
    cut = page.render(report(*launches))
    assert 1 <= cut.count("<article") < 6
    assert "are described" in cut
    monkeypatch.setattr(page, "BUDGET", 0)
    assert page.render(report(*launches)).count("<article") == 1, "the longest is always there"


def test_thousands_of_launches_of_a_library_stay_below_8_mb() -> None:
    name = "void lib::" + "deeply::" * 100 + "kernel<float>(float *)"
    code_lines = [
        instruction(16 * n, f"FFMA R{n},R1,R2,R3", 1 + n % 40, stalls={"wait": 5}) for n in range(900)
    ]
    launches = [launch(n, f"k{n}", kernel=name, instructions=code_lines) for n in range(3000)]
    text = page.render(report(*launches, compiled=compiled()))
    assert len(text.encode()) < 8_000_000
    assert text.count("<tr data-index=") == page.MOST_ROWS
    assert "The first 2000 are listed" in text


def test_no_series_without_a_timeline_and_the_report_s_with_one() -> None:
    assert overtime.occupancy(launch()) is None
    assert overtime.warps(launch()) is None
    with_all = full_launch(launch(), 2)
    plot = overtime.throughput(with_all, report().gpu)
    assert plot and with_all.timeline
    series = plot["data"][1]["y"]
    moved = sum(series) * with_all.timeline.bin_ns
    assert moved == pytest.approx(sum(with_all.timeline.dram_bytes))


def test_ctas_on_one_sm_at_once_are_drawn_side_by_side() -> None:
    plot = overtime.placement(full_launch(launch(grid=8), 2))
    assert plot
    strokes = [
        (trace["x"][at], trace["x"][at + 1], trace["y"][at])
        for trace in plot["data"]
        for at in range(0, len(trace["x"]), 3)
    ]
    assert len(strokes) == 8
    for one in strokes:
        for other in strokes:
            if one is not other and one[2] == other[2]:
                assert one[1] <= other[0] or other[1] <= one[0], "two CTAs overlap in one row"


def test_embedded_json_cannot_end_its_script() -> None:
    text = assets.embedded({"a": "</script><!--"})
    assert "<" not in text
    assert json.loads(text) == {"a": "</script><!--"}


def test_a_report_of_an_earlier_version_still_reads(tmp_path: Path) -> None:
    image = msgspec.to_builtins(report(launch()))
    for name in ("words", "channel_class", "classes"):
        del image["launches"][0]["submission"][name]
    assert "<article" in page.render(msgspec.convert(image, Report))
