"""Cubins of whatever the user names: a source, a program, a fatbin or a cubin; and their listings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from warpath.cli.target import is_source, resolve
from warpath.container import fatbin
from warpath.container.cubin import Cubin, Kernel
from warpath.container.elf import EM_CUDA, Elf
from warpath.errors import UsageError
from warpath.gpu.spec import Gpu
from warpath.isa.listing import Listing
from warpath.toolchain.disasm import disassemble

_FATBIN_MAGIC = b"\x50\xed\x55\xba"


def cubins_of(args: argparse.Namespace, gpu: Gpu) -> Iterator[Cubin]:
    """Every cubin with kernels; of a fatbin's members, those that run on `gpu`.

    UsageError when the file is missing, is none of the four, or holds no code for the GPU.
    """
    path: Path = args.program
    if is_source(path):
        yield from program_cubins(resolve(args, gpu).path, gpu, str(path))
        return
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if data[:4] == _FATBIN_MAGIC:
        yield from _members([fatbin.Fatbin.parse(data, str(path))], path, gpu)
    elif data[:4] != b"\x7fELF":
        raise UsageError(f"{path} is no CUDA source, program, fatbin or cubin")
    elif Elf(data, str(path)).machine == EM_CUDA:
        yield Cubin(data, str(path))
    else:
        yield from program_cubins(path, gpu)


def program_cubins(path: Path, gpu: Gpu, called: str = "") -> Iterator[Cubin]:
    """The cubins in a program's `.nv_fatbin` sections that run on `gpu`; `called` is what the user knows it as."""
    yield from _members(fatbin.from_elf(path.read_bytes(), str(path)), Path(called or path), gpu)


def listing(cubin: Cubin, kernel: Kernel) -> Listing:
    """A kernel's unrelocated code joined with text, control words and source lines; trailing padding left out."""
    text = disassemble(kernel.code, cubin.sm)
    lines = [(row.pc, row.file, row.line) for row in cubin.line_table(kernel.section)]
    return Listing.build(kernel.code, text, lines).without_padding()


def _members(bins: list[fatbin.Fatbin], path: Path, gpu: Gpu) -> Iterator[Cubin]:
    members = [member for each in bins for member in each.members]
    fitting = [m for m in members if m.kind == "elf" and m.sm // 10 == gpu.sm.major and m.sm <= gpu.sm.number]
    cubins = [cubin for m in fitting if (cubin := Cubin(m.payload(), f"{path} sm_{m.sm}")).kernels]
    if cubins:
        yield from cubins
    elif not members:
        raise UsageError(f"{path} is not a CUDA program: it has no device code")
    elif fitting:
        raise UsageError(f"{path} has no kernel")
    else:
        held = ", ".join(sorted({f"{m.kind} sm_{m.sm}" for m in members}))
        raise UsageError(f"{path} holds no kernel for {gpu.sm.name}: it has {held}")
