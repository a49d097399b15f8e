"""`warpath compare` lays a modelled duration beside a measured one."""

from __future__ import annotations

import json
from pathlib import Path

from tests.smoke.programs import warpath

ROOT = Path(__file__).resolve().parents[2]


def test_the_unexplained_part_is_named(tmp_path: Path) -> None:
    model, trace = tmp_path / "model.json", tmp_path / "trace.json"
    warpath(
        "explain", "--gpu", "h200", "--cache-control", "none", ROOT / "examples" / "vadd.cu", "--json", model
    )
    warpath("trace", "--show", ROOT / "tests" / "data" / "traces" / "vadd_measured.trace.xz", "--json", trace)
    rows = tmp_path / "rows.json"
    shown = warpath("compare", model, trace, "--json", rows).stdout
    (launch,) = json.loads(rows.read_text())["launches"]
    assert launch["right_ns"] == 4128  # CUPTI's figure in the recording
    unexplained = 4128 - launch["left_ns"]
    assert launch["unexplained_ns"] == unexplained
    line = next(line for line in shown.splitlines() if "not explained" in line)
    assert line.split() == [
        "not",
        "explained",
        "by",
        "the",
        "model",
        "(B",
        "is",
        "measured)",
        "-",
        f"{unexplained:,}",
    ]
    assert "A modelled, warm caches; B measured" in shown
    assert "QMD fields:" in shown
    mirrored = warpath("compare", trace, model, "--json", rows).stdout
    assert json.loads(rows.read_text())["launches"][0]["unexplained_ns"] == unexplained
    assert "not explained by the model (A is measured)" in mirrored
