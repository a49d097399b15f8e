"""The account of time in a terminal: ledger, what-if, stalls by source line; and which sections can be asked for."""

from __future__ import annotations

import argparse
import io
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from tests.account_kit import GPU, instruction, launch, terms
from warpath.cli import explain
from warpath.errors import UsageError
from warpath.report import terminal
from warpath.report.ledger_terminal import accuracy_lines, ledger_table, missing_ledger, what_if_lines
from warpath.report.model import Accuracy, Diagnosis, Launch, LaunchFlow, ProgramInfo, Report, WhatIf
from warpath.report.stalls_terminal import MOST_LINES, by_line, stalls_table
from warpath.report.verdict import verdict

LOAD = instruction(
    0x80, "LDG.E R0, [R2.64]", line=7, stalls={"selected": 10, "wait": 30}, requests=1, sectors=4
)
SHARED = instruction(0x90, "LDS R4, [R5]", line=8)
USE = instruction(
    0xA0, "FADD R1, R0, R4", line=9, stalls={"long_scoreboard": 500, "wait": 4}, producers={"SB0": [0x80]}
)
STORE = instruction(
    0xB0, "STG.E [R2.64], R1", line=9, stalls={"short_scoreboard": 40, "selected": 16},
    producers={"SB1": [0x90]},
)  # fmt: skip
EXIT = instruction(0xC0, "EXIT", line=0, file="", stalls={"drain": 400})
CODE = [LOAD, SHARED, USE, STORE, EXIT]


def printed(*parts: Any) -> str:
    out = Console(file=io.StringIO(), width=100, highlight=False)
    for part in parts:
        out.print(part)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def report(*launches: Launch) -> Report:
    told = [replace(each, verdict=verdict(each, GPU)) for each in launches]
    return Report(
        warpath="0", gpu=GPU, options={}, compile=None, api=[], copies={}, launches=told, faults=[],
        program=ProgramInfo(path="k.cu", args=[], stdout="hello\n", exit_code=0),
    )  # fmt: skip


def shown(of: Report, *sections: str) -> str:
    out = Console(file=io.StringIO(), width=100, highlight=False)
    terminal.render(of, out, sections or terminal.SECTIONS)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


# The ledger


def test_the_column_of_a_ledger_sums_by_eye() -> None:
    ledger = terms(floor=8000, memory_latency=2345, l2_kept=-345)
    lines = printed(ledger_table(launch(ledger=ledger, ledger_note="a part"))).splitlines()
    amounts = [line.split(" us")[0].strip() for line in lines if " us " in line[:16]]
    assert amounts == ["8.000", "+2.345", "-0.345", "= 10.000"]
    assert "(modelled)" in lines[0]
    assert "each effect taken away after those above it; a part (modelled)" in " ".join(
        " ".join(lines).split()
    )


def test_why_there_is_no_ledger() -> None:
    assert missing_ledger(launch(ledger=[], ledger_note="no ledger: the launch was stopped")) == (
        "no ledger: the launch was stopped"
    )
    assert missing_ledger(launch(ledger=[])) == "no ledger: the clock did not run (--functional)"


def test_accuracy_names_what_lies_outside() -> None:
    inside = Accuracy(board="h200", mean_error_percent=6.4, launches=81, outside=[])
    assert list(accuracy_lines(launch())) == []
    (line,) = accuracy_lines(launch(accuracy=inside))
    assert line.endswith("6.4 % off on average over 81 launches measured on h200 (measured)")
    (line,) = accuracy_lines(launch(accuracy=replace(inside, outside=["a", "b"])))
    assert line.endswith("; outside what was validated: a; b")


# What-if


def change(key: str, ns: int | None, kind: str = "user", text: str = "") -> WhatIf:
    return WhatIf(change=key, kind=kind, label=key, duration_ns=ns, text=text)


def test_what_if_lists_user_changes_first_and_what_saves_most_on_top() -> None:
    changes = [
        change("without a", 9000, "effect"),
        change("slower", 11_000),
        change("unknown", None, text="needs a run"),
        change("faster", 4000, text="how"),
        change("without b", 8000, "effect"),
    ]
    assert list(what_if_lines(launch(what_if=changes))) == [
        "changes a user can make:",
        "  faster: 4.00 us (-6.00 us; modelled); how",
        "  slower: 11.00 us (+1.00 us; modelled)",
        "  unknown: needs a run",
        "effects alone:",
        "  without b: 8.00 us (-2.00 us; modelled)",
        "  without a: 9.00 us (-1.00 us; modelled)",
    ]


def test_effects_that_change_nothing_are_left_out_and_user_changes_are_not() -> None:
    changes = [change("without a", 10_000, "effect"), change("same", 10_000)]
    lines = list(what_if_lines(launch(what_if=changes)))
    assert "  same: 10.00 us (+0 ns; modelled)" in lines
    assert not any("without a" in line for line in lines)
    assert list(what_if_lines(launch())) == []


# Stalls by source line


