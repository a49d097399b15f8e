"""Writes docs/cases.md: what warpath says of each case of tests/cases, from runs made now.

    python benchmarks/cases_page.py [CASE ...] > docs/cases.md

Programs run on the default board with its clock, caches left as they are; those that end in a fault run under
`warpath check`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from warpath.cli.target import shim_directory
from warpath.report.model import Fault, Report
from warpath.toolchain.build import build

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases"
# An endless launch is stopped here; c42, which spins a lot, ends long before.
INSTRUCTIONS = 300_000
LEAST_ADDRESS = 1000  # a call's result below it is an error code, above it a pointer or handle
FOREIGN = {"c37_no_kernel_image": "sm_90"}  # built for another generation than the board's
HEAD = """# What warpath says of the cases

Made by `python benchmarks/cases_page.py` from runs on the model `{board}`; `tests/golden/test_case_checks.py` compares
the figures of each case with its description. A rule that fires for several launches is shown once, with how often.

| case | what it says |
|---|---|"""


def main() -> None:
    """Print the page."""
    expected = json.loads((CASES / "expected.json").read_text())
    wanted = sys.argv[1:] or sorted(expected)
    rows: list[str] = []
    board = ""
    for case in wanted:
        report = run(case, faulty=expected[case]["fault"] is not None)
        board = report.gpu.name
        rows.append(f"| `{case}` | {'<br>'.join(said(report)) or 'nothing: no rule fires'} |")
    print(HEAD.format(board=board), *rows, sep="\n")


def run(case: str, faulty: bool) -> Report:
    """The report of one case."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        program = CASES / f"{case}.cu"
        if case in FOREIGN:
            program = build([program], FOREIGN[case], shim_directory(), ("-std=c++17",)).program
        command = ["check", "--instructions", str(INSTRUCTIONS)] if faulty else ["run", "--quiet"]
        subprocess.run(
            [sys.executable, "-m", "warpath", *command, "--json", file, program],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,  # faulty programs end with an error of their own
        )
        return msgspec.json.decode(file.read_bytes(), type=Report)


def said(report: Report) -> Iterator[str]:
    """Faults; without any, the first call that failed, and diagnoses, one of each kind, kernel and place."""
    if report.faults:
        yield from (f"**{fault.kind}**: {cell(words(fault))}" for fault in report.faults)
        return
    failed = [
        call for call in report.api if 0 < call.result < LEAST_ADDRESS and not call.call.startswith("__cuda_")
    ]
    if failed:
        why = f": {cell(failed[0].detail)}" if failed[0].detail else ""
        yield f"**{failed[0].call} returned {failed[0].result}**{why}"
    texts: dict[tuple[str, str, str], list[str]] = {}
    for launch in report.launches:
        for each in launch.diagnoses:
            place = f"{each.file}:{each.line}" if each.line else ""
            texts.setdefault((each.key, launch.kernel, place), []).append(each.text)
    for (key, kernel, _), found in texts.items():
        name = kernel.removeprefix("void ").partition("(")[0]
        times = f" ({len(found)} launches; the first)" if len(found) > 1 else ""
        yield f"**{key}** `{name}`{times}: {cell(found[0])}"


def words(fault: Fault) -> str:
    """Title, place, and what followed in compute-sanitizer's words or our own first ones."""
    at = f" at {fault.site.where} by {fault.site.who}" if fault.site and " at " not in fault.title else ""
    notes = [note for note in fault.notes[:3] if not note.endswith(":") and not note.startswith(" ")]
    more = "; ".join([*fault.details, *notes])
    return f"{fault.title or fault.message}{at}{f': {more}' if more else ''}"


def cell(text: str) -> str:
    """Text that cannot end a table cell, without the folders of this machine."""
    return text.replace(f"{CASES}/", "").replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    main()
