"""Texts of a build that reports show: each kernel's stub, the chevrons that launch it, its PTX, the sources."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from warpath.cli import program_text
from warpath.cli.program_text import ProgramText, ptx_of
from warpath.toolchain.record import Build

POINTERS = "_Z8pointersPi"
MAP = "_Z3mapI4PolyIfLi4EEfEvT_PKT0_PS3_i"


@pytest.fixture(scope="module")
def built(compiled: Callable[[str, str], Build]) -> Build:
    return compiled("p13_templates", "sm_89")


def test_stub_and_chevrons_of_a_kernel_and_of_a_template(built: Build) -> None:
    text = ProgramText(built, [POINTERS, MAP])
    assert "__cudaSetupArgSimple(__par0, 0UL)" in text.stub(POINTERS)
    assert text.stub(MAP).count("__cudaSetupArg") == 4
    assert text.stub("absent") == ""
    assert text.calls("pointers(int *)") == ["(__cudaPushCallConfiguration(1, 64)) ? (void)0 : pointers(d);"]
    assert all("map(" in call for call in text.calls("void map<Poly<float, 4>, float>(Poly<float, 4>, int)"))
    assert text.calls("absent(int)") == []


def test_ptx_is_cut_at_its_limit_and_says_by_how_much(built: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = sum(len(part.text) for part in ptx_of(built, [MAP])[MAP])
    assert lines > 10
    kept, left_out = ProgramText(built, [MAP]).ptx(MAP)
    assert (sum(len(part.text) for part in kept), left_out) == (lines, 0)
    monkeypatch.setattr(program_text, "MOST_PTX", 10)
    kept, left_out = ProgramText(built, [MAP]).ptx(MAP)
    assert (sum(len(part.text) for part in kept), left_out) == (10, lines - 10)


def test_sources_are_the_program_s_own(built: Build) -> None:
    text = ProgramText(built, [MAP])
    text.add_files(["/usr/include/math.h", "/no/such/file.cuh", ""])
    sources = text.sources()
    assert list(sources) == [str(built.units[0].source)]
    assert "template" in next(iter(sources.values()))
