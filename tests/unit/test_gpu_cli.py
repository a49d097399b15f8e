"""`warpath gpus` and `warpath occupancy`: what they print, in a pipe, and their JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import ModuleType

import pytest

from warpath.cli import gpus as gpus_command
from warpath.cli import occupancy as occupancy_command
from warpath.gpu import spec


def run(command: ModuleType, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(arguments))


def test_the_table_lists_every_board(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(gpus_command) == 0
    out = capsys.readouterr().out
    assert all(f" {name} " in out for name in spec.names())
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 100


def test_one_board_shows_each_value_with_source(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "gpu.json"
    assert run(gpus_command, "4090", "--json", str(target)) == 0
    out = capsys.readouterr().out
    gpu = spec.load("rtx4090")
    assert all(name in out for name in (*gpu.data, *gpu.sm.data))
    assert "0xc9c0" in out and "cuda_occupancy.h" in out
    (written,) = json.loads(target.read_text())
    assert written["board"]["dram_gbs"] == {
        "value": 1008,
        "unit": "GB/s",
        "origin": "quoted",
        "source": "NV",
        "note": "",
    }


def test_occupancy_of_the_vector_add(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "occupancy.json"
    arguments = ("--threads", "256", "--registers", "16", "--grid", "4096", "--json", str(target))
    assert run(occupancy_command, *arguments) == 0
    out = capsys.readouterr().out
    assert "6 blocks and 48 of 48 warps per SM (100.0%), 12 warps per scheduler (computed)" in out
    assert "5.33 waves" in out and "Limited by warp slots." in out
    written = json.loads(target.read_text())
    assert written["occupancy"]["limiter"] == ["warps"]
    assert written["waves"] == pytest.approx(5.333, abs=1e-3)


def test_a_refused_launch_exits_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(occupancy_command, "--threads", "1024", "--registers", "72") == 1
    out = capsys.readouterr().out
    assert "would be refused" in out and "72 -> 64 registers" in out
