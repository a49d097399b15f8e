"""Look at a program before it is started: is it a CUDA program, and can its CUDA calls reach warpath?"""

from __future__ import annotations

import os
import platform
import struct
from dataclasses import dataclass
from pathlib import Path

from warpath.container.elf import Elf
from warpath.errors import UsageError

_NEEDED, _RPATH, _RUNPATH = 1, 15, 29
_MACHINES = {"x86_64": 62, "aarch64": 183}
_EXECUTABLE = (2, 3)  # fixed address, position independent
CUDA_LIBRARIES = ("libcudart.so.13", "libcudart.so.12", "libcuda.so.1")
_REGISTER = "__cudaRegisterFatBinary"
# Names that a program passes to dlopen when it looks for CUDA at run time.
_OPENED = (b"libcuda.so", b"libcudart.so")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can be run: its path and the CUDA libraries it or its own libraries are linked with."""

    path: Path
    needed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Dynamic:
    needed: tuple[str, ...]
    search: tuple[str, ...]


def _dynamic(elf: Elf) -> _Dynamic:
    section, strings = elf.section(".dynamic"), elf.section(".dynstr")
    needed: list[str] = []
    search: list[str] = []
    if section is not None and strings is not None:
        for tag, value in struct.iter_unpack("<QQ", section.data[: len(section.data) // 16 * 16]):
            if tag in (_NEEDED, _RPATH, _RUNPATH):
                text = strings.data[value : strings.data.find(b"\0", value)].decode(errors="replace")
                needed.extend([text] if tag == _NEEDED else [])
                search.extend(text.split(":") if tag != _NEEDED else [])
    return _Dynamic(tuple(needed), tuple(search))


def _load(path: Path) -> Elf:
    data = path.read_bytes()
    if data[:4] != b"\x7fELF":
        start = data[:32].split(b"\n")[0].decode(errors="replace")
        raise UsageError(
            f"{path} is not an ELF program (it starts with {start!r}): give the program nvcc linked"
        )
    return Elf(data, str(path))


def _cuda_libraries(path: Path, elf: Elf, seen: set[Path]) -> list[str]:
    """CUDA libraries that the file needs, directly or through libraries found next to it or on its run path."""
    dynamic = _dynamic(elf)
    found = [name for name in dynamic.needed if name in CUDA_LIBRARIES]
    folders = [
        item.replace("$ORIGIN", str(path.parent)).replace("${ORIGIN}", str(path.parent))
        for item in dynamic.search
    ]
    folders += [item for item in os.environ.get("LD_LIBRARY_PATH", "").split(":") if item]
    for name in dynamic.needed:
        library = next((Path(folder, name) for folder in folders if Path(folder, name).is_file()), None)
        if name in CUDA_LIBRARIES or library is None or library in seen:
            continue
        seen.add(library)
        found += _cuda_libraries(library, _load(library), seen)
    return found


def _defines_or_hides_runtime(elf: Elf) -> bool:
    """Whether device code is there and registers with a runtime inside the file."""
    dynamic_strings = elf.section(".dynstr")
    imports = dynamic_strings is not None and _REGISTER.encode() + b"\0" in dynamic_strings.data
    return elf.section(".nv_fatbin") is not None and not imports


def inspect(path: Path) -> Program:
    """The program at `path`; UsageError that says what is wrong with it and what to do."""
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    if not path.is_file():
        raise UsageError(f"{path} is not a file")
    if not os.access(path, os.R_OK | os.X_OK):
        raise UsageError(f"{path} may not be read and executed: chmod +x it")
    elf = _load(path)
    kind = int.from_bytes(elf.data[16:18], "little")
    if elf.machine != _MACHINES.get(platform.machine(), elf.machine):
        raise UsageError(f"{path} is for another machine than this {platform.machine()}")
    if kind not in _EXECUTABLE:
        raise UsageError(f"{path} is not linked: it is an object file, not a program")
    needed = _cuda_libraries(path, elf, set())
    if not needed:
        if _defines_or_hides_runtime(elf):
            raise UsageError(
                f"{path} has the CUDA runtime linked into it, where warpath cannot see its calls: "
                "relink it with `nvcc -cudart shared`"
            )
        if not any(name in elf.data for name in _OPENED):
            raise UsageError(f"{path} is not a CUDA program: it has no device code and needs no CUDA library")
    if elf.section(".interp") is None:
        raise UsageError(f"{path} is statically linked as a whole: link it without -static")
    return Program(path, tuple(dict.fromkeys(needed)))
