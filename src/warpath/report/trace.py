"""The report of a traced run: the report of a model run, and what only a real driver and GPU can show.

Launches, their submissions, QMDs and API calls are where they are in every report, so that the two can be compared;
counters stay empty. Times are host times in ns from the start of the recording, measured; the rest is read off what
the driver wrote.
"""

from __future__ import annotations

from typing import Any

import msgspec

from warpath.report.model import Report


class PhaseInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of the program: init, context, load, steady or end."""

    name: str
    opens: int
    ioctls: int
    ioctl_ns: int
    doorbells: int
    calls: int
    call_ns: int
    instructions: int  # user-space, in API calls; 0 where the machine does not count them


class CallKind(msgspec.Struct, frozen=True, kw_only=True):
    """All driver API calls of one name, with what lies in them; name "" is what lies between calls."""

    name: str
    count: int
    total_ns: int
    ioctls: int
    ioctl_ns: int
    doorbells: int
    instructions: int  # user-space; 0 where the machine does not count them


class IoctlKind(msgspec.Struct, frozen=True, kw_only=True):
    """All ioctls of one kind: `detail` is the class or control command, "" for others."""

    name: str
    detail: str
    count: int
    total_ns: int
    phases: dict[str, int]
    named: bool
    opaque: int  # how many have parameters that no table explains


class IoctlInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One ioctl with its fields after it came back; what no table explains is `opaque`, in hex."""

    time_ns: int
    duration_ns: int
    pid: int
    thread: int
    fd: int
    name: str
    detail: str
    phase: str
    result: int
    status: int | None
    fields: dict[str, Any]
    params: dict[str, Any]
    opaque: str


class ChannelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A channel: its work-submit token, class, objects on it, and what was submitted to it."""

    token: int | None
    handle: int
    channel_class: str
    objects: list[str]
    ring_va: int
    entries: int
    doorbells: int
    submitted: int  # ring entries
    dwords: int
    phases: dict[str, int]  # doorbells


class DoorbellInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One store to the doorbell, and what it announced in a few words."""

    time_ns: int
    pid: int
    thread: int
    token: int
    phase: str
    call: int | None  # index into `api`
    first_entry: int
    entries: int
    dwords: int
    spent_ns: int  # that the recorder held the store up
    work: list[str]
    problem: str


class TransferInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes moved in one direction by one kind of transfer: inline, copy or fill."""

    kind: str
    direction: str
    bytes: int
    pieces: int


class CodeLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Code that came into GPU memory, in which call and phase."""

    kernels: list[str]
    va: int
    bytes: int
    how: str
    call: str
    phase: str
    time_ns: int


class LaunchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """How the launch of the same index in `launches` came about; `measured_ns` is None when nothing timed it."""

    index: int
    form: str
    doorbell: int  # index into `doorbells`
    call: str
    entry_to_doorbell_ns: int | None
    measured_ns: float | None
    measured_by: str
    undecoded: int  # words of its segment without a name
    problem: str


class MeasuredInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel that CUPTI or Nsight Compute timed; `metrics` by Nsight Compute's names."""

    source: str
    kernel: str
    duration_ns: float
    grid: list[int]
    block: list[int]
    metrics: dict[str, float]


class OverheadInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What recording cost: wall time with and without (None: not run), and time per trapped doorbell."""

    traced_ns: int | None
    untraced_ns: int | None
    doorbells: int
    per_doorbell_ns: float | None
    doorbell_total_ns: int


class Undecoded(msgspec.Struct, frozen=True, kw_only=True):
    """What the tables do not explain, counted."""

    methods: int
    segments: int  # that could not be read or parsed
    doorbells: int  # whose channel is not known
    ioctls: int  # without a name
    parameters: int  # of ioctls, opaque
    records: int  # of kinds this version does not know


class TraceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What only a traced run has."""

    driver: str
    branch_known: bool
    processes: list[str]
    files: dict[str, int]
    failed_opens: dict[str, str]
    phases: list[PhaseInfo]
    calls: list[CallKind]
    ioctl_kinds: list[IoctlKind]
    ioctls: list[IoctlInfo]
    channels: list[ChannelInfo]
    doorbells: list[DoorbellInfo]
    doorbell_reads: int
    transfers: list[TransferInfo]
    loads: list[CodeLoad]
    launches: list[LaunchInfo]
    measured: list[MeasuredInfo]
    overhead: OverheadInfo
    undecoded: Undecoded
    notes: list[str]
    truncated: bool


class TraceReport(Report, frozen=True, kw_only=True):
    """A report with a trace; as JSON it can be read as a plain report, too."""

    trace: TraceInfo
