from __future__ import annotations

import pytest

from warpath.isa.listing import Listing, SourceLine, render

NOP = bytes.fromhex("18790000000000000000000000c00f00")
TEXT = [
    ("", "S2R", "R0,SR_TID.X"),
    ("@P0", "EXIT", ""),
    ("", "BRA", "0x20"),
    ("", "NOP", ""),
    ("", "", ""),
]
ROWS = [(0, "a.cu", 3), (16, "a.cu", 4), (32, "", 0)]


def listing(base: int = 0) -> Listing:
    return Listing.build(NOP * 4 + bytes(16), TEXT, ROWS, base)


def test_joins_bytes_text_and_lines() -> None:
    first, second, third, _, last = listing()
    assert (first.pc, first.text, first.line) == (0, "S2R R0,SR_TID.X", SourceLine("a.cu", 3))
    assert (second.text, second.line) == ("@P0 EXIT", SourceLine("a.cu", 4))
    assert third.line is None
    assert last.text == ".word " + "00" * 16
    assert first.control.stall == 0
    assert first.control.write_barrier is None


def test_padding_is_dropped_only_at_the_end() -> None:
    assert [instruction.opcode for instruction in listing().without_padding()] == ["S2R", "EXIT"]
    loop = Listing.build(NOP * 2, [("", "BRA", "0x0"), ("", "EXIT", "")])
    assert len(loop.without_padding()) == 2


def test_base_shifts_the_pcs_and_the_line_look_up() -> None:
    shifted = Listing.build(NOP, [("", "NOP", "")], [(0, "a.cu", 1), (0x100, "a.cu", 9)], base=0x100)
    assert shifted[0].pc == 0x100
    assert shifted[0].line == SourceLine("a.cu", 9)


def test_bytes_and_text_must_agree() -> None:
    with pytest.raises(ValueError, match="5 instruction texts for 16 bytes"):
        Listing.build(NOP, TEXT)


def test_rendering() -> None:
    assert list(render(listing().without_padding(), words=True)) == [
        "// a.cu:3",
        "0000  B------:R-:W-:Y:S00  S2R R0,SR_TID.X  // stall 0, yield",
        "// a.cu:4",
        "0010  B------:R-:W-:Y:S00  @P0 EXIT         // stall 0, yield",
    ]
    assert list(render(listing()[0:1] and Listing(listing()[0:1]), control=False)) == [
        "// a.cu:3",
        "0000  S2R R0,SR_TID.X",
    ]
