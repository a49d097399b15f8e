"""Instruction semantics against an H200: every recorded form runs on the core and must give the recorded bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from tests.device import recording
from tests.device.coverage import covered, format_report
from tests.device.form import Form
from tests.device.forms import FAMILIES, forms
from tests.device.replay import Family, ReplayError

CASES = [
    pytest.param(family, form, id=f"{family}/{form.name}") for family in FAMILIES for form in forms(family)
]


@cache
def _family(name: str) -> Family:
    return Family(name, recording.cubin(name))


@pytest.mark.parametrize(("family", "form"), CASES)
def test_form_gives_the_recorded_bits(family: str, form: Form) -> None:
    mismatches = _family(family).run(form)
    shown = "\n".join(str(mismatch) for mismatch in mismatches[:8])
    assert not mismatches, f"{len(mismatches)} threads differ from the hardware\n{shown}"


BLACKWELL = ("sm_100", "sm_120")
# Forms whose results on other architectures cannot be held against the H200's.
ELSEWHERE = {
    # ptxas moves the critical section behind the reconvergence there: the kernel deadlocks
    "control/spin.lock": BLACKWELL,
    # QMMA sums fp8 products with another adder than the HMMA that sm_90 has for them
    "tensor/mma.m16n8k32.f32.e4m3.e4m3.f32.full": ("sm_89", "sm_120"),
    "tensor/mma.m16n8k32.f32.e5m2.e5m2.f32.full": ("sm_89", "sm_120"),
    "tensor/mma.m16n8k32.f32.e4m3.e5m2.f32.full": ("sm_89", "sm_120"),
    # single-bit products are built from MOVM.U4TO8.M832, which the core does not declare
    **{f"tensor/{form.name}": BLACKWELL for form in forms("tensor") if ".b1.b1." in form.name},
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sm", recording.OTHERS)
def test_other_architectures_agree_with_the_recorded_bits(sm: str, family: str) -> None:
    loaded = Family(family, recording.cubin(family, sm))
    wrong: list[str] = []
    for form in forms(family):
        name = f"{family}/{form.name}"
        if form.symbol not in loaded.cubin.kernels or sm in ELSEWHERE.get(name, ()):
            continue
        try:
            wrong += [f"{name}: {mismatch}" for mismatch in loaded.run(form)[:2]]
        except ReplayError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_form_is_recorded(family: str) -> None:
    results = recording.load(family).results
    assert [form.name for form in forms(family) if form.name not in results] == []


def test_coverage_does_not_shrink(record_property: Callable[[str, object], None]) -> None:
    seen = covered()
    record_property("opcode forms", len(seen))
    print(format_report(seen))
    assert len(seen) >= 996


def test_a_wrong_result_is_noticed() -> None:
    family, form = _family("integer"), next(f for f in forms("integer") if f.name == "add.s32")
    good = family.recording.results[form.name]
    changed = bytearray(good.data)
    changed[40] ^= 1
    family.recording.results[form.name] = recording.Result(
        good.name, good.threads, good.outputs, good.crc, bytes(changed)
    )
    try:
        assert [mismatch.thread for mismatch in family.run(form)] == [10]
    finally:
        family.recording.results[form.name] = good
