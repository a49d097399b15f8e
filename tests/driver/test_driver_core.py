"""The driver, the front end and the compiled core together: a kernel's results come back through every layer."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import pytest

from tests.driver.conftest import ARENA, SCALE
from tests.driver.fakes import FakeProgram
from warpath.command.grid import GridWork
from warpath.driver.context import Driver
from warpath.driver.transfer import CopyKind
from warpath.frontend.gpu import ModelGpu
from warpath.gpu.spec import load
from warpath.toolchain.disasm import disassemble
from warpath.toolchain.jit import assemble_ptx

core = pytest.importorskip("warpath._core")
HOST, BACK = 0x5555_0000_0000, 0x5555_4000_0000


class Watch:
    """Keeps what the front end says of each launch."""

    def __init__(self) -> None:
        self.launches: list[Any] = []

    def on_launch(self, launch: Any) -> None:
        self.launches.append(launch)


@pytest.mark.oracle
@pytest.mark.parametrize("board", ["rtx4090", "h200", "b200", "rtx5090"])
def test_a_kernel_computes_on_memory_copied_in_and_out(board: str, fatbin: bytes) -> None:
    spec = load(board)
    memory = core.Memory()
    memory.reserve(*ARENA)
    gpu = ModelGpu(spec, memory, partial(disassemble, sm=spec.sm.number))
    watch = Watch()
    gpu.observers.append(watch)
    driver = Driver(spec, gpu, memory, assemble_ptx, arena=ARENA)
    program = FakeProgram(memory)
    function = driver.registry.register_function(driver.registry.register_fatbin(fatbin), 1, SCALE)
    count = 100
    source, out = (driver.memory_manager.malloc(4 * count) for _ in range(2))
    program.own.write(HOST, struct.pack(f"<{count}f", *range(count)))
    driver.memcpy(source, HOST, 4 * count, CopyKind.HOST_TO_DEVICE, mover=program)
    arguments = [struct.pack("<Q", out), struct.pack("<Q", source), struct.pack("<3f", 9, 0.5, 9)]
    driver.launch(function, (1, 1, 1), (count, 1, 1), arguments)
    driver.memcpy(BACK, out, 4 * count, CopyKind.DEVICE_TO_HOST, mover=program)
    values = struct.unpack(f"<{count}f", program.own.read(BACK, 4 * count))
    assert values == tuple(0.5 * index + 3 for index in range(count))
    (launch,) = watch.launches
    record = driver.journal.launches[0]
    work = launch.work
    assert isinstance(work, GridWork)
    assert (work.grid, work.block, work.program_va) == (record.grid, record.block, record.program_va)
    assert launch.params[: len(record.params)] == record.params
    assert launch.bank.fields["block"] == (count, 1, 1)
    assert launch.submission.raw == driver.journal.submissions[record.submission].entry
