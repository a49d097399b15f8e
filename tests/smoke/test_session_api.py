"""Programs that call every supported API family and check the answers, against the real driver and model GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpath.cli.machine import make_machine
from warpath.cli.target import shim_directory
from warpath.gpu import spec
from warpath.host.process import ExitStatus
from warpath.host.program import inspect
from warpath.toolchain.build import build

DATA = Path(__file__).resolve().parents[1] / "data" / "host"


def run(name: str, gpu_name: str, arguments: list[str], flags: list[str]) -> tuple[ExitStatus, str]:
    gpu = spec.load(gpu_name)
    made = build(DATA / name, gpu.sm.name, shim_directory(), flags)
    machine = make_machine(gpu, made.program, arguments, eager=False, count=False, capture=True, timeout=100)
    status = machine.session.run()
    return status, machine.session.stdout.decode()


@pytest.mark.parametrize("gpu", ["rtx4090", "h200"])
def test_runtime_api(gpu: str) -> None:
    assert run("runtime_api.cu", gpu, [], []) == (ExitStatus(0), "0 failures\n")


def test_driver_api(tmp_path: Path) -> None:
    # The module is PTX of an older target, so this also goes through the assembler.
    result = run("driver_api.cu", "rtx4090", [str(tmp_path / "module.ptx")], [])
    assert result == (ExitStatus(0), "0 failures\n")


def test_a_kernel_that_waits_for_the_host() -> None:
    expected = "busy 3, then no error, out 5\nthread, then no error, out 5\n"
    assert run("persistent.cu", "rtx4090", [], []) == (ExitStatus(0), expected)


@pytest.mark.parametrize("mode", ["0", "1", "2", "3"])
def test_a_copy_does_not_overtake_the_load_of_what_it_copies_to(mode: str) -> None:
    assert run("overtake.cu", "rtx4090", [mode], []) == (ExitStatus(0), "25\n")


def test_only_programs_that_call_the_driver_api_need_its_library() -> None:
    for name, expected in (("driver_api.cu", True), ("overtake.cu", False)):
        made = build(DATA / name, "sm_89", shim_directory(), [])
        assert ("libcuda.so.1" in inspect(made.program).needed) is expected
