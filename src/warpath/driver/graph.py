"""Graphs: work with dependencies, captured from streams or built node by node, then launched as often as
wanted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.driver.stream import Event, Stream

if TYPE_CHECKING:
    from warpath.driver.submission import Submitter, Work


@dataclass(slots=True)
class Node:
    """One piece of work (None: an empty node, or one that stands for the graph `child`) and the nodes it
    waits for.
    """

    work: Work | None
    after: tuple[int, ...]
    child: Graph | None = None


class Graph:
    """Nodes by number."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self._next = 0

    def add(self, work: Work | None, after: Iterable[int] = (), child: Graph | None = None) -> int:
        """A new node; error 1 when it depends on a node the graph does not have."""
        after = tuple(dict.fromkeys(after))
        self._require(after)
        number = self._next
        self._next += 1
        self.nodes[number] = Node(work, after, child)
        return number

    def add_dependency(self, before: int, node: int) -> None:
        """`node` also waits for `before`."""
        self._require((before, node))
        found = self.nodes[node]
        found.after = tuple(dict.fromkeys((*found.after, before)))

    def remove_dependency(self, before: int, node: int) -> None:
        """Undo `add_dependency`; error 1 when there is none."""
        self._require((before, node))
        found = self.nodes[node]
        if before not in found.after:
            raise CudaError(Error.INVALID_VALUE, f"node {node} does not depend on node {before}")
        found.after = tuple(other for other in found.after if other != before)

    def remove(self, node: int) -> None:
        """Drop a node and what depends on it no longer waits for it."""
        self._require((node,))
        del self.nodes[node]
        for other in self.nodes.values():
            other.after = tuple(before for before in other.after if before != node)

    def roots(self) -> list[int]:
        """Nodes that wait for nothing."""
        return [number for number, node in self.nodes.items() if not node.after]

    def edges(self) -> list[tuple[int, int]]:
        """(before, after) pairs."""
        return [(before, number) for number, node in self.nodes.items() for before in node.after]

    def clone(self) -> Graph:
        """A copy with the same node numbers."""
        copy = Graph()
        copy.nodes = {number: Node(node.work, node.after, node.child) for number, node in self.nodes.items()}
        copy._next = self._next
        return copy

    def order(self) -> list[Node]:
        """Nodes so that each comes after those it waits for; error 1 when they wait for each other in a
        circle.
        """
        done: dict[int, Node] = {}
        waiting = dict(self.nodes)
        while waiting:
            ready = [
                number for number, node in waiting.items() if all(before in done for before in node.after)
            ]
            if not ready:
                raise CudaError(Error.INVALID_VALUE, "the graph's dependencies form a circle")
            for number in ready:
                done[number] = waiting.pop(number)
        return list(done.values())

    def ancestors(self, numbers: Iterable[int]) -> set[int]:
        """The given nodes and all they wait for."""
        found: set[int] = set()
        todo = list(numbers)
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                todo.extend(self.nodes[number].after)
        return found

    def _require(self, numbers: Iterable[int]) -> None:
        missing = [number for number in numbers if number not in self.nodes]
        if missing:
            raise CudaError(Error.INVALID_VALUE, f"the graph has no node {missing[0]}")


class GraphExec:
    """An instantiated graph: a snapshot in an order that respects its dependencies."""

    def __init__(self, graph: Graph) -> None:
        self.works = list(_flatten(graph))

    def submit(self, driver: Submitter, stream: Stream) -> None:
        """Queue everything on one stream, in order."""
        for work in self.works:
            work.check(driver)
            work.submit(driver, stream)


def _flatten(graph: Graph) -> Iterable[Work]:
    for node in graph.order():
        if node.child is not None:
            yield from _flatten(node.child)
        elif node.work is not None:
            yield node.work


@dataclass(eq=False)
class Capture:
    """A capture in progress: it began on `origin`, other streams may join through events."""

    origin: Stream
    mode: int = 0
    graph: Graph = field(default_factory=Graph)
    last: dict[Stream, tuple[int, ...]] = field(default_factory=dict[Stream, tuple[int, ...]])
    invalid: bool = False

    def add(self, stream: Stream, work: Work | None) -> int:
        """A node after the last ones of `stream`."""
        node = self.graph.add(work, self.last.get(stream, ()))
        self.last[stream] = (node,)
        return node

    def record(self, stream: Stream, event: Event) -> None:
        """An event recorded in a capturing stream marks its last nodes."""
        event.capture = self
        event.capture_nodes = self.last.get(stream, ())

    def join(self, stream: Stream, event: Event) -> None:
        """A stream that waits for such an event becomes part of the capture."""
        stream.capture = self
        self.last[stream] = tuple(dict.fromkeys((*self.last.get(stream, ()), *event.capture_nodes)))

    def end(self) -> Graph:
        """The graph; error 904 when a joined stream's work leads nowhere, 901 when spoiled meanwhile."""
        for stream in self.last:
            stream.capture = None
        self.origin.capture = None
        if self.invalid:
            raise CudaError(Error.STREAM_CAPTURE_INVALIDATED)
        reached = self.graph.ancestors(self.last.get(self.origin, ()))
        if len(reached) != len(self.graph.nodes):
            raise CudaError(Error.STREAM_CAPTURE_UNJOINED)
        return self.graph
