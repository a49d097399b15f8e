"""Names for launches from the driver's own API: which function each launching call named, and where its code lay.

A function handle is given out under a name (`cuModuleGetFunction`, `cuLibraryGetKernel`), and a launching call names
the handle; so kernels of libraries and of run-time compilers have names, too. Handles may be given out again after a
module was unloaded: what counts is what was last said before the call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpath.capture import log
from warpath.capture.calls import ApiCall, Within
from warpath.capture.kernels import Named
from warpath.capture.work import Launch
from warpath.command.grid import GridType
from warpath.container.demangle import demangle


@dataclass(slots=True)
class _Given:
    """A handle from `since_ns` on: its function's name, and (offset, size) of the parameters once they were told."""

    since_ns: int
    name: str
    places: tuple[tuple[int, int], ...] | None = None


class Functions:
    """What a log says of function handles, by process, handle and time."""

    def __init__(self, records: Sequence[log.Record]) -> None:
        self._given: dict[tuple[int, int], list[_Given]] = {}
        for record in records:
            if isinstance(record, log.Function):
                name = record.name or self._last_name(record.head.pid, record.same)
                if name:
                    key = record.head.pid, record.handle
                    self._given.setdefault(key, []).append(_Given(record.head.time_ns, name))
            elif isinstance(record, log.Parameters):
                given = self._given.get((record.head.pid, record.handle))
                if given:
                    given[-1].places = record.places

    def _last_name(self, pid: int, handle: int) -> str:
        given = self._given.get((pid, handle))
        return given[-1].name if given else ""

    def launched(self, call: ApiCall) -> tuple[str, tuple[tuple[int, int], ...] | None] | None:
        """(mangled name, parameters or None) of the function that a call launches, None when nothing says."""
        given = self._given.get((call.pid, call.function), [])
        at = bisect_right(given, call.start_ns, key=lambda each: each.since_ns)
        if not call.function or at == 0:
            return None
        return given[at - 1].name, given[at - 1].places


def name_launches(
    launches: Sequence[Launch],
    calls: Sequence[ApiCall],
    within: Within,
    functions: Functions,
    address: Callable[[Launch], int],
) -> dict[int, Named]:
    """The kernels of `launches` by their place in it, as far as the calls around them say.

    A call that launches may first submit work of the driver's own; its function is the last grid in it.
    """
    last: dict[int, int] = {}
    for place, launch in enumerate(launches):
        call = within.find(launch.where.submission.ring.head)
        if call is not None and launch.work is not None and launch.work.type != GridType.NULL:
            last[call] = place
    found: dict[int, Named] = {}
    for call, place in last.items():
        said = functions.launched(calls[call])
        if said is not None:
            mangled, params = said
            found[place] = Named(address(launches[place]), demangle(mangled), mangled, 0, 0, 0, params)
    return found
