"""Turns what the model GPU and the driver did into report records.

The recorder observes the model GPU (what the QMD, the constant bank and the ring said) and asks the driver's journal
for names. Nothing here is decided; numbers are copied or counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from warpath.account import sanity
from warpath.account.accountant import Account
from warpath.account.floor import floor
from warpath.account.validated import outside, validation
from warpath.command.qmd import Qmd
from warpath.container.cubin import Cubin, Kernel
from warpath.driver.context import Driver
from warpath.driver.journal import LaunchRecord
from warpath.driver.journal import LoadEvent as Loaded
from warpath.frontend.engine import Copy
from warpath.frontend.launch import Launch as GpuLaunch
from warpath.frontend.metrics import stall_ratio
from warpath.gpu.occupancy import waves
from warpath.gpu.spec import Gpu
from warpath.host.state import ApiRecord
from warpath.isa.listing import Listing
from warpath.isa.scoreboards import producers
from warpath.report import terms, traffic, verdict
from warpath.report.model import (
    Accuracy,
    ApiCall,
    Copied,
    Fault,
    FlowEdge,
    GpuInfo,
    InstructionInfo,
    KernelInfo,
    Launch,
    LoadEvent,
    MethodInfo,
    OccupancyInfo,
    ParamValue,
    Submission,
    Time,
    Timeline,
    WhatIf,
)
from warpath.report.timeline import TimelineBuilder

if TYPE_CHECKING:
    from warpath.account.dataflow import DataFlow

MakeListing = Callable[[Cubin, Kernel], Listing]
WORD = 16  # bytes in an instruction
MOST_METHODS = 4096  # of one segment, and as many of its dwords, kept in the report


@dataclass(frozen=True, slots=True)
class Place:
    """A kernel as it is loaded: where its code starts, and the allocation that holds it."""

    cubin: Cubin
    kernel: Kernel
    va: int
    base: int


@dataclass(frozen=True, slots=True)
class _Kept:
    """A launch that will be in the report. `samples` has lane addresses by row of the program."""

    launch: GpuLaunch
    record: LaunchRecord | None
    place: Place | None
    timeline: Timeline | None
    samples: Mapping[int, list[int]]


class Names:
    """What the addresses that the GPU works with are called in the program."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def kernel(self, program_va: int) -> str:
        """The demangled name of the kernel that starts at `program_va`."""
        place = self.place(program_va)
        return place.kernel.demangled if place else f"code at {program_va:#x}"

    def place(self, va: int) -> Place | None:
        """The kernel whose code holds `va`."""
        for module in self._driver.modules:
            if not module.loaded:
                continue
            base = next((block.va for block in module.image.blocks if block.placement.is_code), 0)
            for kernel in module.cubin.kernels.values():
                start = module.entry(kernel)
                if start <= va < start + max(len(kernel.code), WORD):
                    return Place(module.cubin, kernel, start, base)
        return None

    def side(self, va: int) -> str:
        """Whose memory an address is in: `host` (pinned, managed or staging) or `device`."""
        return "host" if va in self._driver.space.host else "device"

    def shared(self) -> tuple[int, int]:
        """(base, size) of the memory that program and GPU both reach: pinned, managed and staging."""
        host = self._driver.space.host
        return host.base, host.size

    def launch(self, index: int) -> LaunchRecord | None:
        """The driver's record of launch `index`."""
        launches = self._driver.journal.launches
        return launches[index] if index < len(launches) else None

    def loads_before(self, index: int) -> list[Loaded]:
        """Modules loaded right before launch `index`."""
        return [load for load in self._driver.journal.loads if load.before_launch == index]


