"""Packets and methods: every SEC_OP form, runs over segment borders, names."""

from __future__ import annotations

import struct

import pytest

from warpath.command.methods import collapse
from warpath.command.pushbuffer import DecoderState, Op, Writer, decode, encode, parse
from warpath.errors import FormatError


def _words(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def _calls(data: bytes, state: DecoderState | None = None) -> list[tuple[int, int, int]]:
    methods = decode(data, state or DecoderState())
    return [(method.subchannel, method.address, method.value) for method in methods]


def test_increasing_header_is_the_one_the_h200_wrote() -> None:
    writer = Writer()
    writer.incr(4, 0x400, 1, 2, 3, 4)
    assert writer.words() == [0x20048100, 1, 2, 3, 4]
    assert _calls(writer.to_bytes()) == [(4, 0x400, 1), (4, 0x404, 2), (4, 0x408, 3), (4, 0x40C, 4)]


def test_non_increasing_keeps_the_address_and_splits_long_data() -> None:
    writer = Writer()
    writer.nonincr(1, 0x1B4, list(range(0x2001)))
    assert [packet.count for packet in writer.packets] == [0x1FFF, 2]
    calls = _calls(writer.to_bytes())
    assert len(calls) == 0x2001
    assert {address for _, address, _ in calls} == {0x1B4}


def test_immediate_carries_its_value_in_the_header() -> None:
    writer = Writer()
    writer.immediate(1, 0x1698, 0x1FFF)
    assert writer.words() == [0x9FFF25A6]
    assert _calls(writer.to_bytes()) == [(1, 0x1698, 0x1FFF)]
    with pytest.raises(ValueError, match="13 bits"):
        writer.immediate(1, 0x1698, 0x2000)


def test_increase_once_moves_one_method_on() -> None:
    writer = Writer()
    writer.once(1, 0x3800, 7, 8, 9)
    assert _calls(writer.to_bytes()) == [(1, 0x3800, 7), (1, 0x3804, 8), (1, 0x3804, 9)]


def test_old_forms_and_nop() -> None:
    old_incr = 2 << 18 | 1 << 13 | 0x180
    old_nonincr = 2 << 29 | 2 << 18 | 1 << 13 | 0x1B4
    data = _words(0, old_incr, 5, 6, old_nonincr, 7, 8)
    assert _calls(data) == [(1, 0x180, 5), (1, 0x184, 6), (1, 0x1B4, 7), (1, 0x1B4, 8)]
    assert encode(parse(data, DecoderState())) == data


def test_sub_device_masks_call_nothing_and_survive() -> None:
    data = _words(0x0001FFF0, 0x00020010, 0x00030000)
    packets = parse(data, DecoderState())
    assert [packet.op for packet in packets] == [
        Op.SET_SUB_DEVICE_MASK,
        Op.STORE_SUB_DEVICE_MASK,
        Op.USE_SUB_DEVICE_MASK,
    ]
    assert decode(data, DecoderState()) == []
    assert encode(packets) == data


def test_end_of_segment_hides_the_rest() -> None:
    writer = Writer()
    writer.incr(1, 0x100, 0)
    writer.end_segment()
    writer.incr(1, 0x104, 1)
    assert _calls(writer.to_bytes()) == [(1, 0x100, 0)]
    assert encode(parse(writer.to_bytes(), DecoderState())) == writer.to_bytes()


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
@pytest.mark.parametrize("form", ["incr", "nonincr", "once"])
def test_a_run_crosses_segments(form: str, cut: int) -> None:
    writer = Writer()
    if form == "nonincr":
        writer.nonincr(1, 0x1B4, [1, 2, 3, 4])
    else:
        getattr(writer, form)(1, 0x180, 1, 2, 3, 4)
    whole, state = writer.to_bytes(), DecoderState()
    if form == "once" and cut == 1:
        with pytest.raises(FormatError, match="increase-once"):
            decode(whole[:4], state)
        return
    assert _calls(whole[: 4 * cut], state) + _calls(whole[4 * cut :], state) == _calls(whole)
    assert state.run is None


@pytest.mark.parametrize("header", [0xC0000000, 0x40010000, 0x20011040, 0x00040182])
def test_illegal_headers_are_refused(header: int) -> None:
    with pytest.raises(FormatError, match="pushbuffer dword 0"):
        parse(_words(header, 0, 0), DecoderState())


def test_a_ragged_segment_is_refused() -> None:
    with pytest.raises(FormatError, match="whole number"):
        parse(b"\0" * 7, DecoderState())


def test_set_object_binds_and_host_methods_ignore_the_subchannel() -> None:
    state = DecoderState(channel_class=0xC86F)
    data = _words(0x20012000, 0xCBC0, 0x200120AD, 0x0204E0C0, 0x20050017, 0, 2, 1, 0, 0x1003)
    methods = decode(data, state)
    assert state.objects == {1: 0xCBC0}
    names = [method.name for method in methods]
    assert names[:3] == ["SET_OBJECT", "SEND_PCAS_A", "SEM_ADDR_LO"]
    assert methods[-1].fields["OPERATION"] == 3
    assert "ACQ_CIRC_GEQ" in methods[-1].describe()


def test_unknown_methods_are_kept() -> None:
    unbound = decode(_words(0x20012040, 0xABCD), DecoderState())
    unnamed = decode(_words(0x200120FF, 0x1234), DecoderState(objects={1: 0xC8B5}))
    for method, value in ((unbound[0], 0xABCD), (unnamed[0], 0x1234)):
        assert not method.known
        assert method.name == "unknown"
        assert method.value == value
    assert unnamed[0].describe() == "0x03fc unknown 0x00001234"


def test_collapse_groups_uploads_and_arrays() -> None:
    writer = Writer()
    writer.nonincr(1, 0x1B4, [1, 2, 3])
    writer.incr(1, 0x318, 0, 0, 7, 8, 9)
    runs = collapse(decode(writer.to_bytes(), DecoderState(objects={1: 0xC9C0})))
    assert [(run.first.name, run.values) for run in runs] == [
        ("LOAD_INLINE_DATA", (1, 2, 3)),
        ("SET_INLINE_QMD_ADDRESS_A", (0,)),
        ("SET_INLINE_QMD_ADDRESS_B", (0,)),
        ("LOAD_INLINE_QMD_DATA(0)", (7, 8, 9)),
    ]
