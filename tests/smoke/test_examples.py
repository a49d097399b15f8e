"""The examples run and pass on every generation, from source, with the two commands a newcomer types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.smoke.programs import BOARDS, warpath

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.parametrize("board", BOARDS.values())
def test_vadd_prints_the_article_s_line_and_nothing_else(board: str) -> None:
    outcome = warpath("run", "--gpu", board, EXAMPLES / "vadd.cu")
    assert outcome.stdout == "c[0]=2.000000 c[n-1]=2.000000\n", outcome.stderr
    assert outcome.code == 0


@pytest.mark.parametrize("board", BOARDS.values())
@pytest.mark.parametrize(
    "example", sorted(path.name for path in EXAMPLES.glob("*.cu") if path.stem != "vadd")
)
def test_example_passes(example: str, board: str) -> None:
    outcome = warpath("run", "-q", "--functional", "--gpu", board, EXAMPLES / example)
    assert outcome.stdout.rstrip().endswith("PASS"), outcome.stdout + outcome.stderr
    assert outcome.code == 0


# What the article says about vadd on an RTX 4090, and the same on an H200: all derived on the way.
@pytest.mark.parametrize(
    ("board", "base", "warps", "waves", "sms"),
    [("rtx4090", 0x160, 48, 5.33, 128), ("h200", 0x210, 64, 3.88, 132)],
)
def test_explain_derives_the_figures(
    board: str, base: int, warps: int, waves: float, sms: int, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    outcome = warpath("explain", "--gpu", board, EXAMPLES / "vadd.cu", "--json", path)
    assert outcome.code == 0, outcome.stderr
    report = json.loads(path.read_text())
    kernel = report["compile"]["kernels"]["_Z4vaddPKfS0_Pfi"]
    assert [param["offset"] for param in kernel["params"]] == [0, 8, 16, 24]
    assert kernel["fused"]["IMAD.WIDE"] == 3
    assert sum(kernel["ptx_registers"].values()) > kernel["registers"]
    (launch,) = report["launches"]
    assert launch["kernel"] == "vadd(const float *, const float *, float *, int)"
    assert launch["param_base"] == base
    assert launch["params"][3]["value"] == "0x100000"
    assert launch["occupancy"]["warps_per_sm"] == warps
    assert launch["occupancy"]["blocks_per_sm"] == warps // 8
    assert launch["occupancy"]["warps_per_scheduler"] == warps / 4
    assert launch["occupancy"]["limiter"] == ["warps"]
    assert launch["occupancy"]["limits"]["registers"] == 16
    assert launch["occupancy"]["waves"] == waves
    assert sum(launch["sm_blocks"]) == 4096
    assert len(launch["sm_blocks"]) == sms
    assert launch["load"]["code_bytes"] > 0
    traffic = {row["name"]: row for row in launch["traffic"]}
    assert (traffic["global loads"]["requests"], traffic["global loads"]["sectors"]) == (65536, 262144)
    assert (traffic["global stores"]["requests"], traffic["global stores"]["sectors"]) == (32768, 131072)
    assert launch["floor_bytes"] == 8 << 20
    assert launch["floor_ns"] == pytest.approx((8 << 20) / report["gpu"]["dram_bandwidth_gbs"])


def test_fadd_waits_for_the_scoreboard_that_both_loads_raise(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    warpath("explain", "--gpu", "rtx4090", EXAMPLES / "vadd.cu", "--json", path)
    code = json.loads(path.read_text())["launches"][0]["instructions"]
    by_pc = {instruction["pc"]: instruction for instruction in code}
    fadd = next(instruction for instruction in code if instruction["sass"].startswith("FADD"))
    assert fadd["stall"] == 5
    ((board, setters),) = fadd["producers"].items()
    assert [by_pc[pc]["sass"].split()[0] for pc in setters] == ["LDG.E", "LDG.E"]
    assert all(by_pc[pc]["write_barrier"] == int(board[2:]) for pc in setters)


def test_explain_fits_100_columns_and_has_no_colour_in_a_pipe() -> None:
    outcome = warpath("explain", EXAMPLES / "vadd.cu")
    assert "\x1b" not in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 100
    for words in ("6 blocks, 48 of 48 warps", "5.33 waves", "8.32 us", "work-submit token", "lazy load"):
        assert words in outcome.stdout


def test_the_clock_gives_the_article_s_duration(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    warpath("explain", "--gpu", "rtx4090", EXAMPLES / "vadd.cu", "--json", path)
    launch = json.loads(path.read_text())["launches"][0]
    time = launch["time"]
    assert time["cache"] == "cold"
    assert launch["duration_ns"] == time["front_ns"] + time["execution_ns"] + time["drain_ns"]
    assert launch["duration_ns"] == pytest.approx(10780, rel=0.05)  # ncu's figure in the article
    assert launch["duration_ns"] > launch["floor_ns"]
    assert next(iter(launch["stalls"])) == "long_scoreboard"
    waits = {
        instruction["sass"].split()[0]: sum(instruction["stalls"].values())
        for instruction in launch["instructions"]
    }
    assert max(waits, key=lambda opcode: waits[opcode]) == "FADD"


def test_what_was_just_copied_is_still_in_l2_unless_the_caches_are_flushed() -> None:
    durations: dict[str, float] = {}
    for cache in ("none", "all"):
        line = warpath("run", "--cache-control", cache, EXAMPLES / "vadd.cu").stderr.strip()
        durations[cache] = float(line.split("us,")[0].split()[-1])
    assert durations["none"] < 8.32 < durations["all"]  # 8.32 us: the DRAM floor


def test_without_the_clock_there_is_no_duration() -> None:
    outcome = warpath("run", "--functional", EXAMPLES / "vadd.cu")
    assert "warp instructions" in outcome.stderr
    assert "us," not in outcome.stderr
