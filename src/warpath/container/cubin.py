"""A cubin: GPU code for one architecture, and what a loader and a reader need to know of it."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field, replace
from functools import cached_property

from warpath.container import eiattr
from warpath.container.demangle import demangle
from warpath.container.eiattr import Attribute
from warpath.container.elf import EM_CUDA, Elf, Relocation, Section, Symbol
from warpath.container.lines import Row, line_rows
from warpath.container.relocations import is_supported, stored_addend
from warpath.errors import FormatError

ENTRY = 0x10  # st_other: a kernel
RESERVED_SHARED = (
    1024  # bytes at the start of shared memory that sm_90 and newer count into a kernel's section
)
FIRST_RESERVING_SM = 90
UNKNOWN_STACK = 0xFFFFFFFF  # MIN_STACK_SIZE of recursive code
_CONSTANT = re.compile(r"\.nv\.constant(\d+)(?:\.(.+))?$")
_INSTRUCTION = 16
_NOTE_HEADER = struct.Struct("<3I")  # bytes of the name, bytes of the content, type
_CUINFO = struct.Struct("<2H")


@dataclass(frozen=True, slots=True)
class Param:
    """A kernel parameter: position, byte offset from the first, bytes."""

    index: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant bank's initial contents; `kernel` is None for a bank all kernels of the module share."""

    bank: int
    kernel: str | None
    section: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Function:
    """A device function or kernel: bytes [offset, offset + size) of the code section."""

    name: str
    section: str
    offset: int
    size: int
    is_kernel: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """A `__device__` or `__constant__` variable: bytes [offset, offset + size) of its section."""

    name: str
    section: str
    offset: int
    size: int
    is_global: bool


@dataclass(frozen=True)
class Kernel:
    """One kernel. Sizes in bytes; `max_threads`, `required_threads`, `cluster` are (x, y, z) when declared.

    `min_stack` is None when the compiler could not bound it (recursion). `static_shared` is what the program
    declared, without the reserve of newer GPUs. `code` is unrelocated.
    """

    name: str
    demangled: str
    section: str
    offset: int
    code: bytes = field(repr=False)
    registers: int
    params: list[Param]
    param_base: int
    param_size: int
    static_shared: int
    frame_size: int
    min_stack: int | None
    max_threads: tuple[int, int, int] | None
    required_threads: tuple[int, int, int] | None
    max_registers: int | None
    cluster: tuple[int, int, int] | None
    barriers: int
    constants: dict[int, Constant] = field(repr=False)
    attributes: list[Attribute] = field(repr=False)


