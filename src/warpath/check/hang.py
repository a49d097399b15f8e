"""Launches that do not end: which warps wait where, on what, and for whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from warpath.frontend.launch import Launch

_MOST = 12  # places listed
_STATES = {
    "barrier": "wait at a block barrier",
    "convergence": "wait for the other lanes of their warp to reconverge",
    "warpsync": "wait in a warp-level sync for lanes that have not come",
    "running": "run",
    "ready": "are ready to run",
}
_LOADS = ("LD", "ATOM", "RED")


def explain(launch: Launch, grid: Any, loop: Sequence[tuple[int, int]] = ()) -> list[str]:
    """Lines on where every resident warp of a grid that stands or spins is.

    `loop` lists (pc, times executed) of the instructions that still run.
    """
    groups: list[Mapping[str, Any]] = grid.groups()
    lines = _places(groups, launch)
    lines += _barriers(groups, launch)
    lines += _loop(grid, groups, loop)
    waiting = grid.blocks - grid.started
    if waiting:
        lines.append(
            f"{waiting:,} of {grid.blocks:,} blocks were never started: {grid.started:,} are resident at once, and "
            "they do not end. If they wait for the others (a home-made grid barrier), launch no more blocks than fit, "
            "or use cudaLaunchCooperativeKernel, which refuses what cannot work."
        )
    return lines


def _places(groups: Iterable[Mapping[str, Any]], launch: Launch) -> list[str]:
    by_place: dict[tuple[int, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for group in groups:
        by_place[group["pc"], group["text"], group["state"]].append(group)
    lines: list[str] = []
    for (pc, text, state), here in sorted(by_place.items(), key=lambda item: -len(item[1]))[:_MOST]:
        lanes = sum(int(group["mask"]).bit_count() for group in here)
        blocks = {tuple(group["block"]) for group in here}
        first = here[0]
        lines.append(
            f"{lanes} threads of {len({(tuple(g['block']), g['warp']) for g in here})} warps in {len(blocks)} blocks "
            f"{_STATES.get(state, state)} at {pc:#x}: {text} (first: warp {first['warp']} of block "
            f"{_triple(first['block'])}, threads {_threads(first, launch)})"
        )
    return lines


def _triple(values: Sequence[int]) -> str:
    return "(" + ",".join(map(str, values)) + ")"


def _threads(group: Mapping[str, Any], launch: Launch) -> str:
    """Linear thread numbers of a group."""
    numbers = [group["warp"] * 32 + lane for lane in range(32) if int(group["mask"]) >> lane & 1]
    if len(numbers) > 4 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")


def _barriers(groups: Sequence[Mapping[str, Any]], launch: Launch) -> list[str]:
    """For blocks with warps at a barrier: who is missing there."""
    lines: list[str] = []
    waiting: dict[tuple[int, ...], set[int]] = defaultdict(set)
    others: dict[tuple[int, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for group in groups:
        block = tuple(group["block"])
        if group["state"] == "barrier":
            waiting[block].add(group["warp"])
        else:
            others[block].append(group)
    warps = -(-launch.threads // 32)
    for block, arrived in list(waiting.items())[:4]:
        missing = ", ".join(
            f"warp {group['warp']} ({group['state']} at {group['pc']:#x}: {group['text']})"
            for group in others[block][:4]
        )
        lines.append(
            f"Block {_triple(block)}: {len(arrived)} of {warps} warps have come to the barrier (warps "
            f"{', '.join(map(str, sorted(arrived)))}); they wait for {missing or 'threads that have ended'}."
        )
    return lines


def _loop(grid: Any, groups: Sequence[Mapping[str, Any]], loop: Sequence[tuple[int, int]]) -> list[str]:
    if not loop:
        return []
    first, last = loop[0][0], loop[-1][0]
    trips = max(count for _, count in loop)
    lines = [f"The loop at {first:#x} to {last:#x} was run {trips:,} times; nothing ends it."]
    loads = [
        text
        for pc, _ in loop
        if (text := grid.text(pc // 16)).split(" ", 1)[0].startswith(_LOADS) or "LDS" in text
    ]
    if loads:
        lines.append("It reads " + "; ".join(loads[:4]) + ": whoever must write that word does not.")
        if any(group["state"] == "barrier" for group in groups):
            lines.append(
                "If its writer is one of the threads at the barrier, both wait for each other: a deadlock."
            )
    else:
        lines.append("It reads no memory, so nothing from outside can end it.")
    return lines
