"""Our reading of containers and code against NVIDIA's tools, on a program built for every generation."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from warpath.container import relocations
from warpath.container.cubin import Cubin, Kernel
from warpath.container.demangle import demangle, nvidia_style
from warpath.toolchain.disasm import disassemble
from warpath.toolchain.locate import Tools
from warpath.toolchain.process import run_tool
from warpath.toolchain.record import Build

pytestmark = pytest.mark.oracle
CONTAINERS = Path(__file__).resolve().parent.parent / "data" / "containers"
PLANTED = Path(__file__).resolve().parent.parent / "check" / "planted"
GENERATIONS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
every_generation = pytest.mark.parametrize("sm", GENERATIONS)
NAMED = re.compile(r"^(R\d+,)?[$_]")  # an operand that cubin mode prints as a function's name


def cubin_path(compiled: Callable[[str, str], Build], sm: str) -> Path:
    path = compiled("tour", sm).units[0].cubin
    assert path is not None
    return path


@every_generation
def test_raw_text_equals_the_text_for_the_cubin(
    sm: str, compiled: Callable[[str, str], Build], tools: Tools
) -> None:
    path = cubin_path(compiled, sm)
    cubin = Cubin(path.read_bytes())
    assert f"sm_{cubin.sm}" == sm
    document = json.loads(run_tool([tools.nvdisasm, "-json", path]))
    functions = {function["function-name"]: function for function in document[1]}
    assert set(functions) == set(cubin.kernels)
    for name, kernel in cubin.kernels.items():
        raw = disassemble(kernel.code, cubin.sm, tools)
        for mine, theirs in zip(raw, functions[name]["sass-instructions"], strict=True):
            assert mine.predicate == theirs.get("predicate", "")
            assert mine.opcode == theirs["opcode"]
            operands = theirs.get("operands", "")
            if NAMED.match(operands):
                assert mine.operands == operands.replace(*resolved(operands, kernel, cubin))
            else:
                assert mine.operands == operands


def resolved(operands: str, kernel: Kernel, cubin: Cubin) -> tuple[str, str]:
    """The name in the operands, and the offset that raw mode prints for it."""
    name = operands.rpartition(",")[2]
    return name, hex(cubin.functions[name].offset - kernel.offset)


@every_generation
def test_line_table_equals_nvdisasm(sm: str, compiled: Callable[[str, str], Build], tools: Tools) -> None:
    path = cubin_path(compiled, sm)
    cubin = Cubin(path.read_bytes())
    section, line, expected = "", ("", 0), {}
    for text in run_tool([tools.nvdisasm, "-g", "-c", path]).splitlines():
        if match := re.match(r"\s*\.section\s+([^,]+),", text):
            section = match[1]
        elif match := re.match(r'\s*//## File "([^"]+)", line (\d+)$', text):
            line = (match[1], int(match[2]))
        elif match := re.match(r"\s+/\*([0-9a-f]{4,})\*/", text):
            expected[section, int(match[1], 16)] = line
    for kernel in cubin.kernels.values():
        rows = cubin.line_table(kernel.section)
        for row in rows:
            assert expected[kernel.section, row.pc] == (row.file, row.line)
        assert {row.line for row in rows} == {
            line for (where, _), (_, line) in expected.items() if where == kernel.section
        }


@pytest.mark.parametrize("sm", ["sm_75", "sm_89", "sm_120"])
def test_inlined_calls_equal_nvdisasm(sm: str, tools: Tools, tmp_path: Path) -> None:
    source, path = PLANTED / "hangs.cu", tmp_path / "hangs.cubin"
    command = [tools.nvcc, "-cubin", "-lineinfo", "-std=c++17", f"-arch={sm}", source, "-o", path]
    subprocess.run(command, check=True, capture_output=True)
    expected: dict[tuple[str, int], list[tuple[str, int]]] = {}
    section, chain, fresh = "", list[tuple[str, int]](), True
    for text in run_tool([tools.nvdisasm, "-gi", "-c", path]).splitlines():
        if match := re.match(r"\s*\.section\s+(\.text\.[^,\s]+)", text):
            section = match[1]
        elif match := re.match(r'\s*//## File "([^"]+)", line (\d+)', text):
            chain, fresh = [*([] if fresh else chain), (match[1], int(match[2]))], False
        elif match := re.match(r"\s*/\*([0-9a-f]{4,})\*/", text):
            expected[section, int(match[1], 16)], fresh = chain, True
    cubin = Cubin(path.read_bytes())
    sections = {kernel.section for kernel in cubin.kernels.values()}
    rows = [(section, row) for section in sections for row in cubin.line_table(section)]
    assert any(len(row.inlined) > 1 for _, row in rows)
    for section, row in rows:
        assert [(row.file, row.line), *row.inlined] == expected[section, row.pc]


@pytest.mark.parametrize("sm", ["sm_89", "sm_120"])
def test_relocated_values_appear_in_the_disassembly(sm: str, tmp_path: Path, tools: Tools) -> None:
    path = tmp_path / "tour.cubin"
    run_tool([tools.nvcc, "-dc", "-cubin", f"-arch={sm}", "-o", path, CONTAINERS / "tour.cu"])
    cubin = Cubin(path.read_bytes())
    seen: set[str] = set()
    for section in [section for section in cubin.sections if section.name.startswith(".text")]:
        code, values = bytearray(section.data), dict[int, str]()
        for index, entry in enumerate(cubin.relocations(section.name)):
            if not entry.type.startswith(("R_CUDA_ABS", "R_CUDA_UNIFIED")):
                continue
            value = 0x1230 if re.search(r"ABS(16|24)_", entry.type) else 0x7F0012345670 + index * 0x1000
            relocations.apply(code, entry.offset, entry.type, value)
            shown = (
                value >> 32 if "_HI_" in entry.type else value & 0xFFFFFFFF if "32_" in entry.type else value
            )
            values[entry.offset // 16] = hex(shown)
            seen.add(entry.type)
        text = disassemble(bytes(code), cubin.sm, tools)
        for index, shown in values.items():
            assert shown in text[index].operands
    call = "R_CUDA_ABS47_34" if sm == "sm_89" else "R_CUDA_ABS55_16_34"
    assert {"R_CUDA_ABS32_LO_32", "R_CUDA_ABS32_HI_32", "R_CUDA_ABS16_32", call} <= seen


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="needs binutils")
def test_names_equal_cppfilt() -> None:
    names = ["_Z4vaddPKfS0_Pfi", "_Z1gRA3_Ki", "_ZN2at1kILi4ENS_3AddIfEENS_5ArrayIPcLi3EEEEEviT0_T1_"]
    printed = subprocess.run(
        ["c++filt", *names], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [demangle(name) for name in names] == [nvidia_style(text) for text in printed]


def cuobjdump(tools: Tools) -> Path:
    path = tools.root / "bin" / "cuobjdump"
    found = path if path.is_file() else shutil.which("cuobjdump")
    if found is None:
        pytest.skip("nvidia-cuda-cuobjdump is not installed")
    return Path(found)


@every_generation
def test_attributes_and_relocations_are_named_as_cuobjdump_names_them(
    sm: str, compiled: Callable[[str, str], Build], tools: Tools
) -> None:
    path = cubin_path(compiled, sm)
    cubin = Cubin(path.read_bytes())
    text = run_tool([cuobjdump(tools), "-elf", path])
    for name, kernel in cubin.kernels.items():
        part = text.split(f"\n.nv.info.{name}\n")[1].split("\n\n\n")[0]
        theirs = re.findall(r"Attribute:\s+(?:EIATTR_(\w+)|unknown)", part)
        ours = [attribute.name for attribute in kernel.attributes]
        assert ["" if each.startswith("0x") else each for each in ours] == theirs
    theirs = sorted(
        re.findall(r"\b(R_CUDA_[A-Z0-9_]+)", "\n".join(re.findall(r"^0x.*R_CUDA_.*$", text, re.M)))
    )
    ours = sorted(
        entry.type
        for section in cubin.sections
        if not section.name.startswith(".nv.merc")
        for entry in cubin.relocations(section.name)
    )
    assert ours == theirs
