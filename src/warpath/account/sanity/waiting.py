"""Rules on what cannot overlap: atomics on one address, locks, and loads that wait for one another."""

from __future__ import annotations

from collections.abc import Iterator

from warpath.account.sanity.kit import (
    GLOBAL_ATOMICS,
    GLOBAL_LOADS,
    SECTOR,
    Case,
    count,
    heaviest,
    where,
)
from warpath.isa.opcodes import opcode_of
from warpath.report.model import Diagnosis, InstructionInfo

# Lanes of a warp on one address from which an atomic serialises noticeably: a quarter of a warp.
LANES_ON_ONE_WORD = 8.0
# Requests on a single sector, from all warps, that one L2 slice takes one after another.
REQUESTS_ON_ONE_SECTOR = 256
# Attempts over successes from which a lock is fought over.
ATTEMPTS = 2.0
# Of all warp cycles, the share spent on loads from global memory; and the warps a scheduler has to hide it with.
WAITING_SHARE, FEW_WARPS = 0.6, 2.0


def contended_atomics(case: Case) -> Iterator[Diagnosis]:
    """Atomics whose lanes, or whose warps, all go to the same place."""
    flow = case.launch.flow
    for i in case.of(*GLOBAL_ATOMICS, "ATOMS"):
        modifiers = opcode_of(i.sass).split(".")[1:]
        merged = "POPC" in modifiers  # lanes on one word count as one
        lanes = i.thread_executed / max(i.words, 1)
        here = opcode_of(i.sass) + where(i.file, i.line)
        figures = {
            "requests": i.requests,
            "lanes_per_address": round(lanes, 2),
            "addresses_per_request": round(i.words / max(i.requests, 1), 2),
        }
        if i.words and lanes >= LANES_ON_ONE_WORD and not merged and not _is_lock(i):
            text = (
                f"{lanes:.3g} lanes of a request on one address in {here}: {i.thread_executed} updates, one after "
                "another. Private copies, or one update a warp, avoid it"
            )
        elif (
            i.words
            and opcode_of(i.sass).split(".")[0] in GLOBAL_ATOMICS
            and not _is_lock(i)
            and flow is not None
            and flow.written_bytes <= SECTOR
            and i.requests >= REQUESTS_ON_ONE_SECTOR
        ):
            text = f"{i.requests} requests on one sector in {here}: a single L2 slice takes them one after another"
        else:
            continue
        yield Diagnosis(key="contended_atomics", text=text, file=i.file, line=i.line, figures=figures)


def serialised_lock(case: Case) -> Iterator[Diagnosis]:
    """A compare-and-swap loop that fails more often than it succeeds, with an exchange that releases."""
    swaps = [i for i in case.of("ATOM", "ATOMG", "ATOMS") if "CAS" in opcode_of(i.sass).split(".")]
    releases = [i for i in case.of("ATOM", "ATOMG", "ATOMS") if "EXCH" in opcode_of(i.sass).split(".")]
    tries, successes = (sum(i.thread_executed for i in group) for group in (swaps, releases))
    if not successes or tries < ATTEMPTS * successes:
        return
    file, line = heaviest(swaps, lambda i: i.thread_executed)
    yield Diagnosis(
        key="serialised_lock",
        text=f"{count(successes, 'critical section')} one after another{where(file, line)}: {tries} attempts to "
        f"take the lock, {tries - successes} of them in vain. An atomic on the data itself needs no lock",
        file=file,
        line=line,
        figures={"successful_cas": successes, "cas": tries, "retries": tries - successes},
    )


def low_parallelism_latency(case: Case) -> Iterator[Diagnosis]:
    """Warps that wait for loads with next to no other warp to run meanwhile."""
    launch = case.launch
    total = sum(launch.stalls.values())
    warps = launch.counters.get("smsp__warps_active.avg.per_cycle_active")
    if not total or warps is None or warps > FEW_WARPS or not launch.duration_ns:
        return
    share = launch.stalls.get("long_scoreboard", 0.0) / total
    loads = case.of(*GLOBAL_LOADS)
    if share < WAITING_SHARE or not loads:
        return
    file, line = heaviest(loads, lambda i: i.executed)
    chain = sum(i.executed for i in loads) / case.warps
    each_ns = launch.duration_ns / max(chain, 1)
    yield Diagnosis(
        key="low_parallelism_latency",
        text=f"{100 * share:.0f}% of warp cycles wait for loads with {warps:.2g} warps a scheduler to hide it: "
        f"about {chain:.4g} loads a warp, {each_ns:.0f} ns each{where(file, line)}. "
        "More independent loads in flight help, bandwidth does not",
        file=file,
        line=line,
        figures={
            "long_scoreboard_share": round(share, 3),
            "warps_per_scheduler": round(warps, 2),
            "loads_per_warp": round(chain, 1),
        },
    )


def _is_lock(i: InstructionInfo) -> bool:
    return bool({"CAS", "EXCH"} & set(opcode_of(i.sass).split(".")))
