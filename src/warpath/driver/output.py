"""Device output: turn the records that `vprintf` and `__assertfail` left in the FIFO into text, as the real
driver does when the program synchronises."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from warpath.driver import syscalls
from warpath.driver.address_space import Memory, align_up

_STRING_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True)
class AssertFailure:
    """Failed device assertions, as the line or lines that the CUDA runtime prints on stderr."""

    lines: str

    def text(self) -> str:
        """What goes to the program's stderr."""
        return self.lines


@dataclass(frozen=True, slots=True)
class Output:
    """What one drain found: text for stdout, failed assertions for stderr, records lost to a full FIFO."""

    printed: bytes
    failures: tuple[AssertFailure, ...]
    dropped: int


def empty_fifo() -> bytes:
    """The header of a FIFO without records."""
    return struct.pack("<QQ", syscalls.FIFO_HEADER_BYTES, 0)


def drain(memory: Memory, fifo: int) -> Output:
    """Read and clear the FIFO at address `fifo`."""
    written, dropped = struct.unpack("<QQ", memory.read(fifo, syscalls.FIFO_HEADER_BYTES))
    printed = bytearray()
    failures: list[AssertFailure] = []
    data = memory.read(fifo, written)
    position = syscalls.FIFO_HEADER_BYTES
    while position + 8 <= written:
        size, kind = struct.unpack_from("<II", data, position)
        record = data[position + 8 : position + size]
        if kind == syscalls.ASSERT_RECORD:
            failures.append(_assertion(memory, record))
        else:
            printed += record
        position += max(align_up(size, 8), 8)
    if written > syscalls.FIFO_HEADER_BYTES or dropped:
        memory.write(fifo, empty_fifo())
    return Output(bytes(printed), tuple(failures), dropped)


def _assertion(memory: Memory, record: bytes) -> AssertFailure:
    message, file, function, line, *where = struct.unpack_from("<QQQI6I", record)
    text, path, name = (_string(memory, va).decode(errors="replace") for va in (message, file, function))
    block, thread = (",".join(map(str, part)) for part in (where[:3], where[3:]))
    return AssertFailure(
        f"{path}:{line}: {name}: block: [{block}], thread: [{thread}] Assertion `{text}` failed.\n"
    )


def _string(memory: Memory, va: int) -> bytes:
    """The zero-terminated string at `va`, read in pieces because its end is unknown."""
    text = bytearray()
    while len(text) < _STRING_LIMIT:
        byte = memory.read(va + len(text), 1)
        if byte == b"\0":
            break
        text += byte
    return bytes(text)
