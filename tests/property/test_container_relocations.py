from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from warpath.container import relocations
from warpath.isa.control import ControlWord

WHOLE = ["R_CUDA_64", "R_CUDA_G32", "R_CUDA_32_HI", "R_CUDA_8_40", "R_CUDA_ABS16_32", "R_CUDA_ABS24_40"]
SPLIT = ["R_CUDA_ABS32_LO_32", "R_CUDA_ABS32_HI_32", "R_CUDA_ABS47_34", "R_CUDA_ABS55_16_34"]
KINDS = st.sampled_from([*WHOLE, *SPLIT])


@given(KINDS, st.integers(0, (1 << 64) - 1), st.binary(min_size=32, max_size=32), st.integers(0, 16))
def test_what_is_stored_is_read_back_and_nothing_else_changes(
    kind: str, value: int, content: bytes, offset: int
) -> None:
    patched = bytearray(content)
    relocations.apply(patched, offset, kind, value)
    kept = relocations.stored_addend(patched, offset, kind)
    assert kept == value & relocations.stored_addend(b"\xff" * 32, 0, kind)
    again = bytearray(patched)
    relocations.apply(again, offset, kind, relocations.stored_addend(content, offset, kind))
    assert bytes(again) == content


@given(st.integers(0, (1 << 128) - 1))
def test_control_words_round_trip(word: int) -> None:
    control = ControlWord.decode(word)
    assert control.encode(word) == word
    assert ControlWord.decode(control.encode(0)) == control