class Recorder:
    """Observes the model GPU. `kernel` and `count` choose which launches are kept."""

    def __init__(self, kernel: str | None, count: int | None, listing: MakeListing, dram_gbs: float) -> None:
        self.names: Names | None = None
        self.copies: dict[str, Copied] = {}
        self.faults: list[Fault] = []
        self._kernel = kernel
        self._count = count
        self._listing = listing
        self._launches: list[_Kept] = []
        self._timelines = TimelineBuilder()
        self._dram_gbs = dram_gbs

    @cached_property
    def _flow(self) -> DataFlow:
        from warpath.account.dataflow import DataFlow  # brings numpy: only for who wants a report

        return DataFlow(self._dram_gbs)

    def on_copy(self, copy: Copy) -> None:
        """Count copy-engine traffic by direction, and see what it overwrites and carries away."""
        target = (copy.dst, copy.width, copy.dst_pitch, copy.height)
        source = (copy.src, copy.width, copy.src_pitch, copy.height) if copy.kind == "copy" else None
        self._flow.copied(source, target)
        if copy.kind != "copy" or self.names is None:
            return
        src, dst = (self.names.side(va) for va in (copy.src, copy.dst))
        before = self.copies.get(f"{src} to {dst}", Copied(bytes=0, pieces=0))
        self.copies[f"{src} to {dst}"] = Copied(bytes=before.bytes + copy.bytes, pieces=before.pieces + 1)

    def on_launch(self, launch: GpuLaunch) -> None:
        """Keep a launch that has ended."""
        raw, launch.timeline = launch.timeline, None  # large: only what the report shows of it is kept
        if self.names is None:
            return
        place = self.names.place(launch.work.program_va)
        if launch.fault is not None:
            self.faults.append(_fault(launch, launch.fault, place))
        if "loads" in launch.counters:
            self._flow.launched(launch.index, launch.counters, self.names.shared())
        wanted = self._kernel is None or (place is not None and self._kernel in place.kernel.demangled)
        if wanted and (self._count is None or len(self._launches) < self._count):
            first = _first_row(place) if place else 0
            timeline = self._timelines.build(raw, launch, first) if raw else None
            record = self.names.launch(launch.index)
            self._launches.append(_Kept(launch, record, place, timeline, raw["samples"] if raw else {}))

    def finish(
        self, gpu: Gpu, kernels: Mapping[str, KernelInfo], accounts: Mapping[int, Account]
    ) -> list[Launch]:
        """The report's launches. `kernels` is what is known of their compilation, by mangled name; `accounts` are
        those of their time that were made, by launch index.
        """
        found: list[Launch] = []
        for kept in self._launches:
            launch = self._launch(gpu, kept)
            account = accounts.get(launch.index)
            if account is not None:
                launch = _accounted(launch, account, gpu)
            diagnoses = sanity.diagnose(launch, kernels.get(launch.mangled), gpu)
            found.append(structs.replace(launch, diagnoses=diagnoses))
        return found

    def dataflow(self) -> list[FlowEdge]:
        """What the kept launches hand to one another; call once, when the program has ended."""
        kept = {entry.launch.index for entry in self._launches}
        return [edge for edge in self._flow.edges() if {edge.producer, edge.consumer} <= kept]

    def _launch(self, gpu: Gpu, kept: _Kept) -> Launch:
        launch, place = kept.launch, kept.place
        code = self._instructions(kept)
        least = floor(launch.counters, gpu)
        return Launch(
            index=launch.index,
            kernel=place.kernel.demangled if place else "?",
            mangled=place.kernel.name if place else "",
            grid=list(launch.work.grid),
            block=list(launch.work.block),
            registers=launch.work.registers,
            shared_bytes=launch.work.shared,
            program_va=launch.work.program_va,
            param_base=place.kernel.param_base if place else 0,
            params=_params(launch, kept.record),
            load=self._load(launch.index),
            submission=_submission(launch),
            occupancy=_occupancy(gpu, launch),
            start_ns=launch.start_ns,
            duration_ns=launch.counters.get("duration_ns"),
            time=_time(launch.counters),
            stalls=_stalls(launch.counters),
            utilization=dict(launch.counters.get("utilization", {})),
            counters=_totals(launch.counters),
            sm_blocks=_per_sm(launch.placement, gpu.sms),
            traffic=traffic.by_kind(code),
            instructions=code,
            floor_ns=least.ns,
            floor_bytes=least.bytes,
            floor_kind=least.kind,
            timeline=kept.timeline,
            flow=traffic.flow(launch.counters),
        )

    def _load(self, index: int) -> LoadEvent | None:
        loads = self.names.loads_before(index) if self.names else []
        if not loads:
            return None
        load = loads[-1]
        code = next((upload for upload in load.uploads if upload.what.startswith("code")), None)
        return LoadEvent(
            member=load.member,
            jit=load.jit,
            reason=load.reason,
            code_va=code.va if code else 0,
            code_bytes=code.bytes if code else 0,
            how=code.how if code else "",
            data_bytes=load.bytes - (code.bytes if code else 0),
        )

    def _instructions(self, kept: _Kept) -> list[InstructionInfo]:
        if kept.place is None:
            return []
        counters = kept.launch.counters
        counts, reasons = columns(counters), tuple(counters.get("stall_names", ()))
        first = _first_row(kept.place)
        code = self._listing(kept.place.cubin, kept.place.kernel)
        return [
            _instruction(code, at, first, counts, reasons, kept.samples.get(first + at, []))
            for at in range(len(code))
        ]


