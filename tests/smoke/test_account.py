"""The account of time over whole programs: ledgers that close, the terminal's form, and what binds against ncu."""

from __future__ import annotations

import functools
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.smoke.programs import build_for, warpath
from tests.smoke.test_cases import CASES, RUNNABLE
from warpath.account.effects import LABELS
from warpath.report.terms import PIPES
from warpath.report.verdict import BINDING_PERCENT

REFERENCES = CASES.parent / "data" / "reference"
LAUNCHES = 8  # of a program that are looked at
BOARDS = {"h200": 90, "rtx4090": 89}
QUICK = (
    "c01_vadd_bandwidth",
    "c03_empty_kernel_launch",
    "c08_transpose_naive",
    "c31_oob_far",
    "c48_reduce_shared",
)
PROGRAMS = [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in RUNNABLE]
MEMORY = ("dram", "l2", "crossbar", "lsu")
COMPUTE = ("issue", *PIPES)
LATENCY = ("latency", "launch")
TOP_STALL_SHARE = 0.9  # of reference launches; stated in docs/reports.md
ORDER = [
    "floor", "front_end", *(key for key in LABELS if key not in (
        "floor", "front_end", "extra_dram", "l2_kept", "imbalance_tail")),
    "extra_dram", "l2_kept", "imbalance_tail",
]  # fmt: skip


@dataclass(frozen=True)
class Explained:
    """What `warpath explain` of a case left."""

    stdout: str
    report: dict[str, Any]

    @property
    def launches(self) -> list[dict[str, Any]]:
        return self.report["launches"]


@functools.cache
def explain(case: str, board: str, *options: str) -> Explained:
    """One run of a case, its first launches; caches are flushed before each, as ncu does."""
    program = build_for([CASES / f"{case}.cu"], list(BOARDS.values()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        outcome = warpath("explain", "--gpu", board, "-c", str(LAUNCHES), "--json", path, *options, program)
        assert outcome.code in (0, 1), outcome.stderr
        return Explained(outcome.stdout, json.loads(path.read_text()))


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("case", PROGRAMS)
def test_every_ledger_sums_to_the_duration(case: str, board: str) -> None:
    run = explain(case, board)
    for launch in run.launches:
        if not launch["ledger"]:
            assert launch["ledger_note"] == "no ledger: the launch was stopped"
            assert run.report["faults"]
            continue
        keys = [term["term"] for term in launch["ledger"]]
        assert sum(term["ns"] for term in launch["ledger"]) == launch["duration_ns"]
        assert keys == sorted(keys, key=ORDER.index) and len(set(keys)) == len(keys)
        assert launch["ledger"][0]["ns"] == round(launch["floor_ns"])
        assert all(term["text"] for term in launch["ledger"])


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("case", PROGRAMS)
def test_the_terminal_is_narrow_and_plain_and_starts_with_the_verdict(case: str, board: str) -> None:
    run = explain(case, board)
    lines = run.stdout.splitlines()
    assert "\x1b" not in run.stdout
    code = [line for line in lines if line.startswith("    ") and line[4:8].strip().isalnum()]
    assert max(len(line) for line in set(lines) - set(code)) <= 100
    told = " ".join(run.stdout.split())
    if run.launches and (verdict := run.launches[0]["verdict"]):
        heading, _, rest = told.partition(" launch 0: ")
        assert ">>> " not in heading
        assert rest.partition(">>> ")[2].startswith(" ".join(verdict.split()))


def test_only_launches_of_the_report_are_replayed() -> None:
    everything = explain("c48_reduce_shared", "h200")
    kernels = [launch["kernel"].split("(")[0] for launch in everything.launches]
    run = explain("c48_reduce_shared", "h200", "-k", kernels[-1])
    assert {launch["kernel"].split("(")[0] for launch in run.launches} == {kernels[-1]}
    assert all(launch["ledger"] for launch in run.launches)


def test_what_if_over_a_program() -> None:
    run = explain("c48_reduce_shared", "h200", "--what-if", "--section", "what-if")
    for launch in run.launches:
        found = {change["change"]: change for change in launch["what_if"]}
        assert found["memory_clock"]["duration_ns"] == pytest.approx(launch["duration_ns"], rel=0.1)
        sizes = [change for key, change in found.items() if key.startswith("block_") and key != "block_ramp"]
        assert sizes and all(change["duration_ns"] is None for change in sizes)
        assert all("needs a run: warpath sweep --set" in change["text"] for change in sizes)
    assert "changes a user can make:" in run.stdout
    assert "occupancy:" not in run.stdout


# Against Nsight Compute


def measured(case: str) -> list[dict[str, float]]:
    """ncu's figures of the case's first launches, with flushed caches."""
    data = json.loads((REFERENCES / f"{case}.json").read_text())
    return [launch["cold"] for launch in data["launches"][:LAUNCHES] if "cold" in launch]


def measured_class(figures: dict[str, float]) -> str:
    """What ncu's speed-of-light section says binds."""
    memory = figures["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"]
    compute = figures.get("sm__throughput.avg.pct_of_peak_sustained_elapsed", 0.0)
    if max(memory, compute) < BINDING_PERCENT:
        return "latency"
    return "memory" if memory > compute else "compute"


def modelled_class(launch: dict[str, Any]) -> str:
    """The verdict's answer in the same words."""
    bound = launch["bound"]
    return (
        "memory"
        if bound in MEMORY
        else "compute"
        if bound in COMPUTE
        else "latency"
        if bound in LATENCY
        else bound
    )


def top(stalls: dict[str, float]) -> str:
    return max((reason for reason in stalls if reason != "selected"), key=lambda reason: stalls[reason])


def measured_stalls(figures: dict[str, float]) -> dict[str, float]:
    start, end = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
    return {
        name.removeprefix(start).removesuffix(end): value
        for name, value in figures.items()
        if name.startswith(start)
    }


REFERENCED = [case for case in RUNNABLE if (REFERENCES / f"{case}.json").exists()]
COMPARED = [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in REFERENCED]


@pytest.mark.parametrize("case", COMPARED)
def test_the_binding_resource_is_the_one_ncu_names(case: str) -> None:
    for launch, figures in zip(explain(case, "h200").launches, measured(case), strict=False):
        assert modelled_class(launch) == measured_class(figures), launch["verdict"]


@pytest.mark.slow
def test_the_top_stall_is_the_one_ncu_names() -> None:
    pairs = [
        (case, top(launch["stalls"]), top(measured_stalls(figures)))
        for case in REFERENCED
        for launch, figures in zip(explain(case, "h200").launches, measured(case), strict=False)
        if measured_stalls(figures)
    ]
    differing = [pair for pair in pairs if pair[1] != pair[2]]
    assert len(differing) <= (1 - TOP_STALL_SHARE) * len(pairs), differing
