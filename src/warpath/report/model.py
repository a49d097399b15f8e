"""The report: what one run found out, as typed records. Views render it; JSON is its exact image.

Keys are stable and versioned by `schema`; more may be added, none renamed. Origins: unless a field says
otherwise, program and compile facts are computed, `counters` and placement are modelled, board numbers quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

SCHEMA = 1


class GpuInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The board the report is about."""

    name: str
    label: str
    sm: str
    chip: str
    sms: int
    dram_bandwidth_gbs: float  # paper figure, decimal GB/s
    dram_bandwidth_source: str
    l2_bytes: int


class StageInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One compiler stage: the tool, what it wrote, how large, how long (seconds; 0 when it came from cache)."""

    name: str
    tool: str
    output: str
    bytes: int
    seconds: float


class ParamInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel parameter: byte offset from the parameter base, and size."""

    offset: int
    size: int


class PtxPart(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive PTX lines that come from one source line; `line` is 0 where PTX names none."""

    file: str
    line: int
    text: list[str]


class KernelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What the compilers made of one kernel."""

    demangled: str
    ptx_registers: dict[str, int]  # virtual registers by PTX type, e.g. {"b32": 6, "b64": 11}
    registers: int
    params: list[ParamInfo]
    param_base: int
    static_shared: int
    stack: int
    instructions: int
    fused: dict[str, int]  # SASS forms that fold several PTX operations, with counts
    spill_stores: int | None = None  # bytes a thread, as ptxas counts them; None: not built here
    spill_loads: int | None = None
    ptx: list[PtxPart] = []  # the body, in order; empty when it is not known
    ptx_left_out: int = 0  # lines of the body beyond those kept
    stub: str = ""  # the host function that nvcc puts in the kernel's place
    calls: list[str] = []  # what became of each `<<<>>>` in the host source


class CompileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The compilation: stages in order, kernels by mangled name."""

    cached: bool
    stages: list[StageInfo]
    kernels: dict[str, KernelInfo]
    members: list[str]  # fatbin members, e.g. "elf sm_89", "ptx compute_89"
    sources: dict[str, str] = {}  # text of the program's own files that code comes from, by path
    files: dict[str, str] = {}  # the program's own sources and headers, by path: sha256


class ApiCall(msgspec.Struct, frozen=True, kw_only=True):
    """One runtime or driver API call of the program; times are host times of this run, in ns."""

    index: int
    call: str
    args: list[Any]
    result: int
    start_ns: int
    duration_ns: int
    thread: int
    detail: str = ""  # why it failed, in our words


class MethodInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One decoded method of a pushbuffer."""

    subchannel: int
    address: int
    name: str
    value: int


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """How a launch reached the GPU: the ring entry, the methods it points to, the doorbell, the QMD."""

    channel: int
    gpfifo_entry: int  # the 64-bit ring entry as written
    pushbuffer_va: int
    pushbuffer_dwords: int
    doorbell: int  # work-submit token
    methods: list[MethodInfo]
    qmd_va: int
    qmd_version: str
    qmd: dict[str, int]  # non-zero fields by name
    constant_va: int
    constant_bank: dict[str, int]  # non-zero driver words of constant bank 0 by name
    words: list[int] = []  # the segment's dwords as they were fetched, the first 4096
    channel_class: int | None = None  # names the host methods in `words`
    classes: dict[int, int] = {}  # class bound to each subchannel when the segment was fetched


class OccupancyInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Theoretical occupancy of the launch (computed)."""

    blocks_per_sm: int
    warps_per_sm: int
    warps_per_scheduler: float
    max_warps_per_sm: int
    limits: dict[str, int]  # blocks per SM each resource alone would allow
    limiter: list[str]
    waves: float


class InstructionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One instruction of the kernel with its control word and how often it ran."""

    pc: int
    sass: str
    file: str
    line: int
    control: str  # all of the control word in columns, as `warpath sass` prints it
    stall: int
    yield_: bool = msgspec.field(name="yield")
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    producers: dict[str, list[int]]  # scoreboard waited for -> pcs of the instructions that raise it
    executed: int
    thread_executed: int
    thread_active: int = 0  # lanes of the warps that ran it, whatever their guard
    requests: int = 0
    sectors: int = 0
    lines: int = 0  # 128-byte lines, summed over requests
    wavefronts: int = 0
    conflicts: int = 0  # wavefronts beyond the fewest that the width needs
    words: int = 0  # atomics: distinct 4-byte words, summed over requests
    stalls: dict[str, int] = {}  # reason -> warp cycles, when the clock ran
    sample: list[int] = []  # memory instructions: the first request's lane addresses, -1: took no part


class LoadEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A module upload: which fatbin member, whether ptxas made it at run time, where its code went and how."""

    member: str
    jit: bool
    reason: str
    code_va: int
    code_bytes: int
    how: str  # "inline" (inline-to-memory methods) or "copy" (copy engine)
    data_bytes: int


class ParamValue(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel argument as the launch packed it: `value` is a number or, for structures, bytes in hex."""

    offset: int
    size: int
    value: str


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of access asked for: warp requests, 32-byte sectors, bytes of its active lanes."""

    name: str
    requests: int
    sectors: int
    wavefronts: int  # shared memory passes
    bytes: int


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes the copy engines moved in one direction, and in how many pieces."""

    bytes: int
    pieces: int


class Time(msgspec.Struct, frozen=True, kw_only=True):
    """What the model's clock says of a launch; nanoseconds. `cache` is cold (flushed before) or warm (as it was).

    The time covers what ncu's gpu__time_duration covers: from the front end's set-up to the end of the drain.
    `constants_from` names the board whose measurements the clock's constants come from.
    """

    cache: str
    sm_clock_mhz: float
    front_ns: int
    execution_ns: int
    drain_ns: int
    constants_from: str


class LedgerTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a launch's account of time: the floor (`term` is `floor`), or what one effect costs beyond it.

    The `ns` of a launch's ledger sum to its `duration_ns` exactly. Negative: the effect helped.
    """

    term: str  # stable key, e.g. `dram_inefficiency`
    label: str  # in words, e.g. `DRAM inefficiency`
    ns: int
    source: str  # `computed` (the floor) or `modelled`
    text: str = ""  # what it was in this kernel


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """A change alone, and what the launch would take with it. `kind`: `effect` (of the ledger) or `user`."""

    change: str
    kind: str
    label: str
    duration_ns: int | None  # None: could not be had, and `text` says why
    text: str = ""
    source: str = "modelled"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader should know, found by one rule: `key` names the rule, `figures` are what it looked at."""

    key: str
    text: str
    file: str = ""
    line: int = 0
    figures: dict[str, float] = {}
    source: str = "modelled"


class Overhead(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch costs outside the kernel, ns. Host times are measured on this machine, GPU times modelled."""

    host_call_ns: int | None  # from entry to return of the launch call
    submit_ns: int  # writing the segment, GP_PUT and the doorbell, modelled
    front_ns: int  # from the doorbell until the kernel's own time starts, modelled
    gap_ns: int | None  # GPU idle since the end of the launch before it in its stream; None for the first
    first: bool  # the first launch of this kernel
    load_ns: int  # module load that came with it: upload and assembly
    load_text: str = ""


class BlockSpan(msgspec.Struct, frozen=True, kw_only=True):
    """When one CTA was on its SM; ns since the launch began."""

    block: int
    sm: int
    start_ns: int
    end_ns: int


class WarpSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of one warp's life on the SM that was watched: `state` is a stall reason or `selected`."""

    block: int
    warp: int
    sub_partition: int
    pc: int
    state: str
    start_ns: int
    end_ns: int


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The launch over time, in bins of `bin_ns`; all series have the same length. Modelled."""

    bin_ns: float
    warps_active: list[float]  # mean over the SMs, percent of the most an SM holds
    issue_active: list[float]  # percent of issue slots used
    dram_bytes: list[int]  # read and written in the bin
    l2_bytes: list[int]  # sectors looked up in L2, in bytes
    blocks: list[BlockSpan]
    warps: list[WarpSpan]  # of SM `watched_sm`
    watched_sm: int
    note: str = ""  # what was thinned out


class LaunchFlow(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of global memory a launch touched. `unused`: fetched in sectors, asked for by no lane."""

    read_bytes: int
    written_bytes: int
    unused_bytes: int
    fetched_twice_bytes: int  # DRAM reads beyond one per distinct sector
    from_l2_bytes: int  # distinct sectors read that DRAM did not deliver


class FlowEdge(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that launch `producer` wrote (or read: `kind` is `reuse`) and `consumer` reads.

    `dram_bytes` would stay off DRAM if the two were one kernel; `saves_ns` is what the model says that is worth.
    """

    producer: int
    consumer: int
    kind: str  # `fusion` or `reuse`
    bytes: int
    dram_bytes: int
    saves_ns: int
    source: str = "modelled"


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How far to trust a launch's time: mean absolute error of the reference set, and what lies outside of it."""

    board: str  # where the references were measured
    mean_error_percent: float
    launches: int
    outside: list[str]  # what no reference covers; empty: inside what was validated


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel launch. `duration_ns` is modelled when there is a `time`, else measured; None when neither."""

    index: int
    kernel: str
    mangled: str
    grid: list[int]
    block: list[int]
    registers: int  # per thread as the QMD asks for them: what the compiler used, rounded up by the driver
    shared_bytes: int
    program_va: int
    param_base: int
    params: list[ParamValue]
    load: LoadEvent | None
    submission: Submission
    occupancy: OccupancyInfo
    start_ns: int | None = None  # when it began on the GPU's own clock, modelled; None when that did not run
    duration_ns: int | None = None
    time: Time | None = None
    stalls: dict[str, float] = {}  # reason -> cycles a warp waits per instruction issued, ncu's names
    utilization: dict[str, float] = {}  # resource -> percent of its peak over the whole duration
    counters: dict[str, float]  # Nsight Compute's names
    sm_blocks: list[int]  # CTAs each SM received
    traffic: list[Traffic]
    instructions: list[InstructionInfo]
    floor_ns: float  # the larger of compulsory DRAM bytes at paper bandwidth and instructions at peak rate
    floor_bytes: int
    floor_kind: str = "dram"  # or `issue`
    ledger: list[LedgerTerm] = []
    ledger_note: str = ""  # how it was made when not by replaying all of the launch
    what_if: list[WhatIf] = []
    verdict: str = ""
    bound: str = ""  # the binding resource: dram, l2, l1, latency, issue, a pipe, launch, tail, ...
    diagnoses: list[Diagnosis] = []
    overhead: Overhead | None = None
    timeline: Timeline | None = None
    flow: LaunchFlow | None = None
    accuracy: Accuracy | None = None


class FaultSite(msgspec.Struct, frozen=True, kw_only=True):
    """An access or arrival: which instruction, of which thread. `line` is 0 when the program has no line table."""

    function: str
    offset: int
    sass: str
    file: str
    line: int
    block: list[int]
    thread: list[int]
    access: str

    @property
    def where(self) -> str:
        """`kernel(int *)+0x90 in file.cu:12`, as compute-sanitizer writes it."""
        source = f" in {self.file.rsplit('/', 1)[-1]}:{self.line}" if self.line else ""
        return f"{self.function}+{self.offset:#x}{source}"

    @property
    def who(self) -> str:
        """`thread (1,0,0) in block (0,0,0)`."""
        return f"thread {_triple(self.thread)} in block {_triple(self.block)}"


class AllocationInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The allocation a bad address belongs to or is closest to. `offset` counts from its start."""

    address: int
    size: int
    kind: str
    offset: int
    allocated_by: str
    freed_by: str = ""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault or a finding of a check. `tool` is empty for what stopped the launch without any check."""

    kind: str
    tool: str = ""
    title: str = ""  # compute-sanitizer's words
    launch: int = -1
    kernel: str = ""
    pc: int = 0
    sass: str = ""
    file: str = ""
    line: int = 0
    block: list[int] = []
    thread: list[int] = []
    address: int = 0
    size: int = 0
    access: str = ""
    space: str = ""
    count: int = 1
    allocation: AllocationInfo | None = None
    site: FaultSite | None = None
    other: FaultSite | None = None
    details: list[str] = []  # compute-sanitizer's following lines
    notes: list[str] = []  # our own words
    message: str = ""
    fatal: bool = False  # ended the launch


class ProgramInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The host program: command line, its own output and how it ended."""

    path: str
    args: list[str]
    stdout: str
    exit_code: int


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one command found out."""

    schema: int = SCHEMA
    warpath: str
    gpu: GpuInfo
    options: dict[str, Any]
    program: ProgramInfo
    compile: CompileInfo | None
    api: list[ApiCall]
    copies: dict[str, Copied]  # by direction
    launches: list[Launch]
    faults: list[Fault]
    dataflow: list[FlowEdge] = []
    verdict: str = ""  # of the program as a whole, when it has more than one launch


def _triple(values: Sequence[int]) -> str:
    return "(" + ",".join(map(str, values)) + ")"
