"""What `--json` writes is valid by the published schema: timed and not, with faults and without."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.smoke.programs import warpath

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "schema" / "report-1.json").read_text())
CASES = ROOT / "tests" / "cases"


@pytest.mark.parametrize(
    "words",
    [
        ("explain", ROOT / "examples" / "vadd.cu"),
        ("explain", CASES / "c48_reduce_shared.cu", "--gpu", "h200"),
        ("explain", CASES / "c31_oob_far.cu"),
        ("run", "-q", CASES / "c30_first_launch.cu"),
        ("run", "-q", "--functional", CASES / "c27_param_layout.cu"),
        ("check", CASES / "c40_race_missing_barrier.cu"),
        ("check", CASES / "c32_oob_by_one.cu"),
    ],
    ids=lambda words: f"{words[0]}-{next(word for word in words if isinstance(word, Path)).stem}",
)
def test_reports_are_valid(words: tuple[str | Path, ...], tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    outcome = warpath(*words, "--json", path)
    report = json.loads(path.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    assert report["launches"], outcome.stderr
    if words[0] == "explain":
        assert all(launch["timeline"]["dram_bytes"] for launch in report["launches"])
