"""The model GPU: memory, channels and a doorbell; the work happens in `run`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, cast

from warpath.command.classes import load_class
from warpath.errors import UnsupportedError
from warpath.frontend import accepted
from warpath.frontend.compute import ComputeEngine
from warpath.frontend.copy_engine import CopyEngine
from warpath.frontend.core_api import Core, Memory
from warpath.frontend.distributor import Distributor
from warpath.frontend.engine import ChannelFault, Engine, Machine, Progress, Steps
from warpath.frontend.execution import Disassemble, Executor, Options
from warpath.frontend.host_engine import Channel, HostEngine
from warpath.frontend.inline_copy import InlineEngine
from warpath.frontend.launch import Launch
from warpath.gpu import launch_path
from warpath.gpu.launch_path import TIMELESS
from warpath.gpu.spec import Gpu


class _InlineClass(InlineEngine):
    accepted = accepted.INLINE


class ModelGpu:
    """One GPU of the kind `spec` describes.

    `disassemble` turns code bytes into (predicate, opcode, operands) per 16 bytes. `core` stands in for the
    compiled module in tests. Work of different channels is interleaved, in one fixed order.
    """

    def __init__(
        self,
        spec: Gpu,
        memory: Memory,
        disassemble: Disassemble,
        *,
        core: Core | None = None,
        options: Options | None = None,
    ) -> None:
        self.spec = spec
        self.faults: list[dict[str, Any]] = []
        self._core = core if core is not None else cast("Core", importlib.import_module("warpath._core"))
        timed = options is not None and options.timed
        self._machine = Machine(memory, launch_path.resolve(spec) if timed else TIMELESS)
        self._executor = Executor(self._core, self._machine, spec, disassemble, options or Options())
        self._machine.observers.append(self._executor)
        self._distributor = Distributor(self._machine, self._executor, spec)
        self._host = HostEngine(self._machine, self._make_engine)
        self._channels: dict[int, Channel] = {}
        self._active: dict[int, Steps] = {}  # in the order of their doorbells

    @property
    def observers(self) -> list[Any]:
        """Objects told what happens, by any of these methods that they have:

        on_entry(channel, entry, methods), on_copy(Copy), on_launch_start(Launch), on_grid(Launch, grid)
        before its first step, on_step(Launch, grid) between steps (may set launch.fault to stop it), on_launch(Launch)
        when it has ended.
        """
        return self._machine.observers

    def rehearse(self, launch: Launch, *, flush: bool) -> dict[str, Any]:
        """Counters of a launch as it would run now; for observers, see `Executor.rehearse`."""
        return self._executor.rehearse(launch, flush)

    @property
    def time_ns(self) -> int:
        """GPU time, as semaphores are stamped with it, of the channel that is furthest."""
        return self._machine.clock.latest_ns

    def reached_ns(self, va: int, payload: int) -> int:
        """When the semaphore at `va` reached `payload`; 0 when it has not, or the GPU did not write it."""
        return self._machine.clock.reached_ns(va, payload)

    @property
    def waiting(self) -> list[int]:
        """Tokens of channels with work left: after `run`, those that wait for a semaphore."""
        return list(self._active)

    @property
    def waiting_qmds(self) -> list[int]:
        """Addresses of QMDs that were loaded and wait to be scheduled or released."""
        return self._distributor.waiting

    def add_channel(self, token: int, ring_va: int, entries: int, userd_va: int) -> Channel:
        """Tell the GPU of a channel, as the resource manager does through instance memory."""
        channel = Channel(self._machine, token, ring_va, entries, userd_va, self.spec.classes.channel)
        self._channels[token] = channel
        return channel

    def channel(self, token: int) -> Channel:
        """The channel with that token; KeyError when there is none."""
        return self._channels[token]

    def doorbell(self, token: int, at_ns: int = 0) -> None:
        """A channel has work since `at_ns`; returns at once. An unknown token is ignored, as by the hardware."""
        channel = self._channels.get(token)
        if channel is None:
            return
        self._host.announce(channel, at_ns)
        if token not in self._active:
            self._active[token] = self._host.serve(channel)

    def run(self, poll: Callable[[], None] | None = None, until: Callable[[], bool] | None = None) -> None:
        """Carry out the work of all channels until none can go on, or until `until()`.

        `poll` is called between steps; what it raises ends `run`, which may be called again and goes on with the
        next channel. UnsupportedError and FormatError stop the channel that caused them.
        """
        blocked = 0  # channels in a row that could not go on
        while self._active and blocked < len(self._active):
            token = next(iter(self._active))
            steps = self._active.pop(token)
            self._active[token] = steps  # its next turn comes after all others
            self._executor.crowded = len(self._active) > 1
            blocked = 0 if self._step(token) else blocked + 1
            if until is not None and until():
                return
            if poll is not None:
                poll()

    def _step(self, token: int) -> bool:
        """Let one channel go on; whether it did anything."""
        channel = self._channels[token]
        self._machine.clock.serve(token)
        try:
            progress = next(self._active[token], None)
        except ChannelFault as fault:
            return self._stop(channel, fault.record)
        except self._core.AccessError as error:
            return self._stop(channel, _access_record(error))
        except Exception:
            channel.faulted = True
            del self._active[token]
            raise
        if progress is None:
            del self._active[token]
        return progress is not Progress.BLOCKED

    def _stop(self, channel: Channel, record: dict[str, Any]) -> bool:
        """Record a fault; the channel drops what is left in its ring, and all that comes later."""
        where = {"method": channel.current.name} if channel.current is not None else {}
        self.faults.append({**record, **where, "token": channel.token})
        channel.faulted = True
        self._active[channel.token] = self._host.serve(channel)
        return True

    def _make_engine(self, class_id: int, token: int) -> Engine:
        kind = load_class(class_id).kind
        if kind == "compute":
            return ComputeEngine(self._machine, token, self._distributor, self._executor)
        if kind == "copy":
            return CopyEngine(self._machine, token)
        if kind == "inline":
            return _InlineClass(self._machine, token)
        raise UnsupportedError(f"class {class_id:#06x} cannot be bound to a subchannel")


def _access_record(error: Exception) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": "illegal_address", "why": str(error)}
    for name in ("address", "size"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            record[name] = value
    return record
