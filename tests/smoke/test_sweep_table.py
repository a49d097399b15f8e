"""The summary of a sweep from reports that carry a ledger: kernels added up, files, the page in a browser's terms."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from tests.smoke.programs import warpath
from warpath.report import json as report_json
from warpath.report.model import LedgerTerm, Report
from warpath.sweep import cluster, table
from warpath.sweep.plot import page
from warpath.sweep.points import Point
from warpath.sweep.table import Row, finished

VADD = Path(__file__).resolve().parents[2] / "examples" / "vadd.cu"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """vadd's report with two launches of it, each with a ledger, and one of another kernel without."""
    path = tmp_path_factory.mktemp("table") / "vadd.json"
    assert warpath("explain", VADD, "--json", path).code == 0
    made = report_json.read(path)
    (launch,) = made.launches
    terms = (("floor", "floor", 8000), ("tail", "load imbalance & <tail>", 900), ("l2", "L2", -100))
    ledger = [LedgerTerm(term=key, label=label, ns=ns, source="modelled") for key, label, ns in terms]
    launches = [
        msgspec.structs.replace(
            launch, index=0, ledger=ledger, bound="dram", duration_ns=8800, floor_ns=8000.0
        ),
        msgspec.structs.replace(
            launch, index=1, ledger=ledger, bound="tail", duration_ns=9000, floor_ns=8000.0
        ),
        msgspec.structs.replace(
            launch, index=2, kernel="other<int>(int)", duration_ns=None, counters={}, ledger=[]
        ),
    ]
    return msgspec.structs.replace(made, launches=launches)


def point(number: int) -> Point:
    return Point({"gpu": "rtx4090", "N": str(2**number), "T": "float"}, (), (), "", f"key{number}")


@pytest.fixture(scope="module")
def rows(report: Report) -> list[Row]:
    made = [row for number in (4, 8) for row in finished(point(number), report, f"key{number}.json")]
    return [*made, Row(point(12), reason="out of <memory>")]


def test_launches_of_a_kernel_are_added_up(rows: list[Row]) -> None:
    first, other = rows[:2]
    assert (first.launches, first.duration_ns, first.floor_ns, first.bound) == (2, 17800, 16000.0, "tail")
    assert first.ratio == pytest.approx(1.1125)
    assert first.terms == (("load imbalance & <tail>", 1800), ("L2", -200))
    assert first.largest == ("load imbalance & <tail>", 1800)
    assert first.occupancy == pytest.approx(78.92, abs=0.01)
    assert (other.kernel, other.duration_ns, other.ratio, other.largest) == (
        "other<int>(int)",
        None,
        None,
        None,
    )


def test_the_terminal_shows_what_was_swept(rows: list[Row]) -> None:
    text = io.StringIO()
    table.render(rows, Console(file=text, width=100))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    header = next(line for line in lines if "bound by" in line)
    assert header.split()[:3] == ["N", "launches", "duration"]  # one board and one T: no columns
    assert [line for line in lines if line == "other<int>(int)"]
    assert any(line.split()[:1] == ["256"] and "17.80 us" in line for line in lines)
    assert any("N=4096 T=float: out of <memory>" in line for line in lines)


def test_csv_and_json_hold_every_term(rows: list[Row]) -> None:
    records = json.loads(table.to_json(rows))
    lines = list(csv.DictReader(io.StringIO(table.to_csv(rows))))
    assert len(records) == len(lines) == 5
    assert records[0]["ledger"] == {"load imbalance & <tail>": 1800, "L2": -200}
    assert (lines[0]["N"], lines[0]["L2"], lines[0]["largest_term_ns"]) == ("16", "-200", "1800")
    assert (records[-1]["state"], lines[-1]["reason"]) == ("failed", "out of <memory>")


def test_the_page_shows_names_as_text(rows: list[Row]) -> None:
    made = page(rows, "a <title>", "flushed")
    body = made.rsplit("<table>", 1)[1]
    assert "a &lt;title&gt;" in made
    assert "other&lt;int&gt;(int)" in body
    assert body.count("<tr") == 1 + len(rows)
    assert made.count("Plotly.newPlot(") == 2  # durations, and the ledgers
    assert "other<int>" not in made


def test_without_dask_one_line_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(cluster.UsageError, match=r"pip install 'warpath\[cluster\]'"):
        next(cluster.run_cluster([point(4)], "tcp://x:1"))
