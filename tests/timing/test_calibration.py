"""The committed H200 numbers are what the committed raw data say."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from warpath.calibration import collect
from warpath.calibration.fit import Raw, fit
from warpath.calibration.fit_launch import fit_launch
from warpath.cli import main
from warpath.errors import FormatError
from warpath.gpu import launch_path, spec, timing

RAW = Path(__file__).parents[2] / "benchmarks" / "calibration" / "h200"
INHERITED = {"function_ns", "jit_ns_per_byte", "stamp_ns"}
# What the formulas give where it is more than 5 % from the committed value.
APART = {"small_call_ns": 1072, "copy_ns": 749}


@pytest.fixture
def raw() -> Raw:
    gpu = spec.load("h200")
    values = timing.resolve(gpu).values
    return Raw(
        collect.read(RAW / "probes.json.gz"),
        collect.read(RAW / "profiled.json.gz"),
        gpu.sms,
        values["l2_slices"],
        gpu.l2_bytes,
        values["dram_channels"],
        values["gpcs"],
    )


def test_every_fitted_value_is_the_committed_one(raw: Raw) -> None:
    values = timing.resolve(spec.load("h200")).values
    fitted = fit(raw)
    assert fitted == {name: values[name] for name in fitted}
    assert len(fitted) >= 25


def test_a_probe_that_was_not_taken_is_named(raw: Raw) -> None:
    bare = Raw([], raw.profiled, raw.sms, raw.l2_slices, raw.l2_bytes, raw.dram_channels, raw.gpcs)
    with pytest.raises(FormatError, match="lop3_4"):
        fit(bare)


def launch_table(raw: Raw) -> dict[str, int]:
    gpu = spec.load("h200")
    return fit_launch(raw, launch_path.resolve(gpu), timing.resolve(gpu).values)


def without(raw: Raw, what: str) -> Raw:
    return dataclasses.replace(raw, probes=[row for row in raw.probes if row["what"] != what])


def test_fitted_launch_costs_are_close_to_the_committed_ones(raw: Raw) -> None:
    committed = dataclasses.asdict(launch_path.resolve(spec.load("h200")))
    fitted = launch_table(raw)
    assert set(fitted) == set(committed) - INHERITED - {"origin"}
    apart = {name: value for name, value in fitted.items() if abs(value / committed[name] - 1) > 0.05}
    assert apart == APART


@pytest.mark.parametrize(
    "what", ["first", "nothing_busy", "pinned_down_call", "graph_busy", "memset_busy", "pageable_up_call"]
)
def test_a_launch_probe_that_was_not_taken_is_named(raw: Raw, what: str) -> None:
    with pytest.raises(FormatError, match=f"no probe '{what}' at .*: collect it again"):
        launch_table(without(raw, what))


def test_probes_that_contradict_each_other_are_refused(raw: Raw) -> None:
    probes = [{**row, "cycles": 0.1} if row["what"] == "first" else row for row in raw.probes]
    with pytest.raises(FormatError, match="give module_ns = -"):
        launch_table(dataclasses.replace(raw, probes=probes))


def test_a_missing_launch_probe_is_one_line(
    raw: Raw, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collect.write(tmp_path / "probes.json.gz", without(raw, "record_done").probes)
    collect.write(tmp_path / "profiled.json.gz", raw.profiled)
    assert main(["calibrate", "h200", "--raw", str(tmp_path), "--fit-only"]) == FormatError.exit_code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "warpath: the raw data has no probe 'record_done' at 1: collect it again\n"


def test_a_board_file_with_the_written_tables_loads(
    raw: Raw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = tmp_path / "tables.toml"
    assert main(["calibrate", "h200", "--raw", str(RAW), "--fit-only", "-o", str(tables)]) == 0
    data = tmp_path / "data"
    shutil.copytree(spec.DATA, data)
    head = (data / "h200.toml").read_text().partition("[timing]")[0]
    head = head.replace("h200-", "fitted-")  # aliases belong to one board
    (data / "fitted.toml").write_text(head + tables.read_text())
    monkeypatch.setattr(spec, "DATA", data)

    board = spec.load("fitted")
    path = dataclasses.asdict(launch_path.resolve(board))
    fitted = launch_table(raw)
    assert {name: path[name] for name in fitted} == fitted
    assert all(board.source(f"launch.{name}") == "MEAS" for name in fitted)
    committed = dataclasses.asdict(launch_path.resolve(spec.load("h200")))
    assert {name: path[name] for name in INHERITED} == {name: committed[name] for name in INHERITED}
    clock = timing.resolve(board).values
    assert {name: clock[name] for name in fit(raw)} == fit(raw)
