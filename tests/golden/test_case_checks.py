"""Every figure that the cases are described with can be read off a report, and is what the description says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.case_readings import CASES, READINGS, Reports

CHECKS: dict[str, dict[str, Any]] = json.loads((CASES / "checks.json").read_text())

# What the report says instead, and why.
DIFFERENT: dict[tuple[str, str], tuple[Any, str]] = {
    ("c03_empty_kernel_launch", "sass_instructions_nothing"): (
        {"sm_89": 2, "sm_90": 2},
        "this ptxas sets up the stack pointer on sm_89 as well",
    ),
    ("c59_spmv_csr", "scalar_lane_efficiency_pct"): (
        7.1,
        "the description counts trips of the source's loop; unrolled by 16, 8, 4 and 1, more of them run",
    ),
}
# No report holds these.
ELSEWHERE = {
    ("c46_forgotten_dynamic_smem", "max_offset"): "the launch stops at the first access, that of thread 0",
}


def same(expected: Any, actual: Any) -> bool:
    """Equal, numbers to the digits that the description has."""
    if isinstance(expected, dict):
        return expected.keys() == actual.keys() and all(same(expected[key], actual[key]) for key in expected)
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, float):
        digits = len(str(expected).partition(".")[2])
        return abs(actual - expected) <= 0.51 * 10**-digits
    return actual == expected


@pytest.mark.parametrize("case", sorted(CHECKS))
def test_figures_of_a_case(case: str, tmp_path: Path) -> None:
    reports = Reports(case, tmp_path)
    wrong: list[str] = []
    for key, described in CHECKS[case].items():
        if (case, key) in ELSEWHERE:
            continue
        expected, _ = DIFFERENT.get((case, key), (described, ""))
        actual = READINGS[case][key](reports)
        fits = actual in expected if key == "error_any_of" else same(expected, actual)
        if not fits:
            wrong.append(f"{key}: {actual}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_every_difference_is_one() -> None:
    for (case, key), (value, why) in DIFFERENT.items():
        assert why
        assert not same(CHECKS[case][key], value)
    assert all(key in CHECKS[case] for case, key in ELSEWHERE)


def test_numbers_are_compared_to_the_digits_given() -> None:
    assert same(5.33, 5.3333)
    assert not same(5.33, 5.34)
    assert same({"a": [1, 2.5]}, {"a": [1, 2.5]})
    assert not same({"a": 1}, {"a": 1, "b": 2})
    assert not same(4, 4.01)
