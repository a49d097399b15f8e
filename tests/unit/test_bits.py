from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpath.bits import Bits, get_bits, set_bits


@given(st.integers(0, 200), st.integers(0, 70), st.data())
def test_a_field_of_a_structure_reads_back_and_leaves_the_rest(
    lo: int, width: int, data: st.DataObject
) -> None:
    hi = lo + width
    buffer = bytearray(data.draw(st.binary(min_size=hi // 8 + 1, max_size=40)))
    before = int.from_bytes(buffer, "little")
    value = data.draw(st.integers(0, (1 << (width + 1)) - 1))
    set_bits(buffer, hi, lo, value)
    assert get_bits(buffer, hi, lo) == value
    assert int.from_bytes(buffer, "little") == Bits(hi, lo).set(before, value)


@pytest.mark.parametrize("value", [-1, 16])
def test_a_value_that_does_not_fit_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        set_bits(bytearray(4), 7, 4, value)
    with pytest.raises(ValueError, match="does not fit"):
        Bits(7, 4).set(0, value)


@pytest.mark.parametrize(("hi", "lo"), [(32, 30), (3, 4), (500, 400)])
def test_bits_outside_the_structure_are_refused(hi: int, lo: int) -> None:
    with pytest.raises(ValueError):
        get_bits(bytes(4), hi, lo)
    with pytest.raises(ValueError):
        set_bits(bytearray(4), hi, lo, 0)


def test_a_range_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="range"):
        Bits(3, 4)
