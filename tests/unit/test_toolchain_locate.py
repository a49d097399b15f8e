from __future__ import annotations

import sys
from pathlib import Path

import pytest

from warpath.errors import ToolError
from warpath.toolchain.locate import Tools, find_tools, host_compiler


def fake_root(site: Path, name: str, programs: tuple[str, ...]) -> Path:
    root = site / "nvidia" / name
    for program in programs:
        path = root / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (site / "nvidia_cuda_nvcc-13.9.1.dist-info").mkdir(exist_ok=True)
    return root


ALL = ("bin/nvcc", "bin/ptxas", "nvvm/bin/cicc", "bin/nvdisasm", "bin/fatbinary", "bin/cudafe++")


def test_the_newest_complete_toolkit_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_root(tmp_path, "cu9", ALL)
    complete = fake_root(tmp_path, "cu13", ALL)
    fake_root(tmp_path, "cu14", ALL[:3])
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    tools: Tools = find_tools.__wrapped__()
    assert tools.root == complete
    assert tools.version == "nvidia_cuda_nvcc-13.9.1"


def test_an_incomplete_toolkit_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_root(tmp_path, "cu13", ALL[:3])
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ToolError, match=r"no nvdisasm, fatbinary, cudafe\+\+.*pip install nvidia-cuda-nvcc"):
        find_tools.__wrapped__()


def test_no_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ToolError, match="not installed: pip install"):
        find_tools.__wrapped__()


def test_a_missing_host_compiler_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolError, match=r"needs g\+\+.*apt-get install g\+\+"):
        host_compiler()