class Cubin:
    """Reads a cubin lazily; every malformed part is a FormatError when it is first asked for."""

    def __init__(self, data: bytes, what: str = "cubin") -> None:
        self.elf = Elf(data, what)
        self.what = what
        if self.elf.machine != EM_CUDA:
            raise self.elf.error(f"is for ELF machine {self.elf.machine}, not for CUDA ({EM_CUDA})")

    @cached_property
    def sm(self) -> int:
        """Compute capability times ten: 89. Moved from e_flags 7:0 to 15:8 with OSABI 0x41 (CUDA 13)."""
        osabi, _ = self.elf.abi
        sm = self.elf.flags >> 8 & 0xFF if osabi == 0x41 else self.elf.flags & 0xFF
        if sm == 0:
            raise self.elf.error(f"names no architecture (flags {self.elf.flags:#x})")
        return sm

    @cached_property
    def virtual_sm(self) -> int:
        """Target of the PTX that the code was made from: 80 for `arch=compute_80,code=sm_86`.

        It stands in the note `.note.nv.cuinfo` (u16 version, u16 target); a cubin without that note is taken to be
        for its own architecture.
        """
        note = self.elf.section(".note.nv.cuinfo")
        if note is None or len(note.data) < _NOTE_HEADER.size:
            return self.sm
        name_bytes, size, _ = _NOTE_HEADER.unpack_from(note.data)
        start = _NOTE_HEADER.size + -(-name_bytes // 4) * 4
        if size < _CUINFO.size or start + _CUINFO.size > len(note.data):
            raise self.elf.error("has a .note.nv.cuinfo that ends early")
        return int(_CUINFO.unpack_from(note.data, start)[1])

    @property
    def sections(self) -> list[Section]:
        """Every section."""
        return self.elf.sections

    @property
    def symbols(self) -> list[Symbol]:
        """Every symbol."""
        return self.elf.symbols

    def relocations(self, section: str) -> list[Relocation]:
        """Patches for the named section; the addend is read from the place itself where it is stored there.

        It stays None only for kinds that `relocations.apply` cannot store, which relocatable objects alone
        use.
        """
        target = self.elf.section(section)
        if target is None:
            return []
        found: list[Relocation] = []
        for relocation in self.elf.relocations(section):
            if relocation.addend is None and is_supported(relocation.type):
                try:
                    addend = stored_addend(target.data, relocation.offset, relocation.type)
                except ValueError as error:
                    raise self.elf.error(f"has a relocation in {section} past its end: {error}") from error
                relocation = replace(relocation, addend=addend)
            found.append(relocation)
        return found

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Kernels and device functions with code, by mangled name."""
        return {
            symbol.name: Function(
                symbol.name, symbol.section.name, symbol.value, symbol.size, bool(symbol.other & ENTRY)
            )
            for symbol in self.symbols
            if symbol.kind == "FUNC" and symbol.section is not None
        }

    @cached_property
    def externals(self) -> list[str]:
        """Functions and variables that the driver provides: vprintf, __assertfail, malloc."""
        return [symbol.name for symbol in self.symbols if symbol.section is None and symbol.name]

    @cached_property
    def globals(self) -> dict[str, Variable]:
        """Variables in `.nv.global*` and module-wide constant banks, by mangled name."""
        prefixes = (".nv.global", ".nv.constant")
        return {
            symbol.name: Variable(
                symbol.name, symbol.section.name, symbol.value, symbol.size, symbol.binding != "LOCAL"
            )
            for symbol in self.symbols
            if symbol.kind == "OBJECT"
            and symbol.section is not None
            and symbol.section.name.startswith(prefixes)
        }

    @cached_property
    def constants(self) -> list[Constant]:
        """All constant-bank sections."""
        found: list[Constant] = []
        for section in self.sections:
            match = _CONSTANT.match(section.name)
            if match:
                found.append(Constant(int(match[1]), match[2], section.name, section.data))
        return found

    @cached_property
    def attributes(self) -> list[Attribute]:
        """Records of `.nv.info`, which name their function by symbol index in their first word."""
        return self._attributes(".nv.info")

    def _attributes(self, section: str) -> list[Attribute]:
        found = self.elf.section(section)
        return eiattr.parse(found.data, f"{self.what}: {section}") if found else []

    @cached_property
    def _per_symbol(self) -> dict[tuple[str, int], int]:
        """(attribute name, symbol index) -> value."""
        return {
            (attribute.name, attribute.words[0]): attribute.words[1]
            for attribute in self.attributes
            if len(attribute.words) == 2
        }

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """Every kernel, by mangled name, in symbol order."""
        return {
            symbol.name: self._kernel(symbol, symbol.section)
            for symbol in self.symbols
            if symbol.kind == "FUNC" and symbol.other & ENTRY and symbol.section is not None
        }

    def _kernel(self, symbol: Symbol, section: Section) -> Kernel:
        name = symbol.name
        where = f"{self.what}: .nv.info.{name}"
        attributes = self._attributes(f".nv.info.{name}")
        by_name = {attribute.name: attribute for attribute in attributes}
        if (
            symbol.value + symbol.size > len(section.data)
            or symbol.value % _INSTRUCTION
            or symbol.size % _INSTRUCTION
        ):
            raise self.elf.error(f"has kernel {name} outside its section or off an instruction boundary")
        parameters = sorted(
            eiattr.kernel_parameter(attribute, where)
            for attribute in attributes
            if attribute.name.startswith("KPARAM_INFO")
        )
        base, size = self._parameter_block(by_name.get("PARAM_CBANK"))
        stack = self._per_symbol.get(("MIN_STACK_SIZE", symbol.index), 0)
        registers = by_name.get("MAXREG_COUNT")
        return Kernel(
            name=name,
            demangled=demangle(name),
            section=section.name,
            offset=symbol.value,
            code=section.data[symbol.value : symbol.value + symbol.size],
            registers=self._per_symbol.get(("REGCOUNT", symbol.index), section.info >> 24),
            params=[Param(parameter.ordinal, parameter.offset, parameter.size) for parameter in parameters],
            param_base=base,
            param_size=size,
            static_shared=self._static_shared(name),
            frame_size=self._per_symbol.get(("FRAME_SIZE", symbol.index), 0),
            min_stack=None if stack == UNKNOWN_STACK else stack,
            max_threads=_triple(by_name.get("MAX_THREADS"), where),
            required_threads=_triple(by_name.get("REQNTID"), where),
            max_registers=registers.integer if registers else None,
            cluster=_triple(by_name.get("CTA_PER_CLUSTER"), where),
            barriers=by_name["NUM_BARRIERS"].integer if "NUM_BARRIERS" in by_name else 0,
            constants={
                constant.bank: constant for constant in self.constants if constant.kernel in (None, name)
            },
            attributes=attributes,
        )

    @staticmethod
    def _parameter_block(attribute: Attribute | None) -> tuple[int, int]:
        """(offset in constant bank 0, bytes): PARAM_CBANK is a symbol index, then u16 offset, u16 size."""
        if attribute is None or len(attribute.words) < 2:
            return 0, 0
        return attribute.words[1] & 0xFFFF, attribute.words[1] >> 16

    def _static_shared(self, name: str) -> int:
        section = self.elf.section(f".nv.shared.{name}")
        if section is None:
            return 0
        reserved = RESERVED_SHARED if self.sm >= FIRST_RESERVING_SM else 0
        return max(section.size - reserved, 0)

    @cached_property
    def _lines(self) -> dict[str, list[Row]]:
        """Rows per code section: a sequence belongs to the section its start address is relocated to."""
        section = self.elf.section(".debug_line")
        if section is None:
            return {}
        places = {relocation.offset: relocation for relocation in self.relocations(".debug_line")}
        found: dict[str, list[Row]] = {}
        for origin, row in line_rows(section.data, f"{self.what}: .debug_line"):
            relocation = places.get(origin)
            if relocation is None or relocation.symbol.section is None:
                continue  # an absolute address: no code of this file
            # The operand's own bytes hold what REL adds to; RELA files store zero there.
            stored = stored_addend(section.data, relocation.offset, relocation.type)
            base = relocation.symbol.value + (relocation.addend or 0) - stored
            found.setdefault(relocation.symbol.section.name, []).append(row._replace(pc=row.pc + base))
        return found

    def line_table(self, section: str) -> list[Row]:
        """(pc, file, line) rows of a code section by ascending pc, one per pc; [] without -lineinfo."""
        latest = {row.pc: row for row in self._lines.get(section, [])}
        return [latest[pc] for pc in sorted(latest)]


def _triple(attribute: Attribute | None, where: str) -> tuple[int, int, int] | None:
    if attribute is None:
        return None
    if len(attribute.words) != 3:
        raise FormatError(f"{where}: {attribute.name} has {len(attribute.value)} bytes, expected 12")
    x, y, z = attribute.words
    return x, y, z
