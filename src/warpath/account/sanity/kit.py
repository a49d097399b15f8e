"""What rules look at: a launch with its kernel and board, and sums over its instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from warpath.gpu.spec import Gpu
from warpath.isa.opcodes import opcode_of
from warpath.report.model import Diagnosis, InstructionInfo, KernelInfo, Launch

SECTOR = 32  # bytes
LANES = 32
GLOBAL_LOADS = ("LDG", "LD", "LDGSTS")
GLOBAL_STORES = ("STG", "ST")
GLOBAL_ATOMICS = ("RED", "REDG", "ATOM", "ATOMG")
SHARED = ("LDS", "STS", "ATOMS", "LDSM")
LOCAL = ("LDL", "STL")


@dataclass(frozen=True)
class Case:
    """A launch as a rule sees it. `kernel` is None when the program was not built from source here."""

    launch: Launch
    kernel: KernelInfo | None
    gpu: Gpu

    @property
    def blocks(self) -> int:
        """CTAs of the grid."""
        x, y, z = self.launch.grid
        return x * y * z

    @property
    def threads(self) -> int:
        """Threads of the grid."""
        x, y, z = self.launch.block
        return self.blocks * x * y * z

    @property
    def warps(self) -> int:
        """Warps of the grid."""
        return self.blocks * -(-self.threads // self.blocks // LANES)

    @cached_property
    def executed(self) -> list[InstructionInfo]:
        """Instructions that ran."""
        return [i for i in self.launch.instructions if i.executed]

    def of(self, *names: str) -> list[InstructionInfo]:
        """Instructions that ran and whose mnemonic, without modifiers, is one of `names`."""
        return [i for i in self.executed if mnemonic(i) in names]

    @property
    def working_set(self) -> int:
        """Bytes of distinct sectors loaded, plus distinct bytes stored; 0 when nothing was counted."""
        flow = self.launch.flow
        return flow.read_bytes + flow.unused_bytes + flow.written_bytes if flow else 0


Rule = Callable[[Case], Iterator[Diagnosis]]


def mnemonic(i: InstructionInfo) -> str:
    """`LDG` of `@P0 LDG.E.64 R2,[R4.64]`."""
    return opcode_of(i.sass).split(".")[0]


def by_line(instructions: Iterable[InstructionInfo]) -> dict[tuple[str, int], list[InstructionInfo]]:
    """Instructions grouped by source line; without a line table all share `("", 0)`."""
    found: dict[tuple[str, int], list[InstructionInfo]] = {}
    for i in instructions:
        found.setdefault((i.file, i.line), []).append(i)
    return found


def heaviest(
    instructions: Iterable[InstructionInfo], weight: Callable[[InstructionInfo], float]
) -> tuple[str, int]:
    """(file, line) with the most weight; `("", 0)` when there are no instructions."""
    groups = by_line(instructions)
    return max(groups, key=lambda line: sum(map(weight, groups[line])), default=("", 0))


def where(file: str, line: int) -> str:
    """` at prog.cu:12`, or nothing when the line is not known."""
    return f" at {file.rsplit('/', 1)[-1]}:{line}" if line else ""


def count(number: int, noun: str) -> str:
    """`1 block`, `2 blocks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
