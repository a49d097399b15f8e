"""The command stream of a real H200: every word has a name, and the builders write the same words."""

from __future__ import annotations

import struct

import pytest

from tests.golden import h200_capture
from tests.golden.h200_capture import Segment
from warpath.command import constbank, gpfifo, grid, segments, templates
from warpath.command.doorbell import Token
from warpath.command.grid import GridType
from warpath.command.methods import collapse
from warpath.command.pushbuffer import DecoderState, decode, encode, parse
from warpath.command.qmd import Qmd, detect
from warpath.command.segments import Classes, LaunchSegment, SegmentWriter, Semaphore

HOPPER = Classes(0xC86F, 0xCBC0, 0xC8B5)
COMPUTE_TOKEN = 0xA
CODE_VA, BANK_VA, QMD_VA, SPACER_VA = 0x7FCA237A0000, 0x7FCA22280000, 0x204E0C000, 0x204E10000
REPORT_VA, SLOT_VA = 0x20460FFF0, 0x204637F3C
PARAMS = struct.pack("<QQQI", 0x7FCA20800000, 0x7FCA20C00000, 0x7FCA21000000, 0x100000)
CAPTURE = h200_capture.read()


def _segment(token: int, index: int) -> Segment:
    return next(s for s in CAPTURE if (s.token, s.index) == (token, index))


LAUNCH = _segment(COMPUTE_TOKEN, 66)
UPLOAD = _segment(COMPUTE_TOKEN, 63)


def _state() -> DecoderState:
    return DecoderState(channel_class=0xC86F, objects={1: 0xCBC0, 4: 0xC8B5})


def _runs(segment: Segment) -> list[tuple[str, tuple[int, ...]]]:
    return [(run.first.name, run.values) for run in collapse(decode(segment.data, _state()))]


def _uploads(segment: Segment) -> list[bytes]:
    runs = [values for name, values in _runs(segment) if name == "LOAD_INLINE_DATA"]
    return [struct.pack(f"<{len(values)}I", *values) for values in runs]


@pytest.mark.parametrize("segment", CAPTURE, ids=lambda s: f"{s.token:x}-{s.index}")
def test_every_word_is_named_and_survives_encoding(segment: Segment) -> None:
    entry = gpfifo.decode(segment.entry)
    assert isinstance(entry, gpfifo.Entry)
    assert entry.dwords == len(segment.words)
    assert entry.to_bytes() == segment.entry
    assert Token.decode(segment.token, 0xC661).encode(0xC661) == segment.token
    assert encode(parse(segment.data, _state())) == segment.data
    assert [m.describe() for m in decode(segment.data, _state()) if not m.known] == []


def test_first_segment_binds_classes_and_says_the_qmd_version() -> None:
    state = DecoderState(channel_class=0xC86F)
    methods = decode(_segment(COMPUTE_TOKEN, 0).data, state)
    assert state.objects == {1: 0xCBC0, 4: 0xC8B5}
    version = next(m for m in methods if m.name == "SET_QMD_VERSION")
    assert version.fields == {"CURRENT": 0x40, "OLDEST_SUPPORTED": 1}


def test_lazy_upload_carries_the_sass_of_vadd() -> None:
    runs = dict(_runs(UPLOAD))
    assert (runs["OFFSET_OUT_UPPER"] + runs["OFFSET_OUT"]) == (0x7FCA, 0x237A0000)
    assert runs["LINE_LENGTH_IN"] == (0x280,)
    assert runs["LOAD_INLINE_DATA"][0] == 0xFF017B82
    writer = SegmentWriter(HOPPER)
    segments.inline_upload(writer, CODE_VA, _uploads(UPLOAD)[0])
    segments.semaphore_release(writer, Semaphore(REPORT_VA, 0x40))
    assert writer.words() == UPLOAD.words


def test_launch_segment_in_order() -> None:
    names = [name for name, _ in _runs(LAUNCH)]
    upload = [
        "OFFSET_OUT_UPPER",
        "OFFSET_OUT",
        "LINE_LENGTH_IN",
        "LINE_COUNT",
        "LAUNCH_DMA",
        "LOAD_INLINE_DATA",
    ]
    pcas = ["SEND_PCAS_A", "SEND_SIGNALING_PCAS2_B"]
    report = [f"SET_REPORT_SEMAPHORE_{letter}" for letter in "ABCD"]
    assert names == [*upload * 3, *pcas, *upload * 2, *pcas, *report]
    assert [len(data) for data in _uploads(LAUNCH)] == [0x210, 0x1C, 0x180, 0x180, 4]
    runs = _runs(LAUNCH)
    assert [values for name, values in runs if name == "SEND_PCAS_A"] == [(SPACER_VA >> 8,), (QMD_VA >> 8,)]
    assert {values for name, values in runs if name == "SEND_SIGNALING_PCAS2_B"} == {(10,)}


