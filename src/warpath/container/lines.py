"""The DWARF line program (versions 2 to 4) of `.debug_line`, which gives each pc its source line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from warpath.errors import FormatError

_MAX_ROWS = 4_000_000


class Row(NamedTuple):
    """From byte `pc` of the code section on, the source is `line` of `file`; `inlined` are the places (file, line) of
    the calls that brought it there, the innermost first.
    """

    pc: int
    file: str
    line: int
    inlined: tuple[tuple[str, int], ...] = ()


class Cursor:
    """Reads little-endian numbers off bytes; FormatError past the end."""

    def __init__(self, data: bytes, where: str, at: int = 0, end: int | None = None) -> None:
        self.data, self.where, self.at = data, where, at
        self.end = len(data) if end is None else end

    def uint(self, size: int) -> int:
        """An unsigned number of `size` bytes."""
        if self.at + size > self.end:
            raise FormatError(f"{self.where}: cut off at {self.at:#x}")
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")

    def leb(self, signed: bool = False) -> int:
        """A LEB128 number."""
        value = shift = 0
        while True:
            byte = self.uint(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value
            if shift > 63:
                raise FormatError(f"{self.where}: number longer than 64 bits at {self.at:#x}")

    def text(self) -> str:
        """A zero-terminated string."""
        stop = self.data.find(b"\0", self.at, self.end)
        if stop < 0:
            raise FormatError(f"{self.where}: unterminated string at {self.at:#x}")
        text = self.data[self.at : stop].decode("utf-8", "replace")
        self.at = stop + 1
        return text


@dataclass(frozen=True, slots=True)
class _Header:
    min_instruction: int
    line_base: int
    line_range: int
    opcode_base: int
    lengths: list[int]
    files: list[str]


def line_rows(data: bytes, where: str = ".debug_line") -> list[tuple[int, Row]]:
    """Every row as (offset in `data` of the set-address operand its sequence began with, row).

    The offset identifies the code section, through the relocation at that place. Rows keep their order.
    """
    rows: list[tuple[int, Row]] = []
    cursor = Cursor(data, where)
    while cursor.at < len(data):
        length = cursor.uint(4)
        end = cursor.at + length
        if end > len(data):
            raise FormatError(
                f"{where}: unit at {cursor.at - 4:#x} claims {length} bytes past the section's end"
            )
        unit = Cursor(data, where, cursor.at, end)
        _run(unit, _header(unit), rows)
        cursor.at = end
    return rows


def _header(unit: Cursor) -> _Header:
    version = unit.uint(2)
    if not 2 <= version <= 4:
        raise FormatError(f"{unit.where}: DWARF line version {version} at {unit.at:#x}, expected 2 to 4")
    length = unit.uint(4)
    program = unit.at + length
    if program > unit.end:
        raise FormatError(f"{unit.where}: line header of {length} bytes is cut off")
    min_instruction = unit.uint(1)
    if version >= 4:
        unit.uint(1)  # operations per instruction: 1 on GPUs
    unit.uint(1)  # default is_stmt
    line_base = unit.uint(1)
    line_range, opcode_base = unit.uint(1), unit.uint(1)
    lengths = [unit.uint(1) for _ in range(opcode_base - 1)]
    folders = [""]
    while text := unit.text():
        folders.append(text)
    files = [""]
    while text := unit.text():
        folder = unit.leb()
        unit.leb()  # modification time
        unit.leb()  # size
        prefix = folders[folder] if folder < len(folders) else ""
        files.append(text if text.startswith("/") or not prefix else f"{prefix}/{text}")
    unit.at = program
    signed_base = line_base - 256 if line_base > 127 else line_base
    return _Header(min_instruction, signed_base, line_range, opcode_base, lengths, files)


def _run(unit: Cursor, header: _Header, rows: list[tuple[int, Row]]) -> None:
    """Execute the line program. NVIDIA's opcode 0x90 says that what follows was inlined at a row of the sequence, by
    its number from 1 (0: not inlined); 0x91 (function) is passed over.
    """
    origin, pc, file, line = 0, 0, 1, 1
    began, caller = len(rows), 0

    def emit() -> None:
        if len(rows) >= _MAX_ROWS:
            raise FormatError(f"{unit.where}: more than {_MAX_ROWS} rows")
        inlined: tuple[tuple[str, int], ...] = ()
        if caller:
            if caller > len(rows) - began:
                raise FormatError(f"{unit.where}: inlined at row {caller} of {len(rows) - began}")
            call = rows[began + caller - 1][1]
            inlined = ((call.file, call.line), *call.inlined)
        rows.append((origin, Row(pc, header.files[file] if file < len(header.files) else "", line, inlined)))

    while unit.at < unit.end:
        opcode = unit.uint(1)
        if opcode >= header.opcode_base:
            if header.line_range == 0:
                raise FormatError(f"{unit.where}: line range 0")
            step = opcode - header.opcode_base
            pc += step // header.line_range * header.min_instruction
            line += header.line_base + step % header.line_range
            emit()
        elif opcode == 0:
            size = unit.leb()
            end = unit.at + size
            kind = unit.uint(1) if size else 0
            if kind == 1:
                origin, pc, file, line = 0, 0, 1, 1
                began, caller = len(rows), 0
            elif kind == 2:
                origin, pc = unit.at, unit.uint(size - 1)
            elif kind == 0x90:
                caller = unit.leb()
            if end > unit.end:
                raise FormatError(f"{unit.where}: extended opcode at {unit.at:#x} is cut off")
            unit.at = end
        elif opcode == 1:
            emit()
        elif opcode == 2:
            pc += unit.leb() * header.min_instruction
        elif opcode == 3:
            line += unit.leb(signed=True)
        elif opcode == 4:
            file = unit.leb()
        elif opcode == 8:
            if header.line_range == 0:
                raise FormatError(f"{unit.where}: line range 0")
            pc += (255 - header.opcode_base) // header.line_range * header.min_instruction
        elif opcode == 9:
            pc += unit.uint(2)
        else:  # flags without effect on the table, and opcodes newer than DWARF 2
            for _ in range(header.lengths[opcode - 1]):
                unit.leb()
