"""Pushbuffer words: packets of methods, written and parsed.

A header dword holds SEC_OP 31:29, count (or immediate datum) 28:16, subchannel 15:13 and the method's dword
address 11:0; the two old forms hold a 2-bit TERT_OP 17:16, count 28:18 and byte address 12:2. Source:
NVIDIA open-gpu-doc, manuals/ampere/ga100/dev_pbdma.ref.txt and dev_ram.ref.txt.

A run of data may cross from one ring entry into the next, so parsing takes a `DecoderState` that belongs to
a channel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache

from warpath.bits import Bits
from warpath.command.classes import find_class
from warpath.command.methods import HOST_METHOD_END, SET_OBJECT, Method
from warpath.errors import FormatError

_SEC_OP = Bits(31, 29)
_COUNT = Bits(28, 16)
_SUBCHANNEL = Bits(15, 13)
_ADDRESS = Bits(11, 0)
_RESERVED = Bits(12, 12)
_TERT_OP = Bits(17, 16)
_OLD_COUNT = Bits(28, 18)
_OLD_ADDRESS = Bits(12, 2)
_OLD_RESERVED = Bits(1, 0)
_ARGUMENT = Bits(28, 0)  # what END_PB_SEGMENT and the sub-device operations carry, kept as it is

MAX_COUNT = _COUNT.mask


class Op(Enum):
    """Packet forms: (SEC_OP, TERT_OP or None)."""

    OLD_INCREASING = (0, 0)
    SET_SUB_DEVICE_MASK = (0, 1)
    STORE_SUB_DEVICE_MASK = (0, 2)
    USE_SUB_DEVICE_MASK = (0, 3)
    INCREASING = (1, None)
    OLD_NON_INCREASING = (2, 0)
    NON_INCREASING = (3, None)
    IMMEDIATE = (4, None)
    INCREASE_ONCE = (5, None)
    END_SEGMENT = (7, None)


_FORMS: dict[tuple[int, int | None], Op] = {op.value: op for op in Op}
_MASK_OPS = (Op.SET_SUB_DEVICE_MASK, Op.STORE_SUB_DEVICE_MASK, Op.USE_SUB_DEVICE_MASK)
_HEADERS = 4096  # different headers kept decoded and encoded: the same few come again with every launch


@lru_cache(_HEADERS)
def _join(op: Op, subchannel: int, address: int, datum: int) -> int:
    """The header of a form that carries a method; `datum` is the count, or the value of an immediate."""
    sec, tert = op.value
    word = _SUBCHANNEL.set(_SEC_OP.set(0, sec), subchannel)
    if tert is not None:
        return _OLD_ADDRESS.set(_OLD_COUNT.set(word, datum), address >> 2)
    return _ADDRESS.set(_COUNT.set(word, datum), address >> 2)


@lru_cache(_HEADERS)
def _split(header: int) -> tuple[Op, int, int, int]:
    """(form, subchannel, byte address, count or immediate datum); FormatError says what is illegal."""
    sec, tert = _SEC_OP.get(header), _TERT_OP.get(header)
    op = _FORMS.get((sec, None)) or _FORMS.get((sec, tert))
    if op is None:
        raise FormatError(f"{header:#010x} has no legal SEC_OP ({sec}, {tert})")
    if op in _MASK_OPS or op is Op.END_SEGMENT:
        return op, 0, 0, 0
    old = op.value[1] is not None
    if _OLD_RESERVED.get(header) if old else _RESERVED.get(header):
        raise FormatError(f"{header:#010x} sets a reserved header bit")
    address = (_OLD_ADDRESS if old else _ADDRESS).get(header) << 2
    return op, _SUBCHANNEL.get(header), address, (_OLD_COUNT if old else _COUNT).get(header)


@dataclass(frozen=True, slots=True)
class Packet:
    """A header and the data that follows it in one segment.

    `address` is the byte address of the first value here; `count` what the header declared. `continued`
    marks the rest of a packet whose header stood in an earlier segment. `argument` holds bits 28:0 of the
    forms that carry no method, and after END_SEGMENT `values` are the words of the segment that the engine
    skips.
    """

    op: Op
    subchannel: int = 0
    address: int = 0
    count: int = 0
    values: tuple[int, ...] = ()
    argument: int = 0
    continued: bool = False

    def header(self) -> int:
        """The header dword."""
        if self.op in _MASK_OPS or self.op is Op.END_SEGMENT:
            return _SEC_OP.set(0, self.op.value[0]) | self.argument
        datum = self.values[0] if self.op is Op.IMMEDIATE else self.count
        return _join(self.op, self.subchannel, self.address, datum)

    def words(self) -> list[int]:
        """The dwords of this packet in one segment."""
        if self.op is Op.IMMEDIATE:
            return [self.header()]
        return [*self.values] if self.continued else [self.header(), *self.values]

    @property
    def dwords(self) -> int:
        """How many dwords it has in this segment."""
        if self.op is Op.IMMEDIATE:
            return 1
        return len(self.values) + (not self.continued)

    def after(self, count: int) -> Packet:
        """What is left when the first `count` values have been dealt with."""
        if count == 0:
            return self
        once = self.op is Op.INCREASE_ONCE and not self.continued
        step = 4 * count if self.op in (Op.INCREASING, Op.OLD_INCREASING) else 4 * once
        return replace(self, address=self.address + step, values=self.values[count:], continued=True)

    def calls(self) -> Iterator[tuple[int, int]]:
        """(byte address, value) of each method call."""
        if self.op in _MASK_OPS or self.op is Op.END_SEGMENT:
            return
        step = 4 if self.op in (Op.INCREASING, Op.OLD_INCREASING) else 0
        address = self.address
        for position, value in enumerate(self.values):
            yield address, value
            once = self.op is Op.INCREASE_ONCE and position == 0 and not self.continued
            address += 4 if once else step


@dataclass(slots=True)
class DecoderState:
    """What a channel's decoder remembers between ring entries.

    `channel_class` names host methods, `objects` binds subchannels to classes (SET_OBJECT updates it),
    `run` is a packet whose data has not all arrived: (packet form, subchannel, next byte address, dwords to
    come).
    """

    channel_class: int | None = None
    objects: dict[int, int] = field(default_factory=dict[int, int])
    run: tuple[Op, int, int, int] | None = None

    def copy(self) -> DecoderState:
        """The same knowledge, to decode something again later."""
        return DecoderState(self.channel_class, dict(self.objects), self.run)


class Writer:
    """Builds one segment. Addresses are byte addresses of methods, values 32-bit."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []

    def incr(self, subchannel: int, address: int, *values: int) -> None:
        """Values to successive methods."""
        self._add(Op.INCREASING, subchannel, address, values)

    def nonincr(self, subchannel: int, address: int, values: Sequence[int]) -> None:
        """Values all to one method; more than 0x1fff become several packets."""
        for start in range(0, len(values), MAX_COUNT):
            self._add(Op.NON_INCREASING, subchannel, address, values[start : start + MAX_COUNT])

    def immediate(self, subchannel: int, address: int, value: int) -> None:
        """One value of at most 13 bits, carried in the header."""
        if not 0 <= value <= _COUNT.mask:
            raise ValueError(f"immediate {value:#x} does not fit in 13 bits")
        self.packets.append(Packet(Op.IMMEDIATE, subchannel, address, 1, (value,)))

    def once(self, subchannel: int, address: int, *values: int) -> None:
        """The first value to `address`, all others to the next method."""
        self._add(Op.INCREASE_ONCE, subchannel, address, values)

    def nop(self) -> None:
        """An all-zero dword."""
        self.packets.append(Packet(Op.OLD_INCREASING))

    def end_segment(self) -> None:
        """Stop fetching this segment here."""
        self.packets.append(Packet(Op.END_SEGMENT))

    def _add(self, op: Op, subchannel: int, address: int, values: Sequence[int]) -> None:
        if address % 4 or not 0 <= address <= 0x3FFC or not 0 <= subchannel <= 7:
            raise ValueError(f"no method {address:#x} on subchannel {subchannel}")
        if not 0 < len(values) <= MAX_COUNT:
            raise ValueError(f"a packet holds 1 to {MAX_COUNT} values, not {len(values)}")
        self.packets.append(Packet(op, subchannel, address, len(values), tuple(values)))

    def words(self) -> list[int]:
        """All dwords of the segment."""
        return [word for packet in self.packets for word in packet.words()]

    def to_bytes(self) -> bytes:
        """The segment as it lies in memory, little-endian."""
        return encode(self.packets)


