"""The planted programs against what compute-sanitizer said of them on an H200 (tests/check/record.py)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.check.planted_kit import FATAL, PLANTED, check

RECORD = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "check" / "h200_sanitizer.json").read_text()
)
# compute-sanitizer takes one bar.sync for several counts or places as divergent; PTX allows it. It ended the context.
FALSE_THERE = {"counts_differ<false>"}
RECORDED = (
    "shared",
    "misaligned",
    "host",
    "null",
    "far",
)  # the rest has no title of its own there, or no record


def recorded(program: str, tool: str, arguments: list[str] | None = None) -> dict[str, Any]:
    return next(
        run
        for run in RECORD["runs"]
        if (run["program"], run["tool"]) == (program, tool) and arguments in (None, run["arguments"])
    )


def kernels(run: dict[str, Any]) -> set[str]:
    """Kernels that compute-sanitizer named, as warpath writes them."""
    names = {key.split(" | ")[1] for key in run["errors"]} - {"-", "atomicAdd"}
    return {name.replace("(bool)1", "true").replace("(bool)0", "false") for name in names}


def ours(program: str, folder: Path, tool: str, *arguments: str) -> set[str]:
    checked = check(
        PLANTED / f"{program}.cu", 90, folder / "report.json", *arguments, options=["--tool", tool]
    )
    names = (re.search(r"\w+(?:<[^>]*>)?(?=\()", fault["kernel"]) for fault in checked.faults)
    return {match.group() for match in names if match}


@pytest.mark.parametrize(
    ("program", "tool", "arguments"),
    [("memory", "memcheck", ()), ("races", "racecheck", ()), ("sync_init", "initcheck", ("barriers",))],
)
def test_what_compute_sanitizer_finds_is_found(
    program: str, tool: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    real = kernels(recorded(program, tool, list(arguments)))
    assert real
    assert real <= ours(program, tmp_path, tool, *arguments)


def test_what_it_has_nothing_against_is_not_reported(tmp_path: Path) -> None:
    assert recorded("early", "synccheck")["errors"] == {}
    assert ours("early", tmp_path, "synccheck") == set()
    assert recorded("races", "memcheck")["errors"] == {}
    assert ours("races", tmp_path, "memcheck") == set()
    assert kernels(recorded("sync_init", "synccheck")) == FALSE_THERE


@pytest.mark.parametrize(("kind", "width"), [case for case in FATAL if case[0] in RECORDED])
def test_fatal_accesses_read_the_same(kind: str, width: str, tmp_path: Path) -> None:
    real = recorded("fatal", "memcheck", [kind, width])
    checked = check(PLANTED / "fatal.cu", 90, tmp_path / "report.json", kind, width)
    (title,) = {key.split(" | ")[0] for key in real["errors"]}
    assert checked.faults[-1]["title"] == title


def test_frees_and_leaks_read_the_same(tmp_path: Path) -> None:
    real = recorded("host", "memcheck")
    checked = check(PLANTED / "host.cu", 90, tmp_path / "report.json", options=["--leak-check"])
    titles = [fault["title"] for fault in checked.faults]
    assert sum(title.startswith("Program hit cudaErrorInvalidValue") for title in titles) == 2
    assert any(title.startswith("Leaked 100 bytes at 0x") for title in titles)
    assert [line for line in real["summary"] if "LEAK" in line] == [
        "========= LEAK SUMMARY: 100 bytes leaked in 1 allocations"
    ]
