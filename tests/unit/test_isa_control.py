from __future__ import annotations

import pytest

from warpath.isa.control import ControlWord


def test_decodes_a_known_instruction() -> None:
    # STS [R0.X4], R5 of sm_89: waits for SB0, holds SB0 until its sources are read, stalls 4.
    word = 0b000001 << 116 | 0 << 113 | 7 << 110 | 1 << 109 | 4 << 105
    control = ControlWord.decode(word)
    assert control == ControlWord(4, False, None, 0, 1, 0)
    assert control.compact() == "B0-----:R0:W-:-:S04"
    assert control.spelled() == "wait SB0; stall 4; read SB0"


def test_all_fields_in_words() -> None:
    control = ControlWord(
        stall=11, yield_=True, write_barrier=5, read_barrier=None, wait_mask=0b100010, reuse=0b101
    )
    assert control.waits == [1, 5]
    assert control.compact() == "B-1---5:R-:W5:Y:S11"
    assert control.spelled() == "wait SB1 SB5; stall 11, yield; write SB5; reuse A C"


@pytest.mark.parametrize("word", [0, (1 << 128) - 1, 0x000FC0000000000000000000_00007918])
def test_encode_restores_the_word(word: int) -> None:
    assert ControlWord.decode(word).encode(word) == word


def test_encode_touches_only_the_control_bits() -> None:
    quiet = ControlWord(0, True, 0, 0, 0, 0).encode((1 << 128) - 1)
    cleared = quiet ^ ((1 << 128) - 1)
    assert cleared == (1 << 122) - (1 << 105) | 0b111 << 122


@pytest.mark.parametrize(
    "control",
    [
        ControlWord(16, False, None, None, 0, 0),
        ControlWord(0, False, 7, None, 0, 0),
        ControlWord(0, False, None, 8, 0, 0),
        ControlWord(0, False, None, None, 64, 0),
        ControlWord(0, False, None, None, 0, 8),
    ],
)
def test_values_that_do_not_fit_are_refused(control: ControlWord) -> None:
    with pytest.raises(ValueError, match=r"does not fit|means none"):
        control.encode(0)
