"""Run a recorded family on the core: the committed cubin, the same inputs, results compared with the hardware's."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from typing import Any

from warpath import _core
from warpath.command import constbank
from warpath.container.cubin import Cubin
from warpath.driver.address_space import LOCAL_WINDOW, SHARED_WINDOW, align_up
from warpath.driver.image import Image, Placement
from warpath.driver.launch import STACK_POINTER, STACK_RESERVE, WINDOW_BYTES
from warpath.gpu.spec import load_sm
from warpath.toolchain.disasm import disassemble

from . import inputs, recording
from .form import Form
from .recording import POISON

_BASE = 0x7F00_0000_0000
_PAGE = 0x20_0000
_RESERVE = 64 * _PAGE
_DEVICE, _CODE = 1, 4  # kinds of allocation
_STACK = 4096
_BUDGET = 20_000_000  # warp instructions; no form needs a tenth


class ReplayError(Exception):
    """The core could not run a form: undeclared instruction, fault, or no end."""


@dataclass(frozen=True)
class Mismatch:
    """One result that differs from the recorded one."""

    thread: int
    inputs: tuple[int, ...]
    expected: tuple[int, ...]
    got: tuple[int, ...]

    def __str__(self) -> str:
        def text(words: tuple[int, ...]) -> str:
            return " ".join(f"{word:08x}" for word in words)

        return f"thread {self.thread}: in {text(self.inputs)} expected {text(self.expected)} got {text(self.got)}"


class Family:
    """A family's module loaded into the core's memory."""

    def __init__(self, name: str, code: bytes) -> None:
        """`code` is the family's cubin, the recorded one or one for another architecture."""
        self.recording = recording.load(name)
        self.cubin = Cubin(code, name)
        self.sm = load_sm(f"sm_{self.cubin.sm}")
        self.memory = _core.Memory()
        self.memory.reserve(_BASE, _RESERVE)
        self._next = _BASE
        self.image = Image(self.cubin)
        self.image.link(lambda placement: self._place(placement))
        for block in self.image.blocks:
            if block.data:
                self.memory.write(block.va, block.data)
        self.code = next(block for block in self.image.blocks if block.placement.is_code)
        text = [tuple(line) for line in disassemble(self.code.data, self.cubin.sm)]
        self.program = _core.Program(self.cubin.sm, self.code.va, self.code.data, text)
        self.undeclared = {row["pc"] // 16: row for row in self.program.undeclared()}

    def _place(self, placement: Placement) -> int:
        return self._allocate(placement.size, _CODE if placement.is_code else _DEVICE)

    def _allocate(self, size: int, kind: int = _DEVICE) -> int:
        va = self._next
        self._next += align_up(size, _PAGE)
        self.memory.alloc(va, size, kind)
        return va

    def missing(self, form: Form) -> list[str]:
        """Instructions of the form's kernel that the core does not declare."""
        kernel = self.cubin.kernels[form.symbol]
        first = (self.image.address(kernel.section, kernel.offset) - self.code.va) // 16
        window = range(first, first + len(kernel.code) // 16)
        return [f"{row['text']} ({row['reason']})" for pc, row in self.undeclared.items() if pc in window]

    def run(self, form: Form) -> list[Mismatch]:
        """Launch the form; every thread whose results differ. ReplayError when it does not finish."""
        missing = self.missing(form)
        if missing:
            raise ReplayError("undeclared: " + "; ".join(missing))
        result = self.recording.results[form.name]
        threads, columns, crc = inputs.columns(form.inputs)
        if (threads, crc) != (result.threads, result.crc):
            raise ReplayError("its inputs have changed since it was recorded: record the family again")
        mark = self._next
        source, sink = self._allocate(max(len(columns), 4)), self._allocate(4 * threads * form.outputs)
        scratch = self._allocate(16 * threads)
        self.memory.write(source, columns)
        self.memory.write(sink, struct.pack("<I", POISON) * (threads * form.outputs))
        self.memory.write(scratch, bytes(16 * threads))
        arguments = struct.pack("<QQQi", source, sink, scratch, threads)
        try:
            self._launch(form, threads, arguments)
            got = self.memory.read(sink, 4 * threads * form.outputs)
        finally:
            for va in range(mark, self._next, _PAGE):
                self.memory.free(va)
            self._next = mark
        return _differences(threads, columns, result.data, got)

    def _launch(self, form: Form, threads: int, arguments: bytes) -> None:
        kernel = self.cubin.kernels[form.symbol]
        grid, block = (threads // form.block, 1, 1), (form.block, 1, 1)
        shared = align_up(kernel.static_shared + self.sm.shared_reserved_bytes, 128)
        layout = constbank.load_layout(self.sm.cbank0)
        fields: dict[str, constbank.FieldValue] = {
            "block": block, "grid": grid, "grid_again": grid, "shared_window": SHARED_WINDOW,
            "shared_window_again": SHARED_WINDOW, "local_window": LOCAL_WINDOW, "window_bytes": WINDOW_BYTES,
            "stack_pointer": STACK_POINTER, "shared_top": shared, "cluster": (1, 1, 1), "grid_in_clusters": grid,
            "reserved_shared": self.sm.shared_reserved_bytes,
        }  # fmt: skip
        named = {name: value for name, value in fields.items() if name in layout.fields}
        bank = constbank.build(layout, arguments, param_base=kernel.param_base, **named)
        bank_va = self._allocate(len(bank))
        self.memory.write(bank_va, bank)
        banks = [(0, 0)] * 18
        banks[0] = (bank_va, len(bank))
        for index, constant in kernel.constants.items():
            if index:
                banks[index] = (self.image.address(constant.section, 0), len(constant.data))
        running = _core.Grid(
            self.memory, self.program, self.image.address(kernel.section, kernel.offset), grid, block,
            kernel.registers, shared, _STACK + STACK_RESERVE, banks, SHARED_WINDOW, LOCAL_WINDOW, 132, 8, False,
        )  # fmt: skip
        state = running.step(_BUDGET, 1)
        if state != "done":
            fault: Any = running.fault
            raise ReplayError(
                f"{state}: {fault and {key: fault[key] for key in ('kind', 'text', 'message', 'thread')}}"
            )


def _differences(threads: int, columns: bytes, expected: bytes, got: bytes) -> list[Mismatch]:
    if got == expected:
        return []
    source, want, have = array("I", columns), array("I", expected), array("I", got)
    rows = (
        (t, tuple(source[t::threads]), tuple(want[t::threads]), tuple(have[t::threads]))
        for t in range(threads)
    )
    return [Mismatch(*row) for row in rows if row[2] != row[3]]
