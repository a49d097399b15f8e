"""Boards and generations: complete, sourced, found under every spelling."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from warpath.errors import UsageError
from warpath.gpu import spec
from warpath.units import Origin

BOARDS = spec.names()
GENERATIONS = spec.sm_names()
PROVENANCE = Path(__file__).parents[2] / "docs" / "provenance.md"


def test_the_articles_card_and_the_reference_card() -> None:
    card = spec.load("rtx4090")
    assert (card.sms, card.chip, card.sm.name, card.sm.number) == (128, "AD102", "sm_89", 89)
    assert (card.dram_gbs, card.l2_bytes, card.clock_base_mhz) == (1008, 72 << 20, 2235)
    assert (card.launch_form, card.qmd_version, card.param_base) == ("inline", "V03_00", 0x160)
    assert card.classes == spec.Classes(channel=0xC56F, compute=0xC9C0, copy=0xC7B5, usermode=0xC561)
    h200 = spec.load("h200")
    assert (h200.sms, h200.l2_bytes, h200.clock_base_mhz) == (132, 60 << 20, None)
    assert (h200.launch_form, h200.qmd_version, h200.param_base) == ("pointer", "V04_00", 0x210)
    assert h200.classes == spec.Classes(channel=0xC86F, compute=0xCBC0, copy=0xC8B5, usermode=0xC661)


@pytest.mark.parametrize(
    ("spelling", "board"),
    [
        ("RTX-4090", "rtx4090"),
        ("4090", "rtx4090"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("H200", "h200"),
        ("h100", "h100-sxm"),
        ("A100-SXM4-80GB", "a100-80gb-sxm"),
        ("Tesla T4", "t4"),
        ("rtx_5090", "rtx5090"),
    ],
)
def test_spellings(spelling: str, board: str) -> None:
    assert spec.load(spelling).name == board


def test_an_unknown_board_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="rtx4090") as caught:
        spec.load("rtx4900")
    assert caught.value.exit_code == 2
    with pytest.raises(UsageError, match="sm_89"):
        spec.load_sm("sm_88")


def test_no_two_boards_answer_to_one_name() -> None:
    spoken = [
        re.sub(r"[^a-z0-9]", "", name) for board in BOARDS for name in (board, *spec.load(board).aliases)
    ]
    assert len(spoken) == len(set(spoken))


@pytest.mark.parametrize("name", BOARDS)
def test_board_is_consistent(name: str) -> None:
    gpu = spec.load(name)
    by_clock = 2 * gpu.mem_clock_mhz * gpu.bus_width_bits / 8 / 1000
    assert gpu.dram_clock_gbs == pytest.approx(by_clock, rel=1e-3)
    assert gpu.dram_gbs == pytest.approx(by_clock, rel=0.05)
    assert gpu.clock_base_mhz is None or gpu.clock_base_mhz < gpu.clock_boost_mhz
    assert all(name in gpu.data for name in ("sms", "l2_bytes", "memory_bytes", "pcie_gen"))


@pytest.mark.parametrize("name", GENERATIONS)
def test_generation_is_consistent(name: str) -> None:
    sm = spec.load_sm(name)
    assert sm.max_threads == sm.max_warps * sm.warp_size
    assert sm.carveouts_bytes == tuple(sorted(sm.carveouts_bytes))
    assert sm.carveouts_bytes[-1] == sm.shared_bytes < sm.l1_shared_bytes
    assert sm.shared_per_block_optin_bytes + sm.shared_reserved_bytes == sm.shared_bytes
    assert sm.launch_form in ("inline", "pointer")
    assert (sm.launch_action is None) == (sm.launch_form == "inline")
    assert sm.qmd_bytes == (384 if sm.number >= 90 else 256)
    assert sm.launch_confidence in ("high", "medium", "low")
    assert (sm.barrier_pool is None) == (sm.number < 90)


def test_every_value_has_a_known_documented_source() -> None:
    documented = set(re.findall(r"^\| `(\w+)` \|", PROVENANCE.read_text(), re.M))
    assert documented == set(spec.references())
    used: set[str] = set()
    for part in (*map(spec.load, BOARDS), *map(spec.load_sm, GENERATIONS)):
        for datum in part.data.values():
            used.update(datum.source.split("+"))
    assert used == set(spec.references())


def test_every_number_is_written_with_a_source() -> None:
    for path in spec.DATA.glob("*.toml"):
        if path.stem == "sources":
            continue
        for name, entry in tomllib.loads(path.read_text()).items():
            bare = isinstance(entry, (int, float))
            assert not bare, f"{path.name}: {name} has no source"


def test_sources_notes_and_origins_are_reachable() -> None:
    card = spec.load("rtx4090")
    assert card.source("sms") == "NV+DB"
    assert card.source("max_warps") == "CUH+AT"  # of the generation
    assert card.source("latency_cycles.l1") == "MDW"
    assert "printed" in spec.load("h200").note("dram_gbs")
    with pytest.raises(UsageError, match="sms"):
        card.source("smss")
    figures = card.figures()
    assert figures["dram_gbs"].unit == "GB/s" and figures["dram_gbs"].origin is Origin.QUOTED
    assert figures["dram_clock_gbs"].origin is Origin.COMPUTED
    assert figures["latency_cycles.l2"].unit == "cycles"
    assert spec.load("h200").figures()["l2_bytes"].origin is Origin.MEASURED
    assert spec.load_sm("sm_100").figures()["qmd_version"].origin is Origin.MODELLED
    assert card.measured["latency_cycles.l1"] == 40
    assert spec.load_sm("90").timing["lsu.local_credits"] == 8