def _accounted(launch: Launch, account: Account, gpu: Gpu) -> Launch:
    """`launch` with its ledger, what-if answers and verdict."""
    launch = structs.replace(
        launch,
        accuracy=_accuracy(launch, gpu),
        ledger=terms.ledger_terms(launch, account.ledger) if account.ledger else [],
        ledger_note=account.note,
        what_if=[
            WhatIf(change=c.key, kind=c.kind, label=c.label, duration_ns=c.duration_ns, text=c.text)
            for c in account.whatif
        ],
    )
    return structs.replace(
        launch, bound=verdict.bound(launch).key, verdict=verdict.verdict(launch, gpu_info(gpu))
    )


def _accuracy(launch: Launch, gpu: Gpu) -> Accuracy | None:
    """How far to trust the launch's time; None when it has none."""
    if launch.time is None:
        return None
    own = validation()
    ran = {traffic.opcode_of(i.sass).split(".")[0] for i in launch.instructions if i.executed}
    return Accuracy(
        board=own.board,
        mean_error_percent=own.mean_error_percent[launch.time.cache],
        launches=own.launches,
        outside=outside(gpu, ran),
    )


def columns(counters: Mapping[str, Any]) -> dict[str, Sequence[int]]:
    """The core's per-instruction columns (packed u64) as sequences of integers."""
    return {name: memoryview(value).cast("Q") for name, value in counters.items() if isinstance(value, bytes)}


def _first_row(place: Place) -> int:
    """The kernel's first instruction among those of the allocation that holds it."""
    return (place.va - place.base) // WORD


def _instruction(
    code: Listing,
    at: int,
    first: int,
    counts: Mapping[str, Sequence[int]],
    reasons: tuple[str, ...],
    sample: list[int],
) -> InstructionInfo:
    i, row = code.instructions[at], first + at

    def count(name: str) -> int:
        column = counts.get(name)
        return column[row] if column is not None and row < len(column) else 0

    stalls = counts.get("stall_cycles", ())[row * len(reasons) : (row + 1) * len(reasons)]
    control = i.control
    waits = producers(code.instructions, at)
    return InstructionInfo(
        pc=i.pc,
        sass=i.text,
        file=i.line.file if i.line else "",
        line=i.line.line if i.line else 0,
        control=control.compact(),
        stall=control.stall,
        yield_=control.yield_,
        write_barrier=control.write_barrier,
        read_barrier=control.read_barrier,
        wait_mask=control.wait_mask,
        producers={f"SB{n}": [code.instructions[p].pc for p in setters] for n, setters in waits.items()},
        executed=count("executed"),
        thread_executed=count("threads_on"),
        thread_active=count("threads"),
        requests=count("requests"),
        sectors=count("sectors"),
        lines=count("lines"),
        wavefronts=count("wavefronts"),
        conflicts=count("conflicts"),
        words=count("words"),
        stalls={name: cycles for name, cycles in zip(reasons, stalls, strict=False) if cycles},
        sample=sample,
    )


def _totals(counters: Mapping[str, Any]) -> dict[str, float]:
    """Whole-launch counters under Nsight Compute's names."""
    return {
        "smsp__inst_executed.sum": counters.get("inst_executed", 0),
        "smsp__thread_inst_executed.sum": counters.get("thread_inst_executed", 0),
        "smsp__thread_inst_executed_pred_on.sum": counters.get("thread_inst_executed_pred_on", 0),
        **counters.get("metrics", {}),
    }


def _time(counters: Mapping[str, Any]) -> Time | None:
    """What the clock says; None when it did not run."""
    if "duration_ns" not in counters:
        return None
    return Time(
        cache=counters["cache"],
        sm_clock_mhz=counters["sm_clock_khz"] / 1e3,
        front_ns=counters["front_ns"],
        execution_ns=counters["execution_ns"],
        drain_ns=counters["drain_ns"],
        constants_from=counters["constants_from"],
    )