def encode(packets: Sequence[Packet]) -> bytes:
    """The bytes of a segment made of `packets`."""
    words = [word for packet in packets for word in packet.words()]
    return struct.pack(f"<{len(words)}I", *words)


def parse(data: bytes | memoryview, state: DecoderState) -> list[Packet]:
    """Split one segment into packets; `encode` of the result gives `data` back.

    FormatError names the dword that is no legal header, or a length that is not a multiple of four.
    """
    if len(data) % 4:
        raise FormatError(f"pushbuffer segment of {len(data)} bytes is not a whole number of dwords")
    words = struct.unpack(f"<{len(data) // 4}I", data)
    packets: list[Packet] = []
    position = 0
    if state.run is not None and words:
        packet = _continue(words, state)
        packets.append(packet)
        position = len(packet.values)
    while position < len(words):
        packet = _packet(words, position, state)
        packets.append(packet)
        position += packet.dwords
    return packets


def _continue(words: Sequence[int], state: DecoderState) -> Packet:
    assert state.run is not None
    op, subchannel, address, left = state.run
    values = tuple(words[:left])
    _remember(state, op, subchannel, address, left, len(values), continued=True)
    return Packet(op, subchannel, address, left, values, continued=True)


def _packet(words: Sequence[int], position: int, state: DecoderState) -> Packet:
    header = words[position]
    try:
        op, subchannel, address, count = _split(header)
    except FormatError as error:
        raise FormatError(f"pushbuffer dword {position}: {error}") from None
    if op in _MASK_OPS:
        return Packet(op, argument=_ARGUMENT.get(header))
    if op is Op.END_SEGMENT:
        return Packet(op, values=tuple(words[position + 1 :]), argument=_ARGUMENT.get(header))
    if op is Op.IMMEDIATE:
        return Packet(op, subchannel, address, 1, (count,))
    values = tuple(words[position + 1 : position + 1 + count])
    _remember(state, op, subchannel, address, count, len(values), continued=False)
    return Packet(op, subchannel, address, count, values)


