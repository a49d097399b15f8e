"""From a code address back to the program: which function of which module, and which source line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warpath.container.demangle import demangle
from warpath.container.lines import Row
from warpath.driver.module import Module


@dataclass(frozen=True, slots=True)
class Place:
    """A spot in loaded code. `offset` is in bytes from the function's start; `line` is 0 when it is not known;
    `inlined` are the places (file, line) of the calls that were inlined there, the innermost first.
    """

    module: int
    function: str
    demangled: str
    offset: int
    file: str = ""
    line: int = 0
    inlined: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        where = f" ({self.file}:{self.line})" if self.line else ""
        return f"{self.demangled}+{self.offset:#x}{where}"


def locate(modules: Iterable[Module], va: int) -> Place | None:
    """The place of a code address; None when no loaded function holds it."""
    for module in modules:
        if module.loaded:
            place = _locate_in(module, va)
            if place is not None:
                return place
    return None


def _locate_in(module: Module, va: int) -> Place | None:
    cubin, image = module.cubin, module.image
    for function in sorted(
        cubin.functions.values(), key=lambda function: function.size
    ):  # the innermost first
        start = image.address(function.section, function.offset)
        if start <= va < start + function.size:
            offset = va - image.address(function.section, 0)
            rows = [row for row in cubin.line_table(function.section) if row.pc <= offset]
            _, file, line, inlined = rows[-1] if rows else Row(0, "", 0)
            name = demangle(function.name)
            return Place(module.index, function.name, name, va - start, file, line, inlined)
    return None
