"""A report with every part filled in, made from that of a real run: what the run lacks is added as others would."""

from __future__ import annotations

import math

from msgspec.structs import replace

from warpath.report.model import (
    Accuracy,
    BlockSpan,
    Diagnosis,
    FlowEdge,
    Launch,
    LaunchFlow,
    LedgerTerm,
    Overhead,
    Report,
    Timeline,
    WarpSpan,
    WhatIf,
)

STATES = ("long_scoreboard", "selected", "wait", "long_scoreboard", "short_scoreboard", "barrier")
BINS = 120


def full(report: Report) -> Report:
    """`report` with all parts of every launch, and a flow of data between the first two launches."""
    launches = [full_launch(launch, report.gpu.sms) for launch in report.launches]
    edges = [
        FlowEdge(producer=0, consumer=1, kind="fusion", bytes=4 << 20, dram_bytes=8 << 20, saves_ns=4200)
        for _ in launches[1:2]
    ]
    return replace(
        report,
        launches=launches,
        dataflow=edges,
        verdict="Two thirds of the time is DRAM; the rest is latency.",
    )


def full_launch(launch: Launch, sms: int) -> Launch:
    """`launch` with ledger, what-if, diagnoses, overhead, timeline, flow, accuracy and a request of each access."""
    duration = launch.duration_ns or 10_000
    ledger = ledger_of(duration, round(launch.floor_ns))
    return replace(
        launch,
        duration_ns=duration,
        ledger=ledger,
        ledger_note="Replayed from the first 2 waves of CTAs.",
        what_if=[
            WhatIf(change=t.term, kind="effect", label=f"without {t.label}", duration_ns=duration - t.ns)
            for t in ledger[1:]
        ]
        + [
            WhatIf(
                change="block=1024",
                kind="user",
                label="1024 threads a CTA",
                duration_ns=None,
                text="does not fit",
            )
        ],
        verdict=f"{100 * launch.floor_ns / duration:.0f} % of the time is the DRAM floor; latency costs the rest.",
        bound="dram",
        diagnoses=[
            Diagnosis(
                key="latency",
                text="Each warp waits for both loads before it does anything else: more bytes in flight would help.",
                file=launch.instructions[0].file if launch.instructions else "",
                line=9,
            )
        ],
        overhead=Overhead(
            host_call_ns=5300,
            submit_ns=310,
            front_ns=1250,
            gap_ns=None,
            first=True,
            load_ns=48_000,
            load_text="Upload of 640 B of code, inline.",
        ),
        timeline=timeline_of(launch, duration, sms),
        flow=LaunchFlow(
            read_bytes=8 << 20,
            written_bytes=4 << 20,
            unused_bytes=0,
            fetched_twice_bytes=4096,
            from_l2_bytes=1 << 20,
        ),
        accuracy=Accuracy(board="h200", mean_error_percent=6.4, launches=81, outside=["clock of this board"]),
        instructions=[
            replace(i, sample=sample_of(at)) if i.requests else i for at, i in enumerate(launch.instructions)
        ],
    )


def ledger_of(duration: int, floor: int) -> list[LedgerTerm]:
    """Terms that sum to `duration`, one of them negative."""
    terms = [
        ("floor", "DRAM floor", floor, "computed"),
        ("l2_hits", "bytes that L2 kept from DRAM", -round(0.02 * duration), "modelled"),
        ("front", "front end and set-up", round(0.08 * duration), "modelled"),
        ("memory_latency", "memory latency exposed", round(0.06 * duration), "modelled"),
        ("dram_inefficiency", "DRAM inefficiency", round(0.04 * duration), "modelled"),
    ]
    rest = duration - sum(ns for _, _, ns, _ in terms)
    terms.append(("tail", "load imbalance and tail", rest, "modelled"))
    return [
        LedgerTerm(term=term, label=label, ns=ns, source=source, text="as this kernel did" if ns else "")
        for term, label, ns, source in terms
    ]


def timeline_of(launch: Launch, duration: int, sms: int) -> Timeline:
    """A ramp, a plateau and a tail; CTAs in waves; 24 warps of SM 0 that mostly wait."""
    size = duration / BINS
    shape = [min(1.0, i / 12, (BINS - i) / 20) for i in range(BINS)]
    blocks = math.prod(launch.grid)
    at_once = max(launch.occupancy.blocks_per_sm * sms, 1)
    waves = max(math.ceil(blocks / at_once), 1)
    step = duration // waves
    return Timeline(
        bin_ns=size,
        warps_active=[92 * s for s in shape],
        issue_active=[5 * s * (1 + 0.3 * math.sin(i)) for i, s in enumerate(shape)],
        dram_bytes=[round(900 * size * s) for s in shape],
        l2_bytes=[round(1500 * size * s) for s in shape],
        blocks=[
            BlockSpan(
                block=b,
                sm=b % sms,
                start_ns=b // at_once * step + 7 * (b % 50),
                end_ns=(b // at_once + 1) * step,
            )
            for b in range(min(blocks, 4096))
        ],
        warps=[
            WarpSpan(
                block=w // 8,
                warp=w % 8,
                sub_partition=w % 4,
                pc=0x10 * (part % 12),
                state=STATES[(part + w) % 6],
                start_ns=part * duration // 30 + 13 * w,
                end_ns=(part + 1) * duration // 30 + 13 * w,
            )
            for w in range(24)
            for part in range(30)
        ],
        watched_sm=0,
    )


def sample_of(number: int) -> list[int]:
    """A coalesced request, or a strided one with a lane left out, in turn."""
    if number % 2:
        return [0x680000000000 + 4 * lane for lane in range(32)]
    return [0x680000400000 + 48 * lane if lane != 5 else -1 for lane in range(32)]
