"""Segment builders: word for word what the H200's driver wrote, and the other generations' forms."""

from __future__ import annotations

import pytest

from warpath.command import segments, templates
from warpath.command.grid import GridWork
from warpath.command.pushbuffer import DecoderState, decode
from warpath.command.qmd import Qmd
from warpath.command.segments import Classes, LaunchSegment, SegmentWriter, Semaphore

HOPPER = Classes(0xC86F, 0xCBC0, 0xC8B5)
CHIPS = {
    "TU102": (Classes(0xC46F, 0xC5C0, 0xC5B5), "V02_03"),
    "GA100": (Classes(0xC56F, 0xC6C0, 0xC6B5), "V03_00"),
    "AD102": (Classes(0xC56F, 0xC9C0, 0xC7B5), "V03_00"),
    "GH100": (HOPPER, "V04_00"),
    "GB202": (Classes(0xCA6F, 0xCEC0, 0xCAB5), "V05_00"),
}


def _launch(version: str, *, spacer: bool) -> LaunchSegment:
    work = GridWork((1, 1, 1), (32, 1, 1), program_va=0x7F0000000000, registers=16)
    config = templates.SharedConfig(0, 0x10000, 0x2000)
    return LaunchSegment(
        bank_va=0x7F0000100000,
        constants=bytes(0x380),
        param_base=0x380,
        params=bytes(28),
        qmd=templates.kernel_qmd(version, work, sass_version=0x89, shared_config=config),
        qmd_va=0x200100000,
        report=Semaphore(0x200200000, 7),
        slot=Semaphore(0x200200100, 1),
        spacer=templates.spacer_qmd(version, 0x200101000) if spacer else None,
        spacer_va=0x200100800,
    )


def test_fill_copy_and_acquire_are_the_captured_words() -> None:
    writer = SegmentWriter(HOPPER)
    segments.fill(writer, 0x7FCA22C00800, 0, 0x2400, semaphore=Semaphore(0x20460FF70, 0x4B))
    segments.copy(writer, 0x7FCA22700000, 0x7FCA20800000, 1 << 20, Semaphore(0x20460FF70, 0x5D))
    segments.host_acquire(writer, Semaphore(0x20460FF70, 0x52))
    assert writer.words() == [
        *(0x200181C0, 0, 0x200181C2, 0x30004, 0x20018107, 1, 0x20028102, 0x7FCA, 0x22C00800),
        *(0x20018106, 0x2400, 0x200180C0, 0x586, 0x20038090, 2, 0x0460FF70, 0x4B, 0x200180C0, 0x14),
        *(0x20048100, 0x7FCA, 0x22700000, 0x7FCA, 0x20800000, 0x20018106, 0x100000, 0x200180C0, 0x182),
        *(0x20038090, 2, 0x0460FF70, 0x5D, 0x200180C0, 0x14),
        *(0x20050017, 0x0460FF70, 2, 0x52, 0, 0x1003),
    ]


def test_inline_upload_pads_and_splits_long_data() -> None:
    writer = SegmentWriter(HOPPER)
    segments.inline_upload(writer, 0x7FCA22C09800, b"abcde")
    assert writer.words() == [
        *(0x20022062, 0x7FCA, 0x22C09800, 0x20022060, 5, 1, 0x2001206C, 0x41, 0x6002206D, 0x64636261, 0x65),
    ]
    writer = SegmentWriter(HOPPER)
    segments.inline_upload(writer, 0x7FCA23754700, bytes(0xD600))
    assert [packet.count for packet in writer.packets] == [2, 2, 1, 0x1FFF, 5505]
    segments.semaphore_release(writer, Semaphore(0x20460FFF0, 0x27))
    assert len(writer.words()) == 13711


def test_inline_form_of_blackwell_has_the_captured_length() -> None:
    writer = SegmentWriter(CHIPS["GB202"][0])
    segments.launch_inline_form(writer, _launch("V05_00", spacer=True))
    assert len(writer.words()) == 462
    assert 0x206220C6 in writer.words()


def test_inline_form_of_ada() -> None:
    writer = SegmentWriter(CHIPS["AD102"][0])
    segments.launch_inline_form(writer, _launch("V03_00", spacer=False))
    assert 0x204220C6 in writer.words()


def test_pointer_form_of_turing_uses_the_older_pcas() -> None:
    writer = SegmentWriter(CHIPS["TU102"][0])
    segments.launch_pointer_form(writer, _launch("V02_03", spacer=False))
    names = [m.name for m in decode(writer.to_bytes(), DecoderState(0xC46F, {1: 0xC5C0}))]
    assert names[-6:-4] == ["SEND_PCAS_A", "SEND_SIGNALING_PCAS_B"]


@pytest.mark.parametrize("chip", CHIPS)
def test_every_builder_names_every_method_on_every_chip(chip: str) -> None:
    classes, version = CHIPS[chip]
    writer = SegmentWriter(classes)
    flag = Semaphore(0x200200000, 1)
    segments.bind(writer)
    segments.compute_state(
        writer, shared_window=1 << 46, local_window=1 << 45, spa_version=0x809, qmd_number=0x30
    )
    segments.inline_upload(writer, 0x7F0000000000, b"1234")
    segments.invalidate_code(writer)
    segments.invalidate_constants(writer)
    segments.host_acquire(writer, flag)
    segments.host_release(writer, flag)
    segments.copy_2d(writer, 0, 0x1000, 16, 4, 32, 64, flag)
    segments.fill(writer, 0x1000, 0xAB, 16, width=1, height=3, pitch=64, semaphore=flag)
    launch = segments.launch_inline_form if chip != "TU102" else segments.launch_pointer_form
    launch(writer, _launch(version, spacer=False))
    methods = decode(writer.to_bytes(), DecoderState(classes.channel))
    assert [m.describe() for m in methods if not m.known and m.address] == []


def test_a_qmd_out_of_reach_is_refused() -> None:
    writer = SegmentWriter(HOPPER)
    launch = _launch("V04_00", spacer=False)
    bad = LaunchSegment(0, b"", 0, b"", launch.qmd, 1 << 40, launch.report)
    with pytest.raises(ValueError, match="2\\*\\*40"):
        segments.launch_pointer_form(writer, bad)


def test_kernel_qmd_leaves_out_what_a_version_lacks() -> None:
    qmd = _launch("V03_00", spacer=False).qmd
    assert isinstance(qmd, Qmd)
    assert "ENABLE_PROGRAM_PRE_EXIT" not in qmd.fields()
    assert qmd.fields()["CWD_MEMBAR_TYPE"] == 1
