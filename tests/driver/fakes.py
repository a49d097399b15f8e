"""Stand-ins for the parts below the driver: a memory of Python bytes and a GPU that decodes what it is given.

The fake GPU carries out uploads, copies, fills and semaphores as the command stream says, and keeps each QMD
it is asked to run instead of executing code.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from warpath.command import gpfifo, grid
from warpath.command.methods import Method
from warpath.command.pushbuffer import DecoderState, decode
from warpath.command.qmd import Qmd
from warpath.driver.address_space import Memory
from warpath.gpu.spec import Gpu

PAGE = 1 << 16


class FakeMemory:
    """The contract of `_core.Memory`: regions, live allocations, bytes."""

    def __init__(self) -> None:
        self.regions: list[tuple[int, int]] = []
        self.live: dict[int, tuple[int, int]] = {}
        self._pages: dict[int, bytearray] = {}

    def reserve(self, base: int, size: int, fd: int = -1) -> None:
        assert all(base + size <= start or start + length <= base for start, length in self.regions)
        insort(self.regions, (base, size))

    def alloc(self, va: int, size: int, kind: int) -> None:
        index = bisect_right(self.regions, (va, 1 << 64)) - 1
        base, length = self.regions[index]
        assert base <= va and va + size <= base + length, f"{va:#x} lies outside every region"
        assert all(va + size <= start or start + taken <= va for start, (taken, _) in self.live.items())
        self.live[va] = (size, kind)

    def free(self, va: int) -> None:
        del self.live[va]

    def set_heap(self, va: int, size: int) -> None:
        assert va in self.live
        self.heap = (va, size)

    def read(self, va: int, size: int) -> bytes:
        data = bytearray()
        while size:
            offset = va % PAGE
            step = min(size, PAGE - offset)
            page = self._pages.get(va // PAGE)
            data += page[offset : offset + step] if page else bytes(step)
            va, size = va + step, size - step
        return bytes(data)

    def write(self, va: int, data: bytes) -> None:
        position = 0
        while position < len(data):
            offset = va % PAGE
            step = min(len(data) - position, PAGE - offset)
            page = self._pages.setdefault(va // PAGE, bytearray(PAGE))
            page[offset : offset + step] = data[position : position + step]
            va, position = va + step, position + step

    def copy(self, dst: int, src: int, size: int) -> None:
        self.write(dst, self.read(src, size))


@dataclass
class FakeChannel:
    ring_va: int
    entries: int
    userd_va: int
    get: int = 0
    state: DecoderState = field(default_factory=DecoderState)
    values: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    waiting: list[Method] = field(default_factory=list[Method])
    inline: bytearray = field(default_factory=bytearray)
    qmd: bytearray = field(default_factory=bytearray)


class FakeGpu:
    """Runs the rings of its channels; `on_launch` may return a fault record."""

    def __init__(self, spec: Gpu, memory: FakeMemory) -> None:
        self.spec = spec
        self.memory = memory
        self.channels: dict[int, FakeChannel] = {}
        self.rung: list[int] = []
        self.methods: list[Method] = []
        self.launches: list[tuple[int, grid.GridWork, Qmd]] = []
        self.faults: list[Mapping[str, object]] = []
        self.on_launch: Callable[[grid.GridWork], Mapping[str, object] | None] = lambda work: None
        self.time = 0

    def add_channel(self, token: int, ring_va: int, entries: int, userd_va: int) -> object:
        self.channels[token] = FakeChannel(ring_va, entries, userd_va)
        self.channels[token].state.channel_class = self.spec.classes.channel
        return None

    def doorbell(self, token: int, at_ns: int) -> None:
        self.rung.append(token)

    def reached_ns(self, va: int, payload: int) -> int:
        return 0

    def run(self, poll: Callable[[], None] | None = None, until: Callable[[], bool] | None = None) -> None:
        while sum(self._step(channel) for channel in self.channels.values()):
            if until is not None and until():
                return

    def _step(self, channel: FakeChannel) -> bool:
        """Do what can be done on one channel; whether anything was."""
        done = False
        while not self.faults:
            while channel.waiting:
                if not self._execute(channel, channel.waiting[0]):
                    return done
                channel.waiting.pop(0)
                done = True
            put = self._word(channel.userd_va + gpfifo.USERD_GP_PUT)
            if channel.get == put:
                return done
            entry = gpfifo.decode(self.memory.read(channel.ring_va + channel.get * 8, 8))
            assert isinstance(entry, gpfifo.Entry)
            channel.get = (channel.get + 1) % channel.entries
            self.memory.write(channel.userd_va + gpfifo.USERD_GP_GET, channel.get.to_bytes(4, "little"))
            channel.waiting = decode(self.memory.read(entry.va, entry.dwords * 4), channel.state)
            self.methods += channel.waiting
            done = True
        return done

    def _word(self, va: int) -> int:
        return int.from_bytes(self.memory.read(va, 4), "little")

    def _execute(self, channel: FakeChannel, method: Method) -> bool:
        """One method; False when it has to be tried again later."""
        assert method.known or method.address == 0, method.describe()
        name = "SET_OBJECT" if method.address == 0 else method.name.split("(")[0]
        values = channel.values
        values[method.subchannel, name] = method.value
        copying = method.subchannel == 4
        if name == "SEM_EXECUTE":
            return self._host_semaphore(channel, method)
        if name == "LAUNCH_DMA" and copying:
            self._copy(channel, method)
        elif name == "LAUNCH_DMA":
            channel.inline.clear()
        elif name == "LOAD_INLINE_DATA":
            channel.inline += method.value.to_bytes(4, "little")
            size = values[1, "LINE_LENGTH_IN"]
            if len(channel.inline) >= size:
                self.memory.write(self._address(channel, 1, "OFFSET_OUT"), bytes(channel.inline[:size]))
        elif name == "SET_REPORT_SEMAPHORE_D":
            va = values[1, "SET_REPORT_SEMAPHORE_A"] << 32 | values[1, "SET_REPORT_SEMAPHORE_B"]
            self._release(va, values[1, "SET_REPORT_SEMAPHORE_C"])
        elif name == "SET_INLINE_QMD_ADDRESS_B":
            channel.qmd.clear()
        elif name == "LOAD_INLINE_QMD_DATA":
            channel.qmd += method.value.to_bytes(4, "little")
            if len(channel.qmd) == self.spec.sm.qmd_bytes:
                upper = values[1, "SET_INLINE_QMD_ADDRESS_A"] & 0xFF
                self._launch(upper << 40 | values[1, "SET_INLINE_QMD_ADDRESS_B"] << 8, bytes(channel.qmd))
        elif name == "SEND_SIGNALING_PCAS2_B":
            va = values[1, "SEND_PCAS_A"] << 8
            self._launch(va, self.memory.read(va, self.spec.sm.qmd_bytes))
        return True

    def _address(self, channel: FakeChannel, subchannel: int, name: str) -> int:
        lower = "OFFSET_OUT" if subchannel == 1 else f"{name}_LOWER"
        return channel.values[subchannel, f"{name}_UPPER"] << 32 | channel.values[subchannel, lower]

    def _release(self, va: int, payload: int) -> None:
        self.time += 1000
        self.memory.write(va, payload.to_bytes(8, "little") + self.time.to_bytes(8, "little"))

    def _host_semaphore(self, channel: FakeChannel, method: Method) -> bool:
        values = channel.values
        subchannel = method.subchannel
        va = values[subchannel, "SEM_ADDR_HI"] << 32 | values[subchannel, "SEM_ADDR_LO"]
        payload = values[subchannel, "SEM_PAYLOAD_LO"]
        if method.fields["OPERATION"] == 1:
            self.memory.write(va, payload.to_bytes(4, "little"))
            return True
        return self._word(va) >= payload

    def _copy(self, channel: FakeChannel, method: Method) -> None:
        values, fields = channel.values, method.fields
        if fields["SEMAPHORE_TYPE"]:
            va = values[4, "SET_SEMAPHORE_A"] << 32 | values[4, "SET_SEMAPHORE_B"]
            self._release(va, values[4, "SET_SEMAPHORE_PAYLOAD"])
        if fields["DATA_TRANSFER_TYPE"] == 0:
            return
        dst, width = self._address(channel, 4, "OFFSET_OUT"), values[4, "LINE_LENGTH_IN"]
        lines = values[4, "LINE_COUNT"] if fields["MULTI_LINE_ENABLE"] else 1
        if fields["REMAP_ENABLE"]:
            element = (values[4, "SET_REMAP_COMPONENTS"] >> 16 & 3) + 1
            pattern = (values[4, "SET_REMAP_CONST_A"] & ((1 << 8 * element) - 1)).to_bytes(element, "little")
            for line in range(lines):
                self.memory.write(dst + line * values.get((4, "PITCH_OUT"), 0), pattern * width)
            return
        src = self._address(channel, 4, "OFFSET_IN")
        for line in range(lines):
            step_in, step_out = (line * values.get((4, name), 0) for name in ("PITCH_IN", "PITCH_OUT"))
            self.memory.copy(dst + step_out, src + step_in, width)

    def _launch(self, qmd_va: int, data: bytes) -> None:
        qmd = Qmd.from_bytes(self.spec.qmd_version, data)
        work = grid.read(qmd)
        if work.type == grid.GridType.NULL:
            return
        self.launches.append((qmd_va, work, qmd))
        fault = self.on_launch(work)
        if fault is not None:
            self.faults.append(fault)
            return
        for release in work.releases:
            self.memory.write(release.va, release.payload.to_bytes(4, "little"))


class FakeProgram:
    """Host memory of the program as a `Mover` sees it; `memory` is the GPU's, real or fake."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.own = FakeMemory()

    def copy_in(self, source: int, size: int, arena_va: int) -> None:
        self.memory.write(arena_va, self.own.read(source, size))

    def copy_out(self, arena_va: int, size: int, destination: int) -> None:
        self.own.write(destination, self.memory.read(arena_va, size))
