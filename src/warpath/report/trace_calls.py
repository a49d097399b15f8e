"""Host cost by driver API call: time, ioctls, doorbells and user-space instructions, and what lies between calls."""

from __future__ import annotations

from warpath.capture.trace import Trace
from warpath.report.trace import CallKind

BETWEEN = ""  # the name under which work outside every call is summed


def call_kinds(trace: Trace) -> list[CallKind]:
    """Outermost calls by name, the costliest first; the time between calls is not the program's alone, so it is 0."""
    counts, times, instructions = dict[str, int](), dict[str, int](), dict[str, int]()
    for call in trace.calls:
        if call.depth == 0:
            counts[call.name] = counts.get(call.name, 0) + 1
            times[call.name] = times.get(call.name, 0) + max(call.duration_ns, 0)
            instructions[call.name] = instructions.get(call.name, 0) + call.instructions
    ioctls, kernel_ns, doorbells = dict[str, int](), dict[str, int](), dict[str, int]()
    for ioctl in trace.ioctls:
        name = _around(trace, trace.within.find(ioctl.start.head))
        ioctls[name] = ioctls.get(name, 0) + 1
        kernel_ns[name] = kernel_ns.get(name, 0) + ioctl.duration_ns
    for submission in trace.submissions:
        name = _around(trace, trace.within.find(submission.ring.head))
        doorbells[name] = doorbells.get(name, 0) + 1
    names = sorted({*counts, *ioctls, *doorbells}, key=lambda name: (-times.get(name, 0), name))
    return [
        CallKind(
            name=name,
            count=counts.get(name, 0),
            total_ns=times.get(name, 0),
            ioctls=ioctls.get(name, 0),
            ioctl_ns=kernel_ns.get(name, 0),
            doorbells=doorbells.get(name, 0),
            instructions=instructions.get(name, 0),
        )
        for name in names
    ]


def _around(trace: Trace, call: int | None) -> str:
    return BETWEEN if call is None else trace.calls[call].name
