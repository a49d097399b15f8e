"""Rules on memory traffic: sectors nobody asked for, loads asked twice, bank conflicts, bandwidth that is L2's."""

from __future__ import annotations

from collections.abc import Iterator

from warpath.account.sanity.kit import (
    GLOBAL_LOADS,
    GLOBAL_STORES,
    SECTOR,
    SHARED,
    Case,
    by_line,
    count,
    mnemonic,
    where,
)
from warpath.isa.opcodes import opcode_of, width
from warpath.report.model import Diagnosis, InstructionInfo
from warpath.units import format_bytes

# Sectors a request over the fewest that its bytes fill. A base that is off by one element costs a fifth sector
# (1.25); ragged ends of rows stay below this.
UNCOALESCED = 1.2
# Share of the launch's global sectors that a line must waste to be worth a word.
WASTED_SHARE = 0.05
# Wavefronts over the fewest that the width needs: from two ways on, a conflict doubles the time in the data stage.
CONFLICT_WAYS = 2.0
# Times each distinct sector is asked for: at two, half the requests ask for what was there before.
ASKED_AGAIN = 2.0
# Distinct bytes from which it matters: smaller sets stay in L1 by themselves.
ASKED_AGAIN_BYTES = 1 << 15
# Of the distinct sectors read, the share that DRAM did not deliver, from which a launch was a warm one; and bytes
# below which it does not matter, since the launch lasts as long either way.
FROM_L2, FROM_L2_BYTES = 0.5, 1 << 18
# Share of paper bandwidth in reads from which DRAM did work hard: more than that in all is due to the stores.
DRAM_AT_WORK = 0.5


def unused_bytes(case: Case) -> Iterator[Diagnosis]:
    """Lines whose requests touch more sectors than their bytes fill."""
    code = case.of(*GLOBAL_LOADS, *GLOBAL_STORES)
    total = sum(i.sectors for i in code)
    for (file, line), here in by_line(code).items():
        for names, what in ((GLOBAL_LOADS, "load"), (GLOBAL_STORES, "store")):
            group = [i for i in here if mnemonic(i) in names and i.requests]
            if not group:
                continue
            sectors, requests = sum(i.sectors for i in group), sum(i.requests for i in group)
            asked = sum(_bytes(i) for i in group)
            ideal = max(asked / SECTOR, requests)
            if sectors < UNCOALESCED * ideal or sectors - ideal < WASTED_SHARE * total:
                continue
            used = min(100 * asked / (sectors * SECTOR), 100)
            yield Diagnosis(
                key="unused_bytes",
                text=f"{what}s touch {sectors / requests:.3g} sectors a request where {ideal / requests:.3g} would do"
                f"{where(file, line)}: {used:.1f}% of the bytes moved are used",
                file=file,
                line=line,
                figures={
                    "sectors_per_request": round(sectors / requests, 2),
                    "ideal_sectors_per_request": round(ideal / requests, 2),
                    "useful_pct": round(used, 1),
                    "store": float(what == "store"),
                },
                source="computed",
            )


def redundant_loads(case: Case) -> Iterator[Diagnosis]:
    """Global sectors that are asked for again and again, and whether L1 answered."""
    flow = case.launch.flow
    distinct = (flow.read_bytes + flow.unused_bytes) // SECTOR if flow else 0
    code = case.of(*GLOBAL_LOADS)
    asked = sum(i.sectors for i in code)
    if distinct * SECTOR < ASKED_AGAIN_BYTES or asked < ASKED_AGAIN * distinct:
        return
    groups = by_line(code)
    file, line = max(groups, key=lambda key: sum(i.sectors for i in groups[key]))
    hit = case.launch.counters.get("l1tex__t_sector_hit_rate.pct")
    yield Diagnosis(
        key="redundant_loads",
        text=f"each sector is loaded {asked / distinct:.3g} times, most{where(file, line) or ' in code without lines'}"
        + ("" if hit is None else f"; L1 answers {hit:.0f}%")
        + ". Shared memory or registers would keep what is used again",
        file=file,
        line=line,
        figures={"times": round(asked / distinct, 2), "sectors": asked, "distinct_sectors": distinct},
    )


def bank_conflicts(case: Case) -> Iterator[Diagnosis]:
    """Shared memory instructions whose lanes fall on too few banks, a line at a time."""
    for (file, line), here in by_line(case.of(*SHARED)).items():
        worst = max(here, key=_ways)
        if _ways(worst) < CONFLICT_WAYS:
            continue
        advice = (
            "Lanes that meet on a word or bank go one after another: private copies avoid it"
            if mnemonic(worst) == "ATOMS"
            else "A row pitch that is odd in words (one word of padding) spreads the banks"
        )
        yield Diagnosis(
            key="bank_conflicts",
            text=f"{opcode_of(worst.sass)}{where(file, line)} goes {_ways(worst):.3g} ways: {worst.wavefronts} "
            f"wavefronts for {count(worst.requests, 'request')}. {advice}",
            file=file,
            line=line,
            figures={
                "ways": round(_ways(worst), 2),
                "wavefronts": sum(i.wavefronts for i in here),
                "requests": sum(i.requests for i in here),
            },
        )


def l2_resident(case: Case) -> Iterator[Diagnosis]:
    """Bandwidth that DRAM cannot have delivered, or reads that it did not deliver."""
    launch, gpu = case.launch, case.gpu
    flow, size = launch.flow, case.working_set
    if launch.time is None or not launch.duration_ns or flow is None or not 0 < size <= gpu.l2_bytes:
        return
    parts = ("op_read", "op_write")
    sectors = sum(launch.counters.get(f"lts__t_sectors_srcunit_tex_{part}.sum", 0) for part in parts)
    rate = sectors * SECTOR / launch.duration_ns
    fetched = flow.read_bytes + flow.unused_bytes
    held = flow.from_l2_bytes >= max(FROM_L2 * fetched, FROM_L2_BYTES)
    if rate <= gpu.dram_gbs and not held:
        return
    seen: list[str] = []
    told = "this is L2's bandwidth" if rate > gpu.dram_gbs else "DRAM had little part in this time"
    if launch.counters.get("dram__bytes_read.sum", 0) >= DRAM_AT_WORK * gpu.dram_gbs * launch.duration_ns:
        told = "what was written stayed there, and bytes over time overstate what DRAM did"
    if rate > gpu.dram_gbs:
        seen.append(f"{rate:.0f} GB/s is more than the {gpu.dram_gbs:g} GB/s of DRAM")
    if held:
        seen.append(f"{format_bytes(flow.from_l2_bytes)} of {format_bytes(fetched)} read were still in L2")
    yield Diagnosis(
        key="l2_resident",
        text=f"{', and '.join(seen)}: the working set of {format_bytes(size)} fits in the {format_bytes(gpu.l2_bytes)} "
        f"of L2, so {told}. To see DRAM, use three to four times L2, rotate buffers, or flush",
        figures={
            "gbs": round(rate, 1),
            "dram_gbs": gpu.dram_gbs,
            "working_set_bytes": size,
            "l2_bytes": gpu.l2_bytes,
            "from_l2_bytes": flow.from_l2_bytes,
        },
    )


def _bytes(i: InstructionInfo) -> int:
    return i.thread_executed * width(opcode_of(i.sass))


def _ways(i: InstructionInfo) -> float:
    """Wavefronts over the fewest that the access width needs."""
    return i.wavefronts / max(i.wavefronts - i.conflicts, 1)
