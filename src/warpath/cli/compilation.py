"""Compile facts for the report: stages, registers before and after, parameters, what ptxas fused."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator

from warpath.cli.cubins import listing, program_cubins
from warpath.container import fatbin
from warpath.container.cubin import Cubin, Kernel
from warpath.errors import UsageError
from warpath.gpu.spec import Gpu
from warpath.report.model import CompileInfo, KernelInfo, ParamInfo, StageInfo
from warpath.toolchain.record import Build

# SASS forms that do the work of several PTX instructions, with what they replace.
FUSED = {
    "IMAD.WIDE": "multiply-and-extend, then 64-bit add: address arithmetic",
    "LEA": "shift, then add",
    "IADD3": "two additions",
    "LOP3": "two logic operations",
    "FFMA": "multiply and add",
    "DFMA": "multiply and add in double precision",
    "HFMA2": "two half-precision multiply-adds",
}
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]+)"')


def describe(build: Build, gpu: Gpu) -> CompileInfo:
    """The compile section of the report for a finished build."""
    members = [
        f"{member.kind} {'compute' if member.kind == 'ptx' else 'sm'}_{member.sm}{member.suffix}"
        for each in fatbin.from_elf(build.program.read_bytes(), str(build.program))
        for member in each.members
    ]
    kernels = {
        kernel.name: _kernel(build, cubin, kernel)
        for cubin in _cubins(build, gpu)
        for kernel in cubin.kernels.values()
    }
    stages = [
        StageInfo(
            name=stage.name, tool=stage.tool, output=stage.output, bytes=stage.bytes, seconds=stage.seconds
        )
        for stage in build.stages
    ]
    return CompileInfo(
        cached=build.cached, stages=stages, kernels=kernels, members=members, files=build.files
    )


def _cubins(build: Build, gpu: Gpu) -> Iterator[Cubin]:
    """The program's cubins; none when its sources have no kernel."""
    with contextlib.suppress(UsageError):
        yield from program_cubins(build.program, gpu)


def _kernel(build: Build, cubin: Cubin, kernel: Kernel) -> KernelInfo:
    code = listing(cubin, kernel)
    fused: Counter[str] = Counter()
    for instruction in code:
        for form in FUSED:
            if instruction.opcode == form or instruction.opcode.startswith(form + "."):
                fused[form] += 1
    return KernelInfo(
        demangled=kernel.demangled,
        ptx_registers=build.ptx_registers.get(kernel.name, {}),
        registers=kernel.registers,
        params=[ParamInfo(offset=param.offset, size=param.size) for param in kernel.params],
        param_base=kernel.param_base,
        static_shared=kernel.static_shared,
        stack=kernel.frame_size,
        instructions=len(code),
        fused=dict(fused),
    )


def ptx_lines(build: Build, mangled: str) -> dict[tuple[str, int], list[str]]:
    """PTX instructions of a function by (file, line), in order; empty when the unit's PTX was not kept."""
    for unit in build.units:
        if unit.ptx is None:
            continue
        text = unit.ptx.read_text()
        body = _body(text, mangled)
        if body:
            return _by_line(body, {match[1]: match[2] for match in _FILE.finditer(text)})
    return {}


def _body(text: str, mangled: str) -> list[str]:
    """Lines between a function's braces."""
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if f" {mangled}(" in line), None)
    if start is None:
        return []
    opened = next((at for at in range(start, len(lines)) if lines[at] == "{"), len(lines))
    closed = next((at for at in range(opened, len(lines)) if lines[at] == "}"), len(lines))
    return lines[opened + 1 : closed]


def _by_line(body: list[str], files: dict[str, str]) -> dict[tuple[str, int], list[str]]:
    found: dict[tuple[str, int], list[str]] = {}
    place = ("", 0)
    for line in body:
        if location := _LOC.match(line):
            place = (files.get(location[1], ""), int(location[2]))
        elif line.strip() and not line.strip().startswith((".", "//", "$", "{", "}")):
            found.setdefault(place, []).append(" ".join(line.split()))
    return found
