"""Launches that do not end, in words: which warps wait where, on what, and for whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from warpath.check.waits import Node, Waits, Word, Writer
from warpath.report.model import Waiting

_MOST = 12  # places, loops and words listed
_MOST_ALIKE = 3  # blocks and groups that wait in the same way
_MOST_WAITS = 256  # records of a report
_KIND = {"barrier": "barrier", "convergence": "warp", "warpsync": "warp"}
_STATES = {
    "barrier": "wait at a block barrier",
    "convergence": "wait for other lanes of their warp to reconverge",
    "warpsync": "wait in a warp-level sync for lanes that have not come",
    "running": "run",
    "ready": "are ready to run",
}


class Story:
    """Tells a graph of waits. `where` names the source line of a pc, `owner` what lies at an address ("" when there
    is none); `executed` counts by instruction.
    """

    def __init__(
        self,
        waits: Waits,
        grid: Any,
        where: Callable[[int], str],
        owner: Callable[[int], str],
        executed: Sequence[int],
    ) -> None:
        self._waits = waits
        self._grid = grid
        self._where = where
        self._owner = owner
        self._executed = executed

    def lines(self) -> list[str]:
        """The whole story, the surest things first."""
        return [
            *self._places(),
            *self._barriers(),
            *self._missing_lanes(),
            *self._loops(),
            *(line for word in self._waits.words[:_MOST] for line in self._word(word)),
            *self._unstarted(),
            *self._cycle(),
        ]

    def records(self) -> list[Waiting]:
        """For reports: one record a group of lanes."""
        return [self._record(node) for node in self._waits.nodes[:_MOST_WAITS]]

    def _record(self, node: Node) -> Waiting:
        polls = node.spin["polls"] if node.spin else ()
        kind = "spin" if node.spin else _KIND.get(node.state, "runs")
        loop = node.spin["loop"] if node.spin else ()
        return Waiting(
            kind=kind,
            block=list(node.block),
            warp=node.warp,
            threads=node.threads,
            pc=int(node.group["pc"]),
            sass=str(node.group["text"]),
            where=self._where(loop[-1] if loop else node.group["pc"]),
            loop=[loop[0], loop[-1]] if loop else [],
            trips=self._trips(node.spin) if node.spin else 0,
            constant=bool(node.spin and node.spin["constant"]),
            words=[self._word_name(poll) for poll in polls],
            waits_for=[_who(other) for other in node.waits_for[:_MOST]],
        )

    # Who is where

    def _at(self, pc: int) -> str:
        place = self._where(pc)
        return (
            f"{pc:#x} ({place}): {self._grid.text(pc // 16)}"
            if place
            else f"{pc:#x}: {self._grid.text(pc // 16)}"
        )

    def _places(self) -> list[str]:
        by_place: dict[tuple[int, str], list[Node]] = defaultdict(list)
        for node in self._waits.nodes:
            by_place[node.group["pc"], node.state].append(node)
        lines: list[str] = []
        for (pc, state), here in sorted(by_place.items(), key=lambda item: -len(item[1]))[:_MOST]:
            threads = sum(node.mask.bit_count() for node in here)
            warps = len({(node.block, node.warp) for node in here})
            blocks = len({node.block for node in here})
            lines.append(
                f"{_count(threads, 'thread')} of {_count(warps, 'warp')} in {_count(blocks, 'block')} "
                f"{_STATES.get(state, state)} at {self._at(pc)} (first: {_who(here[0])})"
            )
        return lines

    def _barriers(self) -> list[str]:
        """For blocks with warps at a barrier: who is missing there."""
        waiting: dict[tuple[Any, int], list[Node]] = defaultdict(list)
        for node in self._waits.nodes:
            if node.state == "barrier":
                waiting[node.block, node.group["barrier"]].append(node)
        lines: list[str] = []
        for (block, number), here in list(waiting.items())[:_MOST_ALIKE]:
            group, missing = here[0].group, here[0].waits_for
            names = ", ".join(self._now(node) for node in missing[:4])
            lines.append(
                f"Block {_triple(block)}: {group['arrived']} of {_count(group['expected'], 'thread')} have come to "
                f"barrier {number} (warps {_ranges(sorted({node.warp for node in here}))}); they wait for "
                f"{names or 'threads that have ended or that the block never had'}{_more(len(missing) - 4)}."
            )
        if len(waiting) > _MOST_ALIKE:
            lines.append(
                f"So do {_count(len(waiting) - _MOST_ALIKE, 'more block')}, each at its own barrier."
            )
        return lines

    def _missing_lanes(self) -> list[str]:
        stuck = [node for node in self._waits.nodes if node.group["missing"]]
        lines = [
            f"{_capital(_who(node))} wait at {self._at(node.group['pc'])} for lanes {node.group['missing']:#010x} of "
            f"their warp: {', '.join(map(self._now, node.waits_for[:4])) or 'which have ended'}."
            for node in stuck[:_MOST_ALIKE]
        ]
        if len(stuck) > _MOST_ALIKE:
            lines.append(f"So do {_count(len(stuck) - _MOST_ALIKE, 'more group')}, each in its own warp.")
        return lines

    def _now(self, node: Node) -> str:
        doing = "spins" if node.spin else {"running": "runs", "ready": "is ready"}.get(node.state, "waits")
        return f"{_who(node)} ({doing} at {self._at(node.group['pc'])})"

    # Loops

    def _trips(self, spin: Mapping[str, Any]) -> int:
        loop: Sequence[int] = spin["loop"]
        return max((self._executed[pc // 16] for pc in loop), default=0)

    def _loops(self) -> list[str]:
        loops: dict[tuple[int, int], list[Node]] = defaultdict(list)
        for node in self._waits.nodes:
            if node.spin and node.spin["loop"]:
                loops[node.spin["loop"][0], node.spin["loop"][-1]].append(node)
        lines: list[str] = []
        for (first, last), here in list(loops.items())[:_MOST]:
            spin = here[0].spin or {}
            start = self._where(first)
            lines.append(
                f"The loop at {first:#x} to {last:#x}{f' ({start})' if start else ''} was run "
                f"{self._trips(spin):,} times, by {'; '.join(_who(node) for node in here[:4])}{_more(len(here) - 4)}."
            )
            if spin["constant"]:
                end = (
                    "only another thread's write to what it reads can end it."
                    if spin["polls"]
                    else "it reads no memory that another thread could change, so it never ends."
                )
                lines.append(f"From trip to trip no register and no predicate of theirs changes: {end}")
            elif spin["changes"]:
                names = ", ".join(f"R{reg}" for reg in spin["changes"][:8])
                lines.append(f"From trip to trip {names} change; all else stays.")
        return lines

    # Words that are waited for

    def _word(self, word: Word) -> list[str]:
        poll = word.poll
        readers = "; ".join(_who(node) for node in word.readers[:3]) + _more(len(word.readers) - 3)
        lines = [
            f"The {poll['size']} bytes at {self._word_name(poll)} are read over and over at {self._at(poll['pc'])} by "
            f"{readers}; they hold {poll['value']:#x}."
        ]
        holder = word.holder
        if holder is not None:
            lines.append(self._holder(holder))
        if holder is None or holder.node is None:
            would = [writer for writer in word.writers if not writer.swapped]
            lines += [self._would(writer) for writer in would[:3]]
            if not would and holder is None:
                lines.append("No thread that is left would write them, if it could go on.")
        return lines

    def _word_name(self, poll: Mapping[str, Any]) -> str:
        """`0x6b5a00001d04 in global memory (locks+0x4)`, `0x10 in shared memory of block (0,0,0)`."""
        if poll["home"] is not None:
            return f"{poll['address']:#x} in shared memory of block {_triple(poll['home'])}"
        owner = self._owner(poll["address"])
        return f"{poll['address']:#x} in global memory{f' ({owner})' if owner else ''}"

    def _holder(self, writer: Writer) -> str:
        who = f"thread {_triple(writer.record['thread'])} of block {_triple(writer.record['block'])}"
        now = (
            f"it is now in {self._now(writer.node)}"
            if writer.node
            else "it has ended without giving the word back"
        )
        return (
            f"If this is a lock, its holder is {who}, which stored {writer.record['value']:#x} at "
            f"{self._at(writer.record['pc'])}; {now}."
        )

    def _would(self, writer: Writer) -> str:
        record = writer.record
        store = self._at(record["pc"])
        if not record["started"]:
            return f"Block {_triple(record['block'])}, which was never started, would write them at {store}."
        who = f"Thread {_triple(record['thread'])} of block {_triple(record['block'])}"
        now = self._now(writer.node) if writer.node else "which is gone"
        return f"{who} would write them at {store}, if it could go on: {now}."

    # The whole

    def _unstarted(self) -> list[str]:
        total, started = self._grid.blocks, self._grid.started
        if started == total:
            return []
        lines = [
            f"{total - started:,} of {total:,} blocks never started: {started:,} did, and what is left of these does "
            "not end, so their SMs stay taken."
        ]
        wanted = any(not writer.record["started"] for word in self._waits.words for writer in word.writers)
        lines.append(
            "The resident blocks wait for these: a home-made grid barrier. Launch no more blocks than fit at once, or "
            "use cudaLaunchCooperativeKernel, which refuses what cannot work."
            if wanted
            else "If the resident ones wait for them (a home-made grid barrier), launch no more blocks than fit at "
            "once, or use cudaLaunchCooperativeKernel, which refuses what cannot work."
        )
        return lines

    def _cycle(self) -> list[str]:
        cycle = self._waits.cycle
        if not cycle:
            return []
        if len(cycle) == 1:
            return [f"Deadlock: {_who(cycle[0])} wait for what they hold themselves."]
        steps = [
            f"{self._now(node)} waits for {_who(cycle[(i + 1) % len(cycle)])}" for i, node in enumerate(cycle)
        ]
        shown = steps if len(steps) <= 6 else [*steps[:5], f"... ({len(steps) - 6} more)", steps[-1]]
        return ["Deadlock, each waits for the next:", *(f"    {step}" for step in shown)]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _more(number: int) -> str:
    return f", and {_count(number, 'more group')}" if number > 0 else ""


def _ranges(numbers: Sequence[int]) -> str:
    """`0, 2 to 5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _triple(values: Sequence[int]) -> str:
    return "(" + ",".join(map(str, values)) + ")"


def _who(node: Node) -> str:
    """`warp 0 of block (0,0,0), threads 0 to 31`."""
    numbers = node.threads
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        named = f"threads {numbers[0]} to {numbers[-1]}"
    else:
        some = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
        named = f"thread{'' if len(numbers) == 1 else 's'} {some}"
    return f"warp {node.warp} of block {_triple(node.block)}, {named}"
