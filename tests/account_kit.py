"""Small records for tests of the account of time: launches and instructions of a report, GPU launches, streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from warpath.gpu import spec, timing
from warpath.gpu.occupancy import occupancy
from warpath.report.model import (
    GpuInfo,
    InstructionInfo,
    Launch,
    LedgerTerm,
    OccupancyInfo,
    Submission,
)
from warpath.report.recorder import gpu_info

BOARD = spec.load("h200")
VALUES = timing.resolve(BOARD).values
GPU: GpuInfo = gpu_info(BOARD)
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"


def instruction(pc: int, sass: str, **fields: Any) -> InstructionInfo:
    """An instruction that one full warp executed, unless `fields` say otherwise."""
    known = {
        "file": "/src/k.cu", "line": 9, "control": "", "stall": 1, "yield_": False, "write_barrier": None,
        "read_barrier": None, "wait_mask": 0, "producers": {}, "executed": 1, "thread_executed": 32,
    }  # fmt: skip
    return InstructionInfo(pc=pc, sass=sass, **{**known, **fields})


def terms(**ns: int) -> list[LedgerTerm]:
    """A ledger of these terms, by key."""
    return [LedgerTerm(term=key, label=key, ns=value, source="modelled") for key, value in ns.items()]


def launch(**fields: Any) -> Launch:
    """A launch of one kernel that took 10 us on the H200 with a DRAM floor of 8 us, unless `fields` say otherwise."""
    known: dict[str, Any] = {
        "index": 0, "kernel": "k(int *)", "mangled": "_Z1kPi", "grid": [264, 1, 1], "block": [256, 1, 1],
        "registers": 32, "shared_bytes": 1024, "program_va": 0, "param_base": 0x210, "params": [], "load": None,
        "submission": SUBMISSION, "occupancy": OCCUPANCY, "duration_ns": 10_000, "counters": {},
        "sm_blocks": [2] * BOARD.sms, "traffic": [], "instructions": [], "floor_ns": 8000.0,
        "floor_bytes": 38_400_000, "ledger": terms(floor=8000, memory_latency=2000),
    }  # fmt: skip
    return Launch(**{**known, **fields})


SUBMISSION = Submission(
    channel=0, gpfifo_entry=0, pushbuffer_va=0, pushbuffer_dwords=0, doorbell=0, methods=[], qmd_va=0,
    qmd_version="", qmd={}, constant_va=0, constant_bank={},
)  # fmt: skip
OCCUPANCY = OccupancyInfo(
    blocks_per_sm=8, warps_per_sm=64, warps_per_scheduler=16, max_warps_per_sm=64, limits={"warps": 8},
    limiter=["warps"], waves=0.25,
)  # fmt: skip


@dataclass
class FakeStream:
    """Replays by arithmetic: `full` cycles less what each removed effect costs, told by the parameters it sets.

    `costs` gives cycles by parameter name that is 0 or 1 in a replay and was not before, or by argument.
    """

    full: int
    costs: Mapping[str, int] = field(default_factory=dict[str, int])
    dram_bytes: int = 0
    recorded: int = 10
    blocks: int = 10
    steps: int = 1000
    groups: bool = True  # whether its warps can be dealt out differently
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def whole(self) -> bool:
        return self.recorded == self.blocks

    def replay(self, params: Mapping[str, int], **ideal: Any) -> dict[str, Any]:
        self.asked.append({**ideal, "params": params})
        gone = [
            name
            for name in self.costs
            if ideal.get(name) or (name in params and params[name] != VALUES[name])
        ]
        cycles = self.full - sum(self.costs[name] for name in gone)
        return {"cycles": cycles, "memory": {"dram_read_bytes": self.dram_bytes, "dram_write_bytes": 0}}

    def regroup(self, warps: int) -> FakeStream | None:
        return (
            FakeStream(self.full + warps, blocks=self.blocks, recorded=self.recorded) if self.groups else None
        )

    def widen(self, ways: int) -> FakeStream | None:
        return FakeStream(self.full // ways) if self.groups else None


def ended(index: int = 0, cycles: int = 10_000, **fields: Any) -> Any:
    """A launch of the model GPU that has ended: what the accountant looks at."""
    threads = fields.pop("threads", 256)
    registers = fields.pop("registers", 32)
    shared = fields.pop("shared", BOARD.sm.shared_reserved_bytes)
    counters: dict[str, Any] = {
        "cycles": cycles, "cache": "cold", "metrics": {CONFLICTS: fields.pop("conflicts", 0)},
        "excess_sectors": 0, "inst_executed": 100_000, "load_footprint_sectors": 300_000,
    }  # fmt: skip
    counters |= fields.pop("counters", {})
    work = SimpleNamespace(
        program_va=fields.pop("program_va", 0x1000), grid=(10, 1, 1), block=(threads, 1, 1), shared=shared,
        registers=registers, barriers=0,
    )  # fmt: skip
    made = SimpleNamespace(
        index=index, counters=counters, work=work, threads=threads, stream=None, fault=None, recorded=True,
        occupancy=occupancy(BOARD.sm, threads, registers, max(shared - BOARD.sm.shared_reserved_bytes, 0)),
    )  # fmt: skip
    for name, value in fields.items():
        setattr(made, name, value)
    return made
