"""SASS text for a span of code bytes, by nvdisasm in raw-binary mode, cached by content.

What the text means. With `base` 0 a printed code address is a byte offset from the start of `code`, whatever
the encoding: BRA, BSSY, WARPSYNC, CALL.REL, RET.REL, LEPC with two operands. These encode pc-relative, so
moving the code moves their targets and no relocation is needed. With a register (`RET.REL.NODEC R6,0x0`,
`CALL.REL.NOINC R6,0x0`) the target is register + printed number, which is where the enclosing kernel starts:
the register holds an offset in it. Only BRX and BRXU print their immediate as stored: `BRX R2,-0xc0` at pc
goes to R2 + pc + 16 - 0xc0. CALL.ABS and RET.ABS take absolute addresses. Everything else prints as for the
cubin, names replaced by numbers.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from warpath.errors import ToolError
from warpath.toolchain.cache import key_of, read_entry, write_entry
from warpath.toolchain.locate import Tools, find_tools
from warpath.toolchain.process import attempt, first_error

WORD = 16  # bytes in an instruction
_NOP = bytes.fromhex("18790000000000000000000000c00f00")
_BAD_ADDRESS = re.compile(r"at address (0x[0-9a-fA-F]+)")


class RawInstruction(NamedTuple):
    """One 16-byte word: guard (`@!P0` or ""), opcode with modifiers, operands; no opcode when it is none."""

    predicate: str
    opcode: str
    operands: str


NOT_CODE = RawInstruction("", "", "")


def disassemble(code: bytes, sm: int, tools: Tools | None = None, base: int = 0) -> list[RawInstruction]:
    """One entry per 16 bytes of `code`, which runs at address `base` on compute capability `sm` (89).

    Words that are no instruction (padding, data) become `NOT_CODE`. The first call for given bytes costs 0.3
    s, later ones read the cache. ValueError when the length is no multiple of 16; ToolError when nvdisasm
    fails.
    """
    if len(code) % WORD:
        raise ValueError(f"code of {len(code)} bytes is not a whole number of {WORD}-byte instructions")
    if not code:
        return []
    tools = tools or find_tools()
    key = key_of((tools.version, f"{sm} {base}", code))
    stored = read_entry("disasm", key)
    if stored is None:
        stored = json.dumps(_listing(code, sm, tools, base), separators=(",", ":")).encode()
        write_entry("disasm", key, stored)
    return [RawInstruction(*entry) for entry in json.loads(stored)]


def _listing(code: bytes, sm: int, tools: Tools, base: int) -> list[RawInstruction]:
    """Disassemble with words that nvdisasm rejects replaced by NOP, then marked."""
    words = [code[at : at + WORD] for at in range(0, len(code), WORD)]
    # A word with a zero opcode field is reported without its address, so such words are taken out beforehand.
    illegal = {index for index, word in enumerate(words) if int.from_bytes(word[:2], "little") & 0xFFF == 0}
    while True:
        text = b"".join(_NOP if index in illegal else word for index, word in enumerate(words))
        output, errors = _nvdisasm(text, sm, tools, base)
        if output is not None:
            entries = _instructions(output)
            break
        named = {(int(address, 16) - base) // WORD for address in _BAD_ADDRESS.findall(errors)} - illegal
        if not named <= set(range(len(words))) or not named:
            named = _unnamed_illegal(words, illegal, sm, tools, errors)
        illegal |= named
    if len(entries) != len(words):
        raise ToolError(f"nvdisasm printed {len(entries)} instructions for {len(words)} words of SM{sm} code")
    return [NOT_CODE if index in illegal else entry for index, entry in enumerate(entries)]


def _unnamed_illegal(words: list[bytes], illegal: set[int], sm: int, tools: Tools, errors: str) -> set[int]:
    """Find, by halving, one illegal word that nvdisasm's messages do not locate."""
    if "Illegal instruction" not in errors:
        raise ToolError(f"nvdisasm failed on SM{sm} code: {first_error(errors)}", errors)
    low, high = 0, len(words)
    while high - low > 1:
        middle = (low + high) // 2
        half = b"".join(_NOP if index in illegal else words[index] for index in range(low, middle))
        low, high = (low, middle) if _nvdisasm(half, sm, tools, 0)[0] is None else (middle, high)
    if low in illegal or _nvdisasm(words[low], sm, tools, 0)[0] is not None:
        raise ToolError(f"nvdisasm rejects SM{sm} code but none of its words alone", errors)
    return {low}


def _nvdisasm(code: bytes, sm: int, tools: Tools, base: int) -> tuple[str | None, str]:
    """(JSON text or None, messages)."""
    with tempfile.TemporaryDirectory(prefix="warpath-") as folder:
        path = Path(folder) / "code.bin"
        path.write_bytes(code)
        result = attempt([tools.nvdisasm, "-b", f"SM{sm}", "-base", hex(base), "-json", path])
    return (result.stdout if result.returncode == 0 else None), result.stderr + result.stdout


def _instructions(output: str) -> list[RawInstruction]:
    document: list[Any] = json.loads(output)
    return [
        RawInstruction(entry.get("predicate", ""), entry["opcode"], entry.get("operands", ""))
        for function in document[1]
        for entry in function["sass-instructions"]
    ]
