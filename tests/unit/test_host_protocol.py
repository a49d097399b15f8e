"""Frames: what is written is read back, and nothing malformed gets through."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpath.host import protocol
from warpath.host.protocol import (
    MAX_PAYLOAD,
    FrameReader,
    Hello,
    Kind,
    ProtocolError,
    frame,
    pack_call,
    pack_hello,
    parse_answer,
    parse_call,
    parse_hello,
    words,
)

WORD = st.integers(0, 2**64 - 1)


@given(
    st.text("abcXYZ_019", min_size=1, max_size=protocol.MAX_NAME),
    st.lists(WORD, max_size=protocol.MAX_WORDS),
    st.integers(1, 40),
)
def test_call_survives_any_cutting_of_the_stream(name: str, arguments: list[int], step: int) -> None:
    reader = FrameReader()
    data = frame(Kind.CALL, pack_call(name, arguments)) * 2
    found: list[tuple[str, tuple[int, ...]]] = []
    for start in range(0, len(data), step):
        reader.feed(data[start : start + step])
        while (got := reader.next()) is not None:
            assert got[0] is Kind.CALL
            found.append(parse_call(got[1]))
    assert found == [(name, tuple(arguments))] * 2


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_a_protocol_error(data: bytes) -> None:
    reader = FrameReader()
    reader.feed(data)
    try:
        while (got := reader.next()) is not None:
            kind, payload = got
            parse = {Kind.HELLO: parse_hello, Kind.CALL: parse_call, Kind.ANSWER: parse_answer}[kind]
            parse(payload)
    except ProtocolError:
        pass


@given(st.sampled_from([parse_hello, parse_call, parse_answer]), st.binary(max_size=400))
def test_parsers_raise_only_protocol_errors(parse: object, payload: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        parse(payload)  # type: ignore[operator]


def test_hello_round_trip_and_version() -> None:
    hello = Hello(library=12, pid=7, tid=8, worker=True, image=2**64 - 1)
    assert parse_hello(pack_hello(hello)) == hello
    with pytest.raises(ProtocolError, match="rebuild the program"):
        parse_hello(pack_hello(hello, version=protocol.VERSION + 1))
    with pytest.raises(ProtocolError, match="library 11"):
        parse_hello(pack_hello(Hello(11, 7, 8, False, 0)))


def test_a_size_beyond_the_limit_is_refused_before_it_is_received() -> None:
    reader = FrameReader()
    reader.feed(protocol.HEADER.pack(Kind.CALL, MAX_PAYLOAD + 1))
    with pytest.raises(ProtocolError):
        reader.next()
    with pytest.raises(ValueError, match="at most"):
        frame(Kind.WRITE, bytes(MAX_PAYLOAD + 1))


def test_frames_of_the_server_are_not_taken_from_the_program() -> None:
    reader = FrameReader()
    reader.feed(frame(Kind.REPLY, words(0)))
    with pytest.raises(ProtocolError):
        reader.next()


@pytest.mark.parametrize("change", [(0, 1), (4, 1), (0, 33)])
def test_call_counts_must_add_up(change: tuple[int, int]) -> None:
    payload = bytearray(pack_call("cudaFree", [1]))
    payload[change[0]] += change[1]
    with pytest.raises(ProtocolError):
        parse_call(bytes(payload))
