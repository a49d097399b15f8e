"""What each term of the ledger says of the kernel, with and without the data it would like to have."""

from __future__ import annotations

import re

import pytest

from tests.account_kit import instruction, launch
from warpath.account.effects import LABELS
from warpath.account.ledger import Ledger, Term
from warpath.report.model import Launch
from warpath.report.terms import (
    duration,
    excess_sectors,
    ideal_sectors,
    ledger_terms,
    place,
    stalled,
    worst,
)

LOAD = instruction(
    0x80, "LDG.E.64 R0, [R2.64]", requests=10, sectors=320, executed=10, thread_executed=320, line=3
)
SHARED = instruction(
    0x90, "LDS R4, [R5]", requests=10, wavefronts=85, executed=10, thread_executed=320, line=4
)
USE = instruction(
    0xD0,
    "FADD R5, R0, R4",
    stalls={"long_scoreboard": 900, "wait": 2},
    producers={"SB0": [0x80], "SB2": [0x90]},
)
BARRIER = instruction(
    0xE0, "BAR.SYNC 0x0", stalls={"barrier": 70, "lg_throttle": 8, "no_instruction": 30}, line=11
)
FULL = launch(
    instructions=[LOAD, SHARED, USE, BARRIER],
    counters={"smsp__inst_executed.sum": 4e6, "dram__bytes_read.sum": 20e6, "dram__bytes_write.sum": 30e6},
    utilization={
        "lsu": 12.4,
        "l2": 33.3,
        "crossbar": 21.0,
        "dram": 81.6,
        "fma": 40.0,
        "alu": 44.4,
        "issue": 90.0,
    },
    sm_blocks=[2, 3, 0, 0],
)
BARE = launch(instructions=[], counters={"smsp__inst_executed.sum": 0}, sm_blocks=[])


def text(key: str, of: Launch = FULL) -> str:
    (term,) = ledger_terms(of, Ledger((Term(key, 1, "modelled"),), 1, 1))
    assert (term.term, term.label, term.ns, term.source) == (key, LABELS[key], 1, "modelled")
    return term.text


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("floor", "38.40 MB that DRAM must move once, at paper bandwidth"),
        ("front_end", "from reading the QMD to the first CTA; the same for every launch"),
        ("block_ramp", "264 CTAs handed out one after another, 0.25 waves"),
        ("cold_fetch", "64 B of code and its constants, fetched by every SM; most at 00e0 BAR (k.cu:11)"),
        ("fixed_latency", "stall counts, barriers, branches, shared memory; most at 00e0 BAR (k.cu:11)"),
        ("memory_latency", "most at 00d0 FADD (k.cu:9), which waits for 0080 and 0090"),
        ("bank_conflicts", "8.5 wavefronts a request at 0090 LDS (k.cu:4)"),
        ("uncoalesced", "32 sectors a request at 0080 LDG (k.cu:3), where 8 would do"),
        ("l1_lsu_mio", "LSU busy 12 % of the time; most at 00e0 BAR (k.cu:11)"),
        ("crossbar_l2", "L2 slices busy 33 %, replies 21 % of the crossbar"),
        ("dram_inefficiency", "rows, turnarounds and refresh: 82 % of the peak was reached"),
        ("extra_dram", "50.00 MB moved, 38.40 MB compulsory: read again, or written back"),
        ("l2_kept", "18.40 MB were in L2 before the launch"),
        ("issue", "operands of one instruction in one register bank"),
        ("math_pipes", "the ALU pipe is busiest, 44 % of the time"),
        (
            "store_drain",
            "the last stores on their way to L2, and completion, which is the same for every launch",
        ),
        ("imbalance_tail", "2 to 3 CTAs an SM, 2 of 4 SMs had none"),
    ],
)
def test_each_term_speaks_of_this_kernel(key: str, says: str) -> None:
    assert text(key) == says


def test_every_label_has_a_text() -> None:
    for key in LABELS:
        assert text(key)


