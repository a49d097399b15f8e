"""Programs of the kind people bring (CUB, Thrust, cooperative groups, wmma, -dc, driver API, cuRAND ...).

Expected output was recorded on an H200.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.smoke.programs import BOARDS, build_for, warpath

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
EXPECTED = json.loads((PROGRAMS / "expected.json").read_text())
SOURCES = {"p14_separate_main": ("p14_separate_main.cu", "p14_separate_other.cu")}
GENERATIONS = (90, 120)  # CUB and Thrust compile slowly: the other generations run when asked for
MORE = (75, 89)


def _options(name: str) -> list[str]:
    if name == "p14_separate_main":
        return ["-rdc=true"]
    if name == "p18_curand_walk":
        headers = [Path(entry) / "nvidia" / "cu13" / "include" for entry in sys.path if entry]
        return [f"-I{folder}" for folder in headers if (folder / "curand_kernel.h").is_file()]
    return []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "generation", [*GENERATIONS, *(pytest.param(g, marks=pytest.mark.slow) for g in MORE)]
)
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_program_prints_what_the_h200_printed(name: str, generation: int) -> None:
    sources = [PROGRAMS / source for source in SOURCES.get(name, (f"{name}.cu",))]
    together = GENERATIONS if generation in GENERATIONS else [generation]
    program = build_for(sources, together, *_options(name))
    outcome = warpath("run", "--quiet", "--functional", "--gpu", BOARDS[generation], program)
    assert outcome.stdout == EXPECTED[name]["stdout"], outcome.stderr
    assert outcome.code == EXPECTED[name]["exit_code"]
