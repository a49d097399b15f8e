"""Every entry of docs/deviations.md that a test can see: it must still be so, or the entry is out of date."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from tests.timing.bench import EXIT, Bench, Line
from tests.unit.core_kit import make_program, run
from warpath import _core
from warpath.gpu import spec, timing

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "deviations.md"


def undeclared(text: str, sm: int = 90) -> bool:
    return bool(make_program([text, "EXIT"], sm).undeclared())


def test_entries_are_numbered_without_gaps() -> None:
    numbers = [int(number) for number in re.findall(r"^\| D(\d+) \|", DOCUMENT.read_text(), re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(
    "text",
    [
        "UTMALDG.2D [UR8],[UR4]",
        "HGMMA.64x64x16.F32.BF16 R24,gdesc[UR4],RZ,!UPT",
        "SYNCS.EXCH.64 URZ,[UR4],UR6",
        "UTCBAR [UR4],URZ",
    ],
)
def test_d1_asynchronous_units_are_not_declared(text: str) -> None:
    assert undeclared(text)


@pytest.mark.parametrize("text", ["HMMA.884.F32.F32.STEP0 R4,R8,R10,R4", "MOVM.U4TO8.M832 R4,R5"])
def test_d2_forms_without_confirmed_semantics_are_not_declared(text: str) -> None:
    assert undeclared(text)


@pytest.mark.parametrize("sm", [80, 86, 90])
@pytest.mark.parametrize(("product", "survives"), [(-5, True), (-6, False)])
def test_d3_tensor_sums_keep_25_fraction_bits_on_every_generation(
    sm: int, product: int, survives: bool
) -> None:
    # 2^20 plus sixteen products of 2^-5: exactly the last bit that an H200 keeps; 2^-6 is cut off each time.
    ones, small = 0x3C003C00, (15 + product) << 10 | (15 + product) << 26
    addend = 0x49800000  # 2^20
    columns = [[ones] * 32] * 4 + [[small] * 32] * 2 + [[addend] * 32] * 4
    made = run("HMMA.16816.F32 R20,R10,R14,R16", ["R20"], inputs=columns, sm=sm)
    total = 2**20 + (16 * 2.0**product if survives else 0)
    assert made.registers["R20"] == [int.from_bytes(struct.pack("<f", total), "little")] * 32


def test_d8_popc_inc_whose_value_is_used_is_not_declared() -> None:
    assert not undeclared("ATOMS.POPC.INC.32 RZ,[RZ]")
    assert undeclared("ATOMS.POPC.INC.32 R20,[RZ]")


def test_d10_boards_say_how_sure_their_launch_encoding_is() -> None:
    confidence = {name: spec.load_sm(name).launch_confidence for name in spec.sm_names()}
    assert confidence["sm_90"] == "high"
    assert {confidence["sm_80"], confidence["sm_100"], confidence["sm_103"]} == {"low"}
    assert confidence["sm_75"] == "medium"


def test_d23_boards_say_whose_constants_they_use() -> None:
    assert timing.resolve(spec.load("h200")).inherited == []
    assert timing.resolve(spec.load("t4")).inherited != []


def test_d24_the_arrival_of_an_asynchronous_copy_is_not_declared() -> None:
    assert undeclared("ARRIVES.LDGSTSBAR.64 [R2]", 80)


def test_d26_a_wait_for_a_pipe_comes_before_one_for_the_scheduler() -> None:
    lines = [*(Line("DADD R2, R2, R2", stall=2) for _ in range(8)), EXIT]
    timeline = Bench().run(lines, threads=1024, timeline=True).timeline
    values = memoryview(timeline["stretches"]).cast("Q").tolist()
    seen: dict[tuple[int, int], list[str]] = {}
    for _, warp, _, index, state, _, _ in zip(*[iter(values)] * 7, strict=True):
        seen.setdefault((warp, index), []).append(_core.STALLS[state])
    both = [states for states in seen.values() if {"math_pipe_throttle", "not_selected"} <= set(states)]
    assert both
    assert all(states.index("math_pipe_throttle") < states.index("not_selected") for states in both)