def test_kernel_qmd_says_grid_block_and_registers() -> None:
    data = _uploads(LAUNCH)[3]
    assert detect(data, 0xCBC0) == "V04_00"
    qmd = Qmd.from_bytes("V04_00", data)
    work = grid.read(qmd)
    assert (work.grid, work.block, work.registers) == ((0x1000, 1, 1), (0x100, 1, 1), 0x10)
    assert (work.program_va, work.type, work.shared) == (CODE_VA, GridType.CTA, 0x400)
    assert work.banks[0] == grid.ConstantBank(0, BANK_VA, 0x300)
    assert work.releases == (grid.Release(SLOT_VA, 6),)
    assert work.dependents == (grid.Dependent(SPACER_VA, grid.DependentAction.DECREMENT_DEPENDENCE),)
    assert qmd.unnamed() == {}


def test_spacer_qmd_is_an_empty_grid() -> None:
    qmd = Qmd.from_bytes("V04_00", _uploads(LAUNCH)[2])
    assert grid.read(qmd).type == GridType.NULL
    assert templates.spacer_qmd("V04_00", QMD_VA + 0x800).to_bytes() == qmd.to_bytes()


def test_parameters_and_constant_bank() -> None:
    constants, params, *_ = _uploads(LAUNCH)
    bank = constbank.decode(constbank.load_layout("sm_90"), constants + params)
    assert bank.params == PARAMS
    assert (bank.fields["block"], bank.fields["grid"]) == ((256, 1, 1), (4096, 1, 1))
    assert (bank.fields["sm_count"], bank.fields["qmd_address"]) == (132, QMD_VA)
    assert bank.fields["stack_pointer"] == 0xFFFDC0
    assert (bank.fields["params_start"], bank.fields["params_end"]) == (BANK_VA + 0x210, BANK_VA + 0x22C)
    assert sorted(bank.unnamed) == [0x40, 0x58, 0x68, 0x188, 0x200, 0x204]


def test_the_builders_write_the_captured_launch_word_for_word() -> None:
    one = constbank.float_bits(1.0)
    constants = constbank.build(
        constbank.load_layout("sm_90"),
        unnamed={0x40: 0x038432C8, 0x58: 1, 0x68: 0x120, 0x188: 1, 0x200: 0x51666600, 0x204: 0xAA0AFDB4},
        block=(256, 1, 1),
        grid=(4096, 1, 1),
        shared_window=0x7FCB00000000,
        local_window=0x7FCA29000000,
        stack_pointer=0xFFFDC0,
        launch_counter=1,
        qmd_address=QMD_VA,
        bank0_address=BANK_VA,
        bank1_address=0x7FCA22010000,
        sm_count=132,
        reserved_shared=0x400,
        program_address=CODE_VA,
        shared_top=0x400,
        cluster=(1, 1, 1),
        cluster_inverse=(one, one, one),
        grid_in_clusters=(4096, 1, 1),
        window_bytes=1 << 24,
        shared_window_again=0x7FCB00000000,
        params_start=BANK_VA + 0x210,
        params_end=BANK_VA + 0x22C,
    )
    work = grid.GridWork(
        grid=(4096, 1, 1),
        block=(256, 1, 1),
        program_va=CODE_VA,
        registers=16,
        shared=0x400,
        local_high=0x640,
        barriers=1,
        banks=(
            grid.ConstantBank(0, BANK_VA, 0x300),
            grid.ConstantBank(1, 0x7FCA22010000, 0x900),
            grid.ConstantBank(5, BANK_VA, 0x300),
            grid.ConstantBank(7, 0x7FCA22000000, 0x10000),
        ),
        releases=(grid.Release(SLOT_VA, 6),),
        dependents=(grid.Dependent(SPACER_VA, grid.DependentAction.DECREMENT_DEPENDENCE),),
    )
    config = templates.SharedConfig(8 << 10, 228 << 10, 32 << 10)
    qmd = templates.kernel_qmd(
        "V04_00", work, sass_version=0x90, shared_config=config, code_bytes=512, latch=8, prefetch_bank=5
    )
    launch = LaunchSegment(
        bank_va=BANK_VA,
        constants=constants,
        param_base=0x210,
        params=PARAMS,
        qmd=qmd,
        qmd_va=QMD_VA,
        report=Semaphore(REPORT_VA, 0x43),
        slot=Semaphore(SLOT_VA, 5),
        spacer=templates.spacer_qmd("V04_00", QMD_VA + 0x800),
        spacer_va=SPACER_VA,
    )
    writer = SegmentWriter(HOPPER)
    segments.launch_pointer_form(writer, launch)
    assert writer.words() == LAUNCH.words


def test_copies_are_staged_megabytes_with_a_four_word_semaphore() -> None:
    for token, index in ((0x10012, 92), (0x30016, 1)):
        runs = _runs(_segment(token, index))
        assert ("LINE_LENGTH_IN", (1 << 20,)) in runs
        launches = [values[0] for name, values in runs if name == "LAUNCH_DMA"]
        assert launches == [0x182, 0x14]
