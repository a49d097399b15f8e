"""Modules: which member is taken, when it is loaded, and where everything ends up."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.driver.conftest import CALLS, ROOT, SCALE, Machine
from warpath.container.cubin import Cubin
from warpath.container.fatbin import FLAG_ARCH_SPECIFIC, FLAG_FAMILY, Fatbin, Member
from warpath.driver import syscalls
from warpath.driver.error import CudaError, Error
from warpath.driver.image import Image, Placement
from warpath.driver.module import choose_member, ptx_member
from warpath.errors import FormatError, UnsupportedError
from warpath.gpu.spec import load
from warpath.toolchain.disasm import disassemble
from warpath.toolchain.jit import assemble_ptx
from warpath.toolchain.locate import Tools

SUFFIX = {"a": FLAG_ARCH_SPECIFIC, "f": FLAG_FAMILY, "": 0}
ARGUMENTS = [bytes(8), bytes(8), bytes(12)]


def member(name: str) -> Member:
    """`elf90a`, `ptx75`."""
    suffix = name[-1] if name[-1] in "af" else ""
    return Member(name[:3], int(name[3:].rstrip("af")), (8, 0), SUFFIX[suffix], "", b"", 0)


@pytest.mark.parametrize(
    ("board", "members", "expected"),
    [
        ("rtx4090", ["elf75", "elf80", "elf86", "elf89", "elf90", "ptx89"], "elf89"),
        ("rtx4090", ["elf80", "elf86", "elf90", "ptx89"], "elf86"),
        ("rtx4090", ["elf75", "elf90", "ptx75", "ptx80", "ptx90"], "ptx80"),
        ("rtx4090", ["elf75", "elf90", "ptx90"], None),
        ("h200", ["elf90", "elf90a", "ptx90"], "elf90a"),
        ("h200", ["elf89", "ptx90a"], "ptx90a"),
        ("b200", ["elf90a", "ptx90a"], None),
        ("b200", ["elf90", "ptx90"], "ptx90"),
        ("b200", ["elf100f", "ptx90"], "elf100f"),
        ("rtx5090", ["elf100f", "elf100", "ptx100f"], None),
        ("t4", [], None),
    ],
)
def test_choice_of_member(board: str, members: list[str], expected: str | None) -> None:
    found = choose_member(Fatbin([member(name) for name in members]), load(board).sm)
    assert (found and f"{found.kind}{found.sm}{found.suffix}") == expected


def test_nothing_is_uploaded_before_the_first_launch(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    function = m.register(fatbin)
    m.driver.memory_manager.malloc(100)
    assert not m.module().loaded
    m.driver.launch(function, (1, 1, 1), (32, 1, 1), ARGUMENTS)
    m.driver.launch(function, (1, 1, 1), (32, 1, 1), ARGUMENTS)
    (event,) = m.driver.journal.loads
    assert event.reason == f"launch of {SCALE}"
    assert (event.member, event.jit, event.before_launch) == ("SASS sm_89", False, 0)
    assert event.bytes == sum(upload.bytes for upload in event.uploads)
    names = [s.what for s in m.driver.journal.submissions]
    first = names.index("upload code of module 0")
    assert names[-4:] == [
        "invalidate instruction cache",
        "invalidate constant cache",
        f"launch {SCALE}",
        f"launch {SCALE}",
    ]
    assert first < len(names) - 4


def test_loading_is_over_when_the_call_returns(machine: Callable[..., Machine], fatbin: bytes) -> None:
    """Else a copy in another stream could be overwritten by the upload of what it copies to."""
    m = machine()
    table = m.driver.load_module(fatbin).variable("table")
    assert struct.unpack("<4i", m.memory.read(table.va, 16)) == (1, 2, 3, 4)
    m = machine()
    stream = m.driver.streams.create(blocking=False)
    m.driver.launch(m.register(fatbin), (1, 1, 1), (32, 1, 1), ARGUMENTS, stream=stream)
    assert struct.unpack("<4i", m.memory.read(m.module().variable("table").va, 16)) == (1, 2, 3, 4)
    assert not m.gpu.launches  # the launch itself is not waited for


def test_eager_loading_uploads_at_the_end_of_registration(
    machine: Callable[..., Machine], fatbin: bytes
) -> None:
    m = machine(eager=True)
    m.register(fatbin)
    assert [event.reason for event in m.driver.journal.loads] == ["eager loading"]


def test_no_code_for_the_gpu_is_error_209_at_first_use(
    machine: Callable[..., Machine], fatbin: bytes
) -> None:
    for eager in (False, True):
        m = machine("t4", eager=eager)
        function = m.register(fatbin)
        with pytest.raises(CudaError) as caught:
            m.driver.launch(function, (1, 1, 1), (32, 1, 1), ARGUMENTS)
        assert caught.value.code is Error.NO_KERNEL_IMAGE_FOR_DEVICE
        assert m.driver.error is None


@pytest.mark.oracle
def test_ptx_is_assembled_when_no_sass_fits(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine("h200", assemble=assemble_ptx)
    m.driver.launch(m.register(fatbin), (1, 1, 1), (32, 1, 1), ARGUMENTS)
    (event,) = m.driver.journal.loads
    assert (event.member, event.jit) == ("PTX compute_89", True)
    assert m.module().cubin.sm == 90


def test_ptx_that_does_not_assemble_is_error_218(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine("h200")
    with pytest.raises(CudaError) as caught:
        m.driver.launch(m.register(fatbin), (1, 1, 1), (32, 1, 1), ARGUMENTS)
    assert caught.value.code is Error.INVALID_PTX
    assert "ptxas fatal" in str(caught.value)


def test_variables_have_addresses_and_initial_values(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    m.register(fatbin)
    m.driver.registry.register_variable(m.module(), 0x7000, "table")
    table = m.driver.registry.variable(0x7000)
    assert m.driver.journal.loads[0].reason == "first use"
    m.driver.synchronize()
    assert (table.size, table.is_constant) == (16, False)
    assert struct.unpack("<4i", m.memory.read(table.va, 16)) == (1, 2, 3, 4)
    third = m.module().variable("third")
    assert int.from_bytes(m.memory.read(third.va, 8), "little") == table.va + 8  # relocated pointer
    assert m.driver.memory_manager.classify(table.va).visible
    constant = m.module().variable("coefficients")
    assert constant.is_constant
    m.driver.memcpy(constant.va, table.va, 16, 3)
    assert struct.unpack("<4i", m.memory.read(constant.va, 16)) == (1, 2, 3, 4)
    for call in (lambda: m.driver.registry.variable(1), lambda: m.module().variable("nothing")):
        with pytest.raises(CudaError) as caught:
            call()
        assert caught.value.code in (Error.INVALID_SYMBOL, Error.SYMBOL_NOT_FOUND)


def test_system_calls_resolve_to_slots_that_describe_themselves(
    machine: Callable[..., Machine], fatbin: bytes
) -> None:
    m = machine()
    m.driver.launch(m.register(fatbin, CALLS), (1, 1, 1), (32, 1, 1), [bytes(8), bytes(4)])
    m.driver.synchronize()
    bank4 = next(bank for bank in m.gpu.launches[0][1].banks if bank.index == 4)
    entries = struct.unpack("<5Q", m.memory.read(bank4.va, 40))
    slot = syscalls.slot_address("vprintf")
    assert slot is not None
    assert entries[4] == slot
    mark, name, fifo, size = struct.unpack("<16s48sQQ", m.memory.read(slot, 80))
    assert (mark, name.rstrip(b"\0")) == (syscalls.MARK, b"vprintf")
    assert size == 1 << 20
    assert entries[3] == m.module().image.address(".nv.global.init", 24)
    text = b"negative -2\n".ljust(16, b"\0")
    record = struct.pack("<II", 8 + 12, syscalls.TEXT_RECORD) + text
    m.memory.write(fifo, struct.pack("<QQ", 16 + len(record), 0) + record)
    m.driver.synchronize()
    assert [output.printed for output in m.outputs] == [b"negative -2\n"]


def test_unloading_frees_everything(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    module = m.driver.load_module(fatbin)
    blocks = {block.va for block in module.image.blocks}
    assert len(blocks) == 6  # code, two kinds of variables, banks 2, 3 and 4
    assert blocks <= m.memory.live.keys()
    m.driver.unload_module(module)
    assert not blocks & m.memory.live.keys()
    assert not module.loaded


def test_module_images_of_all_kinds(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine("rtx4090", assemble=lambda ptx, sm: _cubin("sm_89"))
    for image in (fatbin, _cubin("sm_89"), Fatbin.parse(fatbin).ptxs()[0].payload() + b"\0"):
        module = m.driver.load_module(image)
        assert SCALE in module.cubin.kernels
    for wrong, code in (
        (b"", Error.INVALID_KERNEL_IMAGE),
        (b"nonsense", Error.INVALID_KERNEL_IMAGE),
        (fatbin[:200], Error.INVALID_KERNEL_IMAGE),
        (_cubin("sm_89")[:500], Error.INVALID_KERNEL_IMAGE),
        (_cubin("sm_120"), Error.NO_KERNEL_IMAGE_FOR_DEVICE),
    ):
        with pytest.raises(CudaError) as caught:
            m.driver.load_module(wrong)
        assert caught.value.code is code


def test_reset_forgets_everything_but_registrations(machine: Callable[..., Machine], fatbin: bytes) -> None:
    m = machine()
    function = m.register(fatbin)
    m.driver.memory_manager.malloc(1 << 20)
    m.gpu.on_launch = lambda work: {"kind": "trap"}
    m.driver.launch(function, (1, 1, 1), (32, 1, 1), ARGUMENTS)
    with pytest.raises(CudaError):
        m.driver.synchronize()
    m.gpu.on_launch = lambda work: None
    m.gpu.faults.clear()
    m.driver.reset()
    free, total = m.driver.memory_manager.info()
    assert free == total
    m.driver.launch(function, (1, 1, 1), (32, 1, 1), ARGUMENTS)
    m.driver.synchronize()
    assert len(m.driver.journal.loads) == 2


def test_ptx_text_as_a_member() -> None:
    found = ptx_member(b"//\n.version 8.3\n.target sm_90a, debug\n.address_size 64\n\0")
    assert (found.kind, found.sm, found.suffix, found.version) == ("ptx", 90, "a", (8, 3))
    with pytest.raises(FormatError):
        ptx_member(b".version 8.3\n")


def _cubin(sm: str) -> bytes:
    return (ROOT / "data" / "containers" / f"tour.{sm}.cubin").read_bytes()


def _linked(cubin: Cubin) -> Image:
    image = Image(cubin)
    next_va = 0x6900_0000_0000

    def allocate(placement: Placement) -> int:
        nonlocal next_va
        va = next_va
        next_va += (placement.size + 0xFFF) & ~0xFFF
        return va

    image.link(allocate)
    return image


RELOCATABLE = """
__device__ int counter; __device__ int table[3] = {7, 8, 9}; __constant__ int bank[4] = {1};
typedef int (*Call)(int);
__device__ __noinline__ int one(int x) { return x + counter; }
__device__ __noinline__ int two(int x) { return x * table[x & 1]; }
__device__ Call calls[2] = {one, two};
__constant__ Call fixed[1] = {two};
__global__ void choose(int *out, int n) {
  Call f = n > 2 ? one : two;
  out[0] = calls[n & 1](n) + f(n) + fixed[0](3) + bank[n];
}
"""


@pytest.mark.oracle
@pytest.mark.parametrize("sm", ["sm_75", "sm_89", "sm_90", "sm_120"])
def test_linked_code_calls_and_points_to_the_right_places(tools: Tools, tmp_path: Path, sm: str) -> None:
    """Separately compiled code keeps all its relocations for the loader; nvdisasm shows where they lead."""
    source = tmp_path / "k.cu"
    source.write_text(RELOCATABLE)
    arch = f"-arch={sm}"
    subprocess.run([tools.nvcc, arch, "-rdc=true", "-cubin", source, "-o", tmp_path / "k.o"], check=True)
    nvlink = tools.nvcc.with_name("nvlink")
    subprocess.run([nvlink, arch, tmp_path / "k.o", "-o", tmp_path / "k.cubin"], check=True)
    cubin = Cubin((tmp_path / "k.cubin").read_bytes())
    image = _linked(cubin)
    places = {name: image.address(f.section, f.offset) for name, f in cubin.functions.items()}
    variables = {name: image.address(v.section, v.offset) for name, v in cubin.globals.items()}
    data = {block.placement.what: block for block in image.blocks}
    pointers = data[".nv.global.init"]
    start = variables["calls"] - pointers.va
    assert struct.unpack_from("<2Q", pointers.data, start) == (places["_Z3onei"], places["_Z3twoi"])
    fixed = data[".nv.constant3"]
    assert struct.unpack_from("<Q", fixed.data, variables["fixed"] - fixed.va) == (places["_Z3twoi"],)
    code = data["code"]
    text = " ".join(f"{i.opcode} {i.operands}" for i in disassemble(code.data, cubin.sm, tools))
    for va in (places["_Z3onei"], places["_Z3twoi"], variables["counter"], variables["table"]):
        assert f"{va & 0xFFFFFFFF:#x}" in text, hex(va)


def test_unknown_externals_are_refused_by_name() -> None:
    data = _cubin("sm_89").replace(b"vprintf\0", b"vprintg\0")
    with pytest.raises(UnsupportedError, match="vprintg"):
        _linked(Cubin(data))


@pytest.mark.parametrize("sm", ["sm_75", "sm_89", "sm_120"])
def test_images_are_complete(sm: str) -> None:
    cubin = Cubin(_cubin(sm))
    image = _linked(cubin)
    ranges = sorted((block.va, block.va + block.placement.size) for block in image.blocks)
    assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    for function in cubin.functions.values():
        assert image.address(function.section, 0) % 128 == 0
    assert {block.placement.what for block in image.blocks} >= {"code", ".nv.global", ".nv.global.init"}
