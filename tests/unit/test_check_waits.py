"""The graph of who waits for whom, from records as the core gives them."""

from __future__ import annotations

from typing import Any

from warpath.check import waits


def group(warp: int, mask: int, state: str, **more: Any) -> dict[str, Any]:
    base = {"block": (0, 0, 0), "warp": warp, "mask": mask, "pc": 16 * warp, "state": state, "missing": 0}
    return {**base, "barrier": 0, "arrived": 0, "expected": 0, **more}


def spin(warp: int, mask: int, address: int, value: int = 0) -> dict[str, Any]:
    poll = {"space": "global", "home": None, "address": address, "pc": 16 * warp, "mask": mask, "size": 4}
    return {"block": (0, 0, 0), "warp": warp, "mask": mask, "loop": [16 * warp], "trips": 9, "constant": True,
            "changes": [], "polls": [{**poll, "value": value}]}  # fmt: skip


def writer(warp: int, lane: int, address: int, **more: Any) -> dict[str, Any]:
    base = {
        "space": "global",
        "home": None,
        "address": address,
        "block": (0, 0, 0),
        "warp": warp,
        "lane": lane,
    }
    return {**base, "thread": (lane, 0, 0), "pc": 0, "value": 0, "swapped": False, "started": True, **more}


def test_a_spinning_group_waits_for_who_would_write() -> None:
    groups = [group(0, 1, "barrier"), group(1, 1, "running")]
    graph = waits.read(groups, {"spins": [spin(1, 1, 64)], "writers": [writer(0, 0, 64)]})
    at_barrier, spinning = graph.nodes
    assert at_barrier.waits_for == [spinning]
    assert spinning.waits_for == [at_barrier]
    assert graph.cycle == [at_barrier, spinning]


def test_the_holder_counts_while_its_value_is_there() -> None:
    groups = [group(0, 1, "running"), group(1, 1, "running")]
    swap = writer(0, 0, 64, swapped=True, value=7)
    held = waits.read(groups, {"spins": [spin(1, 1, 64, value=7)], "writers": [swap]})
    assert held.words[0].holder is not None
    assert held.nodes[1].waits_for == [held.nodes[0]]
    given_back = waits.read(groups, {"spins": [spin(1, 1, 64, value=0)], "writers": [swap]})
    assert given_back.words[0].holder is None
    assert given_back.nodes[1].waits_for == []
    assert given_back.cycle == []


def test_a_holder_that_is_gone_is_nobody_to_wait_for() -> None:
    swap = writer(5, 0, 64, swapped=True, value=7)
    graph = waits.read([group(1, 1, "running")], {"spins": [spin(1, 1, 64, value=7)], "writers": [swap]})
    assert graph.words[0].holder is not None
    assert graph.words[0].holder.node is None
    assert graph.nodes[0].waits_for == []


def test_who_waits_for_itself_is_a_cycle_of_one() -> None:
    swap = writer(1, 0, 64, swapped=True, value=7)
    graph = waits.read([group(1, 1, "running")], {"spins": [spin(1, 1, 64, value=7)], "writers": [swap]})
    assert graph.cycle == graph.nodes


def test_lanes_wait_for_lanes_of_their_own_warp() -> None:
    graph = waits.read(
        [group(0, 0b10, "warpsync", missing=1), group(0, 0b01, "running")], {"spins": [], "writers": []}
    )
    assert graph.nodes[0].waits_for == [graph.nodes[1]]


def test_groups_beyond_the_sample_spin_when_they_stand_in_a_known_loop() -> None:
    groups = [group(1, 1, "running"), group(2, 1, "ready", pc=16), group(3, 1, "ready", pc=160)]
    graph = waits.read(groups, {"spins": [spin(1, 1, 64)], "writers": []})
    assert [node.spin is not None for node in graph.nodes] == [True, True, False]
