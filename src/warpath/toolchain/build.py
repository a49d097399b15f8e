"""Build CUDA sources with nvcc, keeping what every stage made; a second build of the same text is a look-up.

nvcc runs with `--keep`, `-v` and `--time`, so one run yields the artefacts, the command lines and the stage
times.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpath.errors import ToolError, UsageError
from warpath.toolchain import record
from warpath.toolchain.cache import KINDS, cache_folder, key_of, remove_unused
from warpath.toolchain.locate import Tools, find_tools, host_compiler
from warpath.toolchain.process import attempt, first_error
from warpath.toolchain.ptx import ptxas_usage, virtual_registers
from warpath.toolchain.record import Build, Stage, Unit

PROGRAM = "program"
LOG = "nvcc.log"
_ENVIRONMENT = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "CPLUS_INCLUDE_PATH")
_NOISE = re.compile(r"#\$ |# --error|ptxas info|\s+\d+ bytes stack frame")
# The driver API is there for programs that call it; others get no dependency on it.
_LIBRARIES = ("-Xlinker", "--as-needed", "-lcuda")
# CCCL's scan for Blackwell waits on mbarriers (SYNCS), which have no model. This is its own switch to the one before.
_BLACKWELL, _OLDER_SCAN = 100, "-DCCCL_DISABLE_WARPSPEED_SCAN"
_ARCHITECTURE = re.compile(r"(?:sm|compute)_(\d+)")
_MARKER = re.compile(rb'^# \d+ "([^"<]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Request:
    """Everything that decides what a build yields, apart from the contents of the sources and headers."""

    sources: tuple[Path, ...]
    sm: str
    shim_dir: Path
    extra: tuple[str, ...]
    tools: Tools

    def key(self) -> str:
        """Name of this request in the index."""
        shim = self.shim_dir / "libcudart.so"
        if not shim.is_file():
            raise UsageError(f"{self.shim_dir} has no libcudart.so to link against")
        where = str(Path.cwd()) if self.extra else ""  # relative paths in options
        environment = [os.environ.get(name, "") for name in _ENVIRONMENT]
        words = [self.tools.version, str(self.tools.root), self.sm, where, *self.extra, *environment]
        words += [*self.options(), *_LIBRARIES]
        return key_of([*words, shim.read_bytes(), *(str(source) for source in self.sources)])

    def command(self, folder: Path) -> list[str | Path]:
        """The nvcc command line that leaves everything in `folder`."""
        kept: list[str | Path] = ["-v", "--time", folder / "time.csv", "--keep", "--keep-dir", folder]
        output = ["-o", folder / PROGRAM]
        return [self.tools.nvcc, *kept, *self.options(), *output, *self.extra, *self.sources, *_LIBRARIES]

    def options(self) -> list[str]:
        """What every build is given besides the user's own arguments."""
        generations = [int(found) for found in _ARCHITECTURE.findall(" ".join([self.sm, *self.extra]))]
        return [
            "-lineinfo",
            f"-arch={self.sm}",
            "-Xptxas",
            "-v",
            "-cudart",
            "shared",
            f"-L{self.shim_dir}",
            *((_OLDER_SCAN,) if max(generations) >= _BLACKWELL else ()),
        ]


def build(
    source: Path | Sequence[Path],
    sm: str,
    shim_dir: Path,
    extra: Sequence[str] = (),
    tools: Tools | None = None,
) -> Build:
    """Compile and link one or several sources for `sm` (`sm_89`) against `shim_dir/libcudart.so`.

    `extra` are further nvcc arguments. The result's files live in the cache and must not be changed.
    ToolError carries nvcc's messages when it fails, or says how to get a missing g++; UsageError for missing
    files.
    """
    paths = [source] if isinstance(source, Path) else list(source)
    request = _Request(_checked(paths), sm, shim_dir.resolve(), tuple(extra), tools or find_tools())
    key = request.key()
    return record.look_up(key) or _compile(request, key)


