"""Rules on what the compiler made of the source: work folded or removed, double precision, spills, local arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from warpath.account.sanity.kit import (
    GLOBAL_ATOMICS,
    GLOBAL_STORES,
    LANES,
    LOCAL,
    Case,
    heaviest,
    mnemonic,
    where,
)
from warpath.gpu import timing
from warpath.isa.opcodes import opcode_of
from warpath.report.model import Diagnosis, InstructionInfo, PtxPart

WORD = 1 << 32
LONGEST_FOLD = 1024  # steps that are looked for in one; compilers unroll by less
_UPDATE = re.compile(r"mad\.lo\.[su]32 (%\w+), (%\w+), (-?\d+), (-?\d+);")
_ADDEND = re.compile(r",(-?0x[0-9a-f]+)$")
_LEAVES = (*GLOBAL_STORES, *GLOBAL_ATOMICS, "CALL", "BPT", "SUST", "SURED", "STAS", "UBLKCP", "UTMASTG")
_DOUBLE = re.compile(r"\bdouble\d?\b")  # in a signature; a name that ends in _double is none
_FP64 = ("DADD", "DMUL", "DFMA", "DSETP", "DMMA")
_CONVERSIONS = ("F2F", "F2I", "I2F")


@dataclass(frozen=True)
class Update:
    """x = x * multiplier + addend, modulo 2^32."""

    multiplier: int
    addend: int

    def then(self, other: Update) -> Update:
        """This update, and after it `other`."""
        multiplier = self.multiplier * other.multiplier % WORD
        return Update(multiplier, (self.addend * other.multiplier + other.addend) % WORD)

    def steps(self, single: Update) -> int | None:
        """How many times `single`, at least twice, has the effect of this update; None when no number was found."""
        several = single
        for times in range(2, LONGEST_FOLD + 1):
            several = several.then(single)
            if several == self:
                return times
        return None


def folded_work(case: Case) -> Iterator[Diagnosis]:
    """A linear update in a loop of which the compiler does several steps in one.

    Its remainder loop keeps the single step, so PTX holds both: an update that equals another one of the same line
    applied k times. Counted is what ran of each.
    """
    if case.kernel is None:
        return
    for (file, line), text in _by_line(case.kernel.ptx).items():
        updates = _updates(text)
        code = [i for i in case.executed if (i.file, i.line) == (file, line) and mnemonic(i) == "IMAD"]
        for folded in updates:
            for single in updates:
                steps = folded.steps(single) if folded != single else None
                ran = _per_thread(case, code, folded)
                if steps is None or not ran:
                    continue
                total = steps * ran + _per_thread(case, code, single)
                yield Diagnosis(
                    key="folded_work",
                    text=f"the compiler does {steps} steps of x = x * {single.multiplier} + {single.addend} in one "
                    f"IMAD{where(file, line)}: {total:g} steps a thread in the source, {ran:g} IMAD executed; "
                    f"a rate computed from the source is {total / ran:.3g} times too high",
                    file=file,
                    line=line,
                    figures={
                        "source_steps": total,
                        "executed_imad": ran,
                        "folded_multiplier": folded.multiplier,
                        "steps": steps,
                    },
                    source="computed",
                )


def dead_work(case: Case) -> Iterator[Diagnosis]:
    """A kernel that takes arguments and has no instruction through which a result could leave it."""
    if not case.launch.params or not case.launch.instructions:
        return
    if any(mnemonic(i) in _LEAVES for i in case.launch.instructions):
        return
    yield Diagnosis(
        key="dead_work",
        text=f"the kernel stores nothing: what it computed led nowhere, and the compiler removed it; "
        f"{len(case.executed)} instructions are left",
        figures={"instructions": len(case.executed)},
        source="computed",
    )


def hidden_fp64(case: Case) -> Iterator[Diagnosis]:
    """Double precision in a kernel whose signature names no double."""
    code = [i for i in case.executed if _is_fp64(i)]
    if not code or _DOUBLE.search(case.launch.kernel):
        return
    file, line = heaviest(code, lambda i: i.thread_executed)
    arithmetic = [i for i in code if mnemonic(i) in _FP64]
    lanes = sum(i.thread_executed for i in arithmetic)
    conversions = sum(i.thread_executed for i in code if mnemonic(i) in _CONVERSIONS)
    rate = fp64_rate(case)
    cost_us = lanes / (min(case.blocks, case.gpu.sms) * rate) / case.gpu.clock_boost_mhz
    kinds = sorted({mnemonic(i) for i in arithmetic})
    yield Diagnosis(
        key="hidden_fp64",
        text=f"double precision in a kernel without a double in its signature{where(file, line)}: "
        f"{lanes / case.threads:.3g} {'/'.join(kinds) or 'FP64'} and {conversions / case.threads:.3g} conversions a "
        f"thread; at {rate:g} FP64 operations a clock and SM the arithmetic alone takes {cost_us:.2f} us. "
        "A literal without f, or a function without one, is the usual reason",
        file=file,
        line=line,
        figures={
            "fp64_per_thread": lanes / case.threads,
            "conversions_per_thread": conversions / case.threads,
            "fp64_per_clk_sm": rate,
            "cost_us": round(cost_us, 3),
        },
    )


def spills(case: Case) -> Iterator[Diagnosis]:
    """Registers that ptxas had to keep in local memory."""
    kernel = case.kernel
    if kernel is None or not (kernel.spill_stores or kernel.spill_loads):
        return
    file, line = heaviest(case.of(*LOCAL), lambda i: i.executed)
    yield Diagnosis(
        key="spills",
        text=f"{kernel.spill_stores} B of spill stores and {kernel.spill_loads} B of spill loads a thread with "
        f"{kernel.registers} registers; most local accesses are{where(file, line) or ' not tied to a line'}",
        file=file,
        line=line,
        figures={"spill_stores": kernel.spill_stores or 0, "spill_loads": kernel.spill_loads or 0},
        source="computed",
    )


def local_array(case: Case) -> Iterator[Diagnosis]:
    """A stack frame without spills: an array that is indexed by data, and therefore lies in local memory."""
    kernel, code = case.kernel, case.of(*LOCAL)
    if kernel is None or not code or not kernel.stack or kernel.spill_stores or kernel.spill_loads:
        return
    file, line = heaviest(code, lambda i: i.lines)
    worst = max(code, key=lambda i: i.lines / max(i.requests, 1))
    yield Diagnosis(
        key="local_array",
        text=f"{kernel.stack} B of stack a thread and no spills ({kernel.registers} registers): an array indexed by "
        f"data lies in local memory; most of it is used{where(file, line)}, up to "
        f"{worst.lines / max(worst.requests, 1):.1f} lines a request. Shared memory or packed counters avoid it",
        file=file,
        line=line,
        figures={
            "stack_bytes": kernel.stack,
            "registers": kernel.registers,
            "accesses": sum(i.requests for i in code),
        },
        source="computed",
    )


def fp64_rate(case: Case) -> float:
    """FP64 operations a clock and SM: lanes over the interval of one sub-partition's warp instructions."""
    interval = timing.resolve(case.gpu).values["class_fp64_interval"]
    return LANES * case.gpu.sm.sub_partitions / interval


def _is_fp64(i: InstructionInfo) -> bool:
    name, *modifiers = opcode_of(i.sass).split(".")
    return name in _FP64 or (name in _CONVERSIONS and "F64" in modifiers)


def _by_line(parts: Iterable[PtxPart]) -> dict[tuple[str, int], list[str]]:
    """PTX by source line, wherever in the body it stands."""
    found: dict[tuple[str, int], list[str]] = {}
    for part in parts:
        found.setdefault((part.file, part.line), []).extend(part.text)
    return found


def _updates(text: Iterable[str]) -> list[Update]:
    """Multiply-adds with constants that overwrite their own operand."""
    found: list[Update] = []
    for line in text:
        for target, operand, multiplier, addend in _UPDATE.findall(line):
            if target == operand:
                found.append(Update(int(multiplier) % WORD, int(addend) % WORD))
    return list(dict.fromkeys(found))


def _per_thread(case: Case, code: Iterable[InstructionInfo], update: Update) -> float:
    """How often a thread ran an IMAD with the update's addend."""
    lanes = 0
    for i in code:
        match = _ADDEND.search(i.sass)
        if match and int(match[1], 16) % WORD == update.addend:
            lanes += i.thread_executed
    return lanes / case.threads
