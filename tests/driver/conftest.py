"""A driver on a fake memory and GPU, for any board."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.driver.fakes import FakeGpu, FakeMemory, FakeProgram
from warpath.driver.context import Driver
from warpath.driver.module import Function, Module
from warpath.driver.output import Output
from warpath.errors import ToolError
from warpath.gpu.spec import load

ROOT = Path(__file__).resolve().parents[1]
ARENA = (0x7E00_0000_0000, 1 << 30)
SCALE = "_Z5scaleIfLi3EEvPT_PKS0_6float3"
CALLS = "_Z5callsPii"
CHOOSE = "_Z6choosePii"


@dataclass
class Machine:
    """Everything a test looks at."""

    driver: Driver
    gpu: FakeGpu
    memory: FakeMemory
    program: FakeProgram
    outputs: list[Output]

    def register(self, fatbin: bytes, name: str = SCALE) -> Function:
        """The program's start-up code: one fat binary, one kernel."""
        module = self.driver.registry.register_fatbin(fatbin)
        function = self.driver.registry.register_function(module, 0x40_1000, name)
        self.driver.end_registration(module)
        return function

    def module(self, index: int = 0) -> Module:
        return self.driver.modules[index]


def no_assembler(ptx: bytes, sm: str) -> bytes:
    raise ToolError(f"no assembler for {sm} in this test", "ptxas fatal")


@pytest.fixture
def machine() -> Callable[..., Machine]:
    def make(
        board: str = "rtx4090", assemble: Callable[[bytes, str], bytes] = no_assembler, **options: object
    ) -> Machine:
        spec = load(board)
        memory = FakeMemory()
        gpu = FakeGpu(spec, memory)
        memory.reserve(*ARENA)
        outputs: list[Output] = []
        driver = Driver(spec, gpu, memory, assemble, arena=ARENA, on_output=outputs.append, **options)  # type: ignore[arg-type]
        return Machine(driver, gpu, memory, FakeProgram(memory), outputs)

    return make


@pytest.fixture(scope="session")
def fatbin() -> bytes:
    """SASS for sm_89 and PTX for compute_89 of tests/data/containers/tour.cu."""
    return (ROOT / "data" / "containers" / "tour.none.fatbin").read_bytes()