def _checked(paths: list[Path]) -> tuple[Path, ...]:
    if not paths:
        raise UsageError("no source file given")
    for path in paths:
        if not path.is_file():
            raise UsageError(f"no such source file: {path}")
    stems = [path.stem for path in paths]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice:
        raise UsageError(f"two sources are called {twice}: nvcc's kept files would overwrite each other")
    return tuple(path.resolve() for path in paths)


def _compile(request: _Request, key: str) -> Build:
    host_compiler()
    cache = cache_folder("build")
    for kind in KINDS:
        remove_unused(kind)
    folder = Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
    try:
        result = attempt(request.command(folder))
        if result.returncode != 0:
            messages = _messages(result.stdout + result.stderr)
            names = ", ".join(path.name for path in request.sources)
            raise ToolError(f"nvcc cannot build {names}: {first_error(messages)}", messages)
        log = result.stdout + result.stderr
        (folder / LOG).write_text(log)
        dependencies = record.fingerprints(_dependencies(folder), trusted=request.tools.root)
        made = _describe(request, folder, log)
        final = cache / key_of([key, *(str(dependency) for dependency in dependencies)])
        try:
            folder.rename(final)
        except OSError:
            if not (final / PROGRAM).is_file():
                raise
            shutil.rmtree(folder)  # a concurrent run built the same
        return record.store(key, made.moved(final), dependencies)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _messages(log: str) -> str:
    """What nvcc told the user: without the commands of -v and the resource report of ptxas."""
    return "\n".join(line for line in log.splitlines() if line.strip() and not _NOISE.match(line))


def _dependencies(folder: Path) -> set[Path]:
    """Every file the preprocessor read, from the line markers of its output."""
    found: set[Path] = set()
    for path in folder.glob("*.ii"):
        names = {name.decode(errors="surrogateescape") for name in _MARKER.findall(path.read_bytes())}
        found |= {Path.cwd() / name for name in names}
    return {path for path in found if path.is_file() and folder not in path.parents}


def _describe(request: _Request, folder: Path, log: str) -> Build:
    stages = _stages(folder)
    units = tuple(_unit(source, request.sm, folder) for source in request.sources)
    registers: dict[str, dict[str, int]] = {}
    for unit in units:
        if unit.ptx:
            registers |= virtual_registers(unit.ptx.read_text())
    for path in folder.glob("*.ii"):
        path.unlink()
    link = folder / f"{PROGRAM}_dlink.{request.sm}.cubin"
    return Build(
        key="",
        folder=folder,
        program=folder / PROGRAM,
        sm=request.sm,
        units=units,
        device_link=link if link.is_file() else None,
        stages=stages,
        ptx_registers=registers,
        usage={name: usage.as_dict() for name, usage in ptxas_usage(log).items()},
        messages=_messages(log),
        cached=False,
    )


def _stages(folder: Path) -> list[Stage]:
    """The rows of nvcc's `--time` table in the order they ran."""
    stages: list[Stage] = []
    with (folder / "time.csv").open(newline="") as file:
        for row in list(csv.reader(file))[1:]:
            _, phase, _, output, arch, _, milliseconds, _ = (cell.strip() for cell in row)
            path = Path(output)
            size = path.stat().st_size if path.is_file() else 0
            tool = phase.split(" ")[0]
            stages.append(Stage(phase, tool, path.name, arch, size, float(milliseconds) / 1e3))
    return stages


def _unit(source: Path, sm: str, folder: Path) -> Unit:
    def kept(*suffixes: str) -> Path | None:
        paths = (folder / f"{source.stem}{suffix}" for suffix in suffixes)
        return next((path for path in paths if path.is_file()), None)

    architecture = sm.removeprefix("sm_")
    return Unit(
        source=source,
        ptx=kept(".ptx", f".compute_{architecture}.ptx"),
        cubin=kept(f".{sm}.cubin", f".compute_{architecture}.{sm}.cubin"),
        fatbin=kept(".fatbin"),
        stub=kept(".cudafe1.stub.c"),
        host_source=kept(".cudafe1.cpp"),
        host_object=kept(".o"),
    )
