"""Which changes are offered, what each one replays, and which can only be named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.account_kit import BOARD, VALUES, FakeStream, ended
from warpath.account.effects import effects
from warpath.account.whatif import Change, changes
from warpath.gpu import spec, timing


def offered(stream: FakeStream, launch: Any, boards: tuple[str, ...] = ()) -> dict[str, Change]:
    found = changes(stream, VALUES, BOARD, launch, boards=tuple(map(spec.load, boards)))
    assert len({change.key for change in found}) == len(found)
    return {change.key: change for change in found}


def ns(cycles: float) -> int:
    return round(cycles * 1e6 / VALUES["sm_clock_khz"])


def test_each_effect_alone_then_what_a_user_can_change() -> None:
    found = offered(FakeStream(10_000, {"dram_latency": 2000, "banks": 500}), ended())
    kinds = [change.kind for change in found.values()]
    assert kinds == sorted(kinds), "effects first"
    alone = [key for key, change in found.items() if change.kind == "effect"]
    assert alone == [effect.key for effect in effects(BOARD, VALUES)]
    assert found["memory_latency"].duration_ns == ns(8000)
    assert found["bank_conflicts"].duration_ns == ns(9500)
    assert found["memory_latency"].label == "without memory latency"


def test_clocks() -> None:
    board = spec.load("rtx4090")
    values, base = timing.resolve(board).values, board.clock_base_mhz
    assert base is not None
    stream = FakeStream(10_000)
    found = {change.key: change for change in changes(stream, values, board, ended())}
    assert found["memory_clock"].label == "memory clock +10%"
    assert found["sm_clock_base"].duration_ns == round(10_000 * 1000 / base)
    slow = next(asked["params"] for asked in stream.asked if asked["params"]["sm_clock_khz"] == base * 1000)
    assert slow["dram_latency"] < values["dram_latency"], "DRAM takes as long, in fewer SM cycles"
    assert slow["l1_latency"] == values["l1_latency"]


def test_a_base_clock_that_is_not_published_is_not_guessed() -> None:
    assert BOARD.clock_base_mhz is None
    assert "sm_clock_base" not in offered(FakeStream(10_000), ended())


def test_boards_of_the_same_generation() -> None:
    found = offered(FakeStream(10_000), ended(), ("h200", "h100-pcie", "rtx4090"))
    assert [key for key in found if key.startswith("board_")] == ["board_h100-pcie"]
    assert found["board_h100-pcie"].label == "on h100-pcie"


def test_no_boards_when_l2_held_something() -> None:
    found = offered(FakeStream(10_000), ended(counters={"cache": "warm"}), ("h100-pcie",))
    assert "board_h100-pcie" not in found


def test_padding_is_offered_when_there_are_conflicts() -> None:
    stream = FakeStream(10_000, {"banks": 700})
    assert "pad_shared" not in offered(stream, ended())
    found = offered(stream, ended(conflicts=1))["pad_shared"]
    assert (found.kind, found.label, found.duration_ns) == ("user", "pad the shared array", ns(9300))


def test_fewer_registers_when_registers_are_the_limit() -> None:
    stream = FakeStream(10_000)
    assert "registers" not in offered(stream, ended(registers=32))
    launch = ended(registers=72)
    assert "registers" in launch.occupancy.limiter
    stream.asked.clear()
    found = offered(stream, launch)["registers"]
    assert found.label == "64 registers a thread instead of 72"
    per_sm = launch.occupancy.blocks_per_sm
    assert found.text == f"{per_sm + 1} blocks an SM instead of {per_sm}, if the compiler needs no spills"
    assert any(asked["blocks_per_sm"] == per_sm + 1 for asked in stream.asked)


@pytest.mark.parametrize(
    ("threads", "sizes"),
    [(256, [128, 512]), (32, [64]), (64, [32, 128]), (96, [192]), (1024, [512]), (100, [])],
)
def test_block_sizes_are_half_and_twice_in_whole_warps(threads: int, sizes: list[int]) -> None:
    found = offered(FakeStream(10_000), ended(threads=threads))
    assert [key for key in found if key.startswith("block_") and key != "block_ramp"] == [
        f"block_{size}" for size in sizes
    ]
    for size in sizes:
        assert found[f"block_{size}"].duration_ns == ns(10_000 + size // 32)
        assert found[f"block_{size}"].label == f"blocks of {size} threads instead of {threads}"


def test_block_sizes_that_only_a_run_can_tell_of() -> None:
    meets = offered(FakeStream(10_000, groups=False), ended())["block_512"]
    assert (meets.duration_ns, meets.kind) == (None, "user")
    assert meets.text == "needs a run: warpath sweep --set; warps of a block wait for each other"
    shared = offered(FakeStream(10_000), ended(shared=BOARD.sm.shared_reserved_bytes + 1024))["block_128"]
    assert shared.duration_ns is None
    assert (
        shared.text == "needs a run: warpath sweep --set; its shared memory is laid out for this block size"
    )


def test_a_block_that_does_not_fit_is_not_offered() -> None:
    assert "block_1024" not in offered(FakeStream(10_000), ended(threads=512, registers=80))


def test_vector_widths() -> None:
    found = offered(FakeStream(10_000), ended())
    assert found["vector_2"].duration_ns == ns(5000)
    assert found["vector_4"].duration_ns == ns(2500)
    assert "vector" not in found
    cannot = offered(FakeStream(10_000, groups=False), ended())
    assert "vector_2" not in cannot
    assert cannot["vector"].duration_ns is None
    assert cannot["vector"].text.startswith("needs a run: warpath sweep --set; ")


def test_a_part_is_scaled_to_the_whole() -> None:
    stream = FakeStream(2000, {"banks": 500}, recorded=1, blocks=5)
    assert offered(stream, ended(cycles=10_000))["bank_conflicts"].duration_ns == ns(7500)