@pytest.mark.parametrize("key", LABELS)
def test_missing_data_leaves_no_holes(key: str) -> None:
    """No instructions (code without symbols), no placement: shorter, but nothing half said."""
    said = text(key, BARE)
    assert said or key == "math_pipes"
    assert not re.search(r"nan|None|most at|  |[;,:] *$", said)


def test_an_issue_floor() -> None:
    bound = launch(floor_kind="issue", counters={"smsp__inst_executed.sum": 4_000_000})
    assert text("floor", bound) == "4,000,000 warp instructions at one a cycle and scheduler"


def test_memory_latency_without_a_producer_or_a_wait() -> None:
    alone = launch(instructions=[instruction(0, "FADD R0, R0, R0", stalls={"long_scoreboard": 1})])
    assert text("memory_latency", alone) == "most at 0000 FADD (k.cu:9)"
    assert text("memory_latency", BARE) == "first bytes on their way"


def test_atomics_are_named_when_nothing_else_lies_apart() -> None:
    add = instruction(
        0x70, "RED.E.ADD [R2.64], R0", requests=10, sectors=90, executed=10, thread_executed=320
    )
    assert text("uncoalesced", launch(instructions=[add])) == (
        "lanes that lie apart; most of the atomics at 0070 RED (k.cu:9)"
    )


def test_ctas_spread_evenly() -> None:
    assert text("imbalance_tail", launch(sm_blocks=[2, 2])) == "2 CTAs an SM"
    assert text("imbalance_tail", launch(sm_blocks=[1, 1])) == "1 CTA an SM"
    assert text("block_ramp", launch(grid=[1, 1, 1])) == "1 CTA, 0.25 waves"


def test_places() -> None:
    assert place(instruction(0x1A0, "@!P0 LDG.E.128 R0, [R2.64]")) == "01a0 LDG (k.cu:9)"
    assert place(instruction(0, "EXIT", line=0)) == "0000 EXIT"


def test_the_worst_instruction_costs_something() -> None:
    assert worst([], stalled("wait")) is None
    assert worst([BARRIER], stalled("wait")) is None
    assert worst([USE, BARRIER], stalled("wait", "barrier")) == (BARRIER, 70)


@pytest.mark.parametrize(
    ("sass", "lanes", "sectors", "excess"),
    [
        ("LDG.E R0, [R2.64]", 32, 4, 0),
        ("LDG.E R0, [R2.64]", 32, 32, 28),
        ("LDG.E.128 R0, [R2.64]", 32, 16, 0),
        ("LDG.E.U8 R0, [R2.64]", 32, 1, 0),
        ("LDG.E R0, [R2.64]", 8, 1, 0),
        ("LDG.E R0, [R2.64]", 1, 1, 0),
        ("LDS R0, [R2]", 32, 0, 0),
        ("REDG.E.ADD [R2.64], R4", 32, 32, 0),
        ("ATOMG.E.ADD R0, [R2.64], R4", 32, 32, 0),
    ],
)
def test_sectors_beyond_those_of_lanes_side_by_side(sass: str, lanes: int, sectors: int, excess: int) -> None:
    """Sectors of atomics count again for lanes on one word, which no layout helps."""
    i = instruction(0, sass, requests=10, sectors=10 * sectors, executed=10, thread_executed=10 * lanes)
    assert excess_sectors(i) == 10 * excess


@pytest.mark.parametrize(("sass", "sectors"), [("LDG.E R0", 4), ("LDG.E.128 R0", 16), ("LDG.E.U8 R0", 1)])
def test_sectors_of_a_full_request(sass: str, sectors: int) -> None:
    assert ideal_sectors(instruction(0, sass)) == sectors


@pytest.mark.parametrize(
    ("ns", "says"), [(0, "+0 ns"), (-1, "-1 ns"), (1500, "+1.50 us"), (-2_500_000, "-2.50 ms")]
)
def test_signed_durations(ns: int, says: str) -> None:
    assert duration(ns) == says
