"""Errors that few programs see, from the program's side: which call returns them, and that they stay or not.

As an H200 answers (driver 580, runtime 13): tests/data/check/h200_sanitizer.json.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.check.planted_kit import PLANTED
from tests.smoke.programs import BOARDS, Outcome, build_for, warpath
from warpath.container.elf import Elf
from warpath.toolchain.locate import Tools

GENERATIONS = [75, 89, 90, 120]
STICKY = "peek 0\nget 0\nsync {0}\npeek {0}\nget {0}\nget 0\nfree {0}\n"
FINE = STICKY.format(0)
RECORD = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "check" / "h200_sanitizer.json").read_text()
)
NO_INSTRUCTION = 0xFFF  # bits 11:0 of an instruction are its opcode


def run(generation: int, *arguments: str | Path) -> Outcome:
    program = build_for([PLANTED / "errors.cu"], list(BOARDS))
    return warpath("run", "-q", "--gpu", BOARDS[generation], program, "--", *arguments)


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("kind", ["atomic", "reduction"])
def test_an_atomic_on_local_memory_is_no_error(kind: str, generation: int) -> None:
    assert run(generation, kind, "1").stdout == FINE
    assert run(generation, kind, "9").stdout == FINE


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("shared", ["0", "1"])
@pytest.mark.parametrize("kind", ["atom", "cas", "red", "load", "nc_load", "store"])
def test_717_an_instruction_for_global_memory_alone(kind: str, shared: str, generation: int) -> None:
    outcome = run(generation, f"global_{kind}", shared)
    assert outcome.stdout == STICKY.format(717)
    assert "Invalid Address Space" in outcome.stderr
    assert "is to an address space that the instruction does not take" in outcome.stderr
    assert f"An address of {'shared' if shared == '1' else 'local'} memory" in outcome.stderr


@pytest.mark.parametrize("generation", GENERATIONS)
def test_700_a_recursion_that_is_too_deep(generation: int) -> None:
    outcome = run(generation, "recursion", "1000")
    assert outcome.stdout == STICKY.format(700)
    assert "Stack overflow" in outcome.stderr
    assert "cudaLimitStackSize" in outcome.stderr
    assert run(generation, "recursion", "2").stdout == FINE


def patched(tools: Tools, generation: int, folder: Path, *, broken: bool) -> Path:
    """A cubin whose kernel `broken` begins with bytes that are no instruction, or is as it should be."""
    source, cubin = folder / "broken.cu", folder / "broken.cubin"
    source.write_text('extern "C" __global__ void broken(int* p) { p[threadIdx.x] += 1; }\n')
    command = [tools.nvcc, "-cubin", f"-arch=sm_{generation}", "-o", cubin, source]
    subprocess.run(command, check=True, capture_output=True)
    image = bytearray(cubin.read_bytes())
    if broken:
        (code,) = (section for section in Elf(bytes(image)).sections if section.name == ".text.broken")
        first = int.from_bytes(image[code.offset : code.offset + 2], "little") | NO_INSTRUCTION
        image[code.offset : code.offset + 2] = first.to_bytes(2, "little")
    cubin.write_bytes(image)
    return cubin


@pytest.mark.parametrize("generation", GENERATIONS)
def test_715_bytes_that_are_no_instruction(generation: int, tools: Tools, tmp_path: Path) -> None:
    loaded = "load 0\nfunction 0\nlaunch 0\n"
    outcome = run(generation, "module", patched(tools, generation, tmp_path, broken=True))
    assert outcome.stdout == loaded + STICKY.format(715)
    assert "Illegal Instruction Encoding" in outcome.stderr
    assert "the bytes here are no instruction: " in outcome.stderr
    healthy = run(generation, "module", patched(tools, generation, tmp_path, broken=False))
    assert healthy.stdout == loaded + FINE


def test_400_a_host_function_is_no_kernel() -> None:
    outcome = run(89, "function", "0")
    assert outcome.stdout == "call 400\npeek 400\nget 400\nsync 0\npeek 0\nget 0\nget 0\nfree 0\n"
    assert "no kernel is registered at" in outcome.stderr
    assert run(89, "function", "1").stdout == "call 0\n" + FINE


# Recorded by record.py.
@pytest.mark.parametrize("real", RECORD["errors"], ids=lambda real: "-".join(real["arguments"]))
def test_an_h200_answers_the_same(real: dict[str, Any], tools: Tools, tmp_path: Path) -> None:
    kind, argument = real["arguments"]
    given = patched(tools, 90, tmp_path, broken=argument == "broken") if kind == "module" else argument
    assert run(90, kind, given).stdout == real["stdout"]
