"""Every case program on every generation prints what it must and ends as it must."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.smoke.programs import BOARDS, build_for, warpath

CASES = Path(__file__).resolve().parents[1] / "cases"
EXPECTED = json.loads((CASES / "expected.json").read_text())
HANGS = {name for name, case in EXPECTED.items() if (case["fault"] or "").startswith("hang")}
RUNNABLE = sorted(set(EXPECTED) - HANGS)


@pytest.mark.parametrize("generation", BOARDS)
@pytest.mark.parametrize("case", RUNNABLE)
def test_case_prints_what_a_gpu_prints(case: str, generation: int) -> None:
    program = build_for([CASES / f"{case}.cu"], list(BOARDS))
    outcome = warpath("run", "--quiet", "--functional", "--gpu", BOARDS[generation], program)
    expected = EXPECTED[case]
    assert outcome.stdout.strip() == expected["stdout"].strip(), outcome.stderr
    assert outcome.code == expected["exit_code"]


@pytest.mark.parametrize("case", sorted(name for name in RUNNABLE if EXPECTED[name]["h200"]))
def test_expected_output_is_what_the_h200_printed(case: str) -> None:
    real = EXPECTED[case]["h200"]
    assert real["stdout"].strip() == EXPECTED[case]["stdout"].strip()
    assert real["exit_code"] == EXPECTED[case]["exit_code"]