def _remember(
    state: DecoderState, op: Op, subchannel: int, address: int, count: int, taken: int, *, continued: bool
) -> None:
    """Keep what is left of a packet for the next segment."""
    if taken == count:
        state.run = None
        return
    if op in (Op.INCREASING, Op.OLD_INCREASING):
        address += 4 * taken
    elif op is Op.INCREASE_ONCE and not continued:
        if taken == 0:
            raise FormatError("an increase-once packet without its first value ends a segment")
        address += 4
    state.run = (op, subchannel, address, count - taken)


def decode(data: bytes | memoryview, state: DecoderState) -> list[Method]:
    """The method calls of one segment, in order, named by the classes bound to the channel.

    SET_OBJECT rebinds subchannels in `state` as it goes. Unnamed methods are kept with `known` false.
    """
    return [method for packet in parse(data, state) for method in resolve(packet, state)]


def resolve(packet: Packet, state: DecoderState) -> Iterator[Method]:
    """Name a packet's method calls, updating the subchannel bindings in `state`."""
    for address, value in packet.calls():
        if address == SET_OBJECT:
            state.objects[packet.subchannel] = value & 0xFFFF
        class_id = state.objects.get(packet.subchannel)
        if SET_OBJECT < address < HOST_METHOD_END:
            class_id = state.channel_class
        table = None if class_id is None else find_class(class_id)
        spec = None if table is None else table.find(address)
        if spec is None and address == SET_OBJECT and state.channel_class is not None:
            host = find_class(state.channel_class)
            spec = None if host is None else host.find(SET_OBJECT)
        yield Method(packet.subchannel, address, value, class_id, spec)
