"""A traced run in a terminal, at most 100 columns: phases, ioctls, channels, loads, then each launch."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from warpath.report.model import Launch, MethodInfo
from warpath.report.trace import LaunchInfo, TraceInfo, TraceReport
from warpath.units import format_bytes, format_duration_ns

MOST_KINDS, MOST_LAUNCHES, MOST_LOADS, MOST_CALLS = 16, 12, 8, 10


def render(report: TraceReport, console: Console) -> None:
    """Print the report."""
    trace = report.trace
    words = " ".join([report.program.path or "a recording", *report.program.args])
    driver = f"driver {trace.driver}" if trace.driver else "driver not recorded"
    _heading(
        console, f"{words} on {report.gpu.label}, {driver}: what it said to the driver and the GPU (measured)"
    )
    for title, lines in (
        ("phases", _phases(trace)),
        ("driver API calls, by time", _calls(trace)),
        ("device files", _files(trace)),
        ("ioctls", _kinds(trace)),
        ("channels", _channels(trace)),
        ("transfers, as submitted", _transfers(trace)),
        ("code loads", _loads(trace)),
    ):
        _section(console, title, list(lines))
    for launch, info in list(zip(report.launches, trace.launches, strict=True))[:MOST_LAUNCHES]:
        _section(console, _title(launch), list(_launch(report, launch, info)))
    if len(report.launches) > MOST_LAUNCHES:
        _section(console, f"{len(report.launches) - MOST_LAUNCHES} more launches", list(_more(report)))
    _section(console, "kernel times (measured)", list(_measured(trace)))
    _section(console, "recording", list(_recording(report)))


def _heading(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"))


def _section(console: Console, title: str, lines: list[str]) -> None:
    if not lines:
        return
    console.print()
    console.print(Text(title, style="bold cyan"))
    for text in lines:
        indent = len(text) - len(text.lstrip(" ")) + 2
        for number, part in enumerate(Text(text.strip()).wrap(console, max(console.width - indent - 2, 20))):
            part.rstrip()
            console.print(Text(" " * (indent + (2 if number else 0))) + part)


def _phases(trace: TraceInfo) -> Iterator[str]:
    for phase in trace.phases:
        counted = f", {phase.instructions} user instructions" if phase.instructions else ""
        yield (
            f"{phase.name:8} {phase.opens:4} opens, {phase.ioctls:4} ioctls in {format_duration_ns(phase.ioctl_ns)}, "
            f"{phase.doorbells:4} doorbells, {phase.calls:4} API calls in {format_duration_ns(phase.call_ns)}{counted}"
        )


def _calls(trace: TraceInfo) -> Iterator[str]:
    """The costliest calls; what they cost the host beside time."""
    worth = [kind for kind in trace.calls if kind.name]
    for kind in worth[:MOST_CALLS]:
        each = f", {format_duration_ns(kind.total_ns / kind.count)} each" if kind.count > 1 else ""
        counted = f", {kind.instructions} user instructions" if kind.instructions else ""
        yield (
            f"{kind.count:5} {kind.name}: {format_duration_ns(kind.total_ns)}{each}, {kind.ioctls} ioctls in "
            f"{format_duration_ns(kind.ioctl_ns)}, {kind.doorbells} doorbells{counted}"
        )
    if rest := worth[MOST_CALLS:]:
        total = format_duration_ns(sum(kind.total_ns for kind in rest))
        yield f"{sum(kind.count for kind in rest):5} of {len(rest)} other names: {total}"
    for kind in trace.calls:
        if not kind.name:
            yield (
                f"between calls: {kind.ioctls} ioctls in {format_duration_ns(kind.ioctl_ns)}, "
                f"{kind.doorbells} doorbells"
            )


def _files(trace: TraceInfo) -> Iterator[str]:
    for path, count in trace.files.items():
        yield f"{path} x{count}"
    for path, why in trace.failed_opens.items():
        yield f"{path}: {why}"


def _kinds(trace: TraceInfo) -> Iterator[str]:
    total = sum(kind.count for kind in trace.ioctl_kinds)
    if total:
        yield f"{total} in all, {format_duration_ns(sum(kind.total_ns for kind in trace.ioctl_kinds))} in the kernel"
    for kind in trace.ioctl_kinds[:MOST_KINDS]:
        name = f"{kind.name} {kind.detail}".replace("NV_ESC_RM_", "").strip()
        yield f"{kind.count:5} {name}: {format_duration_ns(kind.total_ns)}"
    rest = trace.ioctl_kinds[MOST_KINDS:]
    if rest:
        yield f"{sum(kind.count for kind in rest):5} of {len(rest)} other kinds (--json lists all)"


def _channels(trace: TraceInfo) -> Iterator[str]:
    busy = [channel for channel in trace.channels if channel.doorbells > 1]
    once = sum(channel.doorbells == 1 for channel in trace.channels)
    for channel in busy:
        phases = ", ".join(f"{count} in {name}" for name, count in channel.phases.items())
        token = "no token" if channel.token is None else f"token {channel.token:#x}"
        yield (
            f"{token}: {channel.doorbells} doorbells ({phases}), {channel.submitted} ring entries, "
            f"{format_bytes(channel.dwords * 4)}; {', '.join(channel.objects)}"
        )
    if once:
        yield f"{once} channels with one doorbell each"
    if unused := len(trace.channels) - len(busy) - once:
        yield f"{unused} channels without"


def _transfers(trace: TraceInfo) -> Iterator[str]:
    for moved in trace.transfers:
        yield f"{moved.kind}, {moved.direction}: {format_bytes(moved.bytes)} in {moved.pieces} pieces"


def _loads(trace: TraceInfo) -> Iterator[str]:
    for load in trace.loads[:MOST_LOADS]:
        names = ", ".join(load.kernels) or "code of the driver or of a library"
        where = f" inside {load.call}" if load.call else ""
        yield (
            f"{format_duration_ns(load.time_ns)}: {load.bytes} B to {load.va:#x} {load.how}{where} "
            f"({load.phase}): {names}"
        )
    if len(trace.loads) > MOST_LOADS:
        yield f"{len(trace.loads) - MOST_LOADS} more (--json lists all)"


def _title(launch: Launch) -> str:
    grid, block = "x".join(map(str, launch.grid)), "x".join(map(str, launch.block))
    return f"launch {launch.index}: {launch.kernel} <<<{grid}, {block}>>>"


def _launch(report: TraceReport, launch: Launch, info: LaunchInfo) -> Iterator[str]:
    sub, bell = launch.submission, report.trace.doorbells[info.doorbell]
    if info.problem:
        yield f"not decoded: {info.problem}"
        return
    how = {
        "pointer": "by the QMD's address (SEND_PCAS)",
        "inline": "by an inline QMD",
        "dependent": "by the end of another grid (dependent QMD)",
    }[info.form]
    since = ""
    if info.entry_to_doorbell_ns is not None:
        since = (
            f"; {format_duration_ns(info.entry_to_doorbell_ns)} from the entry of {info.call} to the doorbell"
        )
    yield f"triggered {how}, doorbell {info.doorbell} on channel {sub.channel:#x} in phase {bell.phase}{since}"
    yield (
        f"ring entry {sub.gpfifo_entry:#018x}: {sub.pushbuffer_dwords} dwords ({sub.pushbuffer_dwords * 4} B) at "
        f"{sub.pushbuffer_va:#x}, {info.undecoded} undecoded"
    )
    for line in method_runs(sub.methods):
        yield f"  {line}"
    yield (
        f"QMD {sub.qmd_version} at {sub.qmd_va:#x}: {launch.registers} registers, {launch.shared_bytes} B shared memory"
        f", code at {launch.program_va:#x}, {len(sub.qmd)} fields set"
    )
    for param in launch.params:
        at = launch.param_base + param.offset
        yield f"  c[0x0][{at:#x}] = {param.value}  (offset {param.offset}, {param.size} B)"
    occ = launch.occupancy
    if occ.blocks_per_sm:
        yield (
            f"occupancy: {occ.blocks_per_sm} blocks, {occ.warps_per_sm} of {occ.max_warps_per_sm} warps per SM, "
            f"{occ.waves:g} waves (computed)"
        )
    if info.measured_ns is not None:
        yield f"duration: {format_duration_ns(info.measured_ns)} (measured, {info.measured_by})"


def method_runs(methods: list[MethodInfo]) -> list[str]:
    """The methods of a segment in order, runs of one method or array as one, a few to a line."""
    names: list[tuple[str, int]] = []
    for method in methods:
        name = method.name.split("(")[0]
        if names and names[-1][0] == name:
            names[-1] = name, names[-1][1] + 1
        else:
            names.append((name, 1))
    texts = [name if count == 1 else f"{name} x{count}" for name, count in names]
    return [", ".join(texts[at : at + 4]) for at in range(0, len(texts), 4)]


def _more(report: TraceReport) -> Iterator[str]:
    counts: dict[str, int] = {}
    for launch in report.launches[MOST_LAUNCHES:]:
        counts[_title(launch).split(": ", 1)[1]] = counts.get(_title(launch).split(": ", 1)[1], 0) + 1
    for text, count in list(counts.items())[:MOST_LAUNCHES]:
        yield f"{text} x{count}"


def _measured(trace: TraceInfo) -> Iterator[str]:
    for name in dict.fromkeys(each.kernel for each in trace.measured):
        times = [each.duration_ns for each in trace.measured if each.kernel == name]
        source = next(each.source for each in trace.measured if each.kernel == name)
        spread = (
            f", {format_duration_ns(min(times))} to {format_duration_ns(max(times))}"
            if len(times) > 1
            else ""
        )
        yield f"{name}: {len(times)} x, mean {format_duration_ns(sum(times) / len(times))}{spread} ({source})"


def _recording(report: TraceReport) -> Iterator[str]:
    trace = report.trace
    over, missing = trace.overhead, trace.undecoded
    if over.per_doorbell_ns is not None:
        yield (
            f"{over.doorbells} doorbells trapped, {format_duration_ns(over.per_doorbell_ns)} each, "
            f"{format_duration_ns(over.doorbell_total_ns)} in all (measured)"
        )
    if over.traced_ns is not None:
        beside = f", {format_duration_ns(over.untraced_ns)} untraced" if over.untraced_ns is not None else ""
        yield f"wall time {format_duration_ns(over.traced_ns)} traced{beside} (measured)"
    yield (
        f"not decoded: {missing.methods} methods, {missing.segments} segments, {missing.doorbells} doorbells; "
        f"{missing.ioctls} ioctls without a name, {missing.parameters} with opaque parameters"
    )
    yield from trace.notes
    yield f"exit code {report.program.exit_code}"
