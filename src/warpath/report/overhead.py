"""What launches cost outside their kernels, from what the model GPU and the driver noted of each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from warpath.account.launches import Launched, judge
from warpath.driver.journal import LaunchRecord, LoadEvent
from warpath.frontend.launch import Launch as GpuLaunch
from warpath.gpu import launch_path
from warpath.gpu.spec import Gpu
from warpath.host.state import ApiRecord
from warpath.report.model import Diagnosis, Launch, Overhead

KEY = "launch_bound"


class Overheads:
    """Sees every launch of a program, in order, also those that the report leaves out."""

    def __init__(self) -> None:
        self._launched: list[Launched] = []
        self._ended_ns: dict[int, int] = {}  # by stream: the launch before
        self._seen: set[int] = set()  # programs launched before, by address

    def add(
        self, gpu: Gpu, launch: GpuLaunch, record: LaunchRecord | None, loads: Sequence[LoadEvent]
    ) -> Overhead | None:
        """The launch's overhead; None without a clock."""
        if launch.start_ns is None or launch.submission is None:
            return None
        path, va = launch_path.resolve(gpu), launch.work.program_va
        stream = record.stream if record is not None else launch.token
        ended_ns = launch.start_ns + int(launch.counters["duration_ns"])
        doorbell_ns = launch.submission.doorbell_ns
        first, before = va not in self._seen, self._ended_ns.get(stream)
        self._seen.add(va)
        self._ended_ns[stream] = ended_ns
        self._launched.append(Launched(stream, doorbell_ns, ended_ns, int(launch.counters["execution_ns"])))
        return Overhead(
            host_call_ns=None,
            submit_ns=path.launch_call_ns,
            front_ns=max(launch.start_ns - doorbell_ns, 0),
            gap_ns=None if before is None else max(launch.start_ns - before, 0),
            first=first,
            load_ns=sum(load.upload_ns + load.jit_ns for load in loads) + path.function_ns * first,
            load_text=_load_text(loads, path.function_ns if first else 0),
        )

    def diagnosis(self, gpu: Gpu) -> Diagnosis | None:
        """Whether launching is what the program waits for."""
        found = judge(self._launched, launch_path.resolve(gpu)) if self._launched else None
        return None if found is None else Diagnosis(key=KEY, text=found.text, figures=found.figures)


def with_call(
    overhead: Overhead | None, record: LaunchRecord | None, api: Sequence[ApiRecord]
) -> Overhead | None:
    """`overhead` with how long the launch call took on this machine, when the call made this launch alone."""
    if overhead is None or record is None or not 0 <= record.call < len(api):
        return overhead
    call = api[record.call]
    return structs.replace(overhead, host_call_ns=call.duration_ns) if "Graph" not in call.call else overhead


def diagnosed(launches: list[Launch], diagnosis: Diagnosis | None) -> list[Launch]:
    """What is said of the program as a whole goes to its first launch."""
    if diagnosis is None or not launches:
        return launches
    first = structs.replace(launches[0], diagnoses=[*launches[0].diagnoses, diagnosis])
    return [first, *launches[1:]]


def _load_text(loads: Sequence[LoadEvent], function_ns: int) -> str:
    parts: list[str] = []
    for load in loads:
        if load.jit_ns:
            parts.append(f"PTX assembled at run time {load.jit_ns / 1e3:.0f} us")
        parts.append(f"upload of {load.bytes} bytes ({load.reason}) {load.upload_ns / 1e3:.0f} us")
    if function_ns:
        parts.append(f"first use of the kernel {function_ns / 1e3:.0f} us")
    return ", ".join(parts)
