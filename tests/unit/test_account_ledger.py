"""The ledger's arithmetic, over a stream whose replays are known: terms sum to the duration, whatever they are."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.account_kit import BOARD, VALUES, FakeStream
from warpath.account import effects
from warpath.account.effects import LABELS
from warpath.account.floor import Floor
from warpath.account.ledger import Ledger, Term, balanced, close, removed

KHZ = VALUES["sm_clock_khz"]
CYCLES = 100_000
ORDER = list(LABELS)


def ns(cycles: int) -> int:
    return round(cycles * 1_000_000 / KHZ)


def dram_floor(length: float, size: int = 0, instructions: int = 1000) -> Floor:
    return Floor("dram", length, size, 0, instructions, length, 0.0)


def ledger(stream: FakeStream, length: float = 10_000, size: int = 0, **options: frozenset[str]) -> Ledger:
    return close(stream, VALUES, BOARD, dram_floor(length, size), CYCLES, **options)


def by_key(found: Ledger) -> dict[str, int]:
    return {term.key: term.ns for term in found.terms}


def test_each_cost_is_what_its_removal_saves() -> None:
    found = ledger(FakeStream(CYCLES, {"dram_latency": 20_000, "banks": 5000, "launch_interval_256": 300}))
    costs = by_key(found)
    assert costs["memory_latency"] == pytest.approx(ns(20_000), abs=1)
    assert costs["bank_conflicts"] == pytest.approx(ns(5000), abs=1)
    assert costs["block_ramp"] == pytest.approx(ns(300), abs=1)
    assert costs["floor"] == 10_000
    assert sum(costs.values()) == ns(CYCLES)


def test_a_removal_that_makes_it_slower_is_a_negative_term() -> None:
    costs = by_key(ledger(FakeStream(CYCLES, {"mio_interval": -4000})))
    assert costs["l1_lsu_mio"] == pytest.approx(-ns(4000), abs=1)
    assert sum(costs.values()) == ns(CYCLES)


def test_a_launch_below_its_floor_has_a_negative_rest() -> None:
    costs = by_key(ledger(FakeStream(CYCLES), length=2 * ns(CYCLES)))
    assert costs["imbalance_tail"] < 0
    assert sum(costs.values()) == ns(CYCLES)


def test_bytes_beyond_the_compulsory_are_a_term_and_so_are_those_that_l2_kept() -> None:
    size = 1_000_000
    more = by_key(ledger(FakeStream(CYCLES, dram_bytes=3 * size), size=size))
    assert more["extra_dram"] == round(2 * size / BOARD.dram_gbs)
    assert "l2_kept" not in more
    less = by_key(ledger(FakeStream(CYCLES, dram_bytes=size // 4), size=size))
    assert less["l2_kept"] == -round(0.75 * size / BOARD.dram_gbs)
    assert "extra_dram" not in less
    assert sum(more.values()) == sum(less.values()) == ns(CYCLES)


def test_extra_bytes_cost_no_more_than_what_is_left() -> None:
    stream = FakeStream(CYCLES, {"dram_latency": CYCLES - 5000}, dram_bytes=10**9)
    costs = by_key(ledger(stream, length=100))
    assert costs["extra_dram"] <= ns(5000)
    assert "imbalance_tail" not in costs or costs["imbalance_tail"] < 0
    assert sum(costs.values()) == ns(CYCLES)


def test_front_end_and_completion_are_the_boards() -> None:
    costs = by_key(ledger(FakeStream(CYCLES)))
    assert costs["front_end"] == ns(VALUES["front_end"])
    assert costs["store_drain"] == pytest.approx(ns(VALUES["back_end"]), abs=1)


def test_terms_come_in_one_order() -> None:
    stream = FakeStream(
        CYCLES, {"dram_latency": 9, "banks": 800, "sectors": 700, "l1i_latency": 600, "stalls": 500}
    )
    for size in (0, 10_000_000):
        keys = [term.key for term in ledger(stream, size=size).terms]
        order = ["floor", "front_end", *(key for key in ORDER if key not in ("floor", "front_end", "l2_kept",
                 "extra_dram", "imbalance_tail")), "extra_dram", "l2_kept", "imbalance_tail"]  # fmt: skip
        assert keys == sorted(keys, key=order.index)
    assert {term.source for term in ledger(stream).terms[1:]} == {"modelled"}
    assert ledger(stream).terms[0].source == "computed"


def test_absent_effects_are_not_replayed() -> None:
    all_of_them, fewer = FakeStream(CYCLES, {"banks": 5000}), FakeStream(CYCLES, {"banks": 5000})
    ledger(all_of_them)
    found = ledger(fewer, absent=frozenset({"bank_conflicts", "uncoalesced"}))
    assert len(fewer.asked) == len(all_of_them.asked) - 2
    assert "bank_conflicts" not in by_key(found)
    assert not any(asked.get("banks") for asked in fewer.asked)
    assert sum(by_key(found).values()) == ns(CYCLES)


def test_effects_stay_away_once_taken_away() -> None:
    variants = removed(effects.effects(BOARD, VALUES))
    for before, after in pairwise(variants):
        assert before.changes.items() <= after.changes.items()
        assert before.ideal <= after.ideal


def test_dram_runs_at_paper_rate_in_the_end() -> None:
    last = removed(effects.effects(BOARD, VALUES))[-1].changes
    per_cycle = VALUES["dram_channels"] * VALUES["dram_access_bytes"] * 256 / last["dram_access_256"]
    assert per_cycle * KHZ / 1e6 == pytest.approx(BOARD.dram_gbs, rel=0.01)


def test_every_effect_names_parameters_that_exist() -> None:
    for effect in effects.effects(BOARD, VALUES):
        assert set(effect.changes) <= set(VALUES)
        assert set(effect.ideal) <= {"stalls", "banks", "sectors"}
        assert effect.changes or effect.ideal


def part(**fields: object) -> FakeStream:
    """A tenth of a launch, in a tenth of its cycles."""
    known = {"full": CYCLES // 10, "recorded": 5, "blocks": 50, "steps": 100}
    return FakeStream(**{**known, **fields})  # type: ignore[arg-type]


def test_a_part_is_scaled_to_the_whole() -> None:
    around = VALUES["front_end"] + VALUES["back_end"]
    stream = part(full=CYCLES // 10 + around, costs={"dram_latency": 2000})
    found = ledger(stream)
    costs = by_key(found)
    assert (found.replayed, found.blocks, found.share) == (5, 50, 0.1)
    assert costs["memory_latency"] == pytest.approx(ns(20_000), rel=0.05)
    assert costs["front_end"] == ns(VALUES["front_end"]), "paid once"
    assert sum(costs.values()) == ns(CYCLES)


@pytest.mark.parametrize("length", [0, 6_000, 100_000])
@pytest.mark.parametrize("saved", [-3000, 0, 4000])
def test_scaled_ledgers_close_too(length: int, saved: int) -> None:
    found = ledger(part(costs={"dram_latency": saved, "banks": -saved // 2}), length=length)
    assert sum(by_key(found).values()) == ns(CYCLES)


def test_costs_that_nearly_cancel_out_are_not_blown_up() -> None:
    """The part's costs sum to next to nothing: their ratio to the whole's would be in the thousands."""
    rest = ns(CYCLES // 10) - ns(VALUES["front_end"]) - ns(VALUES["back_end"])
    found = ledger(part(costs={"dram_latency": 2000}), length=10 * (rest - 1))
    costs = by_key(found)
    longer = (ns(CYCLES) - ns(CYCLES // 10) + rest) / rest
    assert 0 < costs["memory_latency"] <= longer * ns(2000) + 20
    assert sum(costs.values()) == ns(CYCLES)


def test_code_is_fetched_once_however_long_the_launch() -> None:
    found = ledger(part(costs={"l1i_latency": 1000, "dram_latency": 2000}), length=0)
    costs = by_key(found)
    assert costs["cold_fetch"] == pytest.approx(ns(1000), abs=1)
    assert costs["memory_latency"] > 5 * ns(2000)


def test_what_more_instructions_do_not_explain_is_tail() -> None:
    """The whole takes 20 times as long for 10 times the instructions: a wave of few CTAs came at the end."""
    stream = part(full=CYCLES // 20, costs={"dram_latency": 2000})
    costs = by_key(ledger(stream, length=0))
    assert costs["memory_latency"] == pytest.approx(10 * ns(2000), abs=10)
    assert costs["imbalance_tail"] > ns(CYCLES) / 2


def test_a_part_on_the_other_side_of_its_floor_keeps_the_signs_of_its_costs() -> None:
    found = ledger(part(costs={"dram_latency": 2000}), length=ns(CYCLES) - 2000)
    assert by_key(found)["memory_latency"] == pytest.approx(ns(2000), abs=1)


def test_what_is_left_over_goes_into_the_last_term() -> None:
    terms = [Term("floor", 10, "computed"), Term("imbalance_tail", 3, "modelled")]
    assert balanced(terms, 15)[-1] == Term("imbalance_tail", 5, "modelled")
    assert balanced(terms[:1], 12)[-1] == Term("imbalance_tail", 2, "modelled")
    assert balanced(terms, 10) == tuple(terms[:1]), "a term of nothing is none"


def test_progress_is_told_of_every_replay() -> None:
    told: list[int] = []
    stream = FakeStream(CYCLES)
    close(stream, VALUES, BOARD, dram_floor(1.0), CYCLES, threads=3, advance=lambda: told.append(1))
    assert len(told) == len(stream.asked) == len(effects.effects(BOARD, VALUES))
