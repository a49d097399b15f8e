"""`warpath compare` lays a modelled duration beside a measured one."""

from __future__ import annotations

from pathlib import Path

from tests.smoke.programs import warpath

ROOT = Path(__file__).resolve().parents[2]


def test_the_unexplained_part_is_named(tmp_path: Path) -> None:
    model, trace = tmp_path / "model.json", tmp_path / "trace.json"
    warpath(
        "explain", "--gpu", "h200", "--cache-control", "none", ROOT / "examples" / "vadd.cu", "--json", model
    )
    warpath("trace", "--show", ROOT / "tests" / "data" / "traces" / "vadd_measured.trace.xz", "--json", trace)
    shown = warpath("compare", model, trace).stdout
    assert "(modelled)" in shown
    assert "4.13 us (measured)" in shown  # CUPTI's figure in the recording
    assert "that the model does not" in shown
