"""The JSON Schema of reports: made from the record types, so that it says what `--json` writes and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec

from warpath.report.model import SCHEMA, Report

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAME = f"report-{SCHEMA}.json"


def schema() -> dict[str, Any]:
    """The schema of `Report`. Reports may hold more than it names: keys are added, never renamed."""
    made = msgspec.json.schema(Report)
    made["$defs"]["Report"]["properties"]["schema"]["const"] = SCHEMA
    return {"$schema": DIALECT, "title": f"warpath report, schema {SCHEMA}", **made}


def text() -> str:
    """The published file."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=1).decode() + "\n"
