"""Text a build left behind that a report shows: sources, PTX by source line, host stubs, replaced chevrons."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from warpath.report.model import PtxPart
from warpath.toolchain.locate import find_tools
from warpath.toolchain.ptx import Part, parts
from warpath.toolchain.record import Build

MOST_PTX = 2000  # lines of one kernel
MOST_SOURCE = 256 * 1024  # bytes of one file
MOST_CALLS = 20  # of one kernel
LONGEST_CALL = 400  # characters

_STUB = re.compile(r"\b__device_stub_(\w+)\([^;{]*\)\s*\{.*\}\s*$")
_CALL = re.compile(r"__cudaPushCallConfiguration\(.*\)\s*\?\s*\(void\)0\s*:\s*(?:::)?([\w:]+)")


def ptx_of(build: Build, functions: Iterable[str]) -> dict[str, list[Part]]:
    """PTX bodies of `functions`, by mangled name; those that are in no kept PTX are left out."""
    wanted = list(functions)
    found: dict[str, list[Part]] = {}
    for unit in build.units:
        if unit.ptx is not None:
            found |= parts(unit.ptx.read_text(errors="replace"), wanted)
    return found


class ProgramText:
    """What is read once per build and handed out kernel by kernel; nothing here is an error when it is missing."""

    def __init__(self, build: Build, kernels: Iterable[str]) -> None:
        self._ptx = ptx_of(build, kernels)
        self._stubs: dict[str, str] = {}
        self._calls: dict[str, list[str]] = {}
        self._files = {str(unit.source) for unit in build.units}
        for unit in build.units:
            for line in _lines(unit.stub):
                if stub := _STUB.search(line):
                    self._stubs[stub[1]] = line.strip()
            for line in _lines(unit.host_source):
                if call := _CALL.search(line):
                    self._calls.setdefault(call[1].rsplit("::")[-1], []).append(line.strip()[:LONGEST_CALL])
        for body in self._ptx.values():
            self.add_files(part.file for part in body)

    def add_files(self, files: Iterable[str]) -> None:
        """Note files that code comes from."""
        self._files.update(files)

    def ptx(self, mangled: str) -> tuple[list[PtxPart], int]:
        """The body of a kernel up to `MOST_PTX` lines, and how many lines are left out."""
        kept: list[PtxPart] = []
        room, left_out = MOST_PTX, 0
        for part in self._ptx.get(mangled, []):
            shown = part.text[:room]
            room -= len(shown)
            left_out += len(part.text) - len(shown)
            if shown:
                kept.append(PtxPart(file=part.file, line=part.line, text=shown))
        return kept, left_out

    def stub(self, mangled: str) -> str:
        """The stub as nvcc wrote it: one long line."""
        return self._stubs.get(mangled, "")

    def calls(self, demangled: str) -> list[str]:
        """Host lines that launch the kernel, with `<<<>>>` replaced; overloads share a name and so their lines."""
        name = re.split(r"[(<]", demangled.removeprefix("void "))[0].rsplit("::")[-1]
        return self._calls.get(name, [])[:MOST_CALLS]

    def sources(self) -> dict[str, str]:
        """Text of the program's own files; headers of the toolkit and of the system are not among them."""
        toolkit = find_tools().root
        own = (
            Path(file)
            for file in sorted(self._files)
            if file and not Path(file).is_relative_to(toolkit) and not file.startswith("/usr/")
        )
        return {
            str(path): path.read_text(errors="replace")
            for path in own
            if path.is_file() and path.stat().st_size <= MOST_SOURCE
        }


def _lines(path: Path | None) -> list[str]:
    return [] if path is None else path.read_text(errors="replace").splitlines()
