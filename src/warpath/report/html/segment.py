"""A submitted segment dword by dword: packet headers and the methods their data go to."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from warpath.command import gpfifo
from warpath.command.classes import find_class
from warpath.command.pushbuffer import DecoderState, Op, Packet, parse, resolve
from warpath.errors import FormatError
from warpath.report.model import Submission


@dataclass(frozen=True, slots=True)
class Word:
    """One dword: byte offset in the segment, value, whether it is a packet header, what it means."""

    offset: int
    value: int
    header: bool
    text: str


def words(sub: Submission) -> list[Word]:
    """The segment's dwords; methods alone when its dwords are not known or begin inside a packet."""
    state = DecoderState(sub.channel_class, dict(sub.classes))
    try:
        packets = parse(struct.pack(f"<{len(sub.words)}I", *sub.words), state)
    except FormatError:
        packets = []
    if not packets:
        return [Word(0, m.value, False, f"subchannel {m.subchannel} {m.name}") for m in sub.methods]
    decoder = DecoderState(sub.channel_class, dict(sub.classes))
    found: list[Word] = []
    for packet in packets:
        for header, value, text in _packet(packet, decoder):
            found.append(Word(4 * len(found), value, header, text))
    return found


def _packet(packet: Packet, state: DecoderState) -> Iterator[tuple[bool, int, str]]:
    described = [method.describe() for method in resolve(packet, state)]
    if packet.op is Op.IMMEDIATE:
        yield True, packet.header(), f"{described[0]} (in the header, subchannel {packet.subchannel})"
        return
    yield True, packet.header(), _header(packet, state)
    if packet.op is Op.END_SEGMENT:
        described = ["skipped"] * len(packet.values)
    for value, text in zip(packet.values, described, strict=True):
        yield False, value, text


def _header(packet: Packet, state: DecoderState) -> str:
    name = packet.op.name.lower().replace("_", " ")
    if not packet.count:
        return "no operation" if packet.op is Op.OLD_INCREASING else name
    bound = state.objects.get(packet.subchannel)
    table = find_class(bound) if bound is not None else None
    engine = f" ({table.name})" if table else ""
    return f"{name}, {packet.count} to {packet.address:#06x}, subchannel {packet.subchannel}{engine}"


def ring_entry(sub: Submission) -> list[tuple[str, str]]:
    """The GPFIFO entry taken apart: (field, value)."""
    try:
        entry = gpfifo.decode(sub.gpfifo_entry.to_bytes(gpfifo.ENTRY_BYTES, "little"))
    except FormatError as error:
        return [("not legal", str(error))]
    if isinstance(entry, gpfifo.ControlEntry):
        return [("control opcode", entry.name), ("operand", f"{entry.operand:#x}")]
    return [
        ("segment address", f"{entry.va:#x}"),
        ("length", f"{entry.dwords} dwords"),
        ("level", "subroutine" if entry.subroutine else "main"),
        ("sync", "wait" if entry.wait else "proceed"),
        ("fetch", "conditional" if entry.conditional else "unconditional"),
    ]
