"""Occupancy: worked cases, profiled launches and driver answers from an H200, advice for one more block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpath.errors import UsageError
from warpath.gpu import spec
from warpath.gpu.occupancy import (
    Request,
    driver_carveout,
    evaluate,
    launch_registers,
    next_step,
    occupancy,
    waves,
)

DATA = json.loads((Path(__file__).parents[1] / "data" / "occupancy_cases.json").read_text())
ADA = spec.load_sm("sm_89")
HOPPER = spec.load_sm("sm_90")


def rows(table: str) -> Iterator[dict[str, Any]]:
    for row in DATA[table]["rows"]:
        yield dict(zip(DATA[table]["columns"], row, strict=True))


def test_the_vector_add_of_the_article() -> None:
    gpu = spec.load("rtx4090")
    occ = occupancy(gpu.sm, 256, 16)
    assert (occ.blocks_per_sm, occ.warps_per_sm, occ.warps_per_scheduler) == (6, 48, 12)
    assert occ.limiter == ["warps"]
    assert occ.limits == {"warps": 6, "registers": 16, "shared_mem": 100, "blocks": 24, "barriers": None}
    assert occ.fraction == 1
    assert waves(4096, gpu, occ) == pytest.approx(5.33, abs=0.005)


def test_the_vector_add_on_an_h200() -> None:
    gpu = spec.load("h200")
    occ = occupancy(gpu.sm, 256, 16)
    assert (occ.blocks_per_sm, occ.warps_per_sm) == (8, 64)
    assert waves(4096, gpu, occ) == pytest.approx(3.88, abs=0.005)


@pytest.mark.parametrize("row", list(rows("cases")), ids=lambda r: f"{r['case']}-{r['kernel']}-{r['sm']}")
def test_worked_cases(row: dict[str, Any]) -> None:
    gpu = spec.load({"sm_89": "rtx4090", "sm_90": "h200"}[row["sm"]])
    occ = occupancy(gpu.sm, row["threads"], row["registers"], row["static"], row["dynamic"], row["barriers"])
    assert (occ.blocks_per_sm, occ.warps_per_sm) == (row["blocks"], row["warps"])
    assert set(occ.limiter) == set(row["limiter"])
    assert waves(row["grid"], gpu, occ) == (
        None if row["waves"] is None else pytest.approx(row["waves"], abs=6e-4)
    )


@pytest.mark.parametrize("row", list(rows("ncu")), ids=lambda r: f"{r['kernel']}-{r['threads']}-{r['grid']}")
def test_profiled_launches_on_an_h200(row: dict[str, Any]) -> None:
    gpu = spec.load("h200")
    request = Request(row["threads"], row["registers"], row["static"], row["dynamic"])
    occ = evaluate(gpu.sm, request)
    if row["compiled"] is not None:
        assert launch_registers(gpu.sm, row["compiled"]) == row["registers"]
    assert [occ.limits[name] for name in ("warps", "registers", "blocks")] == [
        row[f"limit_{name}"] for name in ("warps", "registers", "blocks")
    ]
    assert occ.shared_per_block == row["shared_allocated"]
    # The profiler divides the carve-out that the driver set up; the calculator divides the largest one.
    assert driver_carveout(gpu.sm, request) == row["carveout"]
    assert row["carveout"] // occ.shared_per_block == row["limit_shared_mem"]
    assert waves(row["grid"], gpu, occ) == pytest.approx(row["waves"] or 0, abs=0.0051)
    if row["max_warps_pct"] is not None:
        assert occ.fraction * 100 == pytest.approx(row["max_warps_pct"], abs=0.01)


def test_the_drivers_own_answers_on_an_h200() -> None:
    for row in rows("driver"):
        carveout = None if row["carveout"] < 0 else row["carveout"]
        occ = occupancy(
            HOPPER, row["threads"], row["registers"], 0, row["dynamic"], row["barriers"], carveout, 232448
        )
        assert occ.blocks_per_sm == row["blocks"], row


def test_barriers_bind_on_hopper_and_never_on_ada() -> None:
    assert occupancy(HOPPER, 64, 16, barriers=16).limiter == ["barriers"]
    assert occupancy(HOPPER, 64, 16, barriers=16).blocks_per_sm == 4
    assert occupancy(ADA, 64, 16, barriers=16).blocks_per_sm == 24


@pytest.mark.parametrize(
    ("request_", "limiter", "words"),
    [
        (Request(1024, 72), "registers", "32 warps x 2304 registers = 73728"),
        (Request(1025, 16), "warps", "1025 threads"),
        (Request(32, 300), "registers", "300 registers per thread"),
        (Request(32, 16, 0, 101377), "shared_mem", "limit of 101376 B"),
        (Request(32, 16, 0, 50000, max_dynamic_shared=49152), "shared_mem", "function's limit of 49152 B"),
    ],
)
def test_refusals_say_why(request_: Request, limiter: str, words: str) -> None:
    occ = evaluate(ADA, request_)
    assert (occ.blocks_per_sm, occ.warps_per_sm, occ.limiter) == (0, 0, [limiter])
    assert occ.refusal is not None and words in occ.refusal


def test_the_last_request_that_fits_is_not_refused() -> None:
    for request in (Request(1024, 64), Request(1024, 16), Request(32, 255), Request(32, 16, 0, 101376)):
        occ = evaluate(ADA, request)
        assert occ.refusal is None and occ.blocks_per_sm >= 1, request
    assert evaluate(ADA, Request(32, 16, 0, 49152)).needs_opt_in is False
    assert evaluate(ADA, Request(32, 16, 0, 49153)).needs_opt_in is True


def test_absurd_requests_are_usage_errors() -> None:
    for arguments in ((0, 16), (32, -1), (32, 16, -1), (32, 16, 0, 0, -1), (32, 16, 0, 0, 1, 101)):
        with pytest.raises(UsageError):
            occupancy(ADA, *arguments)


def test_one_step_in_registers() -> None:
    occ = occupancy(HOPPER, 128, 40)
    (step,) = next_step(HOPPER, occ)
    assert (occ.blocks_per_sm, step.resource, step.now, step.needed) == (12, "registers", 40, 32)
    assert (step.blocks, step.warps) == (16, 64)


def test_one_step_in_shared_memory_is_the_largest_that_works() -> None:
    occ = occupancy(HOPPER, 128, 16, 40960)
    (step,) = next_step(HOPPER, occ)
    assert step.needed is not None and (step.resource, step.blocks) == ("shared_mem", 6)
    assert occupancy(HOPPER, 128, 16, step.needed).blocks_per_sm == 6
    assert occupancy(HOPPER, 128, 16, step.needed + 1).blocks_per_sm == 5


def test_a_refused_launch_is_told_what_would_fit() -> None:
    (step,) = next_step(ADA, occupancy(ADA, 1024, 72))
    assert (step.needed, step.blocks) == (64, 1)


def test_steps_of_resources_that_bind_together() -> None:
    warps, registers = next_step(ADA, occupancy(ADA, 256, 40))
    assert (warps.resource, warps.needed, warps.blocks) == ("warps", 192, 8)
    assert (registers.resource, registers.needed, registers.blocks) == ("registers", 32, 6)


def test_block_slots_cannot_be_bought() -> None:
    (step,) = next_step(ADA, occupancy(ADA, 32, 16))
    assert (step.resource, step.needed, step.blocks) == ("blocks", None, 24)


def test_one_step_on_turing() -> None:
    turing = spec.load_sm("sm_75")
    occ = occupancy(turing, 32, 255)
    (step,) = next_step(turing, occ)
    assert (occ.blocks_per_sm, step.resource) == (8, "registers")
    assert step.needed is not None and occupancy(turing, 32, step.needed + 1).blocks_per_sm == 8
