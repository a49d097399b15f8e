"""The stages of a launch's path, from compiler to SM: a title, one line to read in the diagram, and the details."""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpath.report.compilation import kernel_lines
from warpath.report.model import CompileInfo, Launch, Report
from warpath.units import format_bytes, format_duration_ns

RESOURCES = {
    "warps": "threads",
    "registers": "registers",
    "shared_mem": "shared memory",
    "blocks": "block slots",
    "barriers": "barriers",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A box of the diagram. `key` names the template with its details, `origin` that of its summary."""

    key: str
    title: str
    summary: str
    origin: str


def stages(report: Report, launch: Launch) -> list[Stage]:
    """The whole path; a stage that nothing is known about says so."""
    sub, occ, timeline = launch.submission, launch.occupancy, launch.timeline
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    watched = f"{len(timeline.warps)} stretches of warps" if timeline else "no timeline"
    kernel = report.compile.kernels.get(launch.mangled) if report.compile else None
    return [
        Stage("compiler", "Compiler", _compiler(report.compile, launch), "computed"),
        Stage(
            "stub", "Host stub", "packs the arguments" if kernel and kernel.stub else "not known", "computed"
        ),
        Stage("load", "Module load", _load(launch), "modelled"),
        Stage("segment", "Segment", f"{sub.pushbuffer_dwords} dwords", "modelled"),
        Stage("ring", "Ring, doorbell", f"token {sub.doorbell:#x}", "modelled"),
        Stage("qmd", "QMD", f"{sub.qmd_version}, {len(sub.qmd)} fields", "modelled"),
        Stage("bank", "Constant bank", _count(len(launch.params), "parameter"), "modelled"),
        Stage("placement", "Placement", f"{_count(blocks, 'CTA')}, {occ.waves:g} waves", "computed"),
        Stage("sm", "SM timeline", watched, "modelled"),
    ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _compiler(info: CompileInfo | None, launch: Launch) -> str:
    kernel = info.kernels.get(launch.mangled) if info else None
    if info is None:
        return "finished program"
    return (
        f"{kernel.registers} registers, {_count(kernel.instructions, 'instruction')}"
        if kernel
        else "other module"
    )


def _load(launch: Launch) -> str:
    load = launch.load
    return f"{format_bytes(load.code_bytes)} {load.how}" if load else "already resident"


def compiler_facts(report: Report, launch: Launch) -> list[str]:
    """What became of the kernel's registers and parameters."""
    kernel = report.compile.kernels.get(launch.mangled) if report.compile else None
    return kernel_lines(kernel) if kernel else []


def stub(report: Report, launch: Launch) -> tuple[list[str], str]:
    """The replaced chevrons, and the stub with a line for each statement (nvcc writes one long line)."""
    kernel = report.compile.kernels.get(launch.mangled) if report.compile else None
    if kernel is None:
        return [], ""
    text = re.sub(
        r"\{(?=.)", "{\n  ", kernel.stub.replace('__attribute__((visibility("hidden"))) ', ""), count=1
    )
    return kernel.calls, re.sub(r";(?=[^\n}])", ";\n  ", text).replace(";}", ";\n}")


def figures(report: Report, launch: Launch) -> list[tuple[str, str, str]]:
    """The few figures at the top of a launch: (label, value, origin)."""
    counters, occ = launch.counters, launch.occupancy
    found: list[tuple[str, str, str]] = []
    if launch.duration_ns is not None:
        origin = "modelled" if launch.time else "measured"
        found.append(("duration", format_duration_ns(launch.duration_ns), origin))
    if launch.floor_ns:
        kind = "DRAM floor" if launch.floor_kind == "dram" else "issue floor"
        found.append((kind, format_duration_ns(launch.floor_ns), "computed"))
    for name, label in (
        ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "DRAM throughput"),
        ("smsp__issue_active.avg.pct_of_peak_sustained_active", "issue slots used"),
        ("sm__warps_active.avg.pct_of_peak_sustained_active", "warps active"),
    ):
        if name in counters:
            found.append((label, f"{counters[name]:.1f} %", "modelled"))
    found.append(
        ("theoretical occupancy", f"{100 * occ.warps_per_sm / occ.max_warps_per_sm:.0f} %", "computed")
    )
    found.append(("instructions", f"{counters.get('smsp__inst_executed.sum', 0):,.0f}", "modelled"))
    return found
