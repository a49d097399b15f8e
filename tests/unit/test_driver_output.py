"""Device printf and assertions: records become the text that C would print."""

from __future__ import annotations

import struct

import pytest

from warpath.driver import output, syscalls
from warpath.driver.output import format_printf


def block(*values: int | float | str) -> bytes:
    """An argument block: each value aligned to its size."""
    data = bytearray()
    for value in values:
        code = "d" if isinstance(value, float) else "i" if isinstance(value, int) else value[0]
        number = value if not isinstance(value, str) else int(value[1:])
        data += bytes(-len(data) % struct.calcsize(code)) + struct.pack("<" + code, number)
    return bytes(data)


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        (b"plain %%\n", block(), b"plain %\n"),
        (b"%d %u %x", block(-1, "I4294967295", "I255"), b"-1 4294967295 ff"),
        (b"%5d|%-5d|%05d", block(42, 42, 42), b"   42|42   |00042"),
        (b"%d %f", block(7, 1.5), b"7 1.500000"),
        (b"%.2e %g", block(12345.678, 0.5), b"1.23e+04 0.5"),
        (b"%lld %llu", block("q-9000000000", "Q18446744073709551615"), b"-9000000000 18446744073709551615"),
        (b"%hhd %hd", block(511, 65535), b"-1 -1"),
        (b"%*d|%.*f", block(6, 1, 1, 2.25), b"     1|2.2"),
        (b"%c%c", block(72, 105), b"Hi"),
        (b"%p", block("Q4096"), b"0x1000"),
        (b"%#x %#o %#x", block(255, 8, 0), b"0xff 010 0"),
        (b"[%s] [%5s]", block("Q1", "Q2"), b"[one] [  two]"),
    ],
)
def test_formats(template: bytes, arguments: bytes, expected: bytes) -> None:
    strings = {1: b"one", 2: b"two"}
    assert format_printf(template, arguments, strings.__getitem__) == expected


class Bytes:
    """A memory of one region."""

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.data = bytearray(size)

    def reserve(self, base: int, size: int, fd: int = -1) -> None:
        raise NotImplementedError

    def alloc(self, va: int, size: int, kind: int) -> None:
        raise NotImplementedError

    def free(self, va: int) -> None:
        raise NotImplementedError

    def set_heap(self, va: int, size: int) -> None:
        raise NotImplementedError

    def read(self, va: int, size: int) -> bytes:
        return bytes(self.data[va - self.base : va - self.base + size])

    def write(self, va: int, data: bytes) -> None:
        self.data[va - self.base : va - self.base + len(data)] = data


def test_drain_reads_all_records_and_clears() -> None:
    memory = Bytes(0x1000, 0x1000)
    memory.write(0x1800, b"n=%d\n\0")
    memory.write(0x1900, b"v < 100\0")
    memory.write(0x1910, b"a.cu\0")
    memory.write(0x1920, b"check\0")
    printf = struct.pack("<QI", 0x1800, 5)
    failed = struct.pack("<QQQI6I", 0x1900, 0x1910, 0x1920, 9, 1, 0, 0, 7, 0, 0)
    fifo = bytearray()
    records = (
        (syscalls.PRINTF_RECORD, printf),
        (syscalls.ASSERT_RECORD, failed),
        (syscalls.TEXT_RECORD, b"done\n"),
    )
    for kind, record in records:
        fifo += struct.pack("<II", len(record) + 8, kind) + record
        fifo += bytes(-len(fifo) % 8)
    memory.write(0x1000, struct.pack("<QQ", 16 + len(fifo), 3) + fifo)
    found = output.drain(memory, 0x1000)
    assert found.printed == b"n=5\ndone\n"
    expected = "a.cu:9: check: block: [1,0,0], thread: [7,0,0] Assertion `v < 100` failed.\n"
    assert [failure.text() for failure in found.failures] == [expected]
    assert found.dropped == 3
    assert output.drain(memory, 0x1000) == output.Output(b"", (), 0)


def test_slots_describe_themselves() -> None:
    page = syscalls.page((0x5000, 100), (0x6000, 200))
    for va, name in syscalls.addresses().items():
        offset = va - syscalls.BASE
        mark, text, buffer, size = struct.unpack_from("<16s48sQQ", page, offset)
        assert mark == syscalls.MARK
        assert text.rstrip(b"\0").decode() == name
        assert (buffer, size) in ((0x5000, 100), (0x6000, 200), (0, 0))
        assert syscalls.slot_address(name) == va
    assert syscalls.slot_address("cudaLaunchDeviceV2") is None
