"""What a launch's memory instructions asked for, by kind of access."""

from __future__ import annotations

from collections.abc import Sequence

from warpath.report.model import InstructionInfo, Traffic

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
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


def width(opcode: str) -> int:
    """Bytes per lane of a memory opcode: `LDG.E.64` is 8, no suffix 4."""
    return next((_WIDTHS[part] for part in opcode.split(".")[1:] if part in _WIDTHS), 4)


def opcode_of(sass: str) -> str:
    """The opcode with modifiers, without guard and operands."""
    words = sass.split()
    return words[1] if words and words[0].startswith("@") and len(words) > 1 else words[0] if words else ""


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
