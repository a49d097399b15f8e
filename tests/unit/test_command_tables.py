"""Class tables, ring entries, doorbells, QMD versions, constant banks."""

from __future__ import annotations

import pytest

from warpath.command import constbank, gpfifo, grid
from warpath.command.classes import find_class, known_classes, load_class
from warpath.command.doorbell import Token
from warpath.command.grid import ConstantBank, Dependent, GridType, GridWork, Release, Structure
from warpath.command.qmd import Qmd, detect, load_format, version_of_number, versions
from warpath.errors import FormatError, UnsupportedError

SAME_ADDRESS = (  # methods that the segment builders call, at one address in all compute classes
    "OFFSET_OUT_UPPER",
    "LINE_LENGTH_IN",
    "LAUNCH_DMA",
    "LOAD_INLINE_DATA",
    "SEND_PCAS_A",
    "SET_INLINE_QMD_ADDRESS_A",
    "SET_REPORT_SEMAPHORE_A",
    "INVALIDATE_SHADER_CACHES_NO_WFI",
)


def test_every_class_of_a_chip_since_turing_has_a_table() -> None:
    kinds = {class_id: load_class(int(class_id, 16)).kind for class_id in known_classes()}
    assert {c for c, kind in kinds.items() if kind == "compute"} == {
        "c5c0", "c6c0", "c7c0", "c9c0", "cbc0", "cdc0", "cec0",
    }  # fmt: skip
    assert {c for c, kind in kinds.items() if kind == "copy"} == {
        "c5b5",
        "c6b5",
        "c7b5",
        "c8b5",
        "c9b5",
        "cab5",
    }
    assert {c for c, kind in kinds.items() if kind == "host"} == {
        "c46f",
        "c56f",
        "c76f",
        "c86f",
        "c96f",
        "ca6f",
    }


def test_addresses_do_not_move_between_compute_classes() -> None:
    reference = load_class(0xCBC0)
    for class_id in (0xC5C0, 0xC6C0, 0xC7C0, 0xC9C0, 0xCDC0, 0xCEC0):
        table = load_class(class_id)
        assert [table.address(name) for name in SAME_ADDRESS] == [
            reference.address(name) for name in SAME_ADDRESS
        ]


def test_unknown_classes_and_methods_are_named_in_the_error() -> None:
    assert find_class(0xDEAD) is None
    with pytest.raises(UnsupportedError, match="0xdead"):
        load_class(0xDEAD)
    with pytest.raises(UnsupportedError, match=r"TURING_COMPUTE_A.*SEND_SIGNALING_PCAS2_B"):
        load_class(0xC5C0).address("SEND_SIGNALING_PCAS2_B")


def test_ring_entry_of_the_h200_launch() -> None:
    entry = gpfifo.decode((0x00061A020082FFAC).to_bytes(8, "little"))
    assert entry == gpfifo.Entry(va=0x20082FFAC, dwords=390)
    assert entry.to_bytes() == (0x00061A020082FFAC).to_bytes(8, "little")


def test_control_entries() -> None:
    entry = gpfifo.decode((4 << 32 | 0x1000).to_bytes(8, "little"))
    assert isinstance(entry, gpfifo.ControlEntry)
    assert (entry.name, entry.operand) == ("SET_PB_SEGMENT_EXTENDED_BASE", 0x1000)
    assert gpfifo.ControlEntry(77).name == "unknown"


def test_bad_ring_entries() -> None:
    with pytest.raises(FormatError, match="8 bytes"):
        gpfifo.decode(b"123")
    with pytest.raises(FormatError, match="reserved"):
        gpfifo.decode((1 << 42 | 2).to_bytes(8, "little"))
    with pytest.raises(ValueError, match="no ring entry"):
        gpfifo.Entry(va=1 << 40, dwords=1).to_bytes()


def test_tokens_of_the_h200_and_of_gb202() -> None:
    assert Token.decode(0x000A001A, 0xC661) == Token(channel=0x1A, runlist=0xA)
    assert Token(channel=3, runlist=1).encode(0xC761) == 0x40010003
    with pytest.raises(FormatError):
        Token.decode(0x40010003, 0xC661)


@pytest.mark.parametrize("version", versions())
def test_qmd_says_its_version(version: str) -> None:
    qmd = Qmd(version)
    assert version_of_number(qmd.format.number) == version
    assert all(detect(qmd.to_bytes(), class_id) == version for class_id in qmd.format.classes)
    assert Qmd.from_bytes(version, qmd.to_bytes()).fields() == qmd.fields()


