"""What the driver did, kept for the report: module loads, submissions, launches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes of a module that went to the GPU: `what` names a section group, `how` is `inline`, `copy`, `fill` or
    `host` (written by the CPU).
    """

    what: str
    va: int
    bytes: int
    how: str


@dataclass(frozen=True, slots=True)
class LoadEvent:
    """One module became resident. `member` says which fatbin member was used, `reason` what made it
    necessary.

    `before_launch` is the index of the launch that comes next, so a report can place the load in the
    sequence.
    """

    module: int
    member: str
    jit: bool
    reason: str
    kernels: tuple[str, ...]
    uploads: tuple[Upload, ...]
    before_launch: int
    host_seconds: float
    upload_ns: int = 0  # modelled: upload and all that comes with it
    jit_ns: int = 0  # modelled: assembling PTX

    @property
    def bytes(self) -> int:
        """All bytes uploaded."""
        return sum(upload.bytes for upload in self.uploads)


@dataclass(frozen=True, slots=True)
class Submission:
    """One doorbell: a segment of `dwords` dwords at `va`, named by ring entry `index` of a channel."""

    serial: int
    channel: str
    token: int
    index: int
    entry: bytes
    va: int
    dwords: int
    payload: int
    what: str
    launch: int | None


@dataclass(frozen=True, slots=True)
class LaunchRecord:
    """One kernel launch as the driver made it; sizes in bytes, `shared` as written to the QMD, `params` as
    packed.
    """

    index: int
    mangled: str
    demangled: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: int
    cooperative: bool
    registers: int
    static_shared: int
    dynamic_shared: int
    shared: int
    local: int
    program_va: int
    qmd_va: int
    constant_va: int
    param_base: int
    params: bytes
    param_layout: Sequence[tuple[int, int]]  # (offset, size) of each parameter
    submission: int
    call: int  # number of the API call that made it


@dataclass(slots=True)
class Journal:
    """All records, in order. `keep` bounds the number of submissions kept; `submitted` counts all."""

    keep: int = 100_000
    loads: list[LoadEvent] = field(default_factory=list[LoadEvent])
    submissions: list[Submission] = field(default_factory=list[Submission])
    launches: list[LaunchRecord] = field(default_factory=list[LaunchRecord])
    submitted: int = 0
    launched: int = 0
    call: int = -1  # number of the API call in progress; the host layer says
    notes: list[str] = field(default_factory=list[str])
    started: float = field(default_factory=time.perf_counter)

    def add_submission(self, submission: Submission) -> None:
        """Keep a submission unless the bound is reached."""
        self.submitted += 1
        if len(self.submissions) < self.keep:
            self.submissions.append(submission)

    def add_launch(self, launch: LaunchRecord) -> None:
        """Keep a launch unless the bound is reached."""
        self.launched += 1
        if len(self.launches) < self.keep:
            self.launches.append(launch)

    def note(self, text: str) -> None:
        """A remark for the user that is said once."""
        if text not in self.notes:
            self.notes.append(text)
