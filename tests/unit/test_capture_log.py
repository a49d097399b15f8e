"""The log reader: what it takes, what it refuses, and that damage never gets further than a named error."""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpath.capture import log
from warpath.capture.trace import Trace
from warpath.errors import FormatError, UsageError, WarpathError
from warpath.report import trace_build

TRACES = Path(__file__).parents[1] / "data" / "traces"
START = log.header(7, 1000)
SOFTMAX = lzma.decompress((TRACES / "softmax.trace.xz").read_bytes())


def _record(kind: int, body: bytes, *, time_ns: int = 1500) -> bytes:
    return struct.pack("<HHIQII", kind, 0, len(body), time_ns, 42, 43) + body


def test_an_empty_log_has_no_records() -> None:
    found = log.parse(START)
    assert (found.wall_ns, found.start_ns, list(found.records), found.truncated) == (7, 1000, [], None)


def test_records_are_read_in_order() -> None:
    close, call = _record(3, struct.pack("<i", 5)), _record(15, struct.pack("<IIQQ", 2, 1, 3, 9))
    first, second = log.parse(START + close + call).records
    assert first == log.Close(log.Head(0, len(START), 1500, 42, 43), 5)
    assert isinstance(second, log.Call)
    assert (second.index, second.ends, second.result, second.instructions) == (2, True, 3, 9)
    assert second.head.offset == len(START) + len(close)


def test_blocks_of_an_ioctl() -> None:
    blocks = struct.pack("<QII", 0x1000, 4, 0) + b"abcd" + struct.pack("<QII", 0x2000, 0, 1)
    (found,) = log.parse(START + _record(5, struct.pack("<QQQiI", 1, 2, 3, 4, 1) + blocks)).records
    assert isinstance(found, log.IoctlStart)
    assert found.blocks == (log.Block(0x1000, 0, b"abcd"), log.Block(0x2000, 1, b""))


def test_a_record_that_is_cut_short_ends_the_log() -> None:
    whole = _record(3, struct.pack("<i", 5))
    for cut in (1, 10, len(whole) - 1):
        found = log.parse(START + whole + whole[:cut])
        assert len(found.records) == 1
        assert found.truncated == len(START) + len(whole)


def test_kinds_from_a_later_version_are_counted() -> None:
    assert log.parse(START + _record(99, b"whatever")).unknown == {99: 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not start with its mark"),
        (b"\x7fELF" + bytes(100), "does not start with its mark"),
        (log.MAGIC + struct.pack("<IIQQ", 9, 40, 0, 0), "version 9"),
        (log.MAGIC + struct.pack("<IIQQ", 1, 9999, 0, 0), "header of 9999"),
        (START + _record(3, b"\0"), r"record 0 at offset 0x28 \(close\)"),
        (START + _record(5, struct.pack("<QQQiIQII", 1, 2, 3, 4, 1, 0, 50, 0)), "block of 50 bytes where 0"),
        (START + _record(11, struct.pack("<QIIQQ", 1, 2, 0, 3, 1) + b"ab"), "2 bytes of memory where 1"),
        (START + _record(19, b"[1]"), "no JSON object"),
        (START + _record(19, b"{"), r"record 0 .*facts"),
    ],
)
def test_what_is_no_log_is_refused_by_name(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        log.parse(data)


def test_a_damaged_packed_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.trace.xz"
    path.write_bytes(lzma.compress(START)[:-9] + bytes(9))
    with pytest.raises(FormatError, match="damaged"):
        log.read(path)
    with pytest.raises(UsageError, match="cannot read"):
        log.read(tmp_path / "none")


def test_facts_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(FormatError, match="for driver"):
        Trace(log.parse(START + log.facts({"driver": 5}, 0)))
    with pytest.raises(FormatError, match="list of kernels"):
        _ = Trace(log.parse(START + log.facts({"kernels": [{"va": 1}]}, 0))).named


@given(st.binary(max_size=300))
def test_noise_never_escapes_as_anything_else(noise: bytes) -> None:
    try:
        log.parse(START + noise)
    except FormatError as error:
        assert "record" in str(error)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(40, len(SOFTMAX) - 1), st.integers(0, 255)), min_size=1, max_size=20))
def test_a_damaged_recording_is_an_error_or_a_report(changes: list[tuple[int, int]]) -> None:
    data = bytearray(SOFTMAX)
    for at, value in changes:
        data[at] = value
    try:
        trace_build.build(Trace(log.parse(bytes(data))))
    except WarpathError as error:
        assert str(error)
