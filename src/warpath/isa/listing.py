"""A kernel's code as a list: bytes, text, control word and source line of every instruction."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from warpath.isa.control import ControlWord

WORD = 16  # bytes in an instruction


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A place in the source."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction at byte `pc`; `opcode` is empty when the bytes are none (padding, data)."""

    pc: int
    raw: bytes
    predicate: str
    opcode: str
    operands: str
    control: ControlWord
    line: SourceLine | None

    @property
    def text(self) -> str:
        """`@!P0 BRA 0x120`, or the bytes in hex when they are no instruction."""
        if not self.opcode:
            return f".word {self.raw.hex()}"
        return " ".join(part for part in (self.predicate, self.opcode, self.operands) if part)


@dataclass(frozen=True)
class Listing(Sequence[Instruction]):
    """Instructions in address order."""

    instructions: tuple[Instruction, ...]

    @staticmethod
    def build(
        code: bytes,
        text: Sequence[tuple[str, str, str]],
        lines: Iterable[tuple[int, str, int]] = (),
        base: int = 0,
    ) -> Listing:
        """Join code bytes with their (predicate, opcode, operands) texts and (pc, file, line) rows.

        `base` is the pc of the first byte; the rows use the same pcs and are ascending. A row holds until the
        next. ValueError when bytes and text differ in length.
        """
        if len(code) != len(text) * WORD:
            raise ValueError(f"{len(text)} instruction texts for {len(code)} bytes of code")
        rows = list(lines)
        starts = [row[0] for row in rows]
        found: list[Instruction] = []
        for index, (predicate, opcode, operands) in enumerate(text):
            raw = code[index * WORD : (index + 1) * WORD]
            pc = base + index * WORD
            row = bisect_right(starts, pc) - 1
            line = SourceLine(rows[row][1], rows[row][2]) if row >= 0 and rows[row][1] else None
            control = ControlWord.decode(int.from_bytes(raw, "little"))
            found.append(Instruction(pc, raw, predicate, opcode, operands, control, line))
        return Listing(tuple(found))

    def __len__(self) -> int:
        return len(self.instructions)

    def __iter__(self) -> Iterator[Instruction]:
        return iter(self.instructions)

    @overload
    def __getitem__(self, index: int) -> Instruction: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Instruction, ...]: ...

    def __getitem__(self, index: int | slice) -> Instruction | tuple[Instruction, ...]:
        return self.instructions[index]

    def without_padding(self) -> Listing:
        """Without the alignment after the last instruction: a self-branch, NOPs and zeros."""
        end = len(self.instructions)
        while end and self.instructions[end - 1].opcode in ("", "NOP"):
            end -= 1
        if end and self.instructions[end - 1].text == f"BRA {self.instructions[end - 1].pc:#x}":
            end -= 1
        return Listing(self.instructions[:end])


def render(listing: Listing, control: bool = True, words: bool = False) -> Iterator[str]:
    """Text lines for a terminal: pc, control word in columns, instruction, with `words` control in words.

    A line `// file:line` precedes the first instruction of each source line.
    """
    width = max((len(instruction.text) for instruction in listing), default=0)
    previous: SourceLine | None = None
    for instruction in listing:
        if instruction.line is not None and instruction.line != previous:
            yield f"// {instruction.line.file}:{instruction.line.line}"
        previous = instruction.line
        columns = f"{instruction.control.compact()}  " if control else ""
        tail = f"  // {instruction.control.spelled()}" if words else ""
        yield f"{instruction.pc:04x}  {columns}{instruction.text:{width if words else 0}}{tail}"
