"""Makes the ledger of each launch while the program runs: streams are large, and are dropped once replayed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from warpath.account import whatif
from warpath.account.floor import Floor, floor
from warpath.account.ledger import Ledger, balanced, close
from warpath.frontend.launch import Launch
from warpath.gpu import timing
from warpath.gpu.spec import Gpu

# Warp instructions of a launch that are kept, first CTAs first: a dozen replays of them take a second or two.
RECORD = 1_000_000
# Warp instructions replayed for one program; ledgers of later launches are not made.
BUDGET = 400_000_000
# Launches of one kernel and shape this close in time share a ledger.
_SAME = 0.02

Progress = Callable[[str, int], None]  # what is being worked on, and how many replays are done


@dataclass(frozen=True, slots=True)
class Account:
    """What the accountant found of one launch; `note` says what was not done as usual."""

    floor: Floor
    ledger: Ledger | None
    whatif: tuple[whatif.Change, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Known:
    index: int
    cycles: int
    account: Account


class Accountant:
    """Observes the model GPU; `accounts` by launch index, of launches that are `wanted` when they start and end."""

    def __init__(
        self,
        gpu: Gpu,
        *,
        what_if: bool = False,
        boards: tuple[Gpu, ...] = (),
        clock_control: str = "none",
        progress: Progress = lambda what, done: None,
    ) -> None:
        self.accounts: dict[int, Account] = {}
        self._gpu = gpu
        self._values = timing.resolve(gpu, clock_control).values
        self._what_if = what_if
        self._boards = boards
        self.wanted: Callable[[Launch], bool] = lambda launch: True
        self._progress = progress
        self._known: dict[object, _Known] = {}
        self._left = BUDGET

    def on_launch_start(self, launch: Launch) -> None:
        """A launch that is not accounted for is not recorded either."""
        launch.recorded = self._left > 0 and self.wanted(launch)

    def on_launch(self, launch: Launch) -> None:
        """Account for a launch that has ended, and let its stream go."""
        stream, launch.stream = launch.stream, None
        if "cycles" not in launch.counters or not self.wanted(launch):
            return
        found = floor(launch.counters, self._gpu)
        if launch.fault is not None:
            account = Account(found, None, note="no ledger: the launch was stopped")
        else:
            account = self._account(launch, stream, found)
        self.accounts[launch.index] = account

    def _account(self, launch: Launch, stream: Any, found: Floor) -> Account:
        cycles = launch.counters["cycles"]
        work = launch.work
        key = (work.program_va, work.grid, work.block, work.shared, launch.counters["cache"])
        known = self._known.get(key)
        if known is not None and _alike(known, cycles, found):
            return self._like(known, cycles, found)
        if stream is None or self._left <= 0:
            return Account(
                found, None, note="no ledger: the program's launches before it used up the replays"
            )
        account = self._replay(launch, stream, found)
        self._known[key] = _Known(launch.index, cycles, account)
        return account

    def _replay(self, launch: Launch, stream: Any, found: Floor) -> Account:
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            self._left -= stream.steps
            self._progress(f"launch {launch.index}", done)

        threads = os.cpu_count() or 1
        ledger = close(
            stream,
            self._values,
            self._gpu,
            found,
            launch.counters["cycles"],
            absent=absent(launch),
            threads=threads,
            advance=advance,
        )
        changes: tuple[whatif.Change, ...] = ()
        if self._what_if:
            changes = whatif.changes(
                stream, self._values, self._gpu, launch, boards=self._boards, threads=threads, advance=advance
            )
        return Account(found, ledger, changes, _sampled(ledger))

    def _like(self, known: _Known, cycles: int, found: Floor) -> Account:
        """The ledger of an earlier launch of the same kernel and shape, with the difference in its last term."""
        ledger = known.account.ledger
        if ledger is None:
            return known.account
        duration = round(cycles * 1_000_000 / self._values["sm_clock_khz"])
        left = duration - sum(term.ns for term in ledger.terms)
        terms = [replace(term, ns=round(found.ns)) if term.key == "floor" else term for term in ledger.terms]
        notes = [f"replayed for launch {known.index}, the same kernel and shape", known.account.note]
        if left:
            notes.append(f"the {left:+d} ns between them are in the last term")
        return replace(
            known.account,
            floor=found,
            ledger=replace(ledger, terms=balanced(terms, duration)),
            note="; ".join(filter(None, notes)),
        )


def _alike(known: _Known, cycles: int, found: Floor) -> bool:
    """Whether a launch with these figures is explained by the ledger of `known`."""
    least = known.account.floor
    return (
        abs(known.cycles - cycles) <= _SAME * cycles
        and least.kind == found.kind
        and abs(least.ns - found.ns) <= _SAME * found.ns
    )


def absent(launch: Launch) -> frozenset[str]:
    """Effects that the launch's counters say cost nothing."""
    counters, metrics = launch.counters, launch.counters["metrics"]
    found: set[str] = set()
    if not metrics.get(whatif.CONFLICTS, 0):
        found.add("bank_conflicts")
    if not counters.get("excess_sectors", 1):
        found.add("uncoalesced")
    return frozenset(found)


def _sampled(ledger: Ledger) -> str:
    if ledger.share == 1.0:
        return ""
    if ledger.replayed < ledger.blocks:
        return f"from the first {ledger.replayed} of {ledger.blocks} CTAs, scaled to the whole launch"
    return f"from the first {100 * ledger.share:.2g} % of its instructions, scaled to the whole launch"
