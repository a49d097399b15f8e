"""Facts about compiled code that the compilers print: PTX and its registers, ptxas resource usage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

_FUNCTION = re.compile(r"^(?:\.\w+\s+)*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$.]+)", re.MULTILINE)
_REGISTERS = re.compile(r"^\s*\.reg\s+\.(\w+)\s+[%\w$]+(?:<(\d+)>)?", re.MULTILINE)
_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '(sm_\w+)'")
_PROPERTIES = re.compile(r"Function properties for (\S+)")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', re.MULTILINE)
_AMOUNT = re.compile(r"(\d+) bytes (smem|cmem\[\d+\])")


def virtual_registers(ptx: str) -> dict[str, dict[str, int]]:
    """Registers declared per kind (`b32`, `b64`, `f32`, `pred`) in every function of a PTX text."""
    starts = list(_FUNCTION.finditer(ptx))
    found: dict[str, dict[str, int]] = {}
    for index, match in enumerate(starts):
        end = starts[index + 1].start() if index + 1 < len(starts) else len(ptx)
        kinds: dict[str, int] = {}
        for kind, count in _REGISTERS.findall(ptx, match.end(), end):
            kinds[kind] = kinds.get(kind, 0) + int(count or 1)
        if kinds or match[1] not in found:  # a prototype must not hide the body
            found[match[1]] = kinds
    return found


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive lines of a function's body that one `.loc` gives the same source line; 0 before the first."""

    file: str
    line: int
    text: list[str]

    @property
    def instructions(self) -> list[str]:
        """The lines that are instructions: no label, no brace, no directive."""
        return [line for line in self.text if not line.startswith((".", "$", "{", "}"))]


def parts(ptx: str, functions: Iterable[str]) -> dict[str, list[Part]]:
    """The bodies of those of `functions` that a PTX text defines, line by line, spaces squeezed."""
    wanted = set(functions)
    files = {match[1]: match[2] for match in _FILE.finditer(ptx)}
    found: dict[str, list[Part]] = {}
    for match in _FUNCTION.finditer(ptx):
        opened, ended = ptx.find("\n{", match.end()), ptx.find(";", match.end())
        prototype = 0 <= ended < opened
        if match[1] in wanted and opened >= 0 and not prototype:
            body = ptx[opened + 2 : ptx.find("\n}", opened)]
            found[match[1]] = list(_parts(body.splitlines(), files))
    return found


def _parts(body: Iterable[str], files: Mapping[str, str]) -> Iterator[Part]:
    part = Part("", 0, [])
    for line in body:
        text = " ".join(line.split())
        if location := _LOC.match(line):
            if part.text:
                yield part
            part = Part(files.get(location[1], ""), int(location[2]), [])
        elif text and not text.startswith("//"):
            part.text.append(text)
    if part.text:
        yield part


@dataclass
class Usage:
    """What ptxas -v says about one kernel: registers per thread, bytes of the rest."""

    registers: int = 0
    barriers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    constants: dict[str, int] = field(default_factory=dict[str, int])

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)


def ptxas_usage(output: str) -> dict[str, Usage]:
    """Usage per kernel from the `-v` output of ptxas; device functions, which it lists too, are left out."""
    found: dict[str, Usage] = {}
    entry = subject = ""
    for line in output.splitlines():
        if match := _ENTRY.search(line):
            entry = subject = match[1]
            found[entry] = Usage()
        elif match := _PROPERTIES.search(line):
            subject = match[1]
        elif not entry:
            continue
        elif (match := _STACK.search(line)) and subject == entry:
            usage = found[entry]
            usage.stack, usage.spill_stores, usage.spill_loads = (int(number) for number in match.groups())
        elif match := _USED.search(line):
            usage = found[entry]
            usage.registers, usage.barriers = int(match[1]), int(match[2] or 0)
            for amount, place in _AMOUNT.findall(line):
                if place == "smem":
                    usage.shared = int(amount)
                else:
                    usage.constants[place] = int(amount)
    return found
