"""Launches that do not end: stopped by whichever limit, and explained: who waits where, on what, for whom."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.check.planted_kit import PLANTED
from tests.smoke.programs import BOARDS, Outcome, build_for, warpath

CASES = Path(__file__).resolve().parents[1] / "cases"
GENERATIONS = [75, 89, 90, 120]
SOME = [g if g == 89 else pytest.param(g, marks=pytest.mark.slow) for g in GENERATIONS]
STOPPED = "launch: no error\nsync: 702 the launch timed out and was terminated\n"


def case(name: str, generation: int, folder: Path, *options: str) -> tuple[list[dict[str, Any]], Outcome]:
    """Who waits in a case that hangs, and the run."""
    program = build_for([CASES / f"{name}.cu"], list(BOARDS))
    report = folder / "report.json"
    outcome = warpath("run", "-q", "--json", report, *options, "--gpu", BOARDS[generation], program)
    (fault,) = json.loads(report.read_text())["faults"]
    return fault["waits"], outcome


def planted(kind: str, generation: int, *more: str, command: str = "run") -> Outcome:
    program = build_for([PLANTED / "hangs.cu"], list(BOARDS))
    limit = ("--instructions", "3000000")
    return warpath(command, *limit, "--gpu", BOARDS[generation], program, "--", kind, *more)


# From sm_100 on the compiler computes the trip count, and the loop ends.
@pytest.mark.parametrize("generation", [75, 80, 89])
def test_a_loop_whose_state_stays_never_ends(generation: int, tmp_path: Path) -> None:
    waits, outcome = case("c38_infinite_loop", generation, tmp_path, "--timeout", "1")
    assert outcome.stdout == STOPPED
    assert [(wait["kind"], wait["block"], wait["threads"]) for wait in waits] == [
        ("spin", [0, 0, 0], [13]),
        ("spin", [0, 0, 0], [45]),
    ]
    for wait in waits:
        assert wait["constant"]
        assert wait["trips"] > 1000
        assert (wait["words"], wait["waits_for"]) == ([], [])
        assert wait["where"] == "c38_infinite_loop.cu:9"
    if generation == 89:
        assert waits[0]["loop"] == [0xD0, 0x120]
    assert "it reads no memory that another thread could change, so it never ends" in outcome.stderr


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_barrier_and_a_flag_that_wait_for_each_other(generation: int, tmp_path: Path) -> None:
    waits, outcome = case("c39_divergent_barrier_deadlock", generation, tmp_path, "--instructions", "2000000")
    assert outcome.stdout == STOPPED
    at_barrier, spins = waits
    assert (at_barrier["kind"], at_barrier["warp"], at_barrier["where"][-3:]) == ("barrier", 0, ":11")
    assert (spins["kind"], spins["warp"], spins["where"][-3:]) == ("spin", 1, ":14")
    start = 0 if generation < 90 else 0x400  # the driver's part of shared memory comes first
    assert spins["words"] == [f"{start:#x} in shared memory of block (0,0,0)"]
    assert at_barrier["waits_for"] == ["warp 1 of block (0,0,0), threads 32 to 63"]
    assert spins["waits_for"] == ["warp 0 of block (0,0,0), threads 0 to 31"]
    assert "32 of 64 threads have come to barrier 0 (warps 0); they wait for warp 1" in outcome.stderr
    assert re.search(
        r"Thread \(0,0,0\) of block \(0,0,0\) would write them at \S+ \(\w+\.cu:12\)", outcome.stderr
    )
    assert "Deadlock, each waits for the next:" in outcome.stderr


EXPECTED = {
    "lock_kept": ["device_atomic_functions.hpp:202 < hangs.cu:8 < hangs.cu:14",
                  "its holder is thread (0,0,0) of block (0,0,0), which stored 0x1",
                  "it has ended without giving the word back"],
    "lock_order": ["in global memory (locks+0x4)", "in global memory (locks) are read",
                   "its holder is thread (0,0,0) of block (0,0,0)", "its holder is thread (0,0,0) of block (1,0,0)",
                   "Deadlock, each waits for the next:"],
    "lock_crowd": ["its holder is thread (0,0,0) of block (99,0,0)",
                   "its holder is thread (0,0,0) of block (98,0,0)", "Deadlock, each waits for the next:"],
    "lock_over_barrier": ["1 of 2 threads have come to barrier 0 (warps 0)",
                          "its holder is thread (0,0,0) of block (0,0,0)",
                          "it is now in warp 0 of block (0,0,0), thread 0 (waits at",
                          "Deadlock, each waits for the next:"],
    "flags_crossed": ["Thread (0,0,0) of block (1,0,0) would write them at", "Deadlock, each waits for the next:"],
    "flag_forgotten": ["No thread that is left would write them"],
}  # fmt: skip


@pytest.mark.parametrize("generation", SOME)
@pytest.mark.parametrize("kind", EXPECTED)
def test_locks_and_flags(kind: str, generation: int) -> None:
    outcome = planted(kind, generation)
    assert outcome.stdout == "launch 0\nsync 702\nfree 702\n", outcome.stderr
    for words in EXPECTED[kind]:
        assert words in outcome.stderr, outcome.stderr


@pytest.mark.parametrize("generation", [89, pytest.param(75, marks=pytest.mark.slow)])
def test_a_home_made_grid_barrier_with_more_blocks_than_fit(generation: int) -> None:
    outcome = planted("grid_barrier", generation)
    assert outcome.stdout == "launch 0\nsync 702\nfree 702\n", outcome.stderr
    assert re.search(r"Block \(\d+,0,0\), which was never started, would write them at", outcome.stderr)
    assert re.search(r"1 of \d+ blocks never started", outcome.stderr)
    assert "The resident blocks wait for these: a home-made grid barrier." in outcome.stderr


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("kind", [*EXPECTED, "grid_barrier"])
def test_their_twins_end(kind: str, command: str) -> None:
    program = build_for([PLANTED / "hangs.cu"], list(BOARDS))
    outcome = warpath(command, "--gpu", BOARDS[89], program, "--", kind, "good")
    assert (outcome.stdout, outcome.code) == ("launch 0\nsync 0\nfree 0\n", 0), outcome.stderr


def test_model_time_stops_a_launch_at_the_same_moment_everywhere() -> None:
    program = build_for([PLANTED / "hangs.cu"], list(BOARDS))
    runs = [
        warpath("run", "--model-timeout", "200us", "--threads", str(threads), program, "--", "flags_crossed")
        for threads in (1, 2)
    ]
    assert {run.stdout for run in runs} == {"launch 0\nsync 702\nfree 702\n"}
    assert "still running after 200.00 us of model time" in runs[0].stderr
    assert runs[0].stderr == runs[1].stderr


def test_a_launch_within_its_model_time_is_let_alone() -> None:
    program = build_for([PLANTED / "hangs.cu"], list(BOARDS))
    outcome = warpath("run", "--model-timeout", "1ms", program, "--", "flags_crossed", "good")
    assert (outcome.stdout, outcome.code) == ("launch 0\nsync 0\nfree 0\n", 0)


def test_model_time_needs_the_clock() -> None:
    outcome = warpath("run", "--functional", "--model-timeout", "1ms", CASES / "c38_infinite_loop.cu")
    assert outcome.code == 2
    assert "--model-timeout needs the clock" in outcome.stderr


@pytest.mark.parametrize(
    ("text", "words"), [("0", "no time above 0"), ("soon", "not a number"), ("-1s", "below 0")]
)
def test_limits_that_are_no_times(text: str, words: str) -> None:
    outcome = warpath("run", f"--timeout={text}", CASES / "c38_infinite_loop.cu")
    assert outcome.code == 2
    assert words in outcome.stderr


def test_no_progress_is_reported_at_once(tmp_path: Path) -> None:
    source = tmp_path / "stuck.cu"
    source.write_text(
        "#include <cstdio>\n#include <cuda_runtime.h>\n"
        '__global__ void k() { asm volatile("bar.sync 1, 96;"); }\n'
        'int main() { k<<<1, 64>>>(); printf("%d\\n", cudaDeviceSynchronize()); }\n'
    )
    began = time.monotonic()
    outcome = warpath("run", "-q", source)
    assert time.monotonic() - began < 30
    assert outcome.stdout == "702\n"
    assert "64 of 96 threads have come to barrier 1 (warps 0 to 1)" in outcome.stderr
    assert "threads that have ended or that the block never had" in outcome.stderr
