from __future__ import annotations

from pathlib import Path

import pytest

from warpath.container.cubin import Cubin
from warpath.errors import ToolError
from warpath.toolchain import disasm
from warpath.toolchain.disasm import NOT_CODE, disassemble
from warpath.toolchain.locate import Tools

CONTAINERS = Path(__file__).resolve().parent.parent / "data" / "containers"

CODE = Cubin((CONTAINERS / "tour.sm_89.cubin").read_bytes()).kernels["_Z5scaleIfLi3EEvPT_PKS0_6float3"].code


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.oracle
def test_words_that_are_no_instruction_are_marked_and_the_rest_is_kept(tools: Tools) -> None:
    plain = disassemble(CODE, 89, tools)
    damaged = CODE[:32] + bytes(16) + CODE[48:64] + b"\xff" * 16 + CODE[80:] + bytes(32)
    found = disassemble(damaged, 89, tools)
    assert [index for index, entry in enumerate(found) if entry == NOT_CODE] == [
        2, 4, len(plain), len(plain) + 1
    ]  # fmt: skip
    assert [entry for entry in found if entry != NOT_CODE] == [
        entry for index, entry in enumerate(plain) if index not in (2, 4)
    ]


@pytest.mark.oracle
def test_base_moves_code_addresses(tools: Tools) -> None:
    here, there = disassemble(CODE, 89, tools), disassemble(CODE, 89, tools, base=0x4000)
    branches = [(a, b) for a, b in zip(here, there, strict=True) if a.opcode == "BRA"]
    assert branches
    assert all(int(b.operands, 16) - int(a.operands, 16) == 0x4000 for a, b in branches)


@pytest.mark.usefixtures("private_cache")
def test_the_second_call_reads_the_cache(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bytes] = []

    def once(code: bytes, sm: int, tools: Tools, base: int) -> tuple[str, str]:
        calls.append(code)
        return '[{},[{"sass-instructions":[{"opcode":"NOP"},{"predicate":"@P0","opcode":"EXIT"}]}]]', ""

    monkeypatch.setattr(disasm, "_nvdisasm", once)
    for _ in range(2):
        assert disassemble(CODE[:32], 89, tools) == [("", "NOP", ""), ("@P0", "EXIT", "")]
    assert calls == [CODE[:32]]


@pytest.mark.usefixtures("private_cache")
def test_an_illegal_word_without_an_address_is_found_by_halving(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison = b"\x01" * 16

    def unhelpful(code: bytes, sm: int, tools: Tools, base: int) -> tuple[str | None, str]:
        if poison in [code[at : at + 16] for at in range(0, len(code), 16)]:
            return None, "nvdisasm error   : Illegal instruction found"
        entries = ",".join(['{"opcode":"X"}'] * (len(code) // 16))
        return f'[{{}},[{{"sass-instructions":[{entries}]}}]]', ""

    monkeypatch.setattr(disasm, "_nvdisasm", unhelpful)
    code = b"\x02" * 48 + poison + b"\x02" * 32 + poison
    found = disassemble(code, 89, tools)
    assert [index for index, entry in enumerate(found) if entry == NOT_CODE] == [3, 6]


@pytest.mark.usefixtures("private_cache")
def test_other_failures_are_tool_errors(tools: Tools) -> None:
    with pytest.raises(ToolError, match="SM12 code"):
        disassemble(CODE, 12, tools)


def test_ragged_code_is_refused_and_none_is_none() -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        disassemble(CODE[:20], 89)
    assert disassemble(b"", 89) == []
