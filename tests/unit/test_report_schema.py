"""The published JSON Schema is that of the record types, and a report that breaks it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from warpath.cli import main
from warpath.report import schema

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "docs" / "schema" / schema.NAME
TRACES = ROOT / "tests" / "data" / "traces"


def validator() -> Any:
    made = json.loads(PUBLISHED.read_text())
    jsonschema.Draft202012Validator.check_schema(made)
    return jsonschema.Draft202012Validator(made)


def test_the_published_schema_is_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    assert main(["doctor", "--schema", str(path)]) == 0
    assert json.loads(path.read_text()) == json.loads(PUBLISHED.read_text()), "run `make schema`"


def test_doctor_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    assert f"docs/schema/{schema.NAME}" in capsys.readouterr().out


def test_every_record_says_what_it_is() -> None:
    records = json.loads(PUBLISHED.read_text())["$defs"]
    assert {"Report", "Launch", "Timeline", "WarpSpan", "LedgerTerm"} <= set(records)
    assert not [name for name, record in records.items() if not record.get("description")]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("schema") / "r.json"
    assert main(["trace", "--show", str(TRACES / "vadd_measured.trace.xz"), "--json", str(path)]) == 0
    return json.loads(path.read_bytes())


def test_a_recording_s_report_is_valid(recorded: dict[str, Any]) -> None:
    validator().validate(recorded)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("schema",), 2),
        (("launches", 0, "grid"), "1x1x1"),
        (("launches", 0, "duration_ns"), 1.5),
        (("gpu", "sms"), None),
        (("api", 0, "call"), 7),
    ],
)
def test_a_report_that_breaks_it_is_refused(
    recorded: dict[str, Any], place: tuple[Any, ...], value: object
) -> None:
    broken = json.loads(json.dumps(recorded))
    at = broken
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(broken)


def test_a_report_that_lacks_a_key_is_refused_and_one_with_more_is_not(recorded: dict[str, Any]) -> None:
    validator().validate({**recorded, "later": 1})
    with pytest.raises(jsonschema.ValidationError, match="launches"):
        validator().validate({key: value for key, value in recorded.items() if key != "launches"})
