"""`warpath compare` of two model reports: boards, builds, options; launches that one side lacks; bad input."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.smoke.programs import warpath
from warpath.report import json as report_json
from warpath.report.compare import compare
from warpath.report.model import LedgerTerm, Report

ROOT = Path(__file__).resolve().parents[2]
VADD = ROOT / "examples" / "vadd.cu"


@dataclass(frozen=True)
class Models:
    """vadd on two boards, as `warpath explain --json` reports it."""

    ada: Path
    hopper: Path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("models")
    made = Models(folder / "ada.json", folder / "hopper.json")
    for gpu, path in (("rtx4090", made.ada), ("h200", made.hopper)):
        assert warpath("explain", VADD, "--gpu", gpu, "--json", path).code == 0
    return made


def with_ledger(report: Report, terms: dict[str, int], copies: int = 1) -> Report:
    """The report with its launch `copies` times over; the first term stands for whatever `terms` leave of its time."""
    (launch, *_) = report.launches
    terms = {"floor": (launch.duration_ns or 0) - sum(terms.values()), **terms}
    ledger = [LedgerTerm(term=key, label=f"the {key}", ns=ns, source="modelled") for key, ns in terms.items()]
    launches = [msgspec.structs.replace(launch, index=at, ledger=ledger) for at in range(copies)]
    return msgspec.structs.replace(report, launches=launches)


def run_compare(folder: Path, left: Report, right: Report, *words: str) -> tuple[list[str], dict[str, Any]]:
    """What is printed, line by line, and the JSON."""
    paths = folder / "a.json", folder / "b.json"
    for report, path in zip((left, right), paths, strict=True):
        report_json.write(report, path)
    made = warpath("compare", *paths, *words, "--json", folder / "rows.json")
    assert made.code == 0, made.stderr
    return made.stdout.splitlines(), json.loads((folder / "rows.json").read_text())


def line_of(lines: list[str], start: str) -> str:
    return next(line for line in lines if line.strip().startswith(start))


def test_two_boards_term_by_term(models: Models, tmp_path: Path) -> None:
    left = with_ledger(report_json.read(models.ada), {"block_ramp": 300, "store_drain": 200})
    right = with_ledger(report_json.read(models.hopper), {"block_ramp": 350, "bank_conflicts": -20})
    lines, rows = run_compare(tmp_path, left, right)
    (launch,) = rows["launches"]
    assert [row["what"] for row in launch["ledger"]] == [
        "the floor",
        "the block_ramp",
        "the store_drain",
        "the bank_conflicts",
    ]
    assert [row["difference"] for row in launch["ledger"][1:]] == [50, None, None]
    for side in ("left", "right"):
        assert sum(row[side] or 0 for row in launch["ledger"]) == launch[f"{side}_ns"]
    assert line_of(lines, "the block_ramp").split() == ["the", "block_ramp", "300", "350", "+50"]
    assert line_of(lines, "the bank_conflicts").split()[2:] == ["-", "-20", "-"]
    difference = launch["right_ns"] - launch["left_ns"]
    assert line_of(lines, "duration").split()[-1] == f"{difference:+,}"
    assert line_of(lines, "board") == "   board: NVIDIA GeForce RTX 4090, sm_89 (A), NVIDIA H200, sm_90 (B)"
    assert "methods:" not in "\n".join(lines)
    assert launch["unexplained_ns"] is None


def test_figures_counters_and_instructions(models: Models) -> None:
    left, right = report_json.read(models.ada), report_json.read(models.hopper)
    (pair,) = compare(left, right).launches
    figures = {row.what: row for row in pair.figures}
    assert figures["registers a thread"].left == left.launches[0].registers
    assert figures["theoretical occupancy"].left == 100
    changes = [row.change for row in pair.counters]
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] >= 0.01
    mix = {row.what: row for row in pair.mix}
    assert (mix["LDC"].left, mix["LDC"].right) == (0, 5 * 32768)  # Hopper loads its constants
    assert "FADD" not in mix  # as many on both


def test_other_flags_and_options_are_named(models: Models, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    warpath("explain", VADD, "-D", "UNUSED=1", "--cache-control", "none", "--json", other)
    text = warpath("compare", models.ada, other).stdout
    assert "nvcc: none (A), -DUNUSED=1 (B)" in text
    assert "cache_control: all (A), none (B)" in text
    assert "board:" not in text
    assert "A modelled, cold caches; B modelled, warm caches" in text


def test_a_changed_source_is_named(models: Models) -> None:
    left = report_json.read(models.ada)
    assert left.compile is not None
    assert list(left.compile.files) == [str(VADD)]
    changed = msgspec.structs.replace(left.compile, files={str(VADD): "0" * 64})
    found = compare(left, msgspec.structs.replace(left, compile=changed)).settings
    assert [(what, right) for what, _, right in found] == [(str(VADD), f"sha256 {'0' * 12}")]


def test_many_launches_and_those_of_one_side(models: Models, tmp_path: Path) -> None:
    report = report_json.read(models.ada)
    lines, rows = run_compare(tmp_path, with_ledger(report, {}, 12), with_ledger(report, {}, 10))
    assert rows["only_left"] == [10, 11]
    assert rows["only_right"] == []
    assert line_of(lines, "only in A").endswith("launches 10, 11")
    assert line_of(lines, "2 more launches")
    total = 10 * (report.launches[0].duration_ns or 0)
    assert line_of(lines, "all").split()[:4] == ["all", "10", f"{total / 1e3:.2f}", "us"]
    assert max(map(len, lines)) <= 100
    every, _ = run_compare(tmp_path, with_ledger(report, {}, 12), with_ledger(report, {}, 10), "--all")
    assert not [line for line in every if "more launches" in line]


def test_a_report_without_the_clock_says_so(models: Models, tmp_path: Path) -> None:
    functional = tmp_path / "functional.json"
    warpath("explain", VADD, "--functional", "--json", functional)
    text = warpath("compare", models.ada, functional).stdout
    assert "B has no duration: the clock did not run (--functional)" in text
    assert "B unknown" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "is not a warpath report: JSON is malformed"),
        ("[]", "is not a warpath report: Expected `object`"),
        ("{}", "is not a warpath report: Object missing required field `schema`"),
        ('{"schema": 2}', "is a report of schema 2; this version reads schema 1"),
        ('{"schema": 1}', "is not a warpath report: Object missing required field"),
    ],
)
def test_bad_input_is_one_line(models: Models, tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    made = warpath("compare", models.ada, path)
    assert made.code == 2
    assert said in made.stderr
    assert len(made.stderr.splitlines()) == 1
