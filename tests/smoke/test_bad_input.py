"""What warpath cannot run ends with one clear line and the right exit code, without a traceback."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.smoke.programs import Outcome, build_for, warpath
from warpath.container import fatbin
from warpath.container.elf import Elf
from warpath.toolchain.locate import find_tools

USAGE, UNSUPPORTED = 2, 3
FATBIN_HEADER_BYTES, MEMBER_HEADER_BYTES = 16, 64
KERNEL = """
#include <cstdio>
__global__ void kernel(int *p) { *p += 1; }
int main() {
  int *p, value = 41;
  cudaMalloc(&p, sizeof value);
  cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice);
  kernel<<<1, 1>>>(p);
  cudaError_t error = cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost);
  printf("%d %s\\n", value, cudaGetErrorName(error));
}
"""


def source(folder: Path, text: str, name: str = "program.cu") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that runs as it is."""
    built = build_for([source(tmp_path_factory.mktemp("source"), KERNEL)], [89])
    assert warpath("run", "-q", built).stdout == "42 cudaSuccess\n"
    return built


def one_line(outcome: Outcome, code: int, *words: str) -> None:
    """Whether this is one line on stderr that holds `words`, with nothing on stdout."""
    assert (outcome.code, outcome.stdout) == (code, ""), outcome.stderr
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("warpath: ")
    for word in words:
        assert word in line


def test_a_source_that_does_not_compile(tmp_path: Path) -> None:
    outcome = warpath("run", source(tmp_path, "__global__ void f() { nothing; }\nint main() {}\n"))
    assert (outcome.code, outcome.stdout) == (1, "")
    assert 'identifier "nothing" is undefined' in outcome.stderr
    assert "program.cu(1)" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_no_host_compiler(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "warpath", "run", str(source(tmp_path, KERNEL))]
    variables = {**os.environ, "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    one_line(Outcome(done.stdout, done.stderr, done.returncode), 1, "g++", "apt")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ("not an ELF program",)),
        (b"hello\n", ("not an ELF program", "hello")),
        (b"\x7fELF", ("cut off",)),
        (b"\x7fELF" + bytes(100), ("64-bit",)),
    ],
)
def test_what_is_no_program(tmp_path: Path, content: bytes, words: tuple[str, ...]) -> None:
    path = tmp_path / "program"
    path.write_bytes(content)
    path.chmod(0o755)
    one_line(warpath("run", path), USAGE, str(path), *words)


def test_no_such_file(tmp_path: Path) -> None:
    one_line(warpath("run", tmp_path / "nothing"), USAGE, "no such file")


def test_a_program_without_cuda() -> None:
    one_line(warpath("run", "/bin/true"), USAGE, "/true is not a CUDA program")


def test_an_unknown_board(program: Path) -> None:
    one_line(warpath("run", "--gpu", "rtx4091", program), USAGE, "rtx4091", "rtx4090")


def test_the_runtime_linked_in(tmp_path: Path) -> None:
    path = tmp_path / "static"
    tools = find_tools()
    command = [
        str(tools.nvcc),
        "-arch=sm_89",
        "-cudart",
        "static",
        "-o",
        str(path),
        str(source(tmp_path, KERNEL)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    one_line(warpath("run", path), USAGE, "nvcc -cudart shared")


@pytest.mark.parametrize("bytes_left", [100, 5000, -1000])
def test_a_truncated_program(program: Path, tmp_path: Path, bytes_left: int) -> None:
    path = tmp_path / "program"
    path.write_bytes(program.read_bytes()[:bytes_left])
    path.chmod(0o755)
    one_line(warpath("run", path), USAGE, "cut off")


def damaged(program: Path, path: Path, damage: Callable[[bytearray, int], None]) -> Path:
    """A copy of the program after `damage(bytes, offset)` of each of its fat binaries."""
    data = bytearray(program.read_bytes())
    section = Elf(bytes(data), str(program)).section(".nv_fatbin")
    assert section is not None
    for match in re.finditer(re.escape(struct.pack("<I", fatbin.MAGIC)), section.data):
        damage(data, section.offset + match.start())
    path.write_bytes(data)
    path.chmod(0o755)
    return path


def test_a_fat_binary_with_a_bad_start(program: Path, tmp_path: Path) -> None:
    def damage(data: bytearray, at: int) -> None:
        struct.pack_into("<I", data, at, 0x12345678)

    one_line(warpath("run", "-q", damaged(program, tmp_path / "program", damage)), USAGE, "0x12345678")


def test_a_fat_binary_with_a_damaged_member(program: Path, tmp_path: Path) -> None:
    def damage(data: bytearray, at: int) -> None:
        start = at + FATBIN_HEADER_BYTES + MEMBER_HEADER_BYTES
        for position in range(start, start + 300):
            data[position] ^= 0x5A

    outcome = warpath("run", "-q", damaged(program, tmp_path / "program", damage))
    one_line(outcome, USAGE, "fat binary")


def test_code_for_another_generation_only(program: Path, tmp_path: Path) -> None:
    """The program gets the error that a GPU would give; that is not a failure of warpath's."""
    launch = "kernel<<<1, 1>>>(p);"
    text = KERNEL.replace(launch, launch + 'printf("%s ", cudaGetErrorName(cudaGetLastError()));')
    built = build_for([source(tmp_path, text)], [89], "-gencode", "arch=compute_89,code=sm_89")
    outcome = warpath("run", "-q", "--gpu", "t4", built)
    assert outcome.stdout == "cudaErrorNoKernelImageForDevice 41 cudaSuccess\n"
    assert outcome.code == 0


def test_sass_of_what_is_no_cubin(tmp_path: Path) -> None:
    path = tmp_path / "code.cubin"
    path.write_bytes(b"not a cubin")
    one_line(warpath("sass", path), USAGE, str(path))


@pytest.mark.parametrize("bytes_left", [3, 40, 2000])
def test_sass_of_a_truncated_cubin(program: Path, tmp_path: Path, bytes_left: int) -> None:
    binaries = fatbin.from_elf(program.read_bytes(), "program")
    largest = max((member.payload() for binary in binaries for member in binary.elfs()), key=len)
    path = tmp_path / "code.cubin"
    path.write_bytes(largest[:bytes_left])
    one_line(warpath("sass", path), USAGE, str(path))


def test_an_instruction_without_a_model(tmp_path: Path) -> None:
    fetch = 'asm("tex.1d.v4.s32.s32 {%0, %0, %0, %0}, [%1, {%2}];" : "=r"(*p) : "l"(0ll), "r"(1));'
    text = KERNEL.replace("*p += 1;", fetch)
    outcome = warpath("run", "-q", source(tmp_path, text))
    one_line(outcome, UNSUPPORTED, "kernel(int *)+0x", "program.cu:3", "TLD", "(bytes ", "not declared")


def test_a_kernel_that_uses_memory_pinned_afterwards(tmp_path: Path) -> None:
    text = KERNEL.replace("cudaMalloc(&p, sizeof value);", "cudaHostRegister(p = &value, 4, 0);").replace(
        "cudaMemcpy(p, &value, sizeof value, cudaMemcpyHostToDevice);", ""
    )
    text = text.replace(
        "cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost)", "cudaDeviceSynchronize()"
    )
    program = source(tmp_path, text)
    outcome = warpath("run", "-q", program)
    one_line(outcome, UNSUPPORTED, "kernel(int *)+0x", "program.cu:3", "cudaHostRegister", "cudaMallocHost")
    assert "Invalid" not in warpath("run", program).stderr  # the program is not to blame
