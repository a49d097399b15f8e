"""Small SASS programs for the core: written as text, run on one warp or more, registers read back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from warpath import _core

BASE = 0x7000_0000_0000
SHARED_WINDOW, LOCAL_WINDOW = 0x7E01_0000_0000, 0x7E00_0000_0000
CODE_VA = 0x7000_3FE0_0000
BANK_BYTES = 0x1000
LOCAL_BYTES = 512
DUMP_BYTES = 4 * 1024  # one word for each thread of a CTA


def line(text: str) -> tuple[str, str, str]:
    """(predicate, opcode, operands) of `@!P0 LDG.E R4,[R2.64]`."""
    predicate = ""
    if text.startswith("@"):
        predicate, _, text = text.partition(" ")
    opcode, _, operands = text.partition(" ")
    return predicate, opcode, operands


def assemble(source: str) -> list[str]:
    """Instructions of a program; `name:` lines are labels and `=name` stands for their code offset."""
    labels: dict[str, int] = {}
    instructions: list[str] = []
    for raw in source.strip().splitlines():
        text = raw.split("//")[0].strip()
        if text.endswith(":"):
            labels[text[:-1]] = len(instructions) * 16
        elif text:
            instructions.append(text)
    for name in sorted(labels, key=len, reverse=True):
        instructions = [text.replace(f"={name}", hex(labels[name])) for text in instructions]
    return instructions


def new_memory() -> _core.Memory:
    memory = _core.Memory()
    memory.reserve(BASE, 1 << 30)
    return memory


def make_program(instructions: Sequence[str], sm: int = 89, code: bytes | None = None) -> _core.Program:
    raw = bytes(16 * len(instructions)) if code is None else code
    return _core.Program(sm, CODE_VA, raw, [line(text) for text in instructions])


@dataclass
class Run:
    """A finished grid: its state, and the registers that were asked for, by thread."""

    state: str
    grid: _core.Grid
    memory: _core.Memory
    registers: dict[str, list[int]]


def run(
    source: str,
    outputs: Sequence[str] = (),
    *,
    memory: _core.Memory | None = None,
    block: int = 32,
    grid: int = 1,
    inputs: Sequence[Sequence[int]] = (),
    words: Sequence[int] = (),
    banks: Sequence[tuple[int, int]] = (),
    budget: int = 1 << 20,
    threads: int = 1,
    sm: int = 89,
    **options: Any,
) -> Run:
    """Run `source` to its end. Before it, R0 holds the thread number and R(10 + i) word i of `inputs`; its lanes
    must reach its last line together with the values of `outputs`, which are stored then (by block 0).
    `words` go to c[0x0][0x160] on; registers above R100 belong to the kit.
    """
    memory = memory or new_memory()
    dump = BASE + (32 << 20)
    memory.alloc(dump, DUMP_BYTES * (1 + len(inputs) + len(outputs)), 1)
    head = ["S2R R0,SR_TID.X", "IMAD.WIDE.U32 R102,R0,0x4,c[0x0][0x100]"]
    for index, values in enumerate(inputs):
        memory.write(dump + index * DUMP_BYTES, struct.pack(f"<{len(values)}I", *values))
        head.append(f"LDG.E R{10 + index},[R102.64+{index * DUMP_BYTES:#x}]")
    tail = ["S2R R101,SR_CTAID.X", "ISETP.NE.AND P6,PT,R101,RZ,PT", "@P6 EXIT"] if outputs else []
    for index, name in enumerate(outputs):
        store = name
        if name.startswith("P"):
            tail.append(f"SEL R104,RZ,0x1,!{name}")
            store = "R104"
        tail.append(f"STG.E [R102.64+{(len(inputs) + index) * DUMP_BYTES:#x}],{store}")
    body = assemble("\n".join(head) + "\n" + source + "\n" + "\n".join([*tail, "EXIT"]))
    program = make_program(body, sm)
    assert program.undeclared() == []
    bank = bytearray(BANK_BYTES)
    struct.pack_into("<Q", bank, 0x100, dump)
    struct.pack_into(f"<{len(words)}I", bank, 0x160, *words)
    bank_va = dump + (4 << 20)
    memory.alloc(bank_va, BANK_BYTES, 5)
    memory.write(bank_va, bytes(bank))
    shape = {
        "registers": 128,
        "shared_bytes": 4096,
        "local_bytes": LOCAL_BYTES,
        "shared_window": SHARED_WINDOW,
        "local_window": LOCAL_WINDOW,
        "sms": 4,
        "blocks_per_sm": 2,
        **options,
    }
    made = _core.Grid(
        memory,
        program,
        CODE_VA,
        (grid, 1, 1),
        (block, 1, 1),
        const_banks=[(bank_va, BANK_BYTES), *banks],
        **shape,
    )
    state = "running"
    for _ in range(64):
        state = made.step(budget, threads)
        if state != "running":
            break
    registers: dict[str, list[int]] = {}
    for index, name in enumerate(outputs):
        data = memory.read(dump + (len(inputs) + index) * DUMP_BYTES, 4 * block)
        registers[name] = list(struct.unpack(f"<{block}I", data))
    return Run(state, made, memory, registers)
