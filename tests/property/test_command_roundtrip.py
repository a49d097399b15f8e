"""encode(decode(x)) = x for whatever can be decoded, and nothing but FormatError for what cannot."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from warpath.command import constbank, gpfifo, grid
from warpath.command.doorbell import Token
from warpath.command.pushbuffer import DecoderState, Writer, decode, encode, parse
from warpath.command.qmd import Qmd, detect, load_format, versions
from warpath.errors import FormatError, UnsupportedError

WORD = st.integers(0, 0xFFFFFFFF)
ADDRESS = st.integers(0, 0xFFF).map(lambda dword: dword * 4)
SUBCHANNEL = st.integers(0, 7)
LAYOUTS = ("sm_70..sm_89", "sm_90", "sm_100..sm_120")


def _packet(writer: Writer, form: str, subchannel: int, address: int, values: list[int]) -> None:
    calls: dict[str, Callable[[], None]] = {
        "incr": lambda: writer.incr(subchannel, address, *values),
        "nonincr": lambda: writer.nonincr(subchannel, address, values),
        "once": lambda: writer.once(subchannel, address, *values),
        "immediate": lambda: writer.immediate(subchannel, address, values[0] & 0x1FFF),
        "nop": writer.nop,
    }
    calls[form]()


PACKETS = st.lists(
    st.tuples(
        st.sampled_from(["incr", "nonincr", "once", "immediate", "nop"]),
        SUBCHANNEL,
        ADDRESS,
        st.lists(WORD, min_size=1, max_size=6),
    ),
    max_size=8,
)


def _segment(packets: list[tuple[str, int, int, list[int]]]) -> bytes:
    writer = Writer()
    for packet in packets:
        _packet(writer, *packet)
    return writer.to_bytes()


@given(PACKETS)
def test_segments_round_trip(packets: list[tuple[str, int, int, list[int]]]) -> None:
    data = _segment(packets)
    assert encode(parse(data, DecoderState())) == data


@given(PACKETS, st.lists(st.integers(0, 40), max_size=4))
def test_cutting_a_segment_changes_no_call(
    packets: list[tuple[str, int, int, list[int]]], cuts: list[int]
) -> None:
    data = _segment(packets)
    edges = [0, *sorted(4 * cut for cut in cuts if 4 * cut < len(data)), len(data)]
    state = DecoderState()
    try:
        pieces = [decode(data[a:b], state) for a, b in pairwise(edges)]
    except FormatError as error:
        assert "increase-once" in str(error)
        return
    assert [method for piece in pieces for method in piece] == decode(data, DecoderState())


@given(
    st.lists(
        st.one_of(WORD, st.builds(lambda op, low: op << 29 | low, st.integers(0, 7), st.integers(0, 0xFFFFF)))
    )
)
def test_any_words_decode_or_raise_format_error(words: list[int]) -> None:
    data = struct.pack(f"<{len(words)}I", *words)
    state = DecoderState(channel_class=0xC86F, objects={1: 0xCBC0, 4: 0xC8B5})
    try:
        packets = parse(data, state)
    except FormatError:
        return
    assert encode(packets) == data
    for method in decode(data, DecoderState(objects={1: 0xCBC0})):
        assert method.known or method.name == "unknown"
        method.describe()


@given(st.binary(max_size=12))
def test_ring_entries_round_trip(data: bytes) -> None:
    try:
        entry = gpfifo.decode(data)
    except FormatError:
        return
    assert entry.to_bytes() == data


@given(WORD, st.sampled_from([0xC461, 0xC661, 0xC761]))
def test_tokens_round_trip(value: int, usermode: int) -> None:
    try:
        token = Token.decode(value, usermode)
    except FormatError:
        return
    assert token.encode(usermode) == value


@given(st.sampled_from(versions()), st.binary(min_size=384, max_size=384))
def test_qmd_fields_round_trip(version: str, data: bytes) -> None:
    size = load_format(version).bytes
    qmd = Qmd(version, data[:size])
    copy = Qmd(version)
    for field in qmd.format.fields.values():
        for index in range(field.count):
            copy.set(field.name, qmd.get(field.name, index), index)
    assert copy.fields() == qmd.fields()
    rebuilt = bytearray(copy.to_bytes())
    for dword, value in qmd.unnamed().items():
        word = int.from_bytes(rebuilt[4 * dword : 4 * dword + 4], "little") | value
        rebuilt[4 * dword : 4 * dword + 4] = word.to_bytes(4, "little")
    assert bytes(rebuilt) == data[:size]


@given(
    st.sampled_from(versions()), st.binary(max_size=400), st.sampled_from([0xC5C0, 0xC9C0, 0xCBC0, 0xCEC0])
)
def test_any_bytes_as_a_qmd(version: str, data: bytes, compute_class: int) -> None:
    for attempt in (lambda: Qmd.from_bytes(version, data), lambda: detect(data, compute_class)):
        try:
            attempt()
        except FormatError:
            continue


@given(st.sampled_from([v for v in versions() if v != "V05_01"]), st.binary(min_size=384, max_size=384))
def test_grid_work_read_then_written_is_read_the_same(version: str, data: bytes) -> None:
    first = grid.read(Qmd(version, data[: load_format(version).bytes]))
    qmd = Qmd(version)
    try:
        grid.write(qmd, first)
    except UnsupportedError:
        return
    second = grid.read(qmd)
    assert second.grid == first.grid
    assert second.banks == first.banks
    assert second.program_va == first.program_va
    assert [release.va for release in second.releases] == [release.va for release in first.releases]


@given(st.sampled_from(LAYOUTS), st.binary(max_size=0x400))
def test_constant_banks_round_trip(name: str, data: bytes) -> None:
    layout = constbank.load_layout(name)
    try:
        bank = constbank.decode(layout, data)
    except FormatError:
        assert len(data) < layout.param_base
        return
    assert constbank.build(layout, bank.params, unnamed=bank.unnamed, **bank.fields) == data
