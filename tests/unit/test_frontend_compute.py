"""Launches: QMDs by pointer, inline and by dependence; programs; semaphores; faults."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.frontend_fakes import FakeGrid, Rig
from warpath.command import constbank, grid, segments, templates
from warpath.command.grid import (
    ConstantBank,
    Dependent,
    DependentAction,
    GridType,
    GridWork,
    Release,
    Structure,
)
from warpath.command.qmd import Qmd
from warpath.command.segments import COMPUTE, LaunchSegment, SegmentWriter, Semaphore
from warpath.errors import FormatError, UnsupportedError
from warpath.gpu import spec

CODE, BANK, QMD, FLAGS = 0x7F0000000000, 0x7F0000200000, 0x200100000, 0x200300000
SPACER = QMD + 0x400
TOKEN = 0x0A
PARAMS = struct.pack("<QI", 0x7F0000400000, 1000)
BOARDS = ("t4", "a100-80gb-sxm", "rtx3090", "rtx4090", "h200", "b200", "rtx5090")


def _rig(board: str, steps: int = 1) -> Rig:
    rig = Rig(spec.load(board), steps)
    for va, size in ((CODE, 0x200), (BANK, 0x1000), (QMD, 0x1000), (FLAGS, 0x1000)):
        rig.memory.alloc(va, size)
    rig.memory.write(CODE, bytes(range(256)) * 2)
    rig.channel(TOKEN)
    rig.push(TOKEN, _setup(rig).to_bytes())
    rig.gpu.run()
    return rig


def _setup(rig: Rig) -> SegmentWriter:
    writer = rig.writer()
    segments.bind(writer)
    number = Qmd(rig.spec.qmd_version).format.number
    segments.compute_state(
        writer, shared_window=0x7E << 40, local_window=0x7D << 40, spa_version=0x809, qmd_number=number
    )
    return writer


def _work(rig: Rig, **changes: Any) -> GridWork:
    base = rig.spec.param_base
    work = GridWork(
        grid=(8, 2, 1),
        block=(64, 2, 1),
        program_va=CODE + 0x80,
        registers=32,
        shared=rig.spec.sm.shared_reserved_bytes + 0x800,
        local_high=0x640,
        barriers=1,
        banks=(ConstantBank(0, BANK, base + 0x100), ConstantBank(3, BANK + 0x800, 0x40)),
        releases=(Release(FLAGS, 6),),
    )
    return replace(work, **changes)


def _qmd(rig: Rig, work: GridWork) -> Qmd:
    config = templates.SharedConfig(0, 0x10000, 0x8000)
    return templates.kernel_qmd(rig.spec.qmd_version, work, sass_version=0x89, shared_config=config)


def _segment(rig: Rig, work: GridWork, payload: int = 1, spacer: Qmd | None = None) -> bytes:
    layout = constbank.load_layout(rig.spec.cbank0)
    launch = LaunchSegment(
        bank_va=BANK,
        constants=constbank.build(layout, block=work.block, grid=work.grid),
        param_base=rig.spec.param_base,
        params=PARAMS,
        qmd=_qmd(rig, work),
        qmd_va=QMD,
        report=Semaphore(FLAGS + 0x100, payload),
        slot=Semaphore(FLAGS, 5),
        spacer=spacer,
        spacer_va=SPACER,
    )
    writer = rig.writer()
    pointer = rig.spec.launch_form == "pointer"
    (segments.launch_pointer_form if pointer else segments.launch_inline_form)(writer, launch)
    return writer.to_bytes()


def _launch(rig: Rig, work: GridWork, **options: Any) -> None:
    rig.push(TOKEN, _segment(rig, work, **options))
    rig.gpu.run()


@pytest.mark.parametrize("board", BOARDS)
def test_a_launch_reaches_the_core_through_memory_alone(board: str) -> None:
    rig = _rig(board)
    _launch(rig, _work(rig))
    arguments = rig.core.grids[0].arguments
    assert arguments["grid"] == (8, 2, 1)
    assert arguments["block"] == (64, 2, 1)
    assert arguments["entry_va"] == CODE + 0x80
    assert (arguments["registers"], arguments["local_bytes"]) == (32, 0x640)
    assert (
        arguments["shared_bytes"] + arguments["shared_reserved"] == 0x800 + rig.spec.sm.shared_reserved_bytes
    )
    assert arguments["shared_reserved"] == (rig.spec.sm.shared_reserved_bytes if rig.spec.sm.major < 9 else 0)
    assert arguments["warps_per_sm"] == rig.spec.sm.max_warps
    assert arguments["const_banks"][0] == (BANK, rig.spec.param_base + 0x100)
    assert arguments["const_banks"][3] == (BANK + 0x800, 0x40)
    assert arguments["const_banks"][1] == (0, 0)
    assert (arguments["shared_window"], arguments["local_window"]) == (0x7E << 40, 0x7D << 40)
    assert arguments["sms"] == rig.spec.sms
    assert arguments["blocks_per_sm"] == rig.seen.launches[0].occupancy.blocks_per_sm > 0
    assert (rig.memory.word(FLAGS), rig.memory.word(FLAGS + 0x100)) == (6, 1)


@pytest.mark.parametrize("board", BOARDS)
def test_the_launch_record_has_what_a_report_needs(board: str) -> None:
    rig = _rig(board)
    _launch(rig, _work(rig))
    launch = rig.seen.launches[0]
    assert launch.form == rig.spec.launch_form
    assert launch.bank.fields["grid"] == (8, 2, 1)
    assert launch.params[: len(PARAMS)] == PARAMS
    assert launch.threads == 128
    assert launch.submission.token == launch.token == TOKEN
    assert launch.submission.index == 1
    assert len(launch.submission.methods) > 70
    assert launch.counters["instructions"] == 42
    assert launch.qmd.fields()["BARRIER_COUNT"] == 1
    assert launch.fault is None


def test_code_is_the_whole_allocation_and_is_kept_until_invalidated() -> None:
    rig = _rig("rtx4090")
    for _ in range(2):
        _launch(rig, _work(rig))
    sm, base, code, text = rig.core.programs[0]
    assert (sm, base, code) == (89, CODE, bytes(range(256)) * 2)
    assert len(text) == len(code) // 16
    rig.memory.write(CODE, b"\xff")
    _launch(rig, _work(rig))
    assert len(rig.core.programs) == 1
    writer = rig.writer()
    segments.invalidate_code(writer)
    rig.push(TOKEN, writer.to_bytes())
    _launch(rig, _work(rig))
    assert [code[0] for _, _, code, _ in rig.core.programs] == [0, 0xFF]
    rig.push(TOKEN, writer.to_bytes())
    _launch(rig, _work(rig))
    assert len(rig.core.programs) == 2


def test_long_grids_are_stepped_and_channels_interleave() -> None:
    rig = _rig("rtx4090", steps=5)
    rig.channel(0x0B)
    polls: list[int] = []
    writer = rig.writer()
    segments.host_release(writer, Semaphore(FLAGS + 0x200, 1))
    rig.push(TOKEN, _segment(rig, _work(rig)))
    rig.push(0x0B, writer.to_bytes())
    rig.gpu.run(lambda: polls.append(rig.memory.word(FLAGS + 0x200)))
    assert len(polls) > 5
    assert 1 in polls[:3]
    assert rig.memory.word(FLAGS + 0x100) == 1


def test_kernel_time_shows_in_the_stamps() -> None:
    rig = _rig("rtx4090")
    before = rig.gpu.time_ns
    _launch(rig, _work(rig))
    assert rig.gpu.time_ns - before >= 1000


def test_the_spacer_waits_for_the_next_launch() -> None:
    rig = _rig("h200")
    work = _work(rig, dependents=(Dependent(SPACER, DependentAction.DECREMENT_DEPENDENCE),))
    _launch(rig, work, spacer=templates.spacer_qmd("V04_00", QMD + 0x800))
    assert len(rig.core.grids) == 1
    assert rig.gpu.waiting_qmds == [SPACER]


def test_dependent_qmds_run_in_a_chain_without_a_method() -> None:
    rig = _rig("h200")
    third = _work(rig, grid=(3, 1, 1), releases=(Release(FLAGS + 0x80, 3, Structure.FOUR_WORDS),))
    second = _work(rig, grid=(2, 1, 1), dependents=(Dependent(QMD + 0x800, DependentAction.SCHEDULE),))
    rig.memory.write(QMD + 0x800, _qmd(rig, third).to_bytes())
    rig.memory.write(QMD + 0x400, _qmd(rig, second).to_bytes())
    action = DependentAction.INVALIDATE_COPY_SCHEDULE
    _launch(rig, _work(rig, grid=(1, 1, 1), dependents=(Dependent(QMD + 0x400, action),)))
    assert [g.arguments["grid"][0] for g in rig.core.grids] == [1, 2, 3]
    assert [launch.form for launch in rig.seen.launches] == ["pointer", "dependent", "dependent"]
    assert rig.memory.word(FLAGS + 0x80) == 3


def test_a_dependence_counter_holds_a_scheduled_grid_back() -> None:
    rig = _rig("h200")
    rig.memory.write(QMD, _qmd(rig, _work(rig, dependences=2)).to_bytes())
    for action, expected in ((2, 0), (7, 0), (7, 1)):
        writer = rig.writer()
        writer.call(COMPUTE, "SEND_PCAS_A", QMD >> 8)
        writer.call(COMPUTE, "SEND_SIGNALING_PCAS2_B", action)
        rig.push(TOKEN, writer.to_bytes())
        rig.gpu.run()
        assert len(rig.core.grids) == expected


def test_reductions_on_completion() -> None:
    rig = _rig("rtx4090")
    rig.memory.write(FLAGS + 0x40, struct.pack("<I", 10))
    _launch(rig, _work(rig, releases=(Release(FLAGS + 0x40, 5, Structure.ONE_WORD, reduction=0),)))
    assert rig.memory.word(FLAGS + 0x40) == 15


def test_a_grid_fault_poisons_the_channel() -> None:
    def kernel(_grid: FakeGrid) -> dict[str, Any]:
        return {
            "kind": "illegal_address",
            "pc": 0x90,
            "block": (1, 0, 0),
            "thread": (3, 0, 0),
            "address": 0x1234,
        }

    rig = _rig("rtx4090")
    rig.core.kernel = kernel
    _launch(rig, _work(rig))
    assert rig.seen.launches[0].fault["pc"] == 0x90
    fault = rig.gpu.faults[0]
    assert (fault["kind"], fault["address"], fault["launch"], fault["token"]) == (
        "illegal_address",
        0x1234,
        0,
        TOKEN,
    )
    assert fault["program_va"] == CODE + 0x80
    assert (rig.memory.word(FLAGS), rig.memory.word(FLAGS + 0x100)) == (5, 0)
    _launch(rig, _work(rig))
    assert len(rig.core.grids) == 1


def test_code_outside_memory_is_a_fault() -> None:
    rig = _rig("rtx4090")
    _launch(rig, _work(rig, program_va=0x7F00DEAD0000))
    assert rig.gpu.faults[0]["kind"] == "illegal_address"


def test_a_block_that_fits_no_sm_is_a_fault() -> None:
    rig = _rig("rtx4090")
    _launch(rig, _work(rig, block=(1024, 1, 1), registers=255))
    assert rig.gpu.faults[0]["kind"] == "invalid_launch"
    assert rig.core.grids == []


@pytest.mark.parametrize("kind", [GridType.QUEUE, GridType.GPC_CGA])
def test_grid_types_without_a_model(kind: GridType) -> None:
    rig = _rig("h200")
    with pytest.raises(UnsupportedError, match=kind.name):
        _launch(rig, _work(rig, type=kind))


def test_an_empty_grid_runs_nothing_but_releases() -> None:
    rig = _rig("rtx4090")
    _launch(rig, _work(rig, grid=(0, 1, 1)))
    assert rig.core.grids == []
    assert rig.memory.word(FLAGS) == 6


def test_a_qmd_of_another_version_is_refused() -> None:
    rig = _rig("h200")
    with pytest.raises(FormatError, match="expected V04_00"):
        rig.memory.write(QMD, bytes(384))
        writer = rig.writer()
        writer.call(COMPUTE, "SEND_PCAS_A", QMD >> 8)
        writer.call(COMPUTE, "SEND_SIGNALING_PCAS2_B", 2)
        rig.push(TOKEN, writer.to_bytes())
        rig.gpu.run()


def test_without_an_announced_version_the_qmd_says_its_own() -> None:
    rig = Rig(spec.load("rtx4090"))
    for va, size in ((CODE, 0x200), (BANK, 0x1000), (QMD, 0x1000), (FLAGS, 0x1000)):
        rig.memory.alloc(va, size)
    rig.channel(TOKEN)
    writer = rig.writer()
    segments.bind(writer)
    rig.push(TOKEN, writer.to_bytes())
    _launch(rig, _work(rig))
    assert rig.seen.launches[0].qmd.format.version == "V03_00"
    assert grid.read(rig.seen.launches[0].qmd).grid == (8, 2, 1)


def test_blackwell_report_semaphore_with_a_wide_payload() -> None:
    rig = _rig("rtx5090")
    writer = rig.writer()
    for name, value in (
        ("SET_REPORT_SEMAPHORE_PAYLOAD_LOWER", 1),
        ("SET_REPORT_SEMAPHORE_PAYLOAD_UPPER", 2),
        ("SET_REPORT_SEMAPHORE_ADDRESS_LOWER", FLAGS & 0xFFFFFFFF),
        ("SET_REPORT_SEMAPHORE_ADDRESS_UPPER", FLAGS >> 32),
    ):
        writer.call(COMPUTE, name, value)
    flags = writer.flags(COMPUTE, "REPORT_SEMAPHORE_EXECUTE", STRUCTURE_SIZE=2, PAYLOAD_SIZE64=1)
    writer.call(COMPUTE, "REPORT_SEMAPHORE_EXECUTE", flags)
    rig.push(TOKEN, writer.to_bytes())
    rig.gpu.run()
    assert rig.memory.read(FLAGS, 12) == struct.pack("<III", 1, 2, 0)
