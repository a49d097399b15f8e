"""Driver API calls: begin and end joined, with what lies inside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpath.capture import log

UNFINISHED = -1


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call. `depth` counts the calls around it in its thread; `duration_ns` is -1 when it never returned.
    `instructions` are the user-space instructions inside it, 0 where the machine does not count them; `function` is the
    handle of the function that it launches, 0 for other calls.
    """

    name: str
    pid: int
    tid: int
    start_ns: int
    duration_ns: int
    result: int
    depth: int
    instructions: int
    function: int

    @property
    def end_ns(self) -> int:
        """When it returned; far in the future when it never did."""
        return self.start_ns + self.duration_ns if self.duration_ns >= 0 else 1 << 63


def join(records: Sequence[log.Record]) -> list[ApiCall]:
    """All calls by start time."""
    names: dict[tuple[int, int], str] = {}
    open_calls: dict[tuple[int, int], list[log.Call]] = {}
    found: list[ApiCall] = []
    for record in records:
        if isinstance(record, log.Name):
            names[record.head.pid, record.index] = record.name
        elif isinstance(record, log.Call):
            stack = open_calls.setdefault((record.head.pid, record.head.tid), [])
            if not record.ends:
                stack.append(record)
                continue
            while stack and stack[-1].index != record.index:  # left without returning
                found.append(_call(names, stack.pop(), None, len(stack)))
            if stack:
                found.append(_call(names, stack.pop(), record, len(stack)))
    for stack in open_calls.values():
        while stack:
            found.append(_call(names, stack.pop(), None, len(stack)))
    return sorted(found, key=lambda call: call.start_ns)


def _call(names: dict[tuple[int, int], str], begin: log.Call, end: log.Call | None, depth: int) -> ApiCall:
    head = begin.head
    return ApiCall(
        name=names.get((head.pid, begin.index), f"call {begin.index}"),
        pid=head.pid,
        tid=head.tid,
        start_ns=head.time_ns,
        duration_ns=UNFINISHED if end is None else end.head.time_ns - head.time_ns,
        result=0 if end is None else end.result & 0xFFFFFFFF,
        depth=depth,
        instructions=0 if end is None else end.instructions - begin.instructions,
        function=begin.result,
    )


class Within:
    """Finds the outermost call of a thread that a moment lies in."""

    def __init__(self, calls: Sequence[ApiCall]) -> None:
        self._outer: dict[tuple[int, int], list[tuple[int, ApiCall]]] = {}
        for index, call in enumerate(calls):
            if call.depth == 0:
                self._outer.setdefault((call.pid, call.tid), []).append((index, call))

    def find(self, head: log.Head) -> int | None:
        """The index of the call around a record, None when it was written outside any."""
        rows = self._outer.get((head.pid, head.tid), [])
        low, high = 0, len(rows)
        while low < high:
            middle = (low + high) // 2
            if rows[middle][1].start_ns <= head.time_ns:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return None
        index, call = rows[low - 1]
        return index if head.time_ns <= call.end_ns else None