def test_stalls_are_summed_by_line_the_longest_first() -> None:
    lines = by_line(CODE)
    assert [(line.line, line.total) for line in lines] == [(9, 560), (0, 400), (7, 40)]
    assert lines[0].cycles == {"long_scoreboard": 500, "short_scoreboard": 40, "selected": 16, "wait": 4}
    assert [i.pc for i in lines[0].waits_on] == [0x80, 0x90], "what the longest wait is on comes first"
    assert lines[2].waits_on == ()


def test_lines_of_two_files_are_two_lines() -> None:
    other = replace(USE, file="/src/other.cuh")
    assert [(line.file, line.line) for line in by_line([USE, other])] == [
        ("/src/k.cu", 9),
        ("/src/other.cuh", 9),
    ]


def test_a_producer_that_nobody_waited_for_is_not_named() -> None:
    idle = replace(USE, stalls={"wait": 4})
    assert by_line([LOAD, idle])[1].waits_on == ()


def test_the_table_names_shares_reasons_and_what_is_waited_on() -> None:
    text = printed(stalls_table(launch(instructions=CODE)))
    rows = " ".join(text.split())
    assert "k.cu:9 56.0 % long_scoreboard 50.0 %, short_scoreboard 4.0 %, wait 0.4 %; " in rows
    assert "waits on 0080 LDG (k.cu:7), 0090 LDS (k.cu:8)" in rows
    assert "(no line) 40.0 % drain 40.0 %" in rows
    assert max(map(len, text.splitlines())) <= 100


def test_long_tables_end_and_small_lines_are_left_out() -> None:
    many = [replace(LOAD, pc=16 * n, line=n + 1, stalls={"wait": 100 - n}) for n in range(40)]
    assert len(printed(stalls_table(launch(instructions=many))).splitlines()) == 1 + MOST_LINES
    small = [replace(LOAD, stalls={"wait": 996}), replace(LOAD, pc=0x10, line=3, stalls={"wait": 4})]
    assert "k.cu:3" not in printed(stalls_table(launch(instructions=small)))
    issues = printed(stalls_table(launch(instructions=[replace(LOAD, stalls={"selected": 5})])))
    assert "it only issues" in issues


def test_no_table_without_a_clock() -> None:
    assert stalls_table(launch(instructions=[SHARED])) is None
    assert stalls_table(launch()) is None


# Sections


def test_the_verdict_comes_first() -> None:
    lines = shown(report(launch(instructions=CODE))).splitlines()
    assert lines[2].startswith("launch 0: k(int *)")
    assert lines[3].strip().startswith("k: 10.00 us; DRAM floor 8.00 us")


MARKS = {
    "verdict": "k: 10.00 us; DRAM floor",
    "ledger": "each effect taken away",
    "diagnoses": "unused_lanes: half of the lanes",
    "flow": "data flow between launches",
    "compile": "nothing was compiled",
    "host": "host program",
    "launch": "occupancy: 8 blocks",
    "stalls": "stalls by source line",
    "code": "code: pc,",
    "program": "printed: hello",
    "what-if": "changes a user can make",
}


@pytest.mark.parametrize("section", terminal.SECTIONS)
def test_a_section_alone(section: str) -> None:
    told = Diagnosis(key="unused_lanes", text="half of the lanes do nothing")
    flow = LaunchFlow(read_bytes=64, written_bytes=32, unused_bytes=0, fetched_twice_bytes=0, from_l2_bytes=0)
    of = report(launch(instructions=CODE, what_if=[change("faster", 4000)], diagnoses=[told], flow=flow))
    text = shown(of, section)
    assert {name for name, mark in MARKS.items() if mark in text} == {section}
    assert MARKS[section] in shown(of)


def test_the_table_of_stalls_stands_before_the_code() -> None:
    text = shown(report(launch(instructions=CODE)))
    assert text.index(MARKS["stalls"]) < text.index(MARKS["code"])


def test_launches_of_one_kernel_and_shape_are_told_once() -> None:
    text = shown(report(launch(), launch(index=1, duration_ns=12_000), launch(index=2, grid=[1, 1, 1])))
    assert "1 more launches of this kernel and shape: 12.00 us to 12.00 us" in text
    assert text.count("each effect taken away") == 2


def arguments(*sections: str) -> argparse.Namespace:
    return argparse.Namespace(section=list(sections) or None, what_if=False)


def test_sections_are_all_or_those_named() -> None:
    assert explain.sections(arguments()) == terminal.SECTIONS
    assert explain.sections(arguments("ledger", "verdict")) == ("ledger", "verdict")


def test_asking_for_the_section_asks_for_what_if() -> None:
    args = arguments("what-if")
    explain.sections(args)
    assert args.what_if
    args = arguments("code")
    explain.sections(args)
    assert not args.what_if


def test_a_section_that_does_not_exist() -> None:
    with pytest.raises(
        UsageError, match=r"--section stall: no such section; there are verdict, ledger, .*stalls"
    ):
        explain.sections(arguments("stall"))
