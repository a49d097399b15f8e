"""Fixtures that several test folders share: the toolkit, compiled programs, container files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from warpath.toolchain.build import build
from warpath.toolchain.locate import Tools, find_tools
from warpath.toolchain.record import Build

ROOT = Path(__file__).resolve().parent.parent
CONTAINERS = ROOT / "tests" / "data" / "containers"
SOURCES = (CONTAINERS, ROOT / "tests" / "programs", ROOT / "examples", ROOT / "tests" / "cases")

# The stand-in for libcudart defines next to nothing, so programs link and cannot run.
UNRESOLVED = ("-Xlinker", "--unresolved-symbols=ignore-all")


@pytest.fixture(scope="session")
def tools() -> Tools:
    return find_tools()


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcudart.so that defines one function, so that the linker keeps it."""
    folder = tmp_path_factory.mktemp("shim")
    source = folder / "one.c"
    source.write_text("void __cudaRegisterFatBinary(void) {}\n")
    # The id differs from run to run otherwise, and with it the cache key.
    name = "-Wl,-soname,libcudart.so.13"
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        name,
        "-Wl,--build-id=none",
        "-o",
        folder / "libcudart.so",
        "one.c",
    ]
    subprocess.run(command, cwd=folder, check=True)
    (folder / "libcuda.so").write_text("INPUT(libcudart.so)\n")
    return folder


@pytest.fixture(scope="session")
def compiled(stand_in: Path) -> Callable[[str, str], Build]:
    """`compiled("tour", "sm_89")`: a source of the repository, built once and cached across runs."""

    def compile_case(case: str, sm: str) -> Build:
        source = next(
            (folder / f"{case}.cu" for folder in SOURCES if (folder / f"{case}.cu").is_file()), None
        )
        if source is None:
            pytest.fail(f"no source {case}.cu in {', '.join(str(folder) for folder in SOURCES)}")
        return build(source, sm, stand_in, UNRESOLVED)

    return compile_case
