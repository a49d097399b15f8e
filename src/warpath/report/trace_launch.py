"""The launches of a recording as report records: the same as those of a model run, so that both compare."""

from __future__ import annotations

from collections.abc import Sequence

from warpath.capture.activity import Measured
from warpath.capture.kernels import Named
from warpath.capture.stream import Segment
from warpath.capture.trace import Trace
from warpath.capture.work import Launch as Submitted
from warpath.command import constbank
from warpath.command.gpfifo import Entry
from warpath.command.grid import GridWork
from warpath.container.demangle import demangle
from warpath.errors import WarpathError
from warpath.gpu.occupancy import occupancy, waves
from warpath.gpu.spec import Gpu
from warpath.report.model import (
    Launch,
    MethodInfo,
    OccupancyInfo,
    ParamValue,
    Submission,
)
from warpath.report.trace import LaunchInfo

MOST_WITH_METHODS = 64  # launches that carry their methods in the report; all are decoded and counted


def build_launches(
    trace: Trace, gpu: Gpu, measured: Sequence[Measured]
) -> tuple[list[Launch], list[LaunchInfo]]:
    """Launches whose QMD was seen, with how each came about; measurements are matched to them in order, by name."""
    place = {id(submission.ring): i for i, submission in enumerate(trace.submissions)}
    times = _match(trace, measured)
    launches: list[Launch] = []
    infos: list[LaunchInfo] = []
    for index, submitted in enumerate(trace.launches):
        time = times.get(index)
        launches.append(_launch(trace, gpu, index, submitted, time))
        ring = submitted.where.submission.ring
        call = trace.within.find(ring.head)
        segment = submitted.where.submission.segments[submitted.where.segment]
        infos.append(
            LaunchInfo(
                index=index,
                form=submitted.form,
                doorbell=place[id(ring)],
                call="" if call is None else trace.calls[call].name,
                entry_to_doorbell_ns=None if call is None else ring.head.time_ns - trace.calls[call].start_ns,
                measured_ns=None if time is None else time.duration_ns,
                measured_by="" if time is None else time.source,
                undecoded=sum(not method.known for method in segment.methods),
                problem=submitted.problem,
            )
        )
    return launches, infos


def _match(trace: Trace, measured: Sequence[Measured]) -> dict[int, Measured]:
    """Each measurement to the first launch left with its name (or, unnamed, its grid and block)."""
    found: dict[int, Measured] = {}
    position = 0
    for time in measured:
        name = demangle(time.kernel)
        for index in range(position, len(trace.launches)):
            if _is(trace, trace.launches[index], name, time):
                found[index] = time
                position = index + 1
                break
    return found


def _is(trace: Trace, submitted: Submitted, name: str, time: Measured) -> bool:
    work = submitted.work
    if work is None:
        return False
    named = trace.kernel_of(submitted)
    if named is not None and name.split("(")[0] != named.name.split("(")[0]:
        return False
    return named is not None or (work.grid, work.block) == (time.grid, time.block)


def _launch(trace: Trace, gpu: Gpu, index: int, submitted: Submitted, time: Measured | None) -> Launch:
    work = submitted.work
    named = trace.kernel_of(submitted)
    base = (named.param_base if named is not None else 0) or gpu.param_base
    return Launch(
        index=index,
        kernel=trace.kernel_name(submitted),
        mangled=named.mangled if named is not None else "",
        grid=list(work.grid) if work is not None else [],
        block=list(work.block) if work is not None else [],
        registers=work.registers if work is not None else 0,
        shared_bytes=work.shared if work is not None else 0,
        program_va=work.program_va if work is not None else 0,
        param_base=base,
        params=_params(submitted, named, base),
        load=None,
        submission=_submission(gpu, submitted, index < MOST_WITH_METHODS),
        occupancy=_occupancy(gpu, work),
        duration_ns=None if time is None else round(time.duration_ns),
        counters={} if time is None else dict(time.metrics),
        sm_blocks=[],
        traffic=[],
        instructions=[],
        floor_ns=0.0,
        floor_bytes=0,
    )


def _params(submitted: Submitted, named: Named | None, base: int) -> list[ParamValue]:
    """By the kernel's parameter list; without one, all bytes behind the parameter base as one value."""
    if submitted.constants is None or len(submitted.constants) <= base:
        return []
    data = submitted.constants[base:]
    if named is None or named.params is None:
        return [ParamValue(offset=0, size=len(data), value=data.hex())]
    found: list[ParamValue] = []
    for offset, size in named.params:
        raw = data[offset : offset + size]
        value = f"{int.from_bytes(raw, 'little'):#x}" if size in (1, 2, 4, 8) else raw.hex()
        found.append(ParamValue(offset=offset, size=size, value=value))
    return found


def _submission(gpu: Gpu, submitted: Submitted, with_methods: bool) -> Submission:
    ring = submitted.where.submission.ring
    segment: Segment = submitted.where.submission.segments[submitted.where.segment]
    entry = segment.entry if isinstance(segment.entry, Entry) else None
    bank0 = None
    if submitted.work is not None:
        bank0 = next((bank for bank in submitted.work.banks if bank.index == 0), None)
    return Submission(
        channel=ring.value,
        gpfifo_entry=int.from_bytes(segment.raw, "little"),
        pushbuffer_va=entry.va if entry else 0,
        pushbuffer_dwords=entry.dwords if entry else 0,
        doorbell=ring.value,
        methods=[
            MethodInfo(subchannel=m.subchannel, address=m.address, name=m.name, value=m.value)
            for m in (segment.methods if with_methods else ())
        ],
        qmd_va=submitted.qmd_va,
        qmd_version=submitted.qmd.format.version if submitted.qmd else "",
        qmd=submitted.qmd.fields() if submitted.qmd else {},
        constant_va=bank0.va if bank0 else 0,
        constant_bank=_bank(gpu, submitted),
    )


def _bank(gpu: Gpu, submitted: Submitted) -> dict[str, int]:
    if submitted.constants is None:
        return {}
    try:
        bank = constbank.decode(constbank.load_layout(gpu.cbank0), submitted.constants)
    except WarpathError:
        return {}
    words = {name: value for name, value in bank.fields.items() if isinstance(value, int) and value}
    return words | {f"word {offset:#x}": word for offset, word in bank.unnamed.items()}


def _occupancy(gpu: Gpu, work: GridWork | None) -> OccupancyInfo:
    """From the QMD; all zero when there is none or it asks for what no SM has."""
    nothing = OccupancyInfo(
        blocks_per_sm=0,
        warps_per_sm=0,
        warps_per_scheduler=0.0,
        max_warps_per_sm=gpu.sm.max_warps,
        limits={},
        limiter=[],
        waves=0.0,
    )
    if work is None:
        return nothing
    (gx, gy, gz), (bx, by, bz) = work.grid, work.block
    shared = max(work.shared - gpu.sm.shared_reserved_bytes, 0)
    try:
        found = occupancy(gpu.sm, bx * by * bz, work.registers, shared, barriers=max(work.barriers, 1))
    except WarpathError:
        return nothing
    return OccupancyInfo(
        blocks_per_sm=found.blocks_per_sm,
        warps_per_sm=found.warps_per_sm,
        warps_per_scheduler=found.warps_per_scheduler,
        max_warps_per_sm=found.max_warps,
        limits={name: limit for name, limit in found.limits.items() if limit is not None},
        limiter=list(found.limiter),
        waves=round(waves(gx * gy * gz, gpu, found) or 0.0, 2),
    )
