from __future__ import annotations

from typing import Any

import pytest

from warpath import _core


def operands(text: str, opcode: str = "MOV") -> list[dict[str, Any]]:
    parsed = _core.parse(opcode, text)
    assert parsed["error"] is None
    return parsed["operands"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("R7.reuse", {"kind": "reg", "reg": 7}),
        ("RZ", {"kind": "reg", "reg": None}),
        ("-|R5.H0_H0|", {"kind": "reg", "reg": 5, "neg": True, "abs": True}),
        ("~URZ", {"kind": "ureg", "reg": None, "inv": True}),
        ("!UP0", {"kind": "upred", "reg": 0, "inv": True}),
        ("PT", {"kind": "pred", "reg": 7}),
        ("UPR", {"kind": "predset"}),
        ("-0x100", {"kind": "imm", "value": -256, "is_float": False}),
        ("-1.5", {"kind": "imm", "is_float": True, "neg": False}),
        ("0", {"kind": "imm", "is_float": True}),
        ("+INF", {"kind": "imm", "is_float": True}),
        ("-QNAN", {"kind": "imm", "is_float": True}),
        ("-c[0x3][0x10]", {"kind": "const", "bank": 3, "value": 16, "neg": True}),
        ("c[0x2][R4+0x1c]", {"kind": "const", "bank": 2, "reg": 4, "value": 28, "base_uniform": False}),
        ("c[0x0][UR9+0x258]", {"kind": "const", "reg": 9, "base_uniform": True, "value": 0x258}),
        ("[R2.64+-0x4]", {"kind": "mem", "reg": 2, "value": -4}),
        ("desc[UR4][R2.64+0x4]", {"kind": "mem", "reg": 2, "value": 4, "ureg": None}),
        ("[R7+UR5+0x10]", {"kind": "mem", "reg": 7, "ureg": 5, "value": 16}),
        ("[RZ+UR5]", {"kind": "mem", "reg": None, "ureg": 5}),
        ("[UR4+0x4]", {"kind": "mem", "reg": 4, "base_uniform": True}),
        ("[R3.X16+0xc]", {"kind": "mem", "reg": 3, "scale": 16}),
        ("[0x1078]", {"kind": "mem", "reg": None, "value": 0x1078}),
        ("SR_TID.X", {"kind": "special"}),
        ("SB0", {"kind": "scoreboard", "reg": 0}),
        ("B15", {"kind": "convergence", "reg": 15}),
        ("gdesc[UR4]", {"kind": "text"}),
    ],
)
def test_operand(text: str, expected: dict[str, object]) -> None:
    (operand,) = operands(text)
    assert {key: operand[key] for key in expected} == expected


def test_two_addresses_without_a_comma() -> None:
    first, second = operands("[R7+0x200][R2.64+0x200]", "LDGSTS.E")
    assert (first["reg"], second["reg"]) == (7, 2)


def test_instruction_is_described_by_its_declaration() -> None:
    parsed = _core.parse("LDG.E.64", "R2,[R4.64]")
    assert (parsed["mnemonic"], parsed["modifiers"]) == ("LDG", ["E", "64"])
    assert (parsed["family"], parsed["pipe"], parsed["latency"]) == ("memory", "lsu", "variable")
    assert _core.parse("NOSUCH", "")["family"] is None


@pytest.mark.parametrize("text", ["[R2", "[R2.66]", "c[0x0]", "|R2"])
def test_malformed_operands_are_errors_not_crashes(text: str) -> None:
    assert "not understood" in _core.parse("MOV", text)["error"]


def test_every_opcode_is_declared_once() -> None:
    names = [row["mnemonic"] for row in _core.op_table()]
    assert len(names) == len(set(names))
    assert {"LDG", "SHFL", "BAR", "ATOMS", "FFMA", "IMAD"} <= set(names)


def test_undeclared_opcodes_and_modifiers_are_listed() -> None:
    text = [("", "NOSUCH", "R1"), ("", "LDG.E.ODD", "R0,[R2.64]"), ("@P0", "EXIT", ""), ("", "", "")]
    program = _core.Program(89, 0, bytes(range(64)), text)
    assert [(entry["pc"], entry["text"]) for entry in program.undeclared()] == [
        (0, "NOSUCH R1"),
        (16, "LDG.E.ODD R0,[R2.64]"),
    ]
    assert program.undeclared()[1]["reason"] == "modifier .ODD of LDG is not declared"
    assert program.undeclared()[1]["bytes"] == bytes(range(16, 32)).hex()


def test_code_must_fit_its_text() -> None:
    with pytest.raises(ValueError, match="16 each"):
        _core.Program(89, 0, bytes(15), [("", "NOP", "")])
