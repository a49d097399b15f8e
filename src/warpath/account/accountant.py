"""Makes the ledger of each launch while the program runs: streams are large, and are dropped once replayed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from warpath.account import whatif
from warpath.account.effects import TAIL
from warpath.account.floor import Floor, floor
from warpath.account.ledger import Ledger, Term, close
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
    """Observes the model GPU; `accounts` by launch index. `wanted` decides which launches are accounted for."""

    def __init__(
        self,
        gpu: Gpu,
        *,
        what_if: bool = False,
        boards: tuple[Gpu, ...] = (),
        clock_control: str = "none",
        wanted: Callable[[Launch], bool] = lambda launch: True,
        progress: Progress = lambda what, done: None,
    ) -> None:
        self.accounts: dict[int, Account] = {}
        self._gpu = gpu
        self._values = timing.resolve(gpu, clock_control).values
        self._what_if = what_if
        self._boards = boards
        self._wanted = wanted
        self._progress = progress
        self._known: dict[object, _Known] = {}
        self._left = BUDGET

    def on_launch(self, launch: Launch) -> None:
        """Account for a launch that has ended, and let its stream go."""
        stream, launch.stream = launch.stream, None
        found = floor(launch.counters, self._gpu)
        if launch.fault is not None or "cycles" not in launch.counters or not self._wanted(launch):
            self.accounts[launch.index] = Account(found, None)
            return
        self.accounts[launch.index] = self._account(launch, stream, found)

    def _account(self, launch: Launch, stream: Any, found: Floor) -> Account:
        cycles = launch.counters["cycles"]
        key = (launch.work.program_va, launch.work.grid, launch.work.block, launch.counters["cache"])
        known = self._known.get(key)
        if known is not None and abs(known.cycles - cycles) <= _SAME * cycles:
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
        terms = list(ledger.terms)
        if left:
            tail = next((term.ns for term in terms if term.key == TAIL), 0)
            terms = [*(term for term in terms if term.key != TAIL), Term(TAIL, tail + left, "modelled")]
        note = f"replayed for launch {known.index}, the same kernel and shape"
        if left:
            note += f"; the {left:+d} ns between them are in the last term"
        return replace(known.account, floor=found, ledger=replace(ledger, terms=tuple(terms)), note=note)


def absent(launch: Launch) -> frozenset[str]:
    """Effects that the launch's counters say cost nothing."""
    counters, metrics = launch.counters, launch.counters["metrics"]
    found: set[str] = set()
    if not metrics.get("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 0):
        found.add("bank_conflicts")
    if not counters.get("excess_sectors", 1):
        found.add("uncoalesced")
    return frozenset(found)


def _sampled(ledger: Ledger) -> str:
    if ledger.replayed == ledger.blocks:
        return ""
    return f"from the first {ledger.replayed} of {ledger.blocks} CTAs, scaled to the whole launch"
