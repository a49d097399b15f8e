"""Parts of the checks on their own: suppressions, slices, history."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpath.check import slices, suppress
from warpath.check.callstack import Frames, capture
from warpath.check.history import History
from warpath.driver.address_space import Allocation, Kind
from warpath.errors import UsageError
from warpath.report.model import Fault


def fault(kind: str, file: str = "/a/b/k.cu", line: int = 12, kernel: str = "void k<int>(int *)") -> Fault:
    return Fault(kind=kind, tool="racecheck", file=file, line=line, kernel=kernel)


@pytest.mark.parametrize(
    ("rule", "covered"),
    [
        ("race_*", True),
        ("racecheck", True),
        ("*", True),
        ("out_of_bounds", False),
        ("race_* k.cu:12", True),
        ("race_* k.cu", True),
        ("race_* k.cu:13", False),
        ("race_* k<int>", True),
        ("race_* other", False),
    ],
)
def test_a_rule_covers_kind_and_place(rule: str, covered: bool, tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(f"# comment\n\n{rule}  # why\n")
    kept, suppressed = suppress.split([fault("race_read_after_write")], suppress.read(path))
    assert (len(kept), suppressed) == ((0, 1) if covered else (1, 0))


def test_a_missing_file_of_rules_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        suppress.read(tmp_path / "none")


CODE = [
    "S2R R0,SR_TID.X",
    "MOV R9,0x1",
    "@P0 IADD3 R0,R0,0x1,RZ",
    "MOV R3,0x4",
    "IMAD.WIDE R2,R0,R3,c[0x0][0x160]",
    "STG.E [R2.64],R9",
    "EXIT",
    "STG.E [R2.64],R9",
]


def test_a_slice_holds_what_made_the_address_and_nothing_else() -> None:
    lines = slices.explain(CODE.__getitem__, 5)
    assert lines[0] == "The address was made by:"
    assert [line.strip() for line in lines[1:]] == [CODE[0], CODE[2], CODE[3], CODE[4]]


def test_a_slice_does_not_cross_control_flow() -> None:
    assert slices.explain(CODE.__getitem__, 7) == []


def history(*, quarantine: bool) -> tuple[History, list[int]]:
    calls = [0]
    return History(lambda: calls[0], lambda: None, quarantine=quarantine), calls


def allocation(va: int, size: int) -> Allocation:
    return Allocation(va, size, size, Kind.DEVICE, 1)


def test_the_nearest_allocation_and_the_distance() -> None:
    log, _ = history(quarantine=False)
    log.on_allocate(allocation(1000, 100))
    log.on_allocate(allocation(2000, 100))
    for va, base, distance in (
        (1099, 1000, 0),
        (1100, 1000, 1),
        (1900, 2000, -100),
        (10**6, 2000, 10**6 - 2099),
    ):
        near = log.nearest(va)
        assert near is not None
        assert (near.va, near.distance(va)) == (base, distance)


@pytest.mark.parametrize("quarantine", [True, False])
def test_what_was_freed_is_remembered(quarantine: bool) -> None:
    log, calls = history(quarantine=quarantine)
    log.on_allocate(allocation(1000, 100))
    calls[0] = 7
    assert log.on_release(allocation(1000, 100)) is quarantine
    record = log.freed_at(1050)
    assert record is not None
    assert (record.made, record.freed, log.live(), log.nearest(1050)) == (0, 7, [], None)
    assert log.freed_at(1100) is None


def test_no_frames_of_a_process_that_is_not_there() -> None:
    assert capture(2**22 + 1, 2**22 + 1) is None
    assert Frames("/none", (4096,)).describe() == ""
