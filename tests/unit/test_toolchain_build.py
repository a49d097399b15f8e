from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from warpath.container.cubin import Cubin
from warpath.container.fatbin import from_elf
from warpath.errors import ToolError, UsageError
from warpath.toolchain.build import build
from warpath.toolchain.jit import assemble_ptx
from warpath.toolchain.record import Build

CONTAINERS = Path(__file__).resolve().parent.parent / "data" / "containers"
UNRESOLVED = ("-Xlinker", "--unresolved-symbols=ignore-all")  # the stand-in defines next to nothing

pytestmark = pytest.mark.oracle

SOURCE = "__global__ void k(int *o) { o[0] = VALUE; }\nint main() { k<<<1, 1>>>(nullptr); }\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with k.cu, which includes value.h, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "k.cu").write_text('#include "value.h"\n' + SOURCE)
    (tmp_path / "value.h").write_text("#define VALUE 1\n")
    return tmp_path


def test_every_stage_is_kept(compiled: Callable[[str, str], Build]) -> None:
    made = compiled("tour", "sm_89")
    (unit,) = made.units
    for path in (unit.ptx, unit.cubin, unit.fatbin, unit.stub, unit.host_source, unit.host_object):
        assert path is not None
        assert path.stat().st_size > 0
        assert path.parent == made.folder
    assert unit.source == CONTAINERS / "tour.cu"
    names = [stage.tool for stage in made.stages]
    for tool in ("cudafe++", "cicc", "ptxas", "fatbinary", "nvlink", "gcc"):
        assert tool in names
    ptxas = next(stage for stage in made.stages if stage.tool == "ptxas")
    assert (ptxas.output, ptxas.arch, ptxas.bytes) == ("tour.sm_89.cubin", "sm_89", unit.cubin.stat().st_size)
    assert ptxas.seconds > 0
    assert not list(made.folder.glob("*.ii"))
    assert "cannot be statically determined" in made.messages
    assert "#$" not in made.messages


def test_facts_agree_with_the_cubin(compiled: Callable[[str, str], Build]) -> None:
    made = compiled("tour", "sm_89")
    assert made.units[0].cubin is not None
    kernels = Cubin(made.units[0].cubin.read_bytes()).kernels
    assert set(made.usage) == set(kernels)
    for name, kernel in kernels.items():
        usage = made.usage[name]
        assert usage["registers"] == kernel.registers
        assert usage["barriers"] == kernel.barriers
        assert usage["shared"] == kernel.static_shared
        assert usage["stack"] == kernel.frame_size
        assert usage["constants"]["cmem[0]"] == kernel.param_base + kernel.param_size
        assert made.ptx_registers[name]["b32"] > 0


def test_the_program_holds_code_and_ptx_and_names_the_shared_runtime(
    compiled: Callable[[str, str], Build],
) -> None:
    made = compiled("tour", "sm_89")
    data = made.program.read_bytes()
    kinds = [(member.kind, member.sm) for fatbin in from_elf(data) for member in fatbin.members]
    assert ("elf", 89) in kinds
    assert ("ptx", 89) in kinds
    assert b"libcudart.so.13\0" in data


def test_a_second_build_is_a_quick_look_up(project: Path, stand_in: Path) -> None:
    first = build(project / "k.cu", "sm_89", stand_in, UNRESOLVED)
    start = time.perf_counter()
    second = build(project / "k.cu", "sm_89", stand_in, UNRESOLVED)
    elapsed = time.perf_counter() - start
    assert (first.cached, second.cached) == (False, True)
    assert second.folder == first.folder
    assert second.stages == first.stages
    assert second.units == first.units
    assert elapsed < 0.02


def test_a_changed_header_or_option_builds_anew_and_a_changed_back_one_does_not(
    project: Path, stand_in: Path
) -> None:
    first = build(project / "k.cu", "sm_89", stand_in, UNRESOLVED)
    (project / "value.h").write_text("#define VALUE 2\n")
    second = build(project / "k.cu", "sm_89", stand_in, UNRESOLVED)
    assert not second.cached
    assert second.folder != first.folder
    third = build(project / "k.cu", "sm_89", stand_in, [*UNRESOLVED, "-maxrregcount=16"])
    assert not third.cached
    assert first.program.is_file()


