"""The compile section in a terminal: stages, then what became of each kernel's registers and parameters."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from warpath.report.model import CompileInfo, KernelInfo


def render(info: CompileInfo, console: Console) -> None:
    """Print the stages as a table and one paragraph per kernel."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("made", no_wrap=True)
    table.add_column("bytes", justify="right")
    table.add_column("ms", justify="right")
    for stage in info.stages:
        table.add_row(
            Text(stage.name), Text(stage.output), str(stage.bytes or "not kept"), f"{stage.seconds * 1e3:.0f}"
        )
    console.print(table)
    came = "from the cache; times are those of the build" if info.cached else "built now"
    console.print(Text(f"fatbin members: {', '.join(info.members)} ({came})"))
    for kernel in info.kernels.values():
        console.print(Text(f"{kernel.demangled} (computed)"))
        for line in kernel_lines(kernel):
            console.print(Text(f"  {line}"))


def kernel_lines(kernel: KernelInfo) -> list[str]:
    """What the compilers made of one kernel, a fact a line."""
    virtual = ", ".join(f"{count} {kind}" for kind, count in kernel.ptx_registers.items())
    offsets = ", ".join(str(param.offset) for param in kernel.params) or "none"
    lines = [
        f"registers: {virtual or 'unknown'} virtual in PTX -> {kernel.registers} in SASS, "
        f"{kernel.instructions} instructions",
        f"parameters at {offsets} from c[0x0][{kernel.param_base:#x}]",
    ]
    wide = kernel.fused.get("IMAD.WIDE", 0)
    if wide:
        lines.append(f"address arithmetic (multiply, extend, 64-bit add) became {wide} IMAD.WIDE")
    others = [f"{count} {form}" for form, count in kernel.fused.items() if form != "IMAD.WIDE"]
    if others:
        lines.append(f"other fused forms: {', '.join(others)}")
    if kernel.static_shared or kernel.stack:
        lines.append(f"{kernel.static_shared} B static shared memory, {kernel.stack} B stack a thread")
    return lines
