"""Rules on how the grid fits the board: idle SMs, a last round that is nearly empty, few resident warps."""

from __future__ import annotations

import math
from collections.abc import Iterator

from warpath.account.sanity.kit import LANES, Case, count, heaviest, where
from warpath.gpu.occupancy import Occupancy, Request, evaluate, next_step
from warpath.report.model import Diagnosis

# Share of block slots idle over all rounds from which a nearly empty last round is worth a word: 129 blocks on
# 128 slots waste half, 5.33 rounds waste an eighth and are left alone.
TAIL_IDLE = 0.2
# Occupancy at or below which latency is often not hidden any more; half is the common rule of thumb.
LOW_OCCUPANCY = 0.5
# Lanes in use, over the kernel, below which divergence or ragged ends cost more than a fifth.
LANES_IN_USE = 0.8

_NAMES = {
    "warps": "threads",
    "registers": "registers",
    "shared_mem": "shared memory",
    "blocks": "block slots",
    "barriers": "barriers",
}


def few_sms(case: Case) -> Iterator[Diagnosis]:
    """A grid with fewer CTAs than the board has SMs."""
    sms = case.gpu.sms
    if case.blocks >= sms:
        return
    yield Diagnosis(
        key="few_sms",
        text=f"{count(case.blocks, 'block')} for {sms} SMs: {sms - case.blocks} SMs have nothing to do",
        figures={"active_sms": case.blocks, "sms": sms},
        source="computed",
    )


def tail_wave(case: Case) -> Iterator[Diagnosis]:
    """A last round of CTAs that leaves most slots empty."""
    slots = case.gpu.sms * case.launch.occupancy.blocks_per_sm
    rounds = math.ceil(case.blocks / slots)
    idle = 1 - case.blocks / (rounds * slots)
    if rounds < 2 or idle < TAIL_IDLE:
        return
    last = case.blocks - (rounds - 1) * slots
    yield Diagnosis(
        key="tail_wave",
        text=f"{case.blocks} blocks, {slots} at once: round {rounds} has {count(last, 'block')}, "
        f"{100 * idle:.0f}% of all block slots stay empty",
        figures={
            "rounds": rounds,
            "resident_blocks": slots,
            "last_round_blocks": last,
            "idle_share": round(idle, 4),
        },
        source="computed",
    )


def occupancy_limited(case: Case) -> Iterator[Diagnosis]:
    """Few resident warps: what limits them, and what one step would buy."""
    occ = case.launch.occupancy
    share = occ.warps_per_sm / occ.max_warps_per_sm
    if share > LOW_OCCUPANCY or (occ.limiter == ["blocks"] and case.blocks < case.gpu.sms):
        return  # block slots limit nobody while SMs are empty
    limiter = " and ".join(_NAMES[name] for name in occ.limiter)
    yield Diagnosis(
        key="occupancy_limited",
        text=f"at most {occ.warps_per_sm} of {occ.max_warps_per_sm} warps an SM ({100 * share:.1f}%), limited by "
        f"{limiter}{_advice(case)}",
        figures={
            "blocks_per_sm": occ.blocks_per_sm,
            "warps_per_sm": occ.warps_per_sm,
            "occupancy_pct": round(100 * share, 1),
        },
        source="computed",
    )


def unused_lanes(case: Case) -> Iterator[Diagnosis]:
    """Warp instructions that ran with lanes switched off, and the line that lost most."""
    slots = LANES * sum(i.executed for i in case.executed)
    active = sum(i.thread_active for i in case.executed)
    if not slots or active / slots >= LANES_IN_USE:
        return
    file, line = heaviest(case.executed, lambda i: LANES * i.executed - i.thread_active)
    here = [i for i in case.executed if (i.file, i.line) == (file, line)]
    own = sum(i.thread_active for i in here) / (LANES * sum(i.executed for i in here))
    yield Diagnosis(
        key="unused_lanes",
        text=f"{100 * active / slots:.1f}% of lanes in use; most are lost{where(file, line)} ({100 * own:.1f}% there)",
        file=file,
        line=line,
        figures={"lanes_pct": round(100 * active / slots, 1), "line_lanes_pct": round(100 * own, 1)},
        source="computed",
    )


def _advice(case: Case) -> str:
    """What admits one more CTA an SM, or why that would not matter here."""
    launch, sm = case.launch, case.gpu.sm
    if case.blocks < case.gpu.sms:
        return f"; this launch has {count(case.blocks, 'block')}, so no SM holds more than one"
    x, y, z = launch.block
    shared = max(launch.shared_bytes - sm.shared_reserved_bytes, 0)
    now = evaluate(sm, Request(x * y * z, launch.registers, dynamic_shared=shared))
    return "".join(
        _step_text(now, step.resource, step.unit, step.now, step.needed, step.warps)
        for step in next_step(sm, now)
    )


def _step_text(now: Occupancy, resource: str, unit: str, have: int, needed: int | None, warps: int) -> str:
    if resource == "blocks":
        own = -(-now.request.threads // LANES)
        return f"; larger blocks fill the SM: {now.request.threads} threads are {count(own, 'warp')}"
    if needed is None:
        return f"; no smaller number of {unit} admits another block"
    return f"; {needed} {unit} instead of {have} would make it {warps} warps"
