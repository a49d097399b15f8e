"""The verdict's rules, one by one: what binds, how it is worded, which parts of the time are named."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.account_kit import GPU, OCCUPANCY, instruction, launch, terms
from warpath.account.effects import LABELS
from warpath.report.model import Launch, Traffic
from warpath.report.terms import PIPES, per_group
from warpath.report.verdict import (
    BINDING_PERCENT,
    GROUPS,
    LAUNCH_SHARE,
    Bound,
    bound,
    floor_text,
    flops,
    intensity,
    top_stall,
    verdict,
)

MEMORY = ("dram", "l2", "crossbar", "lsu")


def traffic(name: str, size: int, sectors: int = 0) -> Traffic:
    return Traffic(name=name, requests=1, sectors=sectors or size // 32, wavefronts=0, bytes=size)


def last_words(of: Launch) -> str:
    """What follows the sum."""
    return verdict(of, GPU).split(". ", 1)[1]


# What binds


@pytest.mark.parametrize("key", [*MEMORY, "issue", *PIPES])
def test_a_resource_binds_from_the_threshold_on(key: str) -> None:
    stalls = {"wait": 3.0}
    assert bound(launch(utilization={key: BINDING_PERCENT}, stalls=stalls)) == Bound(key)
    below = launch(utilization={key: BINDING_PERCENT - 0.01}, stalls=stalls)
    assert bound(below) == Bound("latency", "wait")


def test_the_busiest_resource_binds() -> None:
    assert bound(launch(utilization={"dram": 80.0, "issue": 81.0, "lsu": 60.0})) == Bound("issue")


def test_launching_binds_when_it_is_half_of_the_time() -> None:
    fixed = round(LAUNCH_SHARE * 10_000)
    half = launch(ledger=terms(floor=0, front_end=fixed - 1000, store_drain=1000), stalls={"wait": 1.0})
    assert bound(half) == Bound("launch")
    less = replace(half, ledger=terms(floor=0, front_end=fixed - 1001, store_drain=1000))
    assert bound(less) == Bound("latency", "wait")


def test_a_busy_resource_comes_before_launching() -> None:
    busy = launch(ledger=terms(front_end=9000), utilization={"dram": 90.0})
    assert bound(busy) == Bound("dram")


def test_else_what_warps_wait_for_binds() -> None:
    waits = launch(stalls={"selected": 9.0, "barrier": 3.0, "long_scoreboard": 4.0})
    assert top_stall(waits) == "long_scoreboard", "issuing is no wait"
    assert bound(waits) == Bound("latency", "long_scoreboard")


def test_nothing_binds_without_a_clock() -> None:
    assert bound(launch(duration_ns=None, ledger=[], stalls={}, utilization={})) == Bound("")
    assert bound(launch(stalls={"selected": 1.0})) == Bound("")


# The sum


def test_no_verdict_without_a_duration_or_a_ledger() -> None:
    assert verdict(launch(duration_ns=None), GPU) == ""
    assert verdict(launch(ledger=[]), GPU) == ""


def test_it_opens_with_the_duration_and_the_floor() -> None:
    assert verdict(launch(), GPU).startswith(
        "k: 10.00 us; DRAM floor 8.00 us (38.40 MB of loads at 4800 GB/s); "
    )


def test_an_issue_floor_counts_instructions() -> None:
    counters = {"smsp__inst_executed.sum": 1_234_567}
    text = floor_text(launch(floor_kind="issue", floor_ns=900, counters=counters), GPU)
    assert text == "issue floor 900 ns (1,234,567 warp instructions at one a cycle and scheduler)"


def test_stores_that_stayed_in_l2_are_named() -> None:
    stores = [traffic("global stores", 20_000_000)]
    kept = launch(traffic=stores, counters={"dram__bytes_write.sum": 9_999_999})
    assert floor_text(kept, GPU).endswith("; the 20.00 MB of stores stayed in the 60 MB L2)")
    written = launch(traffic=stores, counters={"dram__bytes_write.sum": 10_000_000})
    assert "stayed" not in floor_text(written, GPU)


def test_a_floor_of_stores_is_not_called_loads() -> None:
    assert "(38.40 MB of stores that L2 cannot hold at" in floor_text(
        launch(floor_stored_bytes=38_400_000, counters={"dram__bytes_write.sum": 38e6}), GPU
    )
    both = floor_text(launch(floor_stored_bytes=8_400_000), GPU)
    assert "(30.00 MB of loads and 8.40 MB of stores that L2 cannot hold at" in both
    assert "(0 B of loads at" in floor_text(launch(floor_bytes=0, floor_ns=0), GPU)


def test_every_term_but_the_floor_is_in_one_group() -> None:
    members = [key for keys in GROUPS.values() for key in keys]
    assert sorted(members) == sorted(set(LABELS) - {"floor"})


def test_groups_add_up() -> None:
    ledger = terms(floor=500, front_end=10, block_ramp=20, cold_fetch=40, memory_latency=80, l2_kept=-300)
    groups = per_group(ledger, GROUPS)
    assert (groups["start-up"], groups["latency"], groups["kept by L2"], groups["pipes"]) == (70, 80, -300, 0)


def test_small_groups_are_lumped_and_the_parts_sum_to_the_duration() -> None:
    ledger = terms(floor=8000, front_end=1000, memory_latency=1301, bank_conflicts=299, l2_kept=-600)
    start = "k: 10.00 us; DRAM floor 8.00 us (38.40 MB of loads at 4800 GB/s); "
    parts = "+1.00 us start-up, +1.30 us latency, -600 ns kept by L2, +299 ns other"
    assert verdict(launch(ledger=ledger), GPU).startswith(start + parts)


def test_a_group_is_named_from_three_per_cent_on() -> None:
    at = verdict(launch(ledger=terms(floor=9700, uncoalesced=300)), GPU)
    assert "+300 ns uncoalesced sectors" in at and "other" not in at
    below = verdict(launch(ledger=terms(floor=9701, uncoalesced=299)), GPU)
    assert "uncoalesced" not in below and "+299 ns other" in below


def test_parts_that_cancel_out_are_no_other() -> None:
    text = verdict(launch(ledger=terms(floor=10_000, uncoalesced=200, l2_kept=-200)), GPU)
    assert "other" not in text and "; DRAM floor 8.00 us" in text


# What is said of the bound


@pytest.mark.parametrize(
    ("key", "name"), [("dram", "DRAM"), ("l2", "L2"), ("crossbar", "the crossbar"), ("lsu", "the LSU")]
)
def test_memory_bound(key: str, name: str) -> None:
    text = last_words(launch(utilization={key: 87.4}))
    assert text.startswith(f"Memory bound: {name} at 87 % of its peak, no floating-point work; occupancy is ")


@pytest.mark.parametrize(
    ("key", "name"), [("issue", "issue slots"), ("fma", "the FMA pipe"), ("fp64", "the FP64 pipe")]
)
def test_compute_bound(key: str, name: str) -> None:
    text = last_words(launch(utilization={key: 70.0}))
    assert text.startswith(f"Compute bound: {name} at 70 % of its peak; occupancy is not the limit")
    assert text.endswith(". Only fewer or cheaper instructions help.")


def test_launch_bound() -> None:
    text = last_words(launch(ledger=terms(floor=1000, front_end=5000, store_drain=2500, memory_latency=1500)))
    assert text == (
        "Launch bound: 75 % of it is front end and completion, the same for any kernel. "
        "Only fewer launches help: batch the work, fuse kernels, or use a graph."
    )


def test_latency_bound_names_the_reason_its_share_and_where() -> None:
    code = [
        instruction(0x10, "LDG.E R0, [R2.64]", stalls={"long_scoreboard": 5}, line=7),
        instruction(0xD0, "@!P0 FADD.FTZ R5, R4, R4", stalls={"long_scoreboard": 50, "wait": 900}),
    ]
    text = last_words(
        launch(stalls={"long_scoreboard": 6.0, "wait": 3.0, "selected": 1.0}, instructions=code)
    )
    assert text == (
        "Latency bound: no resource is near its peak; warps wait for memory latency (long_scoreboard) 60 % of their "
        "cycles, most at 00d0 FADD (k.cu:9); occupancy is not the limit (64 of 64 warps). "
        "More loads under way would help: more warps, or independent loads in each thread."
    )


def test_latency_bound_without_instructions_or_with_an_unknown_reason() -> None:
    text = last_words(launch(stalls={"new_reason": 2.0}))
    assert "warps wait for new_reason (new_reason) 100 % of their cycles; occupancy" in text
    assert text.endswith("warps).")


def test_occupancy_names_its_limiters() -> None:
    low = replace(OCCUPANCY, warps_per_sm=16, limiter=["registers", "shared_mem"])
    text = last_words(launch(occupancy=low, utilization={"dram": 60.0}))
    assert "; occupancy allows 16 of 64 warps, limited by registers and shared_mem." in text


# Arithmetic


def test_flops_count_lanes_and_fused_operations_twice() -> None:
    code = [
        instruction(0, "FFMA R0, R1, R2, R3", thread_executed=100),
        instruction(16, "@P0 HFMA2.MMA R0, R1, R2, R3", thread_executed=10),
        instruction(32, "IADD3 R0, R1, R2, R3", thread_executed=1000),
        instruction(48, "DADD R0, R2, R4", thread_executed=1),
    ]
    assert flops(launch(instructions=code)) == 241


@pytest.mark.parametrize(
    ("lanes", "size", "text"),
    [
        (0, 1000, "no floating-point work"),
        (32, 0, "32 flops and no global memory"),
        (1000, 12_000, "1 flop per 12 bytes"),
        (1000, 1000, "1 flops a byte"),
        (4000, 1000, "4 flops a byte"),
    ],
)
def test_intensity(lanes: int, size: int, text: str) -> None:
    code = [instruction(0, "FADD R0, R1, R2", thread_executed=lanes)]
    moved = [traffic("global loads", size), traffic("shared loads", 10**9)]
    assert intensity(launch(instructions=code, traffic=moved)) == text


# What would help


def test_layout_comes_first_when_it_costs_a_tenth() -> None:
    ledger = terms(floor=8500, uncoalesced=1000, bank_conflicts=500)
    ledger[1] = replace(ledger[1], text="32 sectors a request at 0080 LDG (k.cu:3), where 4 would do")
    text = last_words(launch(ledger=ledger, utilization={"fma": 90.0}))
    assert text.endswith(
        "Better laid out accesses would help: 32 sectors a request at 0080 LDG (k.cu:3), where 4 would do."
    )
    less = last_words(launch(ledger=terms(floor=8501, uncoalesced=999, bank_conflicts=500)))
    assert "laid out" not in less


def test_layout_without_a_text_and_the_larger_of_two() -> None:
    assert last_words(launch(ledger=terms(uncoalesced=2000), utilization={"l2": 60.0})).endswith(
        "Better laid out accesses would help."
    )
    ledger = terms(uncoalesced=1000, bank_conflicts=1001)
    ledger[1] = replace(ledger[1], text="8 wavefronts a request")
    assert last_words(launch(ledger=ledger)).endswith("would help: 8 wavefronts a request.")


def test_idle_sms_from_a_quarter_on() -> None:
    more = launch(sm_blocks=[1] * 98 + [0] * 34, stalls={"wait": 1.0})
    assert last_words(more).endswith("34 of 132 SMs have nothing to do: more, smaller blocks would help.")
    assert "nothing to do" not in last_words(launch(sm_blocks=[1] * 99 + [0] * 33))
    assert "nothing to do" not in last_words(launch(sm_blocks=[]))


def test_dram_bound_without_waste_can_only_move_less() -> None:
    load = instruction(0x80, "LDG.E R0, [R2.64]", requests=10, sectors=40, executed=10, thread_executed=320)
    full = launch(utilization={"dram": 90.0}, instructions=[load], traffic=[traffic("global loads", 1280)])
    assert last_words(full).endswith("Only moving fewer bytes helps, e.g. fusing with a neighbour.")
    # 2 of 42 sectors are less than a twentieth, 3 of 43 are more.
    for sectors, helps in ((42, True), (43, False)):
        code = [replace(load, sectors=sectors)]
        moved = [traffic("global loads", 1280, sectors)]
        text = last_words(replace(full, instructions=code, traffic=moved))
        assert ("Only moving fewer bytes" in text) == helps


def test_nothing_is_advised_where_no_rule_knows() -> None:
    assert last_words(launch(stalls={"barrier": 1.0})).endswith("warps).")
