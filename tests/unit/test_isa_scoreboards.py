from __future__ import annotations

from warpath.isa.control import ControlWord
from warpath.isa.listing import Instruction
from warpath.isa.scoreboards import producers


def _code(*fields: tuple[int | None, int | None, int]) -> list[Instruction]:
    return [
        Instruction(16 * at, bytes(16), "", "NOP", "", ControlWord(1, False, write, read, wait, 0), None)
        for at, (write, read, wait) in enumerate(fields)
    ]


def test_both_loads_that_raise_one_scoreboard_are_named() -> None:
    code = _code((2, None, 0), (2, None, 0), (None, None, 0), (None, None, 0b100))
    assert producers(code, 3) == {2: [0, 1]}


def test_a_setter_before_an_earlier_wait_is_not_named_again() -> None:
    code = _code((0, None, 0), (None, None, 1), (0, None, 0), (None, None, 1))
    assert producers(code, 3) == {0: [2]}


def test_read_barriers_count_and_a_reset_by_the_waiter_itself_is_its_own() -> None:
    code = _code((None, 1, 0), (1, None, 0b10), (None, None, 0b10))
    assert producers(code, 1) == {1: [0]}
    assert producers(code, 2) == {1: [1]}


def test_an_instruction_that_waits_for_nothing_has_no_producers() -> None:
    assert producers(_code((0, None, 0), (None, None, 0)), 1) == {}