def test_concurrent_builds_agree(project: Path, stand_in: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(build, project / "k.cu", "sm_89", stand_in, UNRESOLVED) for _ in range(2)]
        one, other = (job.result() for job in jobs)
    assert one.folder == other.folder
    assert not [path for path in one.folder.parent.iterdir() if path.name.startswith(".")]


def test_two_caches_hold_the_same_program(
    project: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(project / "k.cu", "sm_89", stand_in, UNRESOLVED)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "other"))
    second = build(project / "k.cu", "sm_89", stand_in, UNRESOLVED)
    assert first.folder != second.folder
    assert first.program.read_bytes() == second.program.read_bytes()


def test_several_sources_link_device_code_across_files(project: Path, stand_in: Path) -> None:
    (project / "main.cu").write_text(
        "extern __device__ int f(int);\n"
        "__global__ void g(int *o) { o[0] = f(o[1]); }\n"
        "int main() { g<<<1, 1>>>(nullptr); }\n"
    )
    (project / "other.cu").write_text("__device__ int f(int x) { return x + 1; }\n")
    made = build([project / "main.cu", project / "other.cu"], "sm_89", stand_in, [*UNRESOLVED, "-rdc=true"])
    assert [unit.source.name for unit in made.units] == ["main.cu", "other.cu"]
    assert made.device_link is not None
    assert "_Z1gPi" in Cubin(made.device_link.read_bytes()).kernels
    (program,) = [fatbin for fatbin in from_elf(made.program.read_bytes()) if fatbin.elfs()]
    assert program.elfs()[0].payload() == made.device_link.read_bytes()
    assert made.units[1].host_object is not None
    (relocatable,) = from_elf(made.units[1].host_object.read_bytes())
    assert not Cubin(relocatable.elfs()[0].payload()).kernels


def test_a_compile_error_carries_nvccs_words_and_leaves_no_folder(project: Path, stand_in: Path) -> None:
    (project / "value.h").write_text("#define VALUE undeclared\n")
    with pytest.raises(ToolError, match=r'k\.cu\(2\): error: identifier "undeclared" is undefined') as caught:
        build(project / "k.cu", "sm_89", stand_in)
    assert "1 error detected" in caught.value.output
    assert caught.value.exit_code == 1
    assert list((project / "cache" / "warpath" / "build").iterdir()) == []


def test_a_missing_host_compiler_is_said_before_nvcc_runs(
    project: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError, match=r"apt-get install g\+\+"):
        build(project / "k.cu", "sm_89", stand_in)


def test_usage_errors(project: Path, stand_in: Path) -> None:
    with pytest.raises(UsageError, match="no such source file"):
        build(project / "none.cu", "sm_89", stand_in)
    with pytest.raises(UsageError, match=r"no libcudart\.so"):
        build(project / "k.cu", "sm_89", project)
    (project / "sub").mkdir()
    shutil.copy(project / "k.cu", project / "sub" / "k.cu")
    with pytest.raises(UsageError, match="two sources are called k"):
        build([project / "k.cu", project / "sub" / "k.cu"], "sm_89", stand_in)
    with pytest.raises(UsageError, match="no source file given"):
        build([], "sm_89", stand_in)


def test_ptx_assembles_for_another_gpu_and_bad_ptx_is_told(
    compiled: Callable[[str, str], Build], project: Path
) -> None:
    made = compiled("tour", "sm_75")
    assert made.units[0].ptx is not None
    cubin = Cubin(assemble_ptx(made.units[0].ptx.read_bytes(), "sm_90"))
    assert cubin.sm == 90
    assert cubin.line_table(".text._Z6choosePii")
    with pytest.raises(ToolError, match=r"ptxas failed: .*error"):
        assemble_ptx(b".version 9.0\n.target sm_89\nnonsense\n", "sm_89")


@pytest.mark.parametrize(
    ("sm", "extra", "older"),
    [
        ("sm_89", (), False),
        ("sm_89", ("-gencode", "arch=compute_120,code=sm_120"), True),
        ("sm_100", (), True),
    ],
)
def test_blackwell_gets_the_scan_of_cccl_that_the_model_can_run(
    tmp_path: Path, stand_in: Path, sm: str, extra: tuple[str, ...], older: bool
) -> None:
    source = tmp_path / "scan.cu"
    source.write_text("#ifdef CCCL_DISABLE_WARPSPEED_SCAN\n#error older\n#else\n#error newer\n#endif\n")
    with pytest.raises(ToolError, match="older" if older else "newer"):
        build(source, sm, stand_in, extra)
