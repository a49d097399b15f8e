"""From the probes of `path` to the `[launch]` table: what work costs on its way to the GPU.

Each formula undoes the sum that the model makes of the same interval, so that the model gives the interval back. Two
of the sums recur. From a stamp to the next event's, the channel writes its progress, goes on to the segment and stamps:
`segment_ns` and two stamps. From a call to the end of a synchronising call: the call, `doorbell_ns`, the segment, its
stamps, `sync_call_ns`.

Not decided here, and inherited: `function_ns` (a first launch shows it only together with `module_ns`),
`jit_ns_per_byte` (`path` has nothing compiled), and `stamp_ns`, which is always seen together with `segment_ns` and is
too short to be told from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import mean, median

from warpath.calibration.fit import Raw
from warpath.errors import FormatError
from warpath.gpu.launch_path import LaunchPath

TIMER_STEP_NS = 32  # the hardware timer's granularity: each stamp is later than the one before
NODES = (1, 2, 10, 50, 100)
INLINE = 4  # bytes: they travel in the pushbuffer
SMALLEST = 16 << 10  # bytes: copies and fills from here on use a copy engine
LARGEST = 64 << 20
SIZES = tuple(4 << 4 * step for step in range(7))
ENGINE_SIZES = tuple(size for size in SIZES if size >= SMALLEST)
MALLOC = 1 << 20


def calls(raw: Raw) -> dict[str, float]:
    """Host times of calls. Where they do not follow the size, the median over the sizes."""
    return {
        "launch_call_ns": _ns(raw, "launch_call", 1),
        "graph_call_ns": _median(raw, ("graph_call",), NODES),
        "record_call_ns": _ns(raw, "record_call", 1),
        "copy_call_ns": _median(raw, ("pinned_up_call", "pinned_down_call"), ENGINE_SIZES),
        "device_copy_call_ns": _median(raw, ("device_call",), SIZES),
        "fill_call_ns": _median(raw, ("memset_call",), ENGINE_SIZES),
        "small_call_ns": mean(_ns(raw, what, INLINE) for what in ("memset_call", "pageable_up_call")),
        "sync_call_ns": _ns(raw, "nothing_done", 0),
        "malloc_call_ns": _ns(raw, "malloc", MALLOC),
        "free_call_ns": _ns(raw, "free", MALLOC),
    }


def first(raw: Raw, known: LaunchPath) -> dict[str, float]:
    """The first launch loads the module and the kernel, then launches."""
    return {"module_ns": _ns(raw, "first", 0) - known.function_ns - _ns(raw, "launch_call", 1)}


def gaps(raw: Raw, known: LaunchPath, timing: Mapping[str, int]) -> dict[str, float]:
    """Doorbell, and what lies between pieces of work.

    `segment_ns` rests on two records with nothing between them, not on launches: these also execute, and how long
    100 of them take differs by a tenth from run to run.
    """
    stamp = _stamp(known)
    records = _ns(raw, "nothing_busy", 0)
    calls_ns = _ns(raw, "record_call", 1) + _ns(raw, "nothing_done", 0)
    a_node = (_ns(raw, "graph_busy", 100) - _ns(raw, "graph_busy", 10)) / 90
    return {
        "doorbell_ns": _ns(raw, "record_done", 1) - calls_ns - records,
        "segment_ns": records - 2 * stamp,
        "node_ns": a_node - _executing(raw, timing) - stamp,
    }


def copy_engine(raw: Raw, known: LaunchPath, timing: Mapping[str, int]) -> dict[str, float]:
    """Setting it up: the mean of a copy that the host waits for and of a fill between two events.

    The fill is on another channel than the events: each of the two waits for the other, and stamps.
    """
    stamp, gap, rate = _stamp(known), gaps(raw, known, timing), rates(raw)
    calls_ns = _ns(raw, "pinned_up_call", SMALLEST) + _ns(raw, "nothing_done", 0)
    on_the_way = calls_ns + gap["doorbell_ns"] + gap["segment_ns"] + stamp
    copy = _ns(raw, "pinned_up_done", SMALLEST) - on_the_way - SMALLEST * 1e3 / rate["pcie_up_mbs"]
    around = 2 * gap["segment_ns"] + 3 * stamp
    fill = _ns(raw, "memset_busy", SMALLEST) - around - SMALLEST * 1e3 / rate["device_fill_mbs"]
    return {"copy_ns": mean((copy, fill))}


def rates(raw: Raw) -> dict[str, float]:
    """Transfers, 10^6 bytes a second: large against small, which leaves out what does not follow the size."""
    return {
        "pcie_up_mbs": _slope(raw, "pinned_up_busy", SMALLEST, LARGEST),
        "pcie_down_mbs": _slope(raw, "pinned_down_busy", SMALLEST, LARGEST),
        # The call returns when the CPU has moved the last byte; the copy engine works meanwhile.
        "staging_up_mbs": mean(_mbs(size, _ns(raw, "pageable_up_call", size)) for size in ENGINE_SIZES[-2:]),
        "staging_down_mbs": _mbs(LARGEST, _ns(raw, "pageable_down_call", LARGEST)),
        "inline_mbs": _slope(raw, "pageable_up_busy", INLINE, SMALLEST),
        "device_copy_mbs": _slope(raw, "device_busy", SMALLEST, LARGEST),
        "device_fill_mbs": _slope(raw, "memset_busy", SMALLEST, LARGEST),
    }


def fit_launch(raw: Raw, known: LaunchPath, timing: Mapping[str, int]) -> dict[str, int]:
    """The `[launch]` values that the raw data decide, ns and 10^6 bytes a second.

    `known` has the inherited costs, `timing` the ways of a CTA to its SM and back (cycles). FormatError for a missing
    probe, and for a value that is not positive: then the probes contradict each other.
    """
    parts = (
        calls(raw),
        first(raw, known),
        gaps(raw, known, timing),
        copy_engine(raw, known, timing),
        rates(raw),
    )
    found = {name: round(value) for part in parts for name, value in part.items()}
    for name, value in found.items():
        if value <= 0:
            raise FormatError(f"the raw data give {name} = {value}: collect it again, on an idle machine")
    return found


def _ns(raw: Raw, what: str, x: float) -> float:
    """A probe of `path`, which reports microseconds."""
    return raw.probe(what, x) * 1e3


def _median(raw: Raw, whats: Iterable[str], xs: Iterable[int]) -> float:
    places = tuple(xs)
    return median(_ns(raw, what, x) for what in whats for x in places)


def _mbs(size: int, nanoseconds: float) -> float:
    return size * 1e3 / nanoseconds


def _slope(raw: Raw, what: str, small: int, large: int) -> float:
    return _mbs(large - small, _ns(raw, what, large) - _ns(raw, what, small))


def _stamp(known: LaunchPath) -> int:
    """What a release with its time takes."""
    return known.stamp_ns + TIMER_STEP_NS


def _executing(raw: Raw, timing: Mapping[str, int]) -> float:
    """What an empty kernel executes between set-up and drain, ns: the CTA's way to its SM and back, the SM's work."""
    active = raw.launch("launch", "empty", 1, 32, "warm")["sm__cycles_active.max"]
    return (timing["dispatch_latency"] + active + timing["complete_latency"]) / raw.clock_ghz
