"""The wiring: a board becomes memory, a model GPU, a driver and a session that runs one program on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpath.cli.target import shim_directory
from warpath.errors import UnsupportedError

if TYPE_CHECKING:
    from warpath.driver.context import Driver
    from warpath.frontend.gpu import ModelGpu
    from warpath.gpu.spec import Gpu
    from warpath.host.session import Session


@dataclass(frozen=True, slots=True)
class Machine:
    """A model GPU with its driver, and the session that will run the program."""

    gpu: Gpu
    model: ModelGpu
    driver: Driver
    session: Session


def make_machine(
    gpu: Gpu,
    program: Path,
    arguments: Sequence[str],
    *,
    eager: bool,
    count: bool,
    threads: int = 0,
    timed: bool = False,
    cache_control: str = "none",
    clock_control: str = "none",
    record: int = 0,
    timeline: bool = False,
    capture: bool = False,
    hold: bool = False,
    timeout: float | None = None,
    observers: Sequence[Any] = (),
) -> Machine:
    """Set everything up for one run of `program`; nothing is started yet.

    `eager` uploads modules at start, `count` keeps the memory counters, `threads` are the core's host threads
    (0: all), `timed` runs the clock with `cache_control` and `clock_control` as ncu's flags, `record` keeps about so
    many warp instructions of each launch for replays, `timeline` what happened when, `capture` keeps the program's
    stdout for the report, `hold` does so without passing it on. UnsupportedError when the machine has no room for the
    model's memory.
    """
    from warpath import _core
    from warpath.driver.context import Driver
    from warpath.frontend.execution import Options
    from warpath.frontend.gpu import ModelGpu
    from warpath.host.arena import HostArena
    from warpath.host.session import Session
    from warpath.toolchain.disasm import disassemble
    from warpath.toolchain.jit import assemble_ptx

    memory = _core.Memory()
    options = Options(
        threads=threads,
        count=count,
        timed=timed,
        cache_control=cache_control,
        clock_control=clock_control,
        record=record,
        timeline=timeline,
    )
    model = ModelGpu(gpu, memory, partial(disassemble, sm=gpu.sm.number), options=options)
    model.observers.extend(observers)
    try:
        arena = HostArena()
        memory.reserve(arena.base, arena.size, arena.fd)
        driver = Driver(
            gpu, model, memory, assemble_ptx, arena=(arena.base, arena.size), eager=eager, timed=timed
        )
    except OSError as error:
        raise UnsupportedError(
            f"this machine refuses the model's memory ({error.strerror}), of which most is address space alone: raise "
            "the limits on file size and virtual memory (ulimit -f, ulimit -v)"
        ) from error
    session = Session(
        program, arguments, driver, arena, shim_directory(), capture=capture, hold=hold, timeout=timeout
    )
    return Machine(gpu, model, driver, session)
