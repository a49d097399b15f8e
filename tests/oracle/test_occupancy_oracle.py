"""Occupancy against NVIDIA's own calculator: cuda_occupancy.h, compiled and swept; answers must be equal."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from warpath.errors import UsageError
from warpath.gpu import spec
from warpath.gpu.occupancy import Occupancy, Request, available_dynamic_shared, evaluate, suggest_block_size

pytestmark = pytest.mark.oracle

UNLIMITED = 2**31 - 1  # INT_MAX in the header
BITS = {"warps": 1, "registers": 2, "shared_mem": 4, "blocks": 8, "barriers": 16}


def header_directory() -> Path:
    """The include directory of the nvidia-cuda-runtime wheel."""
    package = importlib.util.find_spec("nvidia")
    assert package is not None and package.submodule_search_locations is not None
    found = [Path(place) / "cu13" / "include" for place in package.submodule_search_locations]
    return next(path for path in found if (path / "cuda_occupancy.h").exists())


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program = tmp_path_factory.mktemp("occupancy") / "sweep"
    source = Path(__file__).with_name("occupancy_header.cpp")
    command = [compiler, "-std=c++17", "-O1", "-I", str(header_directory()), str(source), "-o", str(program)]
    output_of(command)
    arguments = [str(value) for name in spec.sm_names() for value in device_arguments(spec.load_sm(name))]
    return [line.split() for line in output_of([str(program), *arguments]).splitlines()]


def output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def device_arguments(sm: spec.Sm) -> list[int]:
    return [
        sm.number,
        sm.warp_size,
        sm.max_threads_per_block,
        sm.max_threads,
        sm.registers,
        sm.registers_per_block,
        sm.shared_bytes,
        sm.shared_per_block_bytes,
        sm.shared_per_block_optin_bytes,
        sm.shared_reserved_bytes,
    ]


def limit_lines(answers: list[list[str]]) -> Iterator[tuple[spec.Sm, Request, list[int]]]:
    for line in answers:
        if line[0] == "L":
            sm, threads, registers, static, dynamic, barriers, carveout, ceiling, *out = map(int, line[1:])
            preference = None if carveout < 0 else carveout
            request = Request(threads, registers, static, dynamic, barriers, preference, ceiling)
            yield spec.load_sm(str(sm)), request, out


def flat(occ: Occupancy) -> list[int]:
    """Our answer in the order of a line: blocks, the five limits, allocations."""
    named = [occ.limits[name] for name in ("registers", "shared_mem", "warps", "blocks", "barriers")]
    limits = [UNLIMITED if limit is None else limit for limit in named]
    return [occ.blocks_per_sm, *limits, occ.registers_per_block, occ.shared_per_block]


def test_every_generation_is_swept(answers: list[list[str]]) -> None:
    swept = {f"sm_{line[1]}" for line in answers}
    assert swept == set(spec.sm_names())
    assert len(answers) > 2000 * len(swept)


def test_blocks_and_every_limit_are_equal(answers: list[list[str]]) -> None:
    for sm, request, out in limit_lines(answers):
        assert flat(evaluate(sm, request)) == [*out[:6], *out[7:9]], (sm.name, request)


def test_limiters_are_equal(answers: list[list[str]]) -> None:
    for sm, request, out in limit_lines(answers):
        occ = evaluate(sm, request)
        bits = out[6]
        if out[5] == occ.blocks_per_sm:
            # The header sets its bits before it looks at barriers and does not clear them when barriers are
            # fewer; only bits whose limit is the final one bind.
            bits = sum(bit for name, bit in BITS.items() if bits & bit and occ.limits[name] == out[0])
        assert sum(BITS[name] for name in occ.limiter) == bits, (sm.name, request)


def test_available_dynamic_shared_memory_is_equal(answers: list[list[str]]) -> None:
    for sm, request, out in limit_lines(answers):
        for blocks, expected in zip((1, 2, 4), out[9:], strict=True):
            try:
                room = available_dynamic_shared(sm, request, blocks)
            except UsageError:
                room = -1
            assert room == expected, (sm.name, request, blocks)


def test_suggested_block_size_is_equal(answers: list[list[str]]) -> None:
    for line in answers:
        if line[0] == "P":
            sm, registers, static, per_thread, max_threads, block, blocks = map(int, line[1:])
            suggestion = suggest_block_size(
                spec.load_sm(str(sm)), registers, lambda n, k=per_thread: n * k, static, max_threads
            )
            assert suggestion == (block, blocks), line
