"""Builds the recorder and the stand-ins that test it without a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "tests" / "data" / "traces"
_SHARED = ("-shared", "-fPIC")


def build(folder: Path, *names: str) -> Path:
    """Compile these into the folder: recorder.so, driver.so, libcuda.so.1, program, modules, conflicts."""
    cuda = ("-L", str(folder), "-l:libcuda.so.1", f"-Wl,-rpath,{folder}")
    recorder = sorted((ROOT / "src" / "shim").glob("interposer*.c"))
    flags = ("-std=gnu17", "-D_GNU_SOURCE", "-fvisibility=hidden", "-ldl", "-lpthread")
    known: dict[str, tuple[list[Path], tuple[str, ...]]] = {
        "recorder.so": (recorder, (*_SHARED, *flags)),
        "driver.so": ([SOURCES / "fake_driver.c"], _SHARED),
        "libcuda.so.1": ([SOURCES / "fake_cuda.c"], (*_SHARED, "-Wl,-soname,libcuda.so.1,-Bsymbolic")),
        "program": ([SOURCES / "fake_program.c"], ("-lpthread",)),
        "modules": ([SOURCES / "fake_modules.c"], cuda),
        "conflicts": ([SOURCES / "conflicts.c"], ()),
    }
    for name in names:
        sources, options = known[name]
        subprocess.run(["gcc", "-O1", *sources, *options, "-o", folder / name], check=True)
    return folder
