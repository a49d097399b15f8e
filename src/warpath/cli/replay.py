"""`warpath replay`: play a recorded command stream into the model GPU."""

from __future__ import annotations

import argparse
import struct
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from warpath.cli import numbers
from warpath.cli.console import console
from warpath.errors import UsageError

if TYPE_CHECKING:
    from warpath.capture.replay import Outcome
    from warpath.capture.trace import Trace
    from warpath.frontend.gpu import ModelGpu

MOST_COPIES = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "recording", metavar="FILE", type=Path, help="a recording of `warpath trace --with-memory`"
    )
    parser.add_argument("--gpu", metavar="NAME", help="board (default: the one that was recorded)")
    parser.add_argument(
        "--threads", type=numbers.count, default=0, metavar="N", help="host threads (default: all)"
    )
    parser.add_argument(
        "--to-host", metavar="FILE", type=Path, help="write the bytes that copies brought to the host"
    )


def run(args: argparse.Namespace) -> int:
    """Replay and say what the model did; 1 when a launch faulted or something still waits."""
    from warpath.capture import log
    from warpath.capture.replay import replay
    from warpath.capture.trace import Trace
    from warpath.gpu import spec
    from warpath.report.trace_build import board

    trace = Trace(log.read(args.recording))
    gpu = spec.load(args.gpu) if args.gpu else board(trace)

    def make() -> tuple[Any, ModelGpu]:
        from warpath import _core
        from warpath.frontend.execution import Options
        from warpath.frontend.gpu import ModelGpu
        from warpath.toolchain.disasm import disassemble

        memory = _core.Memory()
        options = Options(threads=args.threads, count=False)
        return memory, ModelGpu(gpu, memory, partial(disassemble, sm=gpu.sm.number), options=options)

    outcome = replay(trace, make)
    _print(trace, outcome, gpu.label)
    if args.to_host:
        try:
            args.to_host.write_bytes(b"".join(data for _, data in outcome.to_host))
        except OSError as error:
            raise UsageError(f"cannot write {args.to_host}: {error.strerror}") from error
    return 1 if outcome.faults or outcome.waiting else 0


def _print(trace: Trace, outcome: Outcome, label: str) -> None:
    out = console()

    def line(text: str) -> None:
        out.print(Text(text))

    line(f"{outcome.segments} segments of the recorded driver on the model of {label} (modelled):")
    line(f"  {outcome.copies} copies, {len(outcome.launches)} launches")
    names = Counter(_name(trace, launch.work.program_va) for launch in outcome.launches)
    for name, count in names.items():
        line(f"  launched {name}" + (f" x{count}" if count > 1 else ""))
    for va, data in outcome.to_host[:MOST_COPIES]:
        line(f"  to the host at {va:#x}: {len(data)} B, {_content(data)}")
    if len(outcome.to_host) > MOST_COPIES:
        line(f"  {len(outcome.to_host) - MOST_COPIES} more copies to the host (--to-host writes all)")
    if outcome.host_releases:
        line(f"  {outcome.host_releases} waits for the host, which the recording does not end, were ended")
    for fault in outcome.faults:
        line(f"  fault: {fault.get('kind', 'unknown')} on channel {fault.get('token', 0):#x}")
    for token in outcome.waiting:
        line(f"  channel {token:#x} still waits for a semaphore")


def _name(trace: Trace, va: int) -> str:
    return trace.named[va].name if va in trace.named else f"code at {va:#x}"


def _content(data: bytes) -> str:
    """The first words, or that all are one."""
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    if words and words.count(words[0]) == len(words):
        (value,) = struct.unpack("<f", struct.pack("<I", words[0]))
        return f"every word {words[0]:#010x} ({value:g} as float)"
    return "words " + " ".join(f"{word:#x}" for word in words[:4]) + " ..."
