from __future__ import annotations

import struct
from pathlib import Path

import pytest

from warpath.container.fatbin import MAGIC, Fatbin, from_elf, header_bytes, parse_all, wrapper_target
from warpath.errors import FormatError, UnsupportedError

CONTAINERS = Path(__file__).resolve().parent.parent / "data" / "containers"

CUBIN = (CONTAINERS / "tour.sm_89.cubin").read_bytes()


def stored(mode: str) -> bytes:
    return (CONTAINERS / f"tour.{mode}.fatbin").read_bytes()


@pytest.mark.parametrize(("mode", "method"), [("size", "zstd"), ("speed", "lz4"), ("none", "")])
def test_members_of_every_compression(mode: str, method: str) -> None:
    elf, ptx = Fatbin.parse(stored(mode)).members
    assert (elf.kind, elf.sm, elf.compressed, elf.identifier, elf.suffix) == (
        "elf",
        89,
        method,
        "tour.cu",
        "",
    )
    assert elf.payload() == CUBIN
    assert elf.uncompressed_bytes == len(CUBIN)
    assert (ptx.kind, ptx.sm, ptx.compressed, ptx.version) == ("ptx", 89, method, (9, 5))
    text = ptx.payload()
    assert b".target sm_89" in text
    assert not text.endswith(b"\0")


def test_selectors() -> None:
    fatbin = Fatbin.parse(stored("none"))
    assert [member.kind for member in fatbin.elfs()] == ["elf"]
    assert [member.kind for member in fatbin.ptxs()] == ["ptx"]


def test_found_in_a_host_object() -> None:
    (fatbin,) = from_elf((CONTAINERS / "tour.o").read_bytes())
    (elf,) = fatbin.elfs()
    assert elf.payload().startswith(b"\x7fELF")


def test_several_in_one_section_with_padding() -> None:
    found = list(parse_all(stored("size") + bytes(16) + stored("none"), "two"))
    assert [[member.compressed for member in fatbin.members] for fatbin in found] == [
        ["zstd", "zstd"],
        ["", ""],
    ]


def test_architecture_suffix_and_zero_version() -> None:
    data = bytearray(stored("none"))
    flags = struct.unpack_from("<Q", data, 16 + 40)[0]
    struct.pack_into("<Q", data, 16 + 40, flags | 0x100000)
    assert Fatbin.parse(bytes(data)).members[0].suffix == "a"
    struct.pack_into("<H", data, 16 + 2, 0x201)
    with pytest.raises(UnsupportedError, match="version 0x201"):
        Fatbin.parse(bytes(data))


def test_loader_helpers() -> None:
    data = stored("none")
    assert header_bytes(data[:16]) == len(data)
    assert wrapper_target(struct.pack("<IIQQ", 0x466243B1, 1, 0x1234, 0)) == 0x1234
    with pytest.raises(FormatError, match="expected 0x466243b1"):
        wrapper_target(bytes(24))


def test_a_zstd_frame_of_another_size_is_refused() -> None:
    data = bytearray(stored("size"))
    struct.pack_into("<Q", data, 16 + 56, 1 << 29)
    with pytest.raises(FormatError, match="frame does not hold"):
        Fatbin.parse(bytes(data)).members[0].payload()


def test_an_impossible_lz4_size_is_refused_before_memory_is_asked_for() -> None:
    data = bytearray(stored("speed"))
    struct.pack_into("<Q", data, 16 + 56, 1 << 29)
    with pytest.raises(FormatError, match="claims 536870912 bytes"):
        Fatbin.parse(bytes(data)).members[0].payload()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut off"),
        (bytes(16), "expected 0xba55ed50"),
        (struct.pack("<IHHQ", MAGIC, 1, 16, 1 << 40), "claims"),
        (struct.pack("<IHHQ", MAGIC, 1, 16, 8) + bytes(8), "member header"),
        (struct.pack("<IHHQ", MAGIC, 1, 0, 8) + bytes(8), "header claims 0 bytes"),
    ],
)
def test_damage(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Fatbin.parse(data)
