"""What a launch's memory instructions asked for, by kind of access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpath.isa.opcodes import opcode_of, width
from warpath.report.model import InstructionInfo, LaunchFlow, Traffic

SECTOR = 32  # bytes

# Mnemonic to kind of access, in the order of the report. LD, ST and ATOM are generic: mostly global.
KINDS = {
    "LDG": "global loads",
    "LD": "global loads",
    "LDGSTS": "global to shared copies",
    "STG": "global stores",
    "ST": "global stores",
    "RED": "global atomics",
    "REDG": "global atomics",
    "ATOM": "global atomics",
    "ATOMG": "global atomics",
    "LDS": "shared loads",
    "LDSM": "shared loads",
    "STS": "shared stores",
    "ATOMS": "shared atomics",
    "LDL": "local loads",
    "STL": "local stores",
}


def by_kind(code: Sequence[InstructionInfo]) -> list[Traffic]:
    """Requests, sectors, shared wavefronts and bytes summed over the instructions of each kind."""
    sums: dict[str, list[int]] = {}
    for instruction in code:
        opcode = opcode_of(instruction.sass)
        kind = KINDS.get(opcode.split(".")[0])
        if kind is None or not instruction.requests:
            continue
        total = sums.setdefault(kind, [0, 0, 0, 0])
        total[0] += instruction.requests
        total[1] += instruction.sectors
        total[2] += instruction.wavefronts
        total[3] += instruction.thread_executed * width(opcode)
    return [
        Traffic(name=kind, requests=total[0], sectors=total[1], wavefronts=total[2], bytes=total[3])
        for kind in dict.fromkeys(KINDS.values())
        if (total := sums.get(kind)) is not None
    ]


def flow(counters: Mapping[str, Any]) -> LaunchFlow | None:
    """Distinct bytes of global memory touched, and what DRAM delivered of them; None when nothing was counted."""
    if "loads" not in counters:
        return None
    asked, fetched = counters["loads"]["bytes"], counters["loads"]["sectors"] * SECTOR
    dram = counters.get("metrics", {}).get("dram__bytes_read.sum")
    return LaunchFlow(
        read_bytes=asked,
        written_bytes=counters["stores"]["bytes"],
        unused_bytes=fetched - asked,
        fetched_twice_bytes=0 if dram is None else max(int(dram) - fetched, 0),
        from_l2_bytes=0 if dram is None else max(fetched - int(dram), 0),
    )
