"""A cubin laid out for loading: where its sections go, and their bytes with all addresses filled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from warpath.container import relocations
from warpath.container.cubin import Cubin
from warpath.container.elf import Section, Symbol
from warpath.driver import syscalls
from warpath.driver.address_space import align_up
from warpath.errors import FormatError, UnsupportedError

CODE_ALIGNMENT = 128
CODE_PADDING = (
    128  # zeros behind the code, which instruction prefetch may touch; the real driver uploads them too
)

_CODE, _INITIALISED, _ZEROED, _CONSTANT = ".text", ".nv.global.init", ".nv.global", ".nv.constant"
_PARAMETER_BANK = ".nv.constant0"  # built at each launch
_MANAGED = 0x4  # st_other: a `__managed__` variable


class Room(Enum):
    """Where a placement belongs: code, device memory, or memory that program and GPU share."""

    CODE = "code"
    DEVICE = "device"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Placement:
    """Memory for one group: `size` bytes for the sections, or the managed variables, at their offsets in it."""

    what: str
    size: int
    room: Room
    sections: tuple[tuple[Section, int], ...] = ()
    variables: tuple[tuple[Symbol, int], ...] = ()

    @property
    def is_code(self) -> bool:
        """Whether the GPU executes it."""
        return self.room is Room.CODE


@dataclass(frozen=True, slots=True)
class Block:
    """A placed group with its final bytes; `data` is empty when the block is all zeros."""

    placement: Placement
    va: int
    data: bytes


class Image:
    """One cubin on its way into memory: `placements` first, then `link` once they have addresses."""

    def __init__(self, cubin: Cubin) -> None:
        self.cubin = cubin
        self.placements = _place(cubin)
        self.section_va: dict[int, int] = {}
        self.managed_va: dict[str, int] = {}
        self.blocks: list[Block] = []

    def link(self, allocate: Callable[[Placement], int]) -> None:
        """Give every group an address and apply all relocations.

        UnsupportedError for a function that neither the cubin nor the system calls provide, and for a
        relocation of an unknown kind; FormatError for one outside its section.
        """
        places = [(placement, allocate(placement)) for placement in self.placements]
        for placement, va in places:
            for section, offset in placement.sections:
                self.section_va[section.index] = va + offset
            for variable, offset in placement.variables:
                self.managed_va[variable.name] = va + offset
        self.blocks = [Block(placement, va, self._bytes(placement)) for placement, va in places]

    def address(self, section: str, offset: int) -> int:
        """Where byte `offset` of a loaded section is."""
        for placement in self.placements:
            for candidate, _ in placement.sections:
                if candidate.name == section:
                    return self.section_va[candidate.index] + offset
        raise FormatError(f"{self.cubin.what}: section {section} is not loaded")

    def symbol_value(self, symbol: Symbol) -> int:
        """The address a relocation against `symbol` refers to; an offset for shared memory."""
        if symbol.section is None:
            return self._external(symbol)
        if symbol.name in self.managed_va:
            return self.managed_va[symbol.name]
        if symbol.section.name.startswith(".nv.shared"):
            return symbol.value
        if symbol.section.index not in self.section_va:
            raise UnsupportedError(
                f"{self.cubin.what}: {symbol.name} lies in {symbol.section.name}, which is not loaded"
            )
        return self.section_va[symbol.section.index] + symbol.value

    def _external(self, symbol: Symbol) -> int:
        slot = syscalls.slot_address(symbol.name)
        if slot is not None:
            return slot
        if symbol.binding == "WEAK":
            return 0
        raise UnsupportedError(
            f"{self.cubin.what}: device code refers to {symbol.name}, which neither it nor this version provides "
            f"(system calls: {', '.join(syscalls.NAMES)})"
        )

    def _bytes(self, placement: Placement) -> bytes:
        sections = [*placement.sections, *((variable.section, 0) for variable, _ in placement.variables)]
        if all(section is None or not section.data for section, _ in sections):
            return b""
        data = bytearray(placement.size)
        for variable, offset in placement.variables:
            if variable.section is not None and variable.section.data:
                start = variable.value
                data[offset : offset + variable.size] = self._relocated(variable.section)[
                    start : start + variable.size
                ]
        for section, offset in placement.sections:
            data[offset : offset + len(section.data)] = self._relocated(section)
        return bytes(data)

    def _relocated(self, section: Section) -> bytes:
        data = bytearray(section.data)
        for relocation in self.cubin.relocations(section.name):
            value = self.symbol_value(relocation.symbol) + (relocation.addend or 0)
            try:
                relocations.apply(data, relocation.offset, relocation.type, value)
            except ValueError as error:
                raise FormatError(
                    f"{self.cubin.what}: relocation in {section.name} past its end: {error}"
                ) from error
        return bytes(data)


def _place(cubin: Cubin) -> list[Placement]:
    """Code of all functions in one block, then variables and each constant bank in blocks of their own."""
    code: list[tuple[Section, int]] = []
    end = 0
    others = _managed(cubin)
    for section in cubin.sections:
        name = section.name
        if name.startswith(_CODE + "."):
            start = align_up(end, max(section.alignment, CODE_ALIGNMENT))
            code.append((section, start))
            end = start + section.size
        elif section.size and (name in (_INITIALISED, _ZEROED) or _is_constant(name)):
            others.append(Placement(name, section.size, Room.DEVICE, ((section, 0),)))
    if not code:
        return others
    size = align_up(end, CODE_ALIGNMENT) + CODE_PADDING
    return [Placement("code", size, Room.CODE, tuple(code)), *others]


def _managed(cubin: Cubin) -> list[Placement]:
    """`__managed__` variables share sections with ordinary ones, but live in memory of their own."""
    placed: list[tuple[Symbol, int]] = []
    end = 0
    for symbol in cubin.symbols:
        if symbol.kind == "OBJECT" and symbol.other & _MANAGED and symbol.section is not None:
            start = align_up(end, max(symbol.section.alignment, 1))
            placed.append((symbol, start))
            end = start + symbol.size
    return [Placement("managed variables", end, Room.SHARED, variables=tuple(placed))] if end else []


def _is_constant(name: str) -> bool:
    return (
        name.startswith(_CONSTANT) and name != _PARAMETER_BANK and not name.startswith(_PARAMETER_BANK + ".")
    )