def test_no_two_fields_of_a_qmd_share_a_bit() -> None:
    for version in versions():
        taken = 0
        for field in load_format(version).fields.values():
            for index in range(field.count):
                mask = ((1 << (field.hi - field.lo + 1)) - 1) << (field.lo + index * field.stride)
                assert not taken & mask, f"{version} {field.name}({index})"
                taken |= mask
        assert taken < 1 << (8 * load_format(version).bytes)


def test_qmd_refusals() -> None:
    with pytest.raises(FormatError, match="256 bytes"):
        Qmd("V03_00", bytes(8))
    with pytest.raises(FormatError, match="expected V03_00"):
        Qmd.from_bytes("V03_00", bytes(256))
    with pytest.raises(UnsupportedError, match="V09_09"):
        load_format("V09_09")
    with pytest.raises(UnsupportedError):
        version_of_number(0x99)
    with pytest.raises(FormatError, match="no QMD version"):
        detect(bytes(384), 0xCBC0)
    with pytest.raises(KeyError):
        Qmd("V03_00").get("GRID_WIDTH")
    with pytest.raises(UnsupportedError, match="sub-tasks"):
        grid.read(Qmd("V05_01"))


@pytest.mark.parametrize("version", [v for v in versions() if v != "V05_01"])
def test_grid_work_round_trips_through_every_version(version: str) -> None:
    wide = version >= "V03"
    work = GridWork(
        grid=(4096, 3, 2),
        block=(256, 2, 1),
        program_va=0x7FCA237A0000,
        registers=40,
        shared=0x4400,
        local_low=0,
        local_high=0x640,
        barriers=1,
        type=GridType.CTA,
        banks=(ConstantBank(0, 0x7FCA22280000, 0x300), ConstantBank(7, 0x7FCA22000000, 0x10000)),
        releases=(
            Release(0x204637F3C, 6),
            Release(0x204637F40, 1 << 32 if wide else 1, Structure.FOUR_WORDS, wide),
        ),
        dependents=(Dependent(0x204E10000, 1),),
    )
    qmd = Qmd(version)
    grid.write(qmd, work)
    assert grid.read(qmd) == work
    assert qmd.unnamed() == {}


def test_v05_shifts_addresses_and_sizes() -> None:
    qmd = Qmd("V05_00")
    grid.write(qmd, GridWork((1, 1, 1), (32, 1, 1), program_va=0x7FCA237A0010, registers=8, shared=1))
    assert qmd.get("PROGRAM_ADDRESS_LOWER_SHIFTED4") == 0xA237A001
    assert qmd.get("SHARED_MEMORY_SIZE_SHIFTED7") == 1
    with pytest.raises(ValueError, match="aligned"):
        grid.write(qmd, GridWork((1, 1, 1), (32, 1, 1), program_va=8, registers=8))


@pytest.mark.parametrize(
    ("name", "base", "grid_offset"),
    [("sm_70..sm_89", 0x160, 0xC), ("sm_90", 0x210, 0xC), ("sm_100..sm_120", 0x380, 0x370)],
)
def test_constant_bank_layouts(name: str, base: int, grid_offset: int) -> None:
    layout = constbank.load_layout(name)
    data = constbank.build(layout, b"\x01\x02", grid=(7, 8, 9), stack_pointer=0xFFFDC0)
    assert len(data) == base + 2
    assert int.from_bytes(data[grid_offset + 4 : grid_offset + 8], "little") == 8
    bank = constbank.decode(layout, data)
    assert (bank.fields["grid"], bank.fields["stack_pointer"], bank.params) == (
        (7, 8, 9),
        0xFFFDC0,
        b"\x01\x02",
    )


def test_constant_bank_refusals() -> None:
    layout = constbank.load_layout("sm_90")
    with pytest.raises(UnsupportedError, match="sm_42"):
        constbank.load_layout("sm_42")
    with pytest.raises(FormatError, match="parameter base"):
        constbank.decode(layout, b"")
    with pytest.raises(ValueError, match="takes 3 values"):
        constbank.build(layout, grid=1)
    with pytest.raises(ValueError, match="does not fit"):
        constbank.build(layout, stack_pointer=1 << 32)
    with pytest.raises(KeyError):
        constbank.build(layout, nonsense=1)
