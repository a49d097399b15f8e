"""Who a wait is for: the instructions whose scoreboards an instruction waits on."""

from __future__ import annotations

from collections.abc import Sequence

from warpath.isa.listing import Instruction


def producers(code: Sequence[Instruction], index: int) -> dict[int, list[int]]:
    """Scoreboard to the positions in `code` that raise it for the wait at `index`, oldest first.

    Looks back in program order to the last earlier wait on the same scoreboard, which already saw it clear; a branch in
    between is not followed, so a setter on another path is missed.
    """
    found: dict[int, list[int]] = {}
    for scoreboard in code[index].control.waits:
        setters: list[int] = []
        for at in range(index - 1, -1, -1):
            control = code[at].control
            if scoreboard in (control.write_barrier, control.read_barrier):
                setters.append(at)
            if scoreboard in control.waits:
                break
        found[scoreboard] = setters[::-1]
    return found
