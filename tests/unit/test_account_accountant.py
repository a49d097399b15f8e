"""Which launches get a ledger of their own, which share one, and what is said of those that get none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.account_kit import BOARD, FakeStream, ended
from warpath.account import accountant
from warpath.account.accountant import Account, Accountant, absent


def observe(accounts: Accountant, launch: Any) -> Account | None:
    accounts.on_launch_start(launch)
    accounts.on_launch(launch)
    return accounts.accounts.get(launch.index)


def test_a_launch_is_replayed_and_its_stream_let_go() -> None:
    stream = FakeStream(10_000, {"dram_latency": 2000})
    launch = ended(stream=stream)
    found = observe(Accountant(BOARD), launch)
    assert found is not None and found.ledger is not None
    assert launch.stream is None and stream.asked
    assert (found.note, found.whatif) == ("", ())


def test_what_the_report_does_not_keep_is_neither_recorded_nor_replayed() -> None:
    accounts = Accountant(BOARD)
    accounts.wanted = lambda launch: launch.index == 1
    other, wanted = ended(0, stream=FakeStream(10_000)), ended(1, stream=FakeStream(10_000))
    assert observe(accounts, other) is None
    assert not other.recorded and other.stream is None
    assert observe(accounts, wanted) is not None and wanted.recorded


def test_a_stopped_launch_says_so() -> None:
    found = observe(Accountant(BOARD), ended(stream=FakeStream(10_000), fault={"kind": "hang"}))
    assert found is not None and found.ledger is None
    assert found.note == "no ledger: the launch was stopped"


def test_without_a_clock_there_is_nothing_to_account_for() -> None:
    launch = ended()
    del launch.counters["cycles"]
    assert observe(Accountant(BOARD), launch) is None


@pytest.mark.parametrize(
    ("cycles", "shared"), [(10_000, True), (10_199, True), (9810, True), (10_300, False)]
)
def test_launches_close_in_time_share_a_ledger(cycles: int, shared: bool) -> None:
    accounts = Accountant(BOARD)
    observe(accounts, ended(0, stream=FakeStream(10_000, {"dram_latency": 2000})))
    second = FakeStream(cycles)
    found = observe(accounts, ended(1, cycles, stream=second))
    assert found is not None and found.ledger is not None
    assert (not second.asked) == shared
    assert found.note.startswith("replayed for launch 0") == shared
    assert sum(term.ns for term in found.ledger.terms) == round(cycles * 1e6 / 1_980_000)


def test_a_shared_ledger_names_the_difference_and_has_its_own_floor() -> None:
    accounts = Accountant(BOARD)
    observe(accounts, ended(0, stream=FakeStream(10_000)))
    found = observe(accounts, ended(1, 10_100, counters={"load_footprint_sectors": 303_000}))
    assert found is not None and found.ledger is not None
    assert found.note.endswith("; the +50 ns between them are in the last term")
    assert found.ledger.terms[0].ns == round(found.floor.ns) == round(303_000 * 32 / BOARD.dram_gbs)


@pytest.mark.parametrize(
    "difference",
    [
        {"program_va": 0x2000},
        {"threads": 128},
        {"shared": BOARD.sm.shared_reserved_bytes + 4096},
        {"counters": {"cache": "warm"}},
        {"counters": {"load_footprint_sectors": 400_000}},
        {"counters": {"load_footprint_sectors": 1, "inst_executed": 10**7}},
    ],
)
def test_other_launches_get_their_own(difference: dict[str, Any]) -> None:
    accounts = Accountant(BOARD)
    observe(accounts, ended(0, stream=FakeStream(10_000)))
    stream = FakeStream(10_000)
    observe(accounts, ended(1, stream=stream, **difference))
    assert stream.asked


def test_a_budget_that_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accountant, "BUDGET", 5000)
    accounts = Accountant(BOARD)
    observe(accounts, ended(0, stream=FakeStream(10_000, steps=1000)))
    late = ended(1, program_va=0x2000)
    found = observe(accounts, late)
    assert not late.recorded
    assert found is not None and found.ledger is None
    assert found.note == "no ledger: the program's launches before it used up the replays"
    again = observe(accounts, ended(2))
    assert again is not None and again.ledger is not None, "what was replayed already still serves"


def test_a_part_is_named_and_stays_named_for_those_that_share_it() -> None:
    accounts = Accountant(BOARD)
    first = observe(accounts, ended(0, stream=FakeStream(5000, recorded=4, blocks=10, steps=40_000)))
    assert first is not None
    assert first.note == "from the first 4 of 10 CTAs, scaled to the whole launch"
    second = observe(accounts, ended(1))
    assert second is not None and first.note in second.note


class CutStream(FakeStream):
    """All CTAs, none to its end."""

    @property
    def whole(self) -> bool:
        return False


def test_instructions_that_were_not_kept_are_named() -> None:
    found = observe(Accountant(BOARD), ended(stream=CutStream(5000, steps=25_000)))
    assert found is not None
    assert found.note == "from the first 25 % of its instructions, scaled to the whole launch"


def test_progress_names_the_launch() -> None:
    told: list[tuple[str, int]] = []
    accounts = Accountant(BOARD, progress=lambda what, done: told.append((what, done)))
    observe(accounts, ended(7, stream=FakeStream(10_000)))
    assert told[0] == ("launch 7", 1)
    assert [done for _, done in told] == list(range(1, len(told) + 1))


def test_effects_that_counters_rule_out() -> None:
    assert absent(ended()) == {"bank_conflicts", "uncoalesced"}
    assert absent(ended(conflicts=1)) == {"uncoalesced"}
    assert absent(ended(counters={"excess_sectors": 1})) == {"bank_conflicts"}


def test_what_if_is_asked_for() -> None:
    found = observe(Accountant(BOARD, what_if=True), ended(stream=FakeStream(10_000)))
    assert found is not None
    assert {change.kind for change in found.whatif} == {"effect", "user"}
