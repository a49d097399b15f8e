"""What a reader must know of a recording before trusting it: one line for each thing that is off."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from warpath.capture import log, tables
from warpath.capture.trace import Trace
from warpath.command.classes import find_class
from warpath.gpu.spec import Gpu

_ENGINES = (0x6F, 0xC0, 0xB5)  # last byte of the classes of channels, compute and copy engines


def notes(trace: Trace, gpu: Gpu) -> list[str]:
    """What a reader must know, a line each; `gpu` is the board that the report assumes."""
    opens = [record for record in trace.log.records if isinstance(record, log.Open)]
    found = list(dict.fromkeys(r.text for r in trace.log.records if isinstance(r, log.Note)))
    processes = [r for r in trace.log.records if isinstance(r, log.Process)]
    found += [*_unknown_classes(trace), *_board(trace, gpu)]
    if not any(record.fd >= 0 for record in opens):
        found.append("the program opened no device file of an NVIDIA driver")
    if any(p.tracer for p in processes):
        found.append(
            "a debugger or tracer was attached: it sees the recorder's single steps, which are slow under it"
        )
    if any(p.seccomp == 2 for p in processes):
        found.append("system calls are filtered (seccomp): what the filter refuses is missing here")
    if not trace.driver:
        found.append(f"the recording does not name its driver: branch {trace.branch} is assumed")
    elif not trace.branch_known:
        known = f"{tables.KNOWN_BRANCHES.start} to {tables.KNOWN_BRANCHES.stop - 1}"
        found.append(
            f"driver {trace.driver} is of a branch the tables do not cover ({known}): ioctl fields may be off; "
            "the command stream does not depend on it"
        )
    if trace.log.truncated is not None:
        found.append(f"the recording ends inside a record, at offset {trace.log.truncated:#x}")
    return found + _end(trace, processes)


def _end(trace: Trace, processes: Sequence[log.Process]) -> list[str]:
    """How the program ended, when it did not in order."""
    found: list[str] = []
    code = trace.facts.get("exit_code", 0)
    if 128 < code < 128 + signal.NSIG:
        found.append(f"the program was ended by signal {code - 128} ({signal.strsignal(code - 128)})")
        if code - 128 == signal.SIGSYS:
            found.append(
                "a filter (seccomp) forbids a system call: the recorder needs writev, gettid, memfd_create, pwrite64, "
                "mmap, mremap and rt_sigaction, also where the program does without"
            )
    elif processes and not _ended(trace, processes[0].head.pid):
        found.append(
            "the program's first process left without its last record: it called _exit, or the recorder could not "
            "write any more and what came then is missing"
        )
    return found


def _ended(trace: Trace, pid: int) -> bool:
    return any(isinstance(record, log.Exit) and record.head.pid == pid for record in trace.log.records)


def _unknown_classes(trace: Trace) -> list[str]:
    """Engine classes without a table: the methods of their channels have no names, and launches are not seen."""
    classes = dict.fromkeys(
        each for channel in trace.channels.values() for each in (channel.class_id, *channel.objects)
    )
    unknown = [f"{each:#x}" for each in classes if find_class(each) is None and each & 0xFF in _ENGINES]
    if not unknown:
        return []
    return [
        f"no table has the methods of class {', '.join(unknown)}: they are counted as not decoded, "
        "and what they launch or copy is not shown"
    ]


def _board(trace: Trace, gpu: Gpu) -> list[str]:
    """Whether the board is a guess."""
    name = trace.facts.get("gpu", "")
    classes = [object_ for channel in trace.channels.values() for object_ in channel.objects]
    if name == gpu.label or not (name or classes):
        return []
    if gpu.classes.compute in classes:
        return [
            f"the board ({name or 'not recorded'}) is read as {gpu.label}, which has the same compute class"
        ]
    return [f"the board ({name or 'not recorded'}) is not known: occupancy is that of {gpu.label}"]
