"""The host engine of one channel: fetches ring entries from GP_GET to GP_PUT, decodes them, hands methods
to engines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from warpath.command import gpfifo
from warpath.command.classes import load_class
from warpath.command.gpfifo import ControlEntry, Entry, Opcode
from warpath.command.methods import HOST_METHOD_END, SET_OBJECT, Method
from warpath.command.pushbuffer import DecoderState, Packet, parse, resolve
from warpath.errors import FormatError, UnsupportedError
from warpath.frontend import accepted
from warpath.frontend.engine import Engine, Machine, Progress, Steps, Submission, field_name
from warpath.frontend.semaphore import ReleaseWrite, is_acquire, reduction_name, satisfied

_MANY = 8  # values from which a packet is worth more than one look

EngineFactory = Callable[[int, int], Engine]  # (class id, token) -> the engine bound by SET_OBJECT


class HostMethods(Engine):
    """Host methods: semaphores, and those that order or invalidate what the model keeps in order anyway."""

    kept = frozenset(
        {
            "SEM_ADDR_LO",
            "SEM_ADDR_HI",
            "SEM_PAYLOAD_LO",
            "SEM_PAYLOAD_HI",
            "SEMAPHOREA",
            "SEMAPHOREB",
            "SEMAPHOREC",
        }
    )
    accepted = accepted.HOST

    def __init__(self, machine: Machine, token: int) -> None:
        super().__init__(machine, token)
        self.handlers |= {"SEM_EXECUTE": self._execute, "SEMAPHORED": self._execute_old}

    def _execute(self, method: Method) -> Steps | None:
        va = self.address("SEM_ADDR_HI", "SEM_ADDR_LO") & ~3
        wide = field_name(method, "PAYLOAD_SIZE") == "64BIT"
        payload = (self.value("SEM_PAYLOAD_HI") << 32 if wide else 0) | self.value("SEM_PAYLOAD_LO")
        words = 4 if field_name(method, "RELEASE_TIMESTAMP") == "EN" else 2 if wide else 1
        return self._semaphore(method, va, payload, words=words, wide=wide, form="REDUCTION_FORMAT")

    def _execute_old(self, method: Method) -> Steps | None:
        va = self.address("SEMAPHOREA", "SEMAPHOREB") & ~3
        words = 1 if field_name(method, "RELEASE_SIZE") == "4BYTE" else 4
        return self._semaphore(method, va, self.value("SEMAPHOREC"), words=words, wide=False, form="FORMAT")

    def _semaphore(
        self, method: Method, va: int, payload: int, *, words: int, wide: bool, form: str
    ) -> Steps | None:
        operation = field_name(method, "OPERATION")
        if is_acquire(operation):
            return self._acquire(operation, va, payload, 8 if wide else 4)
        if operation not in ("RELEASE", "REDUCTION"):
            raise UnsupportedError(f"host semaphore operation {operation} has no model")
        reduction = reduction_name(field_name(method, "REDUCTION")) if operation == "REDUCTION" else None
        signed = field_name(method, form) == "SIGNED"
        self.machine.release(ReleaseWrite(va, payload, words, wide, reduction, signed))
        return None

    def _acquire(self, operation: str, va: int, payload: int, size: int) -> Steps:
        while True:
            value = int.from_bytes(self.machine.memory.read(va, size), "little")
            if satisfied(operation, value, payload, 8 * size):
                self._go_on(self.machine.clock.reached_ns(va, payload))
                return
            yield Progress.BLOCKED

    def _go_on(self, satisfied_ns: int) -> None:
        """A channel that had to wait takes as long to go on as for any other segment."""
        clock = self.machine.clock
        if satisfied_ns > clock.now_ns:
            clock.reach(satisfied_ns)
            clock.advance(self.machine.path.segment_ns)


class Channel:
    """A channel as the hardware knows it: its ring, USERD, token, and the engines of its subchannels."""

    def __init__(
        self, machine: Machine, token: int, ring_va: int, entries: int, userd_va: int, channel_class: int
    ) -> None:
        self.token = token
        self.ring_va = ring_va
        self.entries = entries
        self.userd_va = userd_va
        self.decoder = DecoderState(channel_class=channel_class)
        self.host = HostMethods(machine, token)
        self.bound: dict[int, Engine] = {}
        self.get = 0
        self.rung: deque[tuple[int, int]] = deque()  # doorbells: GP_PUT then, and when
        self.doorbell_ns = 0  # when the entry being carried out was announced
        self.fetched = False  # whether an entry of the doorbell being served has been fetched
        self.faulted = False
        self.current: Method | None = None  # being carried out; names the place of a fault


class HostEngine:
    """Serves channels. `make_engine` creates the engine for a class when a channel binds it."""

    def __init__(self, machine: Machine, make_engine: EngineFactory) -> None:
        self._machine = machine
        self._make_engine = make_engine

    def serve(self, channel: Channel) -> Steps:
        """Carry out everything in the ring, also what is added meanwhile; a faulted channel's entries are
        dropped.
        """
        while (put := self._put(channel)) != channel.get:
            if channel.faulted:
                channel.rung.clear()
                self._advance(channel, put)
                return
            self._fetch(channel)
            yield from self._entry(channel)
            self._advance(channel, (channel.get + 1) % channel.entries)
            yield Progress.MOVED

    def announce(self, channel: Channel, at_ns: int) -> None:
        """Its doorbell rang: GP_PUT as it is now was written by then."""
        channel.rung.append((self._put_word(channel), at_ns))

    def _put_word(self, channel: Channel) -> int:
        return int.from_bytes(self._machine.memory.read(channel.userd_va + gpfifo.USERD_GP_PUT, 4), "little")

    def _put(self, channel: Channel) -> int:
        put = self._put_word(channel)
        if put >= channel.entries:
            raise FormatError(f"GP_PUT {put} lies outside the ring of {channel.entries} entries")
        return put

    def _fetch(self, channel: Channel) -> None:
        """The time until an entry's work starts. Entries that came with one doorbell follow each other closely."""
        path, clock = self._machine.path, self._machine.clock
        while channel.rung and channel.get == channel.rung[0][0]:
            channel.rung.popleft()
            channel.fetched = False
        together = channel.fetched
        channel.fetched = True
        if channel.rung:
            channel.doorbell_ns = channel.rung[0][1]
        clock.reach(channel.doorbell_ns + path.doorbell_ns)
        clock.advance(path.node_ns if together else path.segment_ns)

    def _advance(self, channel: Channel, get: int) -> None:
        channel.get = get
        self._machine.memory.write(channel.userd_va + gpfifo.USERD_GP_GET, get.to_bytes(4, "little"))

    def _entry(self, channel: Channel) -> Steps:
        raw = self._machine.memory.read(
            channel.ring_va + channel.get * gpfifo.ENTRY_BYTES, gpfifo.ENTRY_BYTES
        )
        entry = gpfifo.decode(raw)
        if isinstance(entry, ControlEntry):
            _check_control(entry)
            self._machine.notify("on_entry", channel, entry, ())
            return
        yield from self._segment(channel, raw, entry)

    def _segment(self, channel: Channel, raw: bytes, entry: Entry) -> Steps:
        if entry.conditional:
            raise UnsupportedError("a conditionally fetched ring entry has no model")
        data = self._machine.memory.read(entry.va, entry.dwords * 4)
        before = channel.decoder.copy()
        packets = parse(data, channel.decoder)
        submission = Submission(
            channel.token, channel.get, raw, entry, tuple(packets), before, channel.doorbell_ns
        )
        if self._machine.watched("on_entry"):
            self._machine.notify("on_entry", channel, entry, submission.methods)
        for packet in packets:
            left = self._take(channel, packet, submission) if len(packet.values) >= _MANY else packet
            for method in resolve(left, channel.decoder):
                channel.current = method
                engine = self._engine(channel, method)
                engine.submission = submission
                steps = engine.execute(method)
                if steps is not None:
                    yield from steps
        channel.current = None

    @staticmethod
    def _take(channel: Channel, packet: Packet, submission: Submission) -> Packet:
        """Let the engine carry out as much of a long packet as it can at once; what is left of it."""
        engine = channel.bound.get(packet.subchannel)
        first = next(resolve(packet, channel.decoder), None)
        if engine is None or first is None or first.address < HOST_METHOD_END:
            return packet
        channel.current = first
        engine.submission = submission
        return packet.after(engine.take(first, packet))

    def _engine(self, channel: Channel, method: Method) -> Engine:
        if SET_OBJECT < method.address < HOST_METHOD_END:
            return channel.host
        if method.address == SET_OBJECT:
            class_id = load_class(method.value & 0xFFFF).id
            channel.bound[method.subchannel] = self._make_engine(class_id, channel.token)
            return channel.host
        engine = channel.bound.get(method.subchannel)
        if engine is None:
            raise UnsupportedError(
                f"method {method.address:#06x} on subchannel {method.subchannel}, which no class is bound to"
            )
        return engine


def _check_control(entry: ControlEntry) -> None:
    if entry.opcode not in (Opcode.NOP, Opcode.GP_CRC, Opcode.PB_CRC):
        raise UnsupportedError(f"ring control entry {entry.name} ({entry.opcode}) has no model")
