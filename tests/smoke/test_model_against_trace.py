"""The model driver's launch of vadd beside the one a real driver was recorded making on an H200 (deviation D16)."""

from __future__ import annotations

from pathlib import Path

from tests.smoke.programs import warpath
from warpath.report import json as report_json
from warpath.report.compare import pairs
from warpath.report.trace_compare import SAME, Row, compare

ROOT = Path(__file__).resolve().parents[2]


def _differs(row: Row) -> bool:
    return row.kind != SAME and not row.moves


def test_methods_and_qmd_are_the_same(tmp_path: Path) -> None:
    model, trace = tmp_path / "model.json", tmp_path / "trace.json"
    made = warpath("explain", "--gpu", "h200", ROOT / "examples" / "vadd.cu", "--json", model)
    assert made.code == 0, made.stderr
    shown = warpath("trace", "--show", ROOT / "tests" / "data" / "traces" / "vadd.trace.xz", "--json", trace)
    assert shown.code == 0, shown.stderr
    ((left, right),) = pairs(report_json.read(model), report_json.read(trace))
    assert left.submission.pushbuffer_dwords == right.submission.pushbuffer_dwords == 390
    found = compare(left, right)
    assert [row.what for row in found.methods if _differs(row)] == []
    assert [row.what for row in found.qmd if _differs(row)] == []
    unnamed = [row.what for row in found.bank if _differs(row)]
    assert len(unnamed) == 6
    assert all(name.startswith("word 0x") for name in unnamed)
