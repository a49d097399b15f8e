"""Instruction semantics against an H200: every recorded form runs on the core and must give the recorded bits."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from device import recording  # noqa: E402
from device.coverage import covered, format_report  # noqa: E402
from device.form import Form  # noqa: E402
from device.forms import FAMILIES, forms  # noqa: E402
from device.replay import Family  # noqa: E402

CASES = [pytest.param(family, form, id=f"{family}/{form.name}") for family in FAMILIES for form in forms(family)]


@cache
def _family(name: str) -> Family:
    return Family(name, recording.cubin(name))


@pytest.mark.parametrize(("family", "form"), CASES)
def test_form_gives_the_recorded_bits(family: str, form: Form) -> None:
    mismatches = _family(family).run(form)
    shown = "\n".join(str(mismatch) for mismatch in mismatches[:8])
    assert not mismatches, f"{len(mismatches)} threads differ from the hardware\n{shown}"


def test_every_form_is_recorded() -> None:
    absent = [f"{f}/{form.name}" for f in FAMILIES for form in forms(f) if form.name not in recording.load(f).results]
    assert not absent


def test_coverage_does_not_shrink(record_property: pytest.FixtureRequest) -> None:
    seen = covered()
    record_property("opcode forms", len(seen))
    print(format_report(seen))
    assert len(seen) >= 900


def test_a_wrong_result_is_noticed() -> None:
    family, form = _family("integer"), next(f for f in forms("integer") if f.name == "add.s32")
    good = family.recording.results[form.name]
    changed = bytearray(good.data)
    changed[40] ^= 1
    family.recording.results[form.name] = recording.Result(good.name, good.threads, good.outputs, good.crc, bytes(changed))
    try:
        assert [mismatch.thread for mismatch in family.run(form)] == [10]
    finally:
        family.recording.results[form.name] = good
