"""The export lists against NVIDIA's own library and against the tables that the server uses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from warpath.host.dispatch import decoder
from warpath.host.layout import layout, signatures
from warpath.toolchain.locate import Tools

SHIM = Path(__file__).resolve().parents[2] / "src" / "shim"
LINE = re.compile(r"WP(?:_TEXT|_STRUCT)?\((\w+), \(([^)]*)\)((?:, [^,()]+(?:\(\w\))?)*)\)")
WORDS = {"W12": 2, "W20": 3, "W24": 3, "W32": 4, "W64": 8, "WF": 1}


def exports(library: str) -> dict[str, int]:
    """Name -> words sent, as the .def file has it."""
    found: dict[str, int] = {}
    for line in (SHIM / f"exports_{library}.def").read_text().splitlines()[1:]:
        match = LINE.fullmatch(line)
        assert match, line
        arguments = [word.partition("(")[0] for word in match[3].split(", ")[1:]]
        extra = int(line.startswith("WP_STRUCT"))  # the address of the result
        found[match[1]] = extra + sum(WORDS.get(word, 1) for word in arguments)
    return found


@pytest.mark.parametrize("library", ["runtime13", "runtime12", "driver"])
def test_the_shim_sends_what_the_server_expects(library: str) -> None:
    sent = exports(library)
    assert sent.keys() == signatures(library).keys()
    for name, signature in signatures(library).items():
        assert sent[name] == decoder(signature)[1], name


def test_everything_that_nvidia_exports_is_there(tools: Tools) -> None:
    with (tools.lib / "libcudart.so.13").open("rb") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        theirs = {symbol.name for symbol in table.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"}
    assert {name for name in theirs if name.startswith(("cuda", "__cuda"))} <= exports("runtime13").keys()


def test_structures_have_the_size_that_the_compiler_gives_them(tools: Tools, tmp_path: Path) -> None:
    names = [
        "cudaDeviceProp",
        "cudaMemcpy3DParms",
        "cudaLaunchConfig_t",
        "cudaKernelNodeParams",
        "CUDA_MEMCPY2D",
    ]
    source = tmp_path / "sizes.cpp"
    checks = [f"static_assert(sizeof({name}) == {layout(name).size});" for name in names]
    fields = [
        f"static_assert(offsetof({name}, {field}) == {offset});"
        for name in names
        for field, (offset, _) in layout(name).fields.items()
        if not field.startswith("reserved")
    ]
    lines = ["#include <cstddef>", "#include <cuda.h>", "#include <cuda_runtime_api.h>", *checks, *fields]
    source.write_text("\n".join(lines))
    command = ["g++", "-std=c++17", "-fsyntax-only", "-w", f"-I{tools.include}", str(source)]
    subprocess.run(command, check=True)
