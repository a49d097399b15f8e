"""The whole path in a terminal, stage by stage, at most 100 columns; every figure with its origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from warpath.report.compilation import kernel_lines
from warpath.report.diagnoses_terminal import diagnosis_lines, flow_lines
from warpath.report.ledger_terminal import (
    accuracy_lines,
    ledger_table,
    missing_ledger,
    overhead_lines,
    what_if_lines,
)
from warpath.report.model import InstructionInfo, Launch, Report, Traffic
from warpath.units import format_bytes, format_duration_ns

MOST_PRINTED = 20  # lines of the program's output
RESOURCES = {
    "warps": "threads",
    "registers": "registers",
    "shared_mem": "shared memory",
    "blocks": "block slots",
    "barriers": "barriers",
}


# What `--section` chooses from, in the order of printing; the last comes only when it was asked for.
SECTIONS = (
    "verdict",
    "ledger",
    "diagnoses",
    "flow",
    "compile",
    "host",
    "launch",
    "code",
    "program",
    "what-if",
)


def render(report: Report, console: Console, sections: Collection[str] = SECTIONS) -> None:
    """Print the report: each launch's verdict and ledger, then the path from the compiler to the memory floor.

    Of launches of one kernel and shape only the first is shown in full.
    """
    gpu = report.gpu
    _heading(
        console, f"{report.program.path} on {gpu.name}: {gpu.label}, {gpu.chip}, {gpu.sm}, {gpu.sms} SMs"
    )
    alike = _alike(report.launches)
    for first, others in alike:
        _account(report, first, others, console, sections)
    flow = flow_lines(report) if "flow" in sections else []
    if flow:
        _section(console, "data flow between launches", flow)
    if "compile" in sections:
        _compile(report, console)
    if "host" in sections:
        _host(report, console)
    for first, _ in alike:
        _launch(report, first, console, sections)
    for fault in report.faults:
        _section(console, "fault", [fault.message])
    if "program" in sections:
        _program(report, console)


def _program(report: Report, console: Console) -> None:
    output = report.program.stdout.rstrip("\n").splitlines()
    _section(console, "program", [f"printed: {line}" for line in output[:MOST_PRINTED]])
    if len(output) > MOST_PRINTED:
        _line(console, f"... {len(output) - MOST_PRINTED} more lines")
    _line(console, f"exit code {report.program.exit_code}")


def _alike(launches: Sequence[Launch]) -> list[tuple[Launch, list[Launch]]]:
    """The first launch of each kernel and shape, and the others of the same."""
    found: dict[object, tuple[Launch, list[Launch]]] = {}
    for launch in launches:
        key = (launch.mangled, *launch.grid, *launch.block, launch.shared_bytes)
        if key in found:
            found[key][1].append(launch)
        else:
            found[key] = (launch, [])
    return list(found.values())


def _account(
    report: Report, launch: Launch, others: Sequence[Launch], console: Console, sections: Collection[str]
) -> None:
    """Verdict first, then the ledger that sums to the duration."""
    if not {"verdict", "ledger", "diagnoses", "what-if"} & set(sections):
        return
    _section(console, title(launch), [launch.verdict] if launch.verdict and "verdict" in sections else [])
    if others and launch.duration_ns is not None:
        times = [other.duration_ns or 0 for other in others]
        spread = f"{format_duration_ns(min(times))} to {format_duration_ns(max(times))}"
        _line(console, f"{len(others)} more launches of this kernel and shape: {spread} (modelled)")
    if "ledger" in sections:
        if launch.ledger:
            console.print(ledger_table(launch))
        else:
            _line(console, missing_ledger(launch))
        for line in (*overhead_lines(launch), *accuracy_lines(launch)):
            _line(console, line)
    if "diagnoses" in sections:
        for line in diagnosis_lines(launch):
            _line(console, line)
    if "what-if" in sections:
        for line in what_if_lines(launch):
            _line(console, line)


def title(launch: Launch) -> str:
    """`launch 0: vadd(...) <<<4096x1x1, 256x1x1>>>`."""
    grid, block = "x".join(map(str, launch.grid)), "x".join(map(str, launch.block))
    return f"launch {launch.index}: {launch.kernel} <<<{grid}, {block}>>>"


def _heading(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"), soft_wrap=False)


def _section(console: Console, title: str, lines: list[str]) -> None:
    console.print()
    console.print(Text(title, style="bold cyan"))
    for line in lines:
        _line(console, line)


def _line(console: Console, text: str) -> None:
    """One fact, indented; what does not fit goes on below, indented further."""
    indent = len(text) - len(text.lstrip(" ")) + 2
    body = Text(text.strip()).wrap(console, max(console.width - indent - 2, 20))
    for number, part in enumerate(body):
        part.rstrip()
        console.print(Text(" " * (indent + (2 if number else 0))) + part)


def _compile(report: Report, console: Console) -> None:
    info = report.compile
    if info is None:
        _section(console, "compile", ["given as a finished program: nothing was compiled"])
        return
    steps = [f"{stage.tool}{f' {stage.bytes} B' if stage.bytes else ''}" for stage in info.stages]
    made = (
        "from the cache" if info.cached else f"{sum(s.seconds for s in info.stages):.1f} s of compiler time"
    )
    _section(console, "compile (computed)", [" -> ".join(steps) + f"; {made}"])
    _line(console, f"fatbin members: {', '.join(info.members)}")
    for kernel in info.kernels.values():
        _line(console, kernel.demangled)
        for line in kernel_lines(kernel):
            _line(console, f"  {line}")


def _host(report: Report, console: Console) -> None:
    calls = Counter(call.call for call in report.api)
    listed = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in calls.items())
    _section(console, "host program (a real process against warpath's libcudart)", [f"calls: {listed}"])
    for kind, copied in report.copies.items():
        _line(
            console, f"copy engine, {kind}: {format_bytes(copied.bytes)} in {copied.pieces} pieces (modelled)"
        )


def _launch(report: Report, launch: Launch, console: Console, sections: Collection[str]) -> None:
    if not {"launch", "code"} & set(sections):
        return
    _section(console, f"the path of {title(launch)}", [])
    if "launch" in sections:
        for line in (*_submission(launch), *_placement(report, launch), *_memory(report, launch)):
            _line(console, line)
    if "code" in sections:
        _code(launch, console)


def _submission(launch: Launch) -> Iterator[str]:
    sub = launch.submission
    if launch.load is not None:
        load = launch.load
        how = "assembled from PTX, then " if load.jit else ""
        kind = "eager load" if load.reason == "eager loading" else "lazy load"
        yield (
            f"{kind}: {load.member} {how}uploaded before this launch, {load.code_bytes} B of code to "
            f"{load.code_va:#x} {load.how}, {load.data_bytes} B of data (modelled)"
        )
    names = Counter(method.name for method in sub.methods)
    runs = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in names.most_common(6))
    yield (
        f"segment: {len(sub.methods)} methods in {sub.pushbuffer_dwords} dwords at {sub.pushbuffer_va:#x}: "
        f"{runs}, ... (modelled)"
    )
    yield (
        f"GPFIFO entry {sub.gpfifo_entry:#018x}, then GP_PUT, then doorbell with work-submit token {sub.doorbell:#x} "
        "(modelled)"
    )
    qmd = sub.qmd
    yield (
        f"QMD {sub.qmd_version} at {sub.qmd_va:#x}: grid {' '.join(map(str, launch.grid))}, block "
        f"{' '.join(map(str, launch.block))}, {launch.registers} registers, {launch.shared_bytes} B shared memory, "
        f"code at {launch.program_va:#x}, {len(qmd)} fields set (modelled)"
    )
    bank = sub.constant_bank
    words = ", ".join(f"{name} {value:#x}" for name, value in list(bank.items())[:4])
    yield (
        f"constant bank 0 at {sub.constant_va:#x}: {words}, ... (modelled); parameters from "
        f"{launch.param_base:#x} (computed):"
    )
    for param in launch.params:
        at = launch.param_base + param.offset
        yield f"  c[0x0][{at:#x}] = {param.value}  (offset {param.offset}, {param.size} B)"


def _placement(report: Report, launch: Launch) -> Iterator[str]:
    occ = launch.occupancy
    limiter = " and ".join(RESOURCES[name] for name in occ.limiter)
    others = ", ".join(
        f"{RESOURCES[name]} alone {count}" for name, count in occ.limits.items() if name not in occ.limiter
    )
    yield (
        f"occupancy: {occ.blocks_per_sm} blocks, {occ.warps_per_sm} of {occ.max_warps_per_sm} warps per SM, "
        f"{occ.warps_per_scheduler:g} per scheduler; limited by {limiter} ({others}) (computed)"
    )
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    busy = [count for count in launch.sm_blocks if count]
    most = f"{min(busy)} to {max(busy)}" if busy and min(busy) != max(busy) else str(max(busy, default=0))
    spread = f", {most} blocks an SM (modelled)" if busy else ""
    yield f"{blocks} blocks on {report.gpu.sms} SMs: {occ.waves:.2f} waves (computed){spread}"


def _memory(report: Report, launch: Launch) -> Iterator[str]:
    for what in launch.traffic:
        yield f"{what.name}: {what.requests} requests, {_passes(what)}, {format_bytes(what.bytes)} asked for (modelled)"
    if launch.floor_bytes:
        yield (
            f"compulsory: {format_bytes(launch.floor_bytes)} that DRAM must move once, at "
            f"{report.gpu.dram_bandwidth_gbs:g} GB/s (quoted, {report.gpu.dram_bandwidth_source}) = "
            f"{format_duration_ns(launch.floor_bytes / report.gpu.dram_bandwidth_gbs)} (computed)"
        )
    yield from _time(launch)


_SHOWN = (
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "DRAM throughput", "%"),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "warps active", "%"),
    ("smsp__issue_active.avg.pct_of_peak_sustained_active", "issue active", "%"),
    ("l1tex__t_sector_hit_rate.pct", "L1 hit rate", "%"),
)


def _time(launch: Launch) -> Iterator[str]:
    """Duration, its stages, a few counters, and what warps waited for; or that the clock did not run."""
    time = launch.time
    if time is None or launch.duration_ns is None:
        yield "duration: the clock did not run (--functional)"
        return
    stages = ", ".join(
        f"{name} {format_duration_ns(value)}"
        for name, value in (
            ("front end and set-up", time.front_ns),
            ("execution", time.execution_ns),
            ("drain and completion", time.drain_ns),
        )
    )
    yield (
        f"duration: {format_duration_ns(launch.duration_ns)}, {time.cache} caches, SM clock {time.sm_clock_mhz:g} MHz "
        f"(modelled, constants measured on {time.constants_from}): {stages}"
    )
    figures = [
        f"{label} {launch.counters[name]:.1f}{unit}"
        for name, label, unit in _SHOWN
        if name in launch.counters
    ]
    bytes_read = launch.counters.get("dram__bytes_read.sum", 0)
    bytes_written = launch.counters.get("dram__bytes_write.sum", 0)
    yield (
        f"DRAM read {format_bytes(int(bytes_read))}, written {format_bytes(int(bytes_written))}; {', '.join(figures)} "
        "(modelled)"
    )
    waits = {reason: cycles for reason, cycles in launch.stalls.items() if reason != "selected"}
    total = sum(launch.stalls.values()) or 1.0
    shown = ", ".join(f"{reason} {100 * cycles / total:.0f}%" for reason, cycles in list(waits.items())[:4])
    yield f"warps waited for: {shown} of their cycles (modelled)"


def _passes(what: Traffic) -> str:
    """How well the lanes of a request fall together: sectors for global and local memory, wavefronts for shared."""
    count, unit = (what.sectors, "sectors") if what.sectors else (what.wavefronts, "wavefronts")
    return f"{count / max(what.requests, 1):.2f} {unit} a request"


def _code(launch: Launch, console: Console) -> None:
    """The instructions that ran, with control words; a long listing is cut to its most executed part."""
    shown = launch.instructions[:MOST_LINES]
    if not shown:
        return
    total = sum(sum(instruction.stalls.values()) for instruction in launch.instructions)
    share = ", share of all warp cycles" if total else ""
    _line(
        console,
        f"code: pc, wait mask:reads:writes:yield:stall, warps that ran it{share} (modelled), instruction",
    )
    for line, group in groupby(shown, key=lambda instruction: (instruction.file, instruction.line)):
        if line[1]:
            console.print(Text(f"    // {line[0].rsplit('/', 1)[-1]}:{line[1]}", style="dim"), soft_wrap=True)
        for instruction in group:
            console.print(Text(_instruction(instruction, total)), soft_wrap=True, overflow="ellipsis")
    if len(launch.instructions) > len(shown):
        _line(console, f"... {len(launch.instructions) - len(shown)} more; `warpath sass` lists all")


MOST_LINES = 60


def _instruction(i: InstructionInfo, total: int) -> str:
    per = f"  {i.sectors / i.requests:.3g} sectors/request" if i.requests and i.sectors else ""
    share = f"{100 * sum(i.stalls.values()) / total:5.1f}%" if total else ""
    return f"    {i.pc:04x} {i.control} {i.executed:>8} {share} {i.sass}{per}{wait_text(i)}"


def wait_text(i: InstructionInfo) -> str:
    """`  waits for SB2 (00a0, 00b0)`: the scoreboards and who raises them, or nothing."""
    waits = [
        name + (f" ({', '.join(f'{pc:04x}' for pc in pcs)})" if pcs else "")
        for name, pcs in i.producers.items()
    ]
    return f"  waits for {' '.join(waits)}" if waits else ""
