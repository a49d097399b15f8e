"""Where in the program an API call was made: the frames on the stack of the thread that waits for the answer.

The thread stands in a system call of the shim. Its stack is read through /proc and searched for return addresses into
the program's own code, each of which must follow a call instruction. Without debug information addr2line gives function
names only. Where the system does not allow it, there are no frames.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_STACK_BYTES = 16384
_MOST_FRAMES = 6
_CALLS = ((5, 0xE8), (2, 0xFF), (3, 0xFF), (6, 0xFF), (7, 0xFF))  # (bytes before the return address, opcode)


@dataclass(frozen=True, slots=True)
class Frames:
    """Return addresses, innermost first, as the program's file counts them."""

    program: str
    addresses: tuple[int, ...]

    def describe(self) -> str:
        """`main (file.cu:12) > make(int)`, outermost first; empty when nothing is known."""
        names: list[str] = []
        for address in self.addresses:
            name = _name(self.program, address)
            if name and not name.startswith("__"):  # glue of the compiler's
                names.append(name)
            if name.split(" ")[0] == "main":  # what lies above is older than the program's own frames
                break
        return " > ".join(reversed(names))


def capture(pid: int, tid: int) -> Frames | None:
    """The frames of a thread that stands in a system call; None when they cannot be read."""
    try:
        words = Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()
        program = str(Path(f"/proc/{pid}/exe").readlink())
        base, code = _mappings(pid, program)
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            stack = _read(memory.fileno(), int(words[-2], 16), _STACK_BYTES)
            found: list[int] = []
            for at in range(0, len(stack) - 7, 8):
                address = int.from_bytes(stack[at : at + 8], "little")
                inside = any(start <= address < end for start, end in code)
                if inside and _follows_call(_read(memory.fileno(), address - 7, 7)):
                    found.append(address - base)
                if len(found) == _MOST_FRAMES:
                    break
    except (OSError, ValueError, IndexError):
        return None
    return Frames(program, tuple(found)) if found else None


def _read(fd: int, address: int, size: int) -> bytes:
    return os.pread(fd, size, address)


def _follows_call(before: bytes) -> bool:
    return len(before) == 7 and any(before[7 - back] == opcode for back, opcode in _CALLS)


def _mappings(pid: int, program: str) -> tuple[int, list[tuple[int, int]]]:
    """(where the program is loaded, its executable ranges)."""
    base, code = -1, list[tuple[int, int]]()
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) < 6 or fields[5] != program:
            continue
        start, end = (int(part, 16) for part in fields[0].split("-"))
        base = start if base < 0 else base
        if "x" in fields[1]:
            code.append((start, end))
    if base < 0:
        raise ValueError("the program is not mapped")
    return base, code


@lru_cache(4096)
def _name(program: str, address: int) -> str:
    command = ["addr2line", "-C", "-f", "-e", program, hex(address - 1)]
    try:
        lines = subprocess.run(
            command, capture_output=True, text=True, timeout=5, check=False
        ).stdout.splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if len(lines) < 2 or lines[0] in ("??", "_start"):
        return ""
    place = lines[1].split(" ")[0].rsplit("/", 1)[-1]
    return _short(lines[0]) + ("" if "?" in place else f" ({place})")


def _short(function: str) -> str:
    """`int* device<int>(int)` without result and arguments."""
    depth, start = 0, 0
    for at, letter in enumerate(function):
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter == " ":
            start = at + 1
        if depth == 0 and letter == "(":
            return function[start:at]
    return function[start:]
