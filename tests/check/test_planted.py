"""Every planted fault is found on every generation, and no healthy twin is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.planted_kit import FATAL, FATAL_KINDS, PLANTED, SILENT, check, split
from tests.smoke.programs import BOARDS

_KINDS = {
    "store_past_end": "out_of_bounds",
    "load_past_end": "out_of_bounds",
    "store_before": "out_of_bounds",
    "atomic_past_end": "out_of_bounds",
    "use_after_free": "use_after_free",
    "heap_store_past_end": "heap_out_of_bounds",
    "heap_load_past_end": "heap_out_of_bounds",
    "heap_use_after_free": "heap_use_after_free",
    "pool_store_past_end": "out_of_bounds",
    "pool_use_after_free": "use_after_free",
    "constant_past_end": "constant_out_of_range",
    "shared_read_after_write": "race_",
    "shared_write_after_read": "race_",
    "shared_write_after_write": "race_write_after_write",
    "warp_without_sync": "race_",
    "atomic_and_plain": "race_",
    "global_read_after_write": "race_",
    "global_between_blocks": "race_",
    "global_write_by_all": "race_write_after_write",
    "flag_without_fence": "race_",
    "last_block_without_fence": "race_",
    "named_barrier": "race_",
    "barrier_in_both_branches": "divergent_barrier",
    "barrier_of_some": "barrier_exited mask_exited",
    "counts_differ": "barrier_count",
    "mask_without_caller": "mask_without_caller",
    "mask_of_others": "hang mask_exited",
    "global_never_written": "uninitialized_read",
    "shared_never_written": "uninitialized_read",
}


# Building and running all planted programs for every generation takes minutes: two by default.
CHECKED = [g if g in (89, 90) else pytest.param(g, marks=pytest.mark.slow) for g in BOARDS]


@pytest.mark.parametrize("generation", CHECKED)
@pytest.mark.parametrize("name", SILENT)
def test_all_found_and_none_false(name: str, generation: int, tmp_path: Path) -> None:
    checked = check(PLANTED / f"{name}.cu", generation, tmp_path / "report.json")
    bad, _ = split(checked.kernels)
    assert bad, checked.stderr
    assert {fault["kernel"] for fault in checked.faults} == bad
    for fault in checked.faults:
        kernel = fault["kernel"].removeprefix("void ").split("<")[0]
        assert any(fault["kind"].startswith(kind) for kind in _KINDS[kernel].split()), fault
    assert checked.code == 1


def test_there_are_at_least_sixty_of_each(tmp_path: Path) -> None:
    runs = [check(PLANTED / f"{name}.cu", 89, tmp_path / f"{name}.json") for name in SILENT]
    bad, good = zip(*(split(run.kernels) for run in runs), strict=True)
    assert sum(map(len, bad)) + len(FATAL) >= 60
    assert sum(map(len, good)) + len(FATAL) >= 60


@pytest.mark.parametrize("generation", [75, 89, 100])
@pytest.mark.parametrize(("kind", "width"), FATAL)
def test_what_ends_the_context(kind: str, width: str, generation: int, tmp_path: Path) -> None:
    checked = check(PLANTED / "fatal.cu", generation, tmp_path / "report.json", kind, width)
    assert [fault["kind"] for fault in checked.faults][-1] in FATAL_KINDS[kind].split(), checked.stderr
    assert checked.faults[-1]["fatal"]
    if kind in ("shared", "misaligned"):
        assert checked.faults[-1]["size"] == int(width)


@pytest.mark.parametrize(("kind", "width"), FATAL)
def test_their_twins(kind: str, width: str, tmp_path: Path) -> None:
    checked = check(PLANTED / "fatal.cu", 89, tmp_path / "report.json", kind, width, "good")
    assert (checked.faults, checked.code) == ([], 0), checked.stderr


@pytest.mark.parametrize("generation", CHECKED)
def test_threads_that_leave_early_are_not_missing(generation: int, tmp_path: Path) -> None:
    checked = check(PLANTED / "early.cu", generation, tmp_path / "report.json")
    assert (checked.faults, checked.code) == ([], 0), checked.stderr


@pytest.mark.parametrize("kind", ["kept", "reset"])
def test_what_kernels_never_free(kind: str, tmp_path: Path) -> None:
    options = ["--leak-check"]
    checked = check(PLANTED / "fatal.cu", 89, tmp_path / "bad.json", kind, "0", options=options)
    leaks = [fault for fault in checked.faults if fault["kind"] == "device_leak"]
    assert [leak["size"] for leak in leaks] == [12] * 64
    assert "allocated by thread (63,0,0) in block (0,0,0) of launch 0" in checked.stderr.lower()
    healthy = check(PLANTED / "fatal.cu", 89, tmp_path / "good.json", kind, "0", "good", options=options)
    assert (healthy.faults, healthy.code) == ([], 0)


def test_what_the_host_frees(tmp_path: Path) -> None:
    checked = check(PLANTED / "host.cu", 89, tmp_path / "bad.json", options=["--leak-check"])
    assert [fault["kind"] for fault in checked.faults] == ["double_free", "invalid_free", "leak"]
    assert checked.faults[2]["size"] == 100
    healthy = check(PLANTED / "host.cu", 89, tmp_path / "good.json", "good", options=["--leak-check"])
    assert (healthy.faults, healthy.code) == ([], 0)
