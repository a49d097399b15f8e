"""Who waits for whom in a grid that does not end: the core's groups of lanes and what its probe saw, as a graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = Mapping[str, Any]
Block = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Node:
    """A group of lanes of one warp that stand together."""

    group: Record
    spin: Record | None = None  # what the probe saw of it, when it runs in circles
    waits_for: list[Node] = field(default_factory=list["Node"])

    @property
    def block(self) -> Block:
        """blockIdx."""
        x, y, z = self.group["block"]
        return (x, y, z)

    @property
    def warp(self) -> int:
        """Number of the warp in its block."""
        return int(self.group["warp"])

    @property
    def mask(self) -> int:
        """Its lanes."""
        return int(self.group["mask"])

    @property
    def state(self) -> str:
        """running, ready, barrier, convergence or warpsync."""
        return str(self.group["state"])

    @property
    def runs(self) -> bool:
        """Whether it waits for nothing that the scheduler knows of."""
        return self.state in ("running", "ready")

    @property
    def threads(self) -> list[int]:
        """Linear thread numbers in the block."""
        return [self.warp * 32 + lane for lane in range(32) if self.mask >> lane & 1]


@dataclass(slots=True)
class Writer:
    """A thread that swapped a polled word, or would write it: `node` is where it is now, None when it is gone or
    was never there.
    """

    record: Record
    node: Node | None

    @property
    def swapped(self) -> bool:
        """True: it did. False: it would, if it could go on."""
        return bool(self.record["swapped"])


@dataclass(slots=True)
class Word:
    """A word that spinning groups read over and over: the value they see, who reads it, who writes it."""

    poll: Record
    readers: list[Node]
    writers: list[Writer]

    @property
    def holder(self) -> Writer | None:
        """Who swapped in the value that is still there: whoever holds the lock, if it is one."""
        return next(
            (w for w in self.writers if w.swapped and w.record["value"] == self.poll["value"]),
            None,
        )


@dataclass(slots=True)
class Waits:
    """The graph: nodes in order of block and warp, polled words, and whether blocks wait for an SM."""

    nodes: list[Node]
    words: list[Word]
    cycle: list[Node]


def read(groups: Sequence[Record], probe: Record) -> Waits:
    """The graph of what `Grid.groups` and `probe_hang` say."""
    nodes = [Node(group) for group in groups]
    by_warp: dict[tuple[Block, int], list[Node]] = defaultdict(list)
    by_block: dict[Block, list[Node]] = defaultdict(list)
    for node in nodes:
        by_warp[node.block, node.warp].append(node)
        by_block[node.block].append(node)
    for spin in probe["spins"]:
        for node in by_warp[tuple(spin["block"]), spin["warp"]]:
            if node.runs and node.mask & spin["mask"]:
                node.spin = spin
    _take_for_alike(nodes, probe["spins"])
    words = _words(nodes, by_warp, probe["writers"])
    for node in nodes:
        if node.state == "barrier":
            others = [n for n in by_block[node.block] if not _same_barrier(n, node)]
            node.waits_for += others
        missing = int(node.group["missing"])
        node.waits_for += [n for n in by_warp[node.block, node.warp] if n.mask & missing]
    for word in words:
        wanted = [word.holder] if word.holder else [w for w in word.writers if not w.swapped]
        for reader in word.readers:
            reader.waits_for += [w.node for w in wanted if w.node is not None]
    return Waits(nodes, words, _cycle(nodes))


def _take_for_alike(nodes: Sequence[Node], spins: Sequence[Record]) -> None:
    """The probe looks at a few warps of each place: who stands in one of their loops spins as well."""
    loops: dict[tuple[int, ...], Record] = {tuple(spin["loop"]): {**spin, "polls": []} for spin in spins}
    for node in nodes:
        if node.runs and node.spin is None:
            node.spin = next((spin for loop, spin in loops.items() if node.group["pc"] in loop), None)


def _same_barrier(one: Node, other: Node) -> bool:
    return one.state == "barrier" and one.group["barrier"] == other.group["barrier"]


def _key(record: Record) -> tuple[Any, int]:
    home = record["home"]
    return (None if home is None else tuple(home), int(record["address"]))


def _words(
    nodes: Sequence[Node], by_warp: Mapping[tuple[Block, int], list[Node]], records: Sequence[Record]
) -> list[Word]:
    words: dict[tuple[Any, int], Word] = {}
    for node in nodes:
        for poll in node.spin["polls"] if node.spin else ():
            if poll["mask"] & node.mask:
                words.setdefault(_key(poll), Word(poll, [], [])).readers.append(node)
    for record in records:
        word = words.get(_key(record))
        if word is None:
            continue
        here = by_warp.get((tuple(record["block"]), record["warp"]), [])
        node = next((n for n in here if n.mask >> record["lane"] & 1), None) if record["started"] else None
        word.writers.append(Writer(record, node))
    return list(words.values())


def _cycle(nodes: Sequence[Node]) -> list[Node]:
    """A shortest cycle through the first node that is on one; empty when there is none."""
    for start in nodes:
        came: dict[Node, Node | None] = {start: None}
        queue = [start]
        for node in queue:
            for following in node.waits_for:
                if following is start:
                    return _path(came, node)
                if following not in came:
                    came[following] = node
                    queue.append(following)
    return []


def _path(came: Mapping[Node, Node | None], last: Node) -> list[Node]:
    path: list[Node] = []
    at: Node | None = last
    while at is not None:
        path.append(at)
        at = came[at]
    return path[::-1]
