"""`warpath trace`, `replay` and `compare` from the command line, and the errors that a user can cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.perfetto_kit import parse
from warpath.capture import activity, log, session
from warpath.cli import main
from warpath.errors import FormatError, UsageError

TRACES = Path(__file__).parents[1] / "data" / "traces"


def test_show_is_a_hundred_columns_wide(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "--show", str(TRACES / "vadd.trace.xz")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines)
    for part in (
        "484 in all",
        "launch 0: vadd(",
        "c[0x0][0x228] = 0x100000",
        "189 doorbells trapped",
        "390 dwords",
    ):
        assert part in text


def test_json_and_time_line(tmp_path: Path) -> None:
    report, line = tmp_path / "r.json", tmp_path / "p.pftrace"
    words = [
        "trace",
        "--show",
        str(TRACES / "vadd_measured.trace.xz"),
        "--json",
        str(report),
        "--perfetto",
        str(line),
    ]
    assert main(words) == 0
    data = json.loads(report.read_bytes())
    assert data["schema"] == 1
    assert data["launches"][0]["kernel"].startswith("vadd(")
    assert len(data["trace"]["ioctls"]) == 529
    tracks = parse(line.read_bytes())
    shown = {path.split("/")[-1].split(", thread")[0]: own for path, own in tracks.slices.items()}
    assert set(shown) >= {"ioctls", "driver API", "doorbells, channel 0xa", "kernels, channel 0xa"}
    assert sum(len(own) for path, own in tracks.slices.items() if "/ioctls" in path) == 529
    kernels = [s for path, own in tracks.slices.items() if "/kernels" in path for s in own]
    measured = [round(launch["measured_ns"] or 0) for launch in data["trace"]["launches"]]
    assert sorted(s.end - s.start for s in kernels) == sorted(measured)
    assert max(measured) > 0


@pytest.mark.parametrize("option", ["--json", "--perfetto"])
def test_an_output_that_cannot_be_written_is_named(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["trace", "--show", str(TRACES / "vadd.trace.xz"), option, str(tmp_path)]
    assert main(words) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.endswith(f"to {tmp_path}: Is a directory\n")


def test_a_recording_compared_with_itself_does_not_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, rows = tmp_path / "r.json", tmp_path / "rows.json"
    main(["trace", "--show", str(TRACES / "vadd.trace.xz"), "--json", str(report)])
    capsys.readouterr()
    assert main(["compare", str(report), str(report), "--json", str(rows)]) == 0
    assert capsys.readouterr().out.count("0 differ") == 3
    (launch,) = json.loads(rows.read_bytes())["launches"]
    assert {row["kind"] for part in ("methods", "qmd", "constant_bank") for row in launch[part]} == {"same"}


def test_compare_needs_a_kernel_in_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = []
    for name in ("vadd", "reduce"):
        paths.append(str(tmp_path / f"{name}.json"))
        main(["trace", "--show", str(TRACES / f"{name}.trace.xz"), "--json", paths[-1]])
    assert main(["compare", *paths]) == 2
    assert "no kernel was launched in both: vadd(" in capsys.readouterr().err


def test_replay_needs_a_command_stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.trace"
    path.write_bytes(log.header(0, 0))
    assert main(["replay", str(path)]) == 2
    assert "no command stream" in capsys.readouterr().err


def test_trace_needs_a_program_or_a_recording(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace"]) == 2
    assert "--show FILE" in capsys.readouterr().err


def test_a_machine_without_a_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(session, "CONTROL_DEVICE", tmp_path / "none")
    with pytest.raises(UsageError, match="no NVIDIA driver here"):
        session.check_machine()


def test_programs_that_cannot_be_recorded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a program"):
        session.check_program(str(tmp_path / "none"))
    static = tmp_path / "static"
    static.write_bytes(b"\x7fELF\x02" + bytes(200))
    static.chmod(0o755)
    with pytest.raises(UsageError, match="statically linked"):
        session.check_program(str(static))
    static.chmod(0o4755)
    with pytest.raises(UsageError, match="changes its user"):
        session.check_program(str(static))


def test_a_program_that_the_recorder_does_not_get_into(tmp_path: Path) -> None:
    what = session.Recording(program=["true"], output=tmp_path / "x.trace")
    with pytest.raises(UsageError, match="not loaded into true"):
        session.record(what, tmp_path / "no-such-library.so")


def test_the_branch_decides_where_userd_is(tmp_path: Path) -> None:
    what = session.Recording(program=["true"], output=tmp_path / "x", memory=True)
    old = session.environment(what, Path("lib.so"), "580.159.04", {"LD_PRELOAD": "a.so"})
    assert (old["WARPATH_TRACE_FLAGS"], old["LD_PRELOAD"]) == ("dmc", "lib.so:a.so")
    new = session.environment(what, Path("lib.so"), "610.43.03", {})
    assert new["WARPATH_TRACE_FLAGS"] == "dmcw"


def test_a_csv_of_nsight_compute() -> None:
    (measured,) = activity.read_ncu(TRACES / "vadd.ncu.csv")
    assert (measured.duration_ns, measured.grid, measured.block) == (5696.0, (4096, 1, 1), (256, 1, 1))
    assert measured.metrics["dram__bytes_read.sum"] == pytest.approx(8.39e6, rel=0.01)


def test_a_csv_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match="Metric Name"):
        activity.read_ncu(path)
