"""Device printf and assertions: records become the text that C would print."""

from __future__ import annotations

import struct

from warpath.driver import output, syscalls


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
    memory.write(0x1900, b"v < 100\0")
    memory.write(0x1910, b"a.cu\0")
    memory.write(0x1920, b"check\0")
    failed = struct.pack("<QQQI6I", 0x1900, 0x1910, 0x1920, 9, 1, 0, 0, 7, 0, 0)
    fifo = bytearray()
    records = (
        (syscalls.TEXT_RECORD, b"n=5\n"),
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
