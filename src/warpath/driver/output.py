"""Device output: turn the records that `vprintf` and `__assertfail` left in the FIFO into text, as the real
driver does when the program synchronises."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

from warpath.driver import syscalls
from warpath.driver.address_space import Memory, align_up

_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcspn%])")
_STRING_LIMIT = 1 << 16
_SIGNED, _UNSIGNED, _FLOAT = "di", "ouxX", "eEfFgGaA"


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
        elif kind == syscalls.TEXT_RECORD:
            printed += record
        else:
            (template,) = struct.unpack_from("<Q", record)
            printed += format_printf(_string(memory, template), record[8:], lambda va: _string(memory, va))
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


class _Arguments:
    """The argument block of a variadic device call: every value aligned to its own size, as the device ABI
    has it.
    """

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._position = 0

    def take(self, code: str) -> int | float:
        size = struct.calcsize(code)
        self._position = align_up(self._position, size)
        chunk = self._block[self._position : self._position + size].ljust(size, b"\0")
        self._position += size
        return struct.unpack("<" + code, chunk)[0]


def format_printf(template: bytes, block: bytes, string_at: Callable[[int], bytes]) -> bytes:
    """C `printf` over a device argument block; `string_at` reads the string behind a `%s` pointer."""
    arguments = _Arguments(block)

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, length, conversion = match.groups()
        if conversion == "%":
            return "%"
        width = str(arguments.take("i")) if width == "*" else width or ""
        has_precision = "." in match.group(0).split(conversion)[0]
        precision = str(arguments.take("i")) if precision == "*" else precision or "0"
        spec = flags + width + (f".{precision}" if has_precision else "")
        return _convert(arguments, spec, length or "", conversion, string_at)

    return _CONVERSION.sub(convert, template.decode("latin-1")).encode("latin-1")


def _convert(
    arguments: _Arguments, spec: str, length: str, conversion: str, string_at: Callable[[int], bytes]
) -> str:
    wide = length in ("l", "ll", "j", "z", "t")
    if conversion in _FLOAT:
        value = arguments.take("d")
        return (
            value.hex() if conversion in "aA" and isinstance(value, float) else f"%{spec}{conversion}" % value
        )
    if conversion == "c":
        return f"%{spec}c" % chr(int(arguments.take("i")) & 0xFF)
    if conversion == "s":
        return f"%{spec}s" % string_at(int(arguments.take("Q"))).decode("latin-1")
    if conversion == "p":
        return f"%{spec}s" % f"{int(arguments.take('Q')):#x}"
    if conversion == "n":
        arguments.take("Q")
        return ""
    code = ("q" if wide else "i") if conversion in _SIGNED else ("Q" if wide else "I")
    value = int(arguments.take(code))
    if length in ("h", "hh"):
        bits = 16 if length == "h" else 8
        value &= (1 << bits) - 1
        if conversion in _SIGNED and value >> (bits - 1):
            value -= 1 << bits
    if conversion in "oxX" and "#" in spec and value == 0:
        spec = spec.replace("#", "")  # C prints a plain 0
    if conversion == "o" and "#" in spec:
        return f"%{spec.replace('#', '')}s" % f"0{value:o}"
    return f"%{spec}{conversion}" % value
