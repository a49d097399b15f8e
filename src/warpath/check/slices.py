"""How an address came about: the few instructions that made it, when they are few."""

from __future__ import annotations

import re
from collections.abc import Callable

_REGISTER = re.compile(r"\b(U?R)(\d+)\b")
_ADDRESS = re.compile(r"\[([^\]]*)\]")
_REACH = 200  # instructions looked at
_LONGEST = 8  # instructions of a slice that is worth showing
_BARRIERS = ("BRA", "BRX", "CALL", "RET", "EXIT", "BSYNC")
_STORES = ("ST", "RED", "BAR", "MEMBAR")


def explain(text: Callable[[int], str], at: int) -> list[str]:
    """Lines that show how the address of the access at instruction `at` was computed; empty when that is long.

    `text` gives the text of an instruction by index.
    """
    wanted = _address_registers(text(at))
    found: list[str] = []
    for index in range(at - 1, max(at - _REACH, -1), -1):
        if not wanted or len(found) > _LONGEST:
            break
        row = text(index)
        words = _words(row)
        if words[0].startswith(_BARRIERS):
            return []
        made = _made(words)
        if made & wanted:
            if not row.startswith("@"):
                wanted -= made
            wanted |= _used(words)
            found.append(row.strip())
    if not found or wanted or len(found) > _LONGEST:
        return []
    return ["The address was made by:", *(f"    {row}" for row in reversed(found))]


def _words(row: str) -> tuple[str, list[str]]:
    text = row.split(None, 1)[1] if row.startswith("@") else row
    opcode, _, operands = text.partition(" ")
    return opcode, [operand.strip() for operand in operands.split(",")]


def _registers(operand: str) -> set[str]:
    return {kind + number for kind, number in _REGISTER.findall(operand)}


def _address_registers(row: str) -> set[str]:
    found: set[str] = set()
    for inside in _ADDRESS.findall(re.sub(r"desc\[[^\]]*\]", "", row)):
        for kind, number in _REGISTER.findall(inside):
            found.add(f"{kind}{number}")
            if ".64" in inside:
                found.add(f"{kind}{int(number) + 1}")
    return found


def _made(words: tuple[str, list[str]]) -> set[str]:
    opcode, operands = words
    if opcode.startswith(_STORES) or not operands:
        return set()
    destination = next((operand for operand in operands if _REGISTER.fullmatch(operand)), "")
    made = _registers(destination)
    if any(part in opcode for part in (".WIDE", ".64", "MOV.64")):
        made |= {re.sub(r"\d+", lambda m: str(int(m.group()) + 1), name) for name in made}
    return made


def _used(words: tuple[str, list[str]]) -> set[str]:
    opcode, operands = words
    first = next((i for i, operand in enumerate(operands) if _REGISTER.fullmatch(operand)), 0)
    used: set[str] = set()
    for operand in operands[first + 1 :]:
        used |= _registers(re.sub(r"desc\[[^\]]*\]", "", operand))
    if ".WIDE" in opcode and len(operands) > first + 3:
        used |= {re.sub(r"\d+", lambda m: str(int(m.group()) + 1), name) for name in _registers(operands[-1])}
    return used
