"""`warpath check` and `run` on the fault cases: what is reported, in whose words, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.check.planted_kit import PLANTED
from tests.smoke.programs import BOARDS, Outcome, build_for, warpath

CASES = Path(__file__).resolve().parents[1] / "cases"
HEALTHY = ["c08_transpose_naive", "c16_histogram_shared_atomics", "c42_spinlock_in_warp", "c48_reduce_shared",
           "c50_scan_block", "c53_sgemm_tiled", "c65_wmma_tile"]  # fmt: skip


def run(command: str, case: str, generation: int, *options: str | Path) -> Outcome:
    program = build_for([CASES / f"{case}.cu"], list(BOARDS))
    return warpath(command, *options, "--gpu", BOARDS[generation], program)


def faults(case: str, generation: int, folder: Path, *options: str) -> tuple[list[dict[str, Any]], Outcome]:
    report = folder / "report.json"
    outcome = run("check", case, generation, "--json", report, *options)
    return json.loads(report.read_text())["faults"], outcome


@pytest.mark.parametrize("generation", [75, 90])
@pytest.mark.parametrize("case", HEALTHY)
def test_healthy_programs_are_not_blamed(case: str, generation: int, tmp_path: Path) -> None:
    found, outcome = faults(case, generation, tmp_path)
    assert (found, outcome.code) == ([], 0)


@pytest.mark.parametrize("generation", BOARDS)
def test_a_missing_barrier_is_a_race_though_the_output_is_right(generation: int, tmp_path: Path) -> None:
    found, outcome = faults("c40_race_missing_barrier", generation, tmp_path)
    assert outcome.stdout == "no error, safe version bad=0\n"
    assert outcome.code == 1
    (race,) = found
    assert (race["kind"], race["tool"], race["count"]) == ("race_read_after_write", "racecheck", 256)
    assert "reverse_racy" in race["kernel"]
    assert "Between warps 0 and 7, 1 and 6, 2 and 5, 3 and 4." in outcome.stderr


@pytest.mark.parametrize("generation", BOARDS)
def test_one_past_the_end(generation: int, tmp_path: Path) -> None:
    found, outcome = faults("c32_oob_by_one", generation, tmp_path)
    assert outcome.stdout == "copy: no error, h[999]=998001 bad=0\n"
    (fault,) = found
    assert fault["block"] == [3, 0, 0]
    assert fault["thread"] == [232, 0, 0]
    assert (fault["access"], fault["size"]) == ("write", 4)
    assert fault["allocation"]["size"] == 4000
    assert fault["address"] - fault["allocation"]["address"] == 4000
    assert "Invalid __global__ write of size 4 bytes" in outcome.stderr
    assert "is 1 bytes after the nearest allocation" in outcome.stderr
    assert "ERROR SUMMARY: 1 error" in outcome.stderr


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_wild_store_says_all_that_is_known(command: str) -> None:
    outcome = run(command, "c31_oob_far", 89)
    assert outcome.stdout == "launch: no error\nsync: 700 an illegal memory access was encountered\n"
    for words in ("wild(int *, long long)+0x", "c31_oob_far.cu:", "thread (17,0,0) in block (3,0,0)", "of size 4,096",
                  "(cudaMalloc)", "Xid 31", "ACCESS_TYPE_VIRT_WRITE", "STG.E", "The address was made by:"):  # fmt: skip
        assert words in outcome.stderr


def test_forgotten_shared_memory() -> None:
    outcome = run("run", "c46_forgotten_dynamic_smem", 89, "-q")
    assert "Invalid __shared__ write of size 4 bytes" in outcome.stderr
    assert "Was the third launch argument" in outcome.stderr


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (
            "c35_too_many_resources",
            ("73728", "65536", "up to 896 threads", "__launch_bounds__(1024)", "64 registers"),
        ),
        ("c43_cooperative_too_large", ("4096 blocks", "128 SMs hold 6 each: 768")),
    ],
)
def test_refused_launches_come_with_the_arithmetic(case: str, words: tuple[str, ...]) -> None:
    outcome = run("run", case, 89, "-q")
    for word in words:
        assert word in outcome.stderr


def test_only_the_tools_asked_for(tmp_path: Path) -> None:
    found, outcome = faults(
        "c40_race_missing_barrier", 89, tmp_path, "--tool", "memcheck", "--tool", "synccheck"
    )
    assert (found, outcome.code) == ([], 0)


def test_suppressions(tmp_path: Path) -> None:
    rules = tmp_path / "known.txt"
    rules.write_text("# known\nout_of_bounds c32_oob_by_one.cu:8\n")
    found, outcome = faults("c32_oob_by_one", 89, tmp_path, "--suppressions", str(rules))
    assert (found, outcome.code) == ([], 0)
    assert "0 errors (1 suppressed)" in outcome.stderr
    rules.write_text("out_of_bounds c32_oob_by_one.cu:9\n")
    found, outcome = faults("c32_oob_by_one", 89, tmp_path, "--suppressions", str(rules))
    assert (len(found), outcome.code) == (1, 1)


def test_a_race_inside_a_launch_does_not_depend_on_host_threads() -> None:
    one, two = (warpath("check", PLANTED / "races.cu").stderr for _ in range(2))
    assert one == two