def _stalls(counters: Mapping[str, Any]) -> dict[str, float]:
    """Warp cycles per issued instruction by reason, largest first."""
    start, end = stall_ratio("*").split("*")
    found = {
        name.removeprefix(start).removesuffix(end): value
        for name, value in counters.get("metrics", {}).items()
        if name.startswith(start) and name.endswith(end)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _per_sm(placement: bytes, sms: int) -> list[int]:
    """CTAs that each SM received; empty when placement was not kept."""
    found = Counter(memoryview(placement).cast("I"))
    return [found[sm] for sm in range(sms)] if placement else []


def _params(launch: GpuLaunch, record: LaunchRecord | None) -> list[ParamValue]:
    """The parameter bytes found in the constant bank, cut where the kernel's parameter list says."""
    data = launch.params
    layout = record.param_layout if record else [(0, len(data))]
    found: list[ParamValue] = []
    for offset, size in layout:
        raw = data[offset : offset + size]
        value = f"{int.from_bytes(raw, 'little'):#x}" if size in (1, 2, 4, 8) else raw.hex()
        found.append(ParamValue(offset=offset, size=size, value=value))
    return found


def _submission(launch: GpuLaunch) -> Submission:
    sub = launch.submission
    bank0 = next((bank for bank in launch.work.banks if bank.index == 0), None)
    words = {name: value for name, value in launch.bank.fields.items() if isinstance(value, int) and value}
    return Submission(
        channel=launch.token,
        gpfifo_entry=int.from_bytes(sub.raw, "little") if sub else 0,
        pushbuffer_va=sub.entry.va if sub else 0,
        pushbuffer_dwords=sub.entry.dwords if sub else 0,
        doorbell=launch.token,
        methods=[
            MethodInfo(subchannel=m.subchannel, address=m.address, name=m.name, value=m.value)
            for m in (sub.methods[:MOST_METHODS] if sub else ())
        ],
        qmd_va=launch.qmd_va,
        qmd_version=launch.qmd.format.version,
        qmd=_qmd_fields(launch.qmd),
        constant_va=bank0.va if bank0 else 0,
        constant_bank=words,
        words=[word for packet in sub.packets for word in packet.words()][:MOST_METHODS] if sub else [],
        channel_class=sub.state.channel_class if sub else None,
        classes=dict(sub.state.objects) if sub else {},
    )


def _qmd_fields(qmd: Qmd) -> dict[str, int]:
    return {name: value for name, value in qmd.fields().items() if value}


def _occupancy(gpu: Gpu, launch: GpuLaunch) -> OccupancyInfo:
    occ = launch.occupancy
    x, y, z = launch.work.grid
    return OccupancyInfo(
        blocks_per_sm=occ.blocks_per_sm,
        warps_per_sm=occ.warps_per_sm,
        warps_per_scheduler=occ.warps_per_scheduler,
        max_warps_per_sm=occ.max_warps,
        limits={name: limit for name, limit in occ.limits.items() if limit is not None},
        limiter=list(occ.limiter),
        waves=round(waves(x * y * z, gpu, occ) or 0.0, 2),
    )


def _fault(launch: GpuLaunch, fault: Mapping[str, Any], place: Place | None) -> Fault:
    pc = int(fault.get("pc", 0)) - (place.va - place.base if place else 0)
    file, line = "", 0
    if place is not None:
        for row in place.cubin.line_table(place.kernel.section):
            if row.pc <= pc:
                file, line = row.file, row.line
    name = place.kernel.demangled if place else "?"
    message = str(fault.get("message", "")) or str(fault["kind"]).replace("_", " ")
    return Fault(
        kind=str(fault["kind"]),
        kernel=name,
        pc=pc,
        sass=str(fault.get("text", "")),
        file=file,
        line=line,
        block=list(fault.get("block", ())),
        thread=list(fault.get("thread", ())),
        address=int(fault.get("address", 0)),
        size=int(fault.get("size", 0)),
        access=str(fault.get("access", "")),
        message=message,
        launch=launch.index,
    )


def gpu_info(gpu: Gpu) -> GpuInfo:
    """The board section of the report."""
    return GpuInfo(
        name=gpu.name,
        label=gpu.label,
        sm=gpu.sm.name,
        chip=gpu.chip,
        sms=gpu.sms,
        dram_bandwidth_gbs=gpu.dram_gbs,
        dram_bandwidth_source=gpu.source("dram_gbs"),
        l2_bytes=gpu.l2_bytes,
    )


def api_calls(records: Sequence[ApiRecord], origin_ns: int) -> list[ApiCall]:
    """The `api` section; times relative to the start of the session."""
    return [msgspec.convert(record.to_report(origin_ns), ApiCall) for record in records]
