"""Launches: what the model GPU is told through memory, and which launches are refused with which error."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

import pytest

from tests.driver.conftest import CALLS, CHOOSE, SCALE, Machine
from warpath.command import constbank
from warpath.command.grid import GridWork
from warpath.driver import queries
from warpath.driver.error import CudaError, Error
from warpath.driver.launch import STACK_POINTER
from warpath.driver.limits import max_threads
from warpath.gpu.occupancy import occupancy

FLOAT3 = struct.pack("<3f", 1, 2, 3)


def scale_arguments(out: int = 0x1000, source: int = 0x2000) -> list[bytes]:
    return [struct.pack("<Q", out), struct.pack("<Q", source), FLOAT3]


def test_what_a_launch_says(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    function = m.register(fatbin)
    m.driver.launch(function, (7, 6, 5), (32, 4, 1), scale_arguments(), 256)
    assert m.gpu.launches == []  # nothing has run yet
    assert m.driver.journal.submissions[-1].what == f"launch {SCALE}"
    m.driver.synchronize()
    ((qmd_va, work, qmd),) = m.gpu.launches
    kernel = function.kernel
    assert (work.grid, work.block) == ((7, 6, 5), (32, 4, 1))
    assert work.registers == 16  # the compiler used 10, the driver asks for 16 at least
    assert work.shared == 256 + 1024  # with the driver's reserve
    assert work.local_high == 1024 + 0x240
    assert work.barriers == 1
    assert qmd.get("SASS_VERSION") == 0x89
    code = m.memory.read(work.program_va, len(kernel.code))
    assert code == kernel.code
    banks = {bank.index: bank for bank in work.banks}
    assert sorted(banks) == [0, 3, 4]
    bank = constbank.decode(
        constbank.load_layout("sm_70..sm_89"), m.memory.read(banks[0].va, banks[0].size), kernel.param_base
    )
    assert bank.fields["block"] == (32, 4, 1)
    assert bank.fields["grid"] == (7, 6, 5)
    assert bank.fields["stack_pointer"] == STACK_POINTER == 0xFFFDC0
    assert [bank.fields[name] for name in ("dynamic_shared", "launch_counter", "sm_count")] == [256, 1, 128]
    assert bank.params[:28] == b"".join(scale_arguments())
    assert m.memory.read(banks[3].va, 12) == struct.pack("<3f", 1, 2, 3)
    record = m.driver.journal.launches[0]
    assert (record.qmd_va, record.program_va) == (qmd_va, work.program_va)
    assert record.param_layout == ((0, 8), (8, 8), (16, 12))
    assert record.params == b"".join(scale_arguments())


@pytest.mark.parametrize(("board", "dwords"), [("rtx4090", 195)])
def test_segment_has_the_size_of_a_real_one(
    machine: Callable[..., Machine], fatbin: bytes, board: str, dwords: int
) -> None:
    """Bank, parameters, QMD of 66 dwords inline: one inline launch without a spacer."""
    m = machine(board)
    m.driver.launch(m.register(fatbin), (1, 1, 1), (32, 1, 1), scale_arguments())
    assert m.driver.journal.submissions[-1].dwords == dwords


def test_every_launch_has_memory_of_its_own(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    function = m.register(fatbin)
    for index in range(1100):  # more than there are slots: the first ones are used again
        m.driver.launch(function, (index + 1, 1, 1), (32, 1, 1), scale_arguments(index))
    m.driver.synchronize()
    assert [work.grid[0] for _, work, _ in m.gpu.launches] == list(range(1, 1101))
    assert len({qmd_va for qmd_va, _, _ in m.gpu.launches}) == 1024


def test_launches_of_a_channel_take_turns_at_eight_latches(machine: Callable[..., Machine]) -> None:
    channels = machine("h200").driver.channels
    assert [channels.compute(0).next_latch() for _ in range(9)] == [8, 9, 10, 11, 12, 13, 14, 15, 8]
    assert [channels.compute(index).next_latch() for index in (1, 2, 1)] == [56, 64, 57]


@pytest.mark.parametrize("arguments", [[], [b"\0" * 8] * 2, [b"\0" * 8, b"\0" * 8, b"\0" * 8]])
def test_arguments_must_match(machine: Callable[..., Machine], fatbin: bytes, arguments: list[bytes]) -> None:
    m = machine()
    with pytest.raises(CudaError) as caught:
        m.driver.launch(m.register(fatbin), (1, 1, 1), (32, 1, 1), arguments)
    assert caught.value.code is Error.INVALID_VALUE


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        ((0, 1, 1), (32, 1, 1)),
        ((1, 0, 1), (32, 1, 1)),
        ((1, 65536, 1), (32, 1, 1)),
        ((1, 1, 65536), (32, 1, 1)),
        ((1, 1, 1), (0, 1, 1)),
        ((1, 1, 1), (1025, 1, 1)),
        ((1, 1, 1), (1, 1, 65)),
        ((1, 1, 1), (64, 32, 1)),
    ],
)
@pytest.mark.parametrize(
    ("version", "code"), [(13050, Error.INVALID_VALUE), (12080, Error.INVALID_CONFIGURATION)]
)
def test_bad_dimensions(
    machine: Callable[..., Machine],
    fatbin: bytes,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    version: int,
    code: Error,
) -> None:
    m = machine(runtime_version=version)
    function = m.register(fatbin, CHOOSE)
    with pytest.raises(CudaError) as caught:
        m.driver.launch(function, grid, block, [bytes(8), bytes(4)])
    assert caught.value.code is code
    assert m.driver.error is None  # not sticky


def test_launch_bounds_and_shared_memory(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    function = m.register(fatbin)
    sm = m.driver.spec.sm
    assert max_threads(function.kernel, sm) == 128

    def attempt(threads: int, shared: int = 0) -> Error | None:
        try:
            m.driver.launch(function, (1, 1, 1), (threads, 1, 1), scale_arguments(), shared)
        except CudaError as error:
            return error.code
        return None

    assert attempt(128) is None
    assert attempt(129) is Error.INVALID_VALUE
    assert attempt(32, sm.shared_per_block_bytes) is None
    assert attempt(32, sm.shared_per_block_bytes + 1) is Error.INVALID_VALUE
    size = queries.FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE
    queries.set_attribute(function, size, sm.shared_per_block_optin_bytes, m.driver.spec)
    assert attempt(32, sm.shared_per_block_optin_bytes) is None
    assert attempt(32, sm.shared_per_block_optin_bytes + 1) is Error.INVALID_VALUE
    with pytest.raises(CudaError):
        queries.set_attribute(function, size, sm.shared_per_block_optin_bytes + 1, m.driver.spec)


def test_cooperative_grids_must_be_resident(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    function = m.register(fatbin, CHOOSE)
    spec = m.driver.spec
    room = spec.sms * occupancy(spec.sm, 256, function.kernel.registers).blocks_per_sm
    arguments = [bytes(8), bytes(4)]
    with pytest.raises(CudaError) as caught:
        m.driver.launch(function, (room + 1, 1, 1), (256, 1, 1), arguments, cooperative=True)
    assert caught.value.code is Error.COOPERATIVE_LAUNCH_TOO_LARGE
    m.driver.launch(function, (room, 1, 1), (256, 1, 1), arguments, cooperative=True)
    m.driver.synchronize()
    bank0 = m.gpu.launches[0][1].banks[0]
    high, low = struct.unpack("<II", m.memory.read(bank0.va + 0x8C, 8))
    allocation = m.driver.space.find(high << 32 | low)
    assert allocation is not None  # the grid barrier is memory that kernels can reach


def test_unknown_kernels(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    with pytest.raises(CudaError) as caught:
        m.driver.registry.function(0x1234)
    assert caught.value.code is Error.INVALID_RESOURCE_HANDLE
    m.driver.runtime_version = 12090
    with pytest.raises(CudaError) as caught:
        m.driver.registry.function(0x1234)
    assert caught.value.code is Error.INVALID_DEVICE_FUNCTION
    with pytest.raises(CudaError) as caught:
        m.driver.launch(m.register(fatbin, "_Z4nonev"), (1, 1, 1), (1, 1, 1), [])
    assert caught.value.code is Error.INVALID_DEVICE_FUNCTION


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("illegal_address", Error.ILLEGAL_ADDRESS),
        ("misaligned_address", Error.MISALIGNED_ADDRESS),
        ("illegal_address_space", Error.INVALID_ADDRESS_SPACE),
        ("stack_overflow", Error.ILLEGAL_ADDRESS),
        ("illegal_instruction", Error.ILLEGAL_INSTRUCTION),
        ("device_assert", Error.ASSERT),
        ("trap", Error.LAUNCH_FAILURE),
        ("hang", Error.LAUNCH_TIMEOUT),
    ],
)
def test_faults_come_late_and_stay(
    machine: Callable[..., Machine], fatbin: bytes, kind: str, code: Error
) -> None:
    m = machine()
    function = m.register(fatbin)
    va = m.driver.memory_manager.malloc(64)

    def fail(work: GridWork) -> Mapping[str, object]:
        base = m.module().image.blocks[0].va
        pc = work.program_va - base + 0x40
        message = "a.cu:1: f: Assertion failed.\n"
        return {"kind": kind, "pc": pc, "program_va": work.program_va, "message": message}

    m.gpu.on_launch = fail
    m.driver.launch(function, (1, 1, 1), (32, 1, 1), scale_arguments())
    assert m.driver.sticky_error is None  # the launch itself succeeded
    calls: list[Callable[[], object]] = [
        m.driver.synchronize,
        lambda: m.driver.memory_manager.malloc(4),
        lambda: m.driver.memory_manager.free(va),
        lambda: m.driver.memcpy(va, va, 4, 3),
        lambda: m.driver.memset(va, 0, 4),
        lambda: m.driver.launch(function, (1, 1, 1), (32, 1, 1), scale_arguments()),
        lambda: m.driver.query_stream(m.driver.streams.legacy),
        m.driver.check,
    ]
    for call in calls:
        with pytest.raises(CudaError) as caught:
            call()
        assert caught.value.code is code
    assert m.driver.sticky_error is code
    assert m.driver.error is not None
    assert m.driver.error.detail.startswith("void scale<float, 3>(float *, const float *, float3)+0x40 (")
    # What a failed assertion prints comes from its record in the output FIFO, not from the fault.
    assert [failure for output in m.outputs for failure in output.failures] == []


def test_attributes_and_occupancy_queries(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    spec = m.driver.spec
    function = m.register(fatbin, CALLS)
    found = queries.attributes(function, spec)
    assert (found.registers, found.shared_size, found.const_size, found.local_size) == (24, 128, 32, 8)
    assert (found.max_threads_per_block, found.ptx_version, found.binary_version) == (1024, 89, 89)
    assert found.max_dynamic_shared == spec.sm.shared_per_block_bytes - 128
    assert queries.max_active_blocks(function, 256, 0, spec) == 6
    grid, block = queries.suggest_block_size(function, 0, 0, spec)
    assert (grid, block) == (128 * 2, 768)
    room = queries.available_dynamic_shared(function, 6, 256, spec)
    assert occupancy(spec.sm, 256, 24, 128, room).blocks_per_sm == 6
