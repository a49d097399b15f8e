"""Find NVIDIA's tools inside the installed PyPI wheels, and the host C++ compiler that nvcc needs."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warpath.errors import ToolError

WHEELS = (
    "nvidia-cuda-nvcc",
    "nvidia-nvvm",
    "nvidia-cuda-crt",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
    "nvidia-cuda-nvdisasm",
)


@dataclass(frozen=True, slots=True)
class Tools:
    """Absolute paths of one CUDA toolkit laid out as the wheels install it; `version` names every wheel."""

    root: Path
    nvcc: Path
    ptxas: Path
    cicc: Path
    nvdisasm: Path
    fatbinary: Path
    cudafe: Path
    include: Path
    lib: Path
    version: str

    @staticmethod
    def at(root: Path) -> Tools:
        """The tools below `root` (a `nvidia/cu13` folder); paths are not checked."""
        binaries = root / "bin"
        return Tools(
            root=root,
            nvcc=binaries / "nvcc",
            ptxas=binaries / "ptxas",
            cicc=root / "nvvm" / "bin" / "cicc",
            nvdisasm=binaries / "nvdisasm",
            fatbinary=binaries / "fatbinary",
            cudafe=binaries / "cudafe++",
            include=root / "include",
            lib=root / "lib",
            version=_wheel_versions(root.parent.parent),
        )

    def missing(self) -> list[str]:
        """Names of the programs that are not there, for `warpath doctor`."""
        programs = (self.nvcc, self.ptxas, self.cicc, self.nvdisasm, self.fatbinary, self.cudafe)
        return [program.name for program in programs if not program.is_file()]


def _wheel_versions(site_packages: Path) -> str:
    """`name-version` of every NVIDIA wheel, from the folder names (importlib.metadata costs 20 ms more)."""
    names = sorted(path.name for path in site_packages.glob("nvidia_*.dist-info"))
    return " ".join(name.removesuffix(".dist-info") for name in names)


@cache
def find_tools() -> Tools:
    """The newest CUDA wheels on the import path; ToolError with the pip command when a program is missing."""
    roots = [root for entry in sys.path if entry for root in Path(entry).glob("nvidia/cu[0-9]*")]
    for root in sorted(roots, key=lambda path: int(path.name[2:]), reverse=True):
        tools = Tools.at(root)
        if tools.missing() == []:
            return tools
    partial = [f"{root}: no {', '.join(Tools.at(root).missing())}" for root in roots]
    where = f" ({'; '.join(partial)})" if partial else ""
    raise ToolError(f"NVIDIA's compilers are not installed{where}: pip install {' '.join(WHEELS)}")


def host_compiler() -> Path:
    """Path of g++, which nvcc runs for the host half; ToolError with the command that installs it."""
    path = shutil.which("g++")
    if path is None:
        raise ToolError("no host C++ compiler: nvcc needs g++ (Debian/Ubuntu: apt-get install g++)")
    return Path(path)
