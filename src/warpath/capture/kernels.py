"""Names for code: the uploads of a recording are compared, byte by byte, with the kernels of the program's cubins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from warpath.container import fatbin
from warpath.container.cubin import Cubin, Kernel
from warpath.container.elf import EM_CUDA, Elf
from warpath.errors import WarpathError

_WORD = 16  # bytes of an instruction
_FATBIN_MAGIC = b"\x50\xed\x55\xba"


@dataclass(frozen=True, slots=True)
class Named:
    """A kernel found in memory at `va`; `params` are (offset, size) in order.

    When the driver's API named it, sizes and the parameters' base are 0; `params` is None where it did not tell them.
    """

    va: int
    name: str
    mangled: str
    code_bytes: int
    registers: int
    param_base: int
    params: tuple[tuple[int, int], ...] | None

    def to_json(self) -> dict[str, Any]:
        """As it stands in a log's facts."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Named:
        """From a log's facts; KeyError, TypeError or ValueError when it is something else."""
        numbers = {name: int(row[name]) for name in ("va", "code_bytes", "registers", "param_base")}
        params = tuple((int(offset), int(size)) for offset, size in row["params"])
        return cls(name=str(row["name"]), mangled=str(row["mangled"]), params=params, **numbers)


@dataclass(frozen=True, slots=True)
class _Code:
    cubin: Cubin
    kernel: Kernel
    patched: frozenset[int]  # instructions that the loader changes, by place in the kernel


def cubins(path: Path) -> list[Cubin]:
    """The cubins in a program, library, fatbin or cubin; none when it holds nothing that can be read."""
    try:
        return in_image(path.read_bytes(), str(path))
    except OSError:
        return []


def in_image(data: bytes, where: str, majors: frozenset[int] = frozenset()) -> list[Cubin]:
    """The cubins in the bytes of such a file or of a module's image; of these major versions only, if any are given."""
    try:
        if data[:4] == _FATBIN_MAGIC:
            bins = [fatbin.Fatbin.parse(data, where)]
        elif data[:4] != b"\x7fELF":
            return []
        elif Elf(data, where).machine == EM_CUDA:
            return [Cubin(data, where)]
        else:
            bins = fatbin.from_elf(data, where)
        members = [m for each in bins for m in each.members if m.kind == "elf"]
        return [
            Cubin(m.payload(), f"{where} sm_{m.sm}") for m in members if not majors or m.sm // 10 in majors
        ]
    except WarpathError:
        return []


def match(uploads: Iterable[tuple[int, bytes]], known: Sequence[Cubin]) -> list[Named]:
    """The kernels of `known` that lie in what was uploaded, by address. Words that the loader patches may differ."""
    codes = [code for cubin in known for code in _codes(cubin)]
    found: dict[int, Named] = {}
    for va, data in uploads:
        for code in codes:
            for at in _places(data, code):
                found.setdefault(va + at, _named(va + at, code.kernel))
    return sorted(found.values(), key=lambda named: named.va)


def _codes(cubin: Cubin) -> Iterator[_Code]:
    for kernel in cubin.kernels.values():
        places = (r.offset - kernel.offset for r in cubin.relocations(kernel.section))
        inside = frozenset(place // _WORD for place in places if 0 <= place < len(kernel.code))
        if len(kernel.code) // _WORD > len(inside):
            yield _Code(cubin, kernel, inside)


def _places(data: bytes, code: _Code) -> Iterator[int]:
    """Offsets in `data` at which the code lies."""
    text = code.kernel.code
    anchor = next(i for i in range(len(text) // _WORD) if i not in code.patched) * _WORD
    at = data.find(text[anchor : anchor + _WORD])
    while at >= 0:
        start = at - anchor
        if start >= 0 and start % _WORD == 0 and _same(data[start : start + len(text)], text, code.patched):
            yield start
        at = data.find(text[anchor : anchor + _WORD], at + 1)


def _same(data: bytes, text: bytes, patched: frozenset[int]) -> bool:
    if len(data) != len(text):
        return False
    if data == text:
        return True
    places = range(0, len(text), _WORD)
    return all(i // _WORD in patched or data[i : i + _WORD] == text[i : i + _WORD] for i in places)


def _named(va: int, kernel: Kernel) -> Named:
    params = tuple((param.offset, param.size) for param in sorted(kernel.params, key=lambda p: p.offset))
    return Named(
        va, kernel.demangled, kernel.name, len(kernel.code), kernel.registers, kernel.param_base, params
    )
