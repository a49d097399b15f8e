"""How far the clock was held against hardware: its mean error on the reference launches, and what they cover.

The data come from `benchmarks/accuracy.py --write`, which runs every reference case on the board it was measured on.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from warpath.gpu.spec import Gpu


@dataclass(frozen=True, slots=True)
class Validation:
    """Mean absolute error of durations (per cent, by cache state) over `launches` measured on `board`."""

    board: str
    mean_error_percent: dict[str, float]  # `cold` and `warm`
    launches: int
    opcodes: frozenset[str]  # without modifiers, executed by at least one reference launch


@cache
def validation() -> Validation:
    """The package's data."""
    data = json.loads((files("warpath.account") / "data" / "validated.json").read_text())
    return Validation(
        data["board"],
        {state: data[f"mean_error_{state}_percent"] for state in ("cold", "warm")},
        data["launches"],
        frozenset(data["opcodes"]),
    )


def outside(gpu: Gpu, opcodes: Collection[str]) -> list[str]:
    """What of a launch no reference covers: the board, and opcodes without modifiers; empty when all is."""
    own = validation()
    found: list[str] = []
    if gpu.name != own.board:
        found.append(
            f"{gpu.name} itself was not measured: constants come from {own.board} and published figures"
        )
    unseen = sorted(set(opcodes) - own.opcodes)
    if unseen:
        found.append(f"no reference runs {', '.join(unseen)}")
    return found
