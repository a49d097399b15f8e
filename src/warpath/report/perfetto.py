"""A run as a Perfetto trace: what the host called, and what the GPU did, launch by launch.

The two groups have clocks of their own. Host times are measured on this machine, where a launch takes as long as its
simulation; GPU times are the model's, whose clock stands still while there is no work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from warpath.report import files
from warpath.report.model import ApiCall, BlockSpan, Launch, Report, Timeline, WarpSpan
from warpath.report.tracks import Slice, Trace, lanes, queue

MOST_CALLS = 20_000
MOST_VALUES = 100_000  # of all counters together
_SERIES = ("warps active", "issue active", "DRAM throughput", "L2 throughput")
_UNITS = ("%", "%", "GB/s", "GB/s")


def write(report: Report, path: Path) -> None:
    """Write the trace; UsageError when the place cannot be written."""
    files.write(path, build(report), "the time line")


def build(report: Report) -> bytes:
    """The trace, serialised."""
    trace = Trace()
    _host(trace, report.api)
    gpu = trace.group(f"GPU {report.gpu.name} (modelled; the GPU's own clock)")
    launches = [launch for launch in report.launches if launch.start_ns is not None]
    _notes(trace, gpu, report, launches)
    _submissions(trace, gpu, launches)
    _front_end(trace, gpu, launches)
    _kernels(trace, gpu, launches)
    _counters(trace, gpu, launches)
    _ctas(trace, gpu, launches)
    _warps(trace, gpu, launches)
    return trace.serialize()


def _host(trace: Trace, calls: Sequence[ApiCall]) -> None:
    group = trace.group("host calls (measured; this machine's clock)")
    shown = calls[:MOST_CALLS]
    threads: dict[int, list[Slice]] = defaultdict(list)
    for call in shown:
        # Addresses of the host differ from run to run; the report has them.
        arguments = ", ".join(str(value) if isinstance(value, int) else "..." for value in call.args)
        words = {"index": call.index, "arguments": arguments, "result": call.result}
        if call.detail:
            words["detail"] = call.detail
        threads[call.thread].append(Slice(call.call, call.start_ns, call.start_ns + call.duration_ns, words))
    for number, found in enumerate(threads.values(), 1):
        trace.slices(trace.track(f"host thread {number}", group), found)
    if len(shown) < len(calls):
        notes = trace.track("notes", group)
        trace.instant(notes, shown[-1].start_ns, f"host calls: the first {len(shown)} of {len(calls)}")


def _notes(trace: Trace, gpu: int, report: Report, launches: Sequence[Launch]) -> None:
    """What is not in the trace, at the launch that it is about."""
    found = [
        (launch.start_ns or 0, f"launch {launch.index}: {launch.timeline.note}")
        for launch in launches
        if launch.timeline is not None and launch.timeline.note
    ]
    if (width := _bins_a_value(launches)) > 1:
        found.insert(0, (0, f"counters: one value for every {width} time bins"))
    if (left := len(report.launches) - len(launches)) > 0:
        found.insert(0, (0, f"{left} of {len(report.launches)} launches ran without the clock"))
    if not found:
        return
    track = trace.track("notes", gpu)
    for at_ns, text in found:
        trace.instant(track, at_ns, text)


def _by_channel(launches: Sequence[Launch]) -> list[tuple[int, list[Launch]]]:
    channels: dict[int, list[Launch]] = defaultdict(list)
    for launch in launches:
        channels[launch.submission.channel].append(launch)
    return sorted(channels.items())


def _submissions(trace: Trace, gpu: int, launches: Sequence[Launch]) -> None:
    """The doorbell of every launch, and the writing before it where its time is known."""
    for channel, own in _by_channel(launches):
        track = trace.track(f"submissions, channel {channel:#x}", gpu)
        written: list[Slice] = []
        for launch in own:
            rung = _doorbell_ns(launch)
            sub = launch.submission
            words = {
                "gpfifo_entry": f"{sub.gpfifo_entry:#018x}",
                "dwords": sub.pushbuffer_dwords,
                "qmd": f"{sub.qmd_va:#x}",
            }
            trace.instant(track, rung, f"doorbell {sub.doorbell:#x}: launch {launch.index}", words)
            if launch.overhead is not None:
                begun = max(rung - launch.overhead.submit_ns, 0)
                written.append(Slice(f"write launch {launch.index}", begun, rung, words))
        trace.slices(track, queue(written))


def _doorbell_ns(launch: Launch) -> int:
    front = launch.overhead.front_ns if launch.overhead is not None else 0
    return max((launch.start_ns or 0) - front, 0)


def _front_end(trace: Trace, gpu: int, launches: Sequence[Launch]) -> None:
    found: list[Slice] = []
    for launch in launches:
        start, rung = launch.start_ns or 0, _doorbell_ns(launch)
        if rung < start:
            found.append(Slice(f"launch {launch.index}: fetch and decode", rung, start))
        if launch.time is not None:
            found.append(Slice(f"launch {launch.index}: set up", start, start + launch.time.front_ns))
    trace.slices(trace.track("front end", gpu), queue(found))


def _kernels(trace: Trace, gpu: int, launches: Sequence[Launch]) -> None:
    for channel, own in _by_channel(launches):
        found: list[Slice] = []
        free = 0
        for launch in own:
            found.extend(_kernel(launch, free))
            free = (launch.start_ns or 0) + (launch.duration_ns or 0)
        trace.slices(trace.track(f"kernels, channel {channel:#x}", gpu), found)


def _kernel(launch: Launch, free: int) -> Iterator[Slice]:
    """The launch, and its stages within it. Its set-up is shown from `free` on, when the launch before has ended: in a
    full queue the two overlap.
    """
    start, duration = launch.start_ns or 0, launch.duration_ns or 0
    words: dict[str, str | int | float] = {
        "launch": launch.index,
        "grid": "x".join(map(str, launch.grid)),
        "block": "x".join(map(str, launch.block)),
        "registers": launch.registers,
        "shared_bytes": launch.shared_bytes,
        "duration_ns": duration,
        "floor_ns": launch.floor_ns,
    }
    if launch.verdict:
        words["verdict"] = launch.verdict
    yield Slice(launch.kernel, max(start, free), start + duration, words)
    if launch.time is None:
        return
    at = start
    stages = (launch.time.front_ns, launch.time.execution_ns, launch.time.drain_ns)
    for name, length in zip(("set up", "execution", "drain"), stages, strict=True):
        yield Slice(name, max(at, free), at + length)
        at += length


def _bins_a_value(launches: Sequence[Launch]) -> int:
    """How many time bins one value of a counter stands for, so that there are not too many of them."""
    bins = sum(len(launch.timeline.dram_bytes) for launch in launches if launch.timeline is not None)
    return max(-(-bins * len(_SERIES) // MOST_VALUES), 1)


def _counters(trace: Trace, gpu: int, launches: Sequence[Launch]) -> None:
    width = _bins_a_value(launches)
    points: list[list[tuple[int, float]]] = [[] for _ in _SERIES]
    free = 0  # a launch's set-up, which overlaps with the end of the one before, has nothing to count
    for launch in launches:
        if launch.timeline is None or launch.duration_ns is None or launch.start_ns is None:
            continue
        for own, values in zip(points, _values(launch.timeline, launch.duration_ns, width), strict=True):
            own.extend((launch.start_ns + at, value) for at, value in values if launch.start_ns + at >= free)
            own.append((launch.start_ns + launch.duration_ns, 0.0))
        free = launch.start_ns + launch.duration_ns
    for name, unit, own in zip(_SERIES, _UNITS, points, strict=True):
        if own:
            trace.values(trace.counter(name, gpu, unit), own)


def _values(timeline: Timeline, duration_ns: int, width: int) -> list[list[tuple[int, float]]]:
    """(ns since the launch began, value) by series, `width` bins to a value: means, and bytes over time."""
    bins = len(timeline.dram_bytes)
    edges = [min(i * timeline.bin_ns, duration_ns) for i in range(bins + 1)]
    out: list[list[tuple[int, float]]] = [[] for _ in _SERIES]
    for first in range(0, bins, width):
        span = range(first, min(first + width, bins))
        start, length = edges[first], edges[span.stop] - edges[first]
        if length == 0:
            continue
        for series, own in ((timeline.warps_active, out[0]), (timeline.issue_active, out[1])):
            total = sum(series[i] * (edges[i + 1] - edges[i]) for i in span)
            own.append((round(start), total / length))
        for series, own in ((timeline.dram_bytes, out[2]), (timeline.l2_bytes, out[3])):
            own.append((round(start), sum(series[i] for i in span) / length))
    return out


def _ctas(trace: Trace, gpu: int, launches: Sequence[Launch]) -> None:
    """CTAs of each SM, every one in the lowest slot that was free."""
    by_sm: dict[int, list[tuple[int, Launch, BlockSpan]]] = defaultdict(list)
    for launch in launches:
        for span in launch.timeline.blocks if launch.timeline is not None else ():
            by_sm[span.sm].append((launch.start_ns or 0, launch, span))
    if not by_sm:
        return
    heading = trace.track("CTAs", gpu)
    for sm, found in sorted(by_sm.items()):
        found.sort(key=lambda entry: (entry[0] + entry[2].start_ns, entry[2].block))
        parent = trace.track(f"SM {sm}", heading)
        slots: dict[int, list[Slice]] = defaultdict(list)
        spans = [(base + span.start_ns, base + span.end_ns) for base, _, span in found]
        for (start, end), slot, (_, launch, span) in zip(spans, lanes(spans), found, strict=True):
            words = {"block": span.block, "launch": launch.index, "kernel": launch.kernel}
            slots[slot].append(Slice(f"CTA {span.block}", start, end, words))
        for slot, own in sorted(slots.items()):
            trace.slices(trace.track(f"slot {slot}", parent), own)


def _warps(trace: Trace, gpu: int, launches: Sequence[Launch]) -> None:
    """Warps of the watched SMs, each over its whole life, and within it what it did or waited for."""
    by_place: dict[tuple[int, int], list[tuple[int, int, list[Slice]]]] = defaultdict(list)
    for launch in launches:
        if launch.timeline is None:
            continue
        sass = {instruction.pc: instruction.sass for instruction in launch.instructions}
        lives: dict[tuple[int, int, int], list[WarpSpan]] = defaultdict(list)
        for span in launch.timeline.warps:
            lives[span.block, span.warp, span.sub_partition].append(span)
        for (_, _, part), spans in lives.items():
            found = _life(launch, spans, sass)
            place = (launch.timeline.watched_sm, part)
            by_place[place].append((found[0].start_ns, found[0].end_ns, found))
    if not by_place:
        return
    heading = trace.track("warps of the watched SM", gpu)
    for (sm, part), own in sorted(by_place.items()):
        own.sort(key=lambda entry: entry[:2])
        parent = trace.track(f"SM {sm}, sub-partition {part}", heading)
        slots: dict[int, list[Slice]] = defaultdict(list)
        for slot, (_, _, found) in zip(lanes([entry[:2] for entry in own]), own, strict=True):
            slots[slot].extend(found)
        for slot, found in sorted(slots.items()):
            trace.slices(trace.track(f"warp slot {slot}", parent), found)


def _life(launch: Launch, spans: Sequence[WarpSpan], sass: dict[int, str]) -> list[Slice]:
    base, first = launch.start_ns or 0, spans[0]
    words: dict[str, str | int | float] = {"launch": launch.index, "block": first.block, "warp": first.warp}
    name = f"CTA {first.block} warp {first.warp}"
    life = Slice(name, base + first.start_ns, base + spans[-1].end_ns, words)
    stretches = [
        Slice(
            span.state,
            base + span.start_ns,
            base + span.end_ns,
            {"pc": f"{span.pc:#06x}", "sass": sass.get(span.pc, "")},
        )
        for span in spans
        if span.end_ns > span.start_ns  # a cycle can be shorter than a nanosecond
    ]
    return [life, *stretches]
