"""Compile facts for the report: stages, registers before and after, parameters, what ptxas fused."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from warpath.cli.cubins import listing, program_cubins
from warpath.cli.program_text import ProgramText
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


def describe(build: Build, gpu: Gpu) -> CompileInfo:
    """The compile section of the report for a finished build."""
    members = [
        f"{member.kind} {'compute' if member.kind == 'ptx' else 'sm'}_{member.sm}{member.suffix}"
        for each in fatbin.from_elf(build.program.read_bytes(), str(build.program))
        for member in each.members
    ]
    cubins = list(_cubins(build, gpu))
    text = ProgramText(build, {name for cubin in cubins for name in cubin.kernels})
    kernels = {
        kernel.name: _kernel(build, cubin, kernel, text)
        for cubin in cubins
        for kernel in cubin.kernels.values()
    }
    stages = [
        StageInfo(
            name=stage.name, tool=stage.tool, output=stage.output, bytes=stage.bytes, seconds=stage.seconds
        )
        for stage in build.stages
    ]
    return CompileInfo(
        cached=build.cached,
        stages=stages,
        kernels=kernels,
        members=members,
        sources=text.sources(),
        files=build.files,
    )


def _cubins(build: Build, gpu: Gpu) -> Iterator[Cubin]:
    """The program's cubins; none when its sources have no kernel."""
    with contextlib.suppress(UsageError):
        yield from program_cubins(build.program, gpu)


def _kernel(build: Build, cubin: Cubin, kernel: Kernel, text: ProgramText) -> KernelInfo:
    code = listing(cubin, kernel)
    text.add_files(instruction.line.file for instruction in code if instruction.line)
    ptx, left_out = text.ptx(kernel.name)
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
        spill_stores=_spilled(build, kernel.name, "spill_stores"),
        spill_loads=_spilled(build, kernel.name, "spill_loads"),
        ptx=ptx,
        ptx_left_out=left_out,
        stub=text.stub(kernel.name),
        calls=text.calls(kernel.demangled),
    )


def _spilled(build: Build, mangled: str, kind: str) -> int | None:
    """Bytes of spilling that ptxas reported; None when it was not asked about this kernel."""
    amount = build.usage.get(mangled, {}).get(kind)
    return amount if isinstance(amount, int) else None
