"""The floor: which bytes are compulsory, and when instructions are more."""

from __future__ import annotations

import pytest

from tests.account_kit import BOARD
from warpath.account.floor import SECTOR, floor


def test_distinct_loaded_sectors_at_paper_bandwidth() -> None:
    found = floor({"load_footprint_sectors": 1 << 20, "inst_executed": 1000}, BOARD)
    assert (found.kind, found.bytes, found.stored_bytes) == ("dram", 32 << 20, 0)
    assert found.ns == found.dram_ns == (32 << 20) / BOARD.dram_gbs


def test_stores_count_only_beyond_what_l2_holds() -> None:
    fits = BOARD.l2_bytes // SECTOR
    assert floor({"stores": {"sectors": fits}}, BOARD).bytes == 0
    more = floor({"stores": {"sectors": fits + 1}}, BOARD)
    assert more.bytes == more.stored_bytes == SECTOR


def test_instructions_at_one_a_cycle_and_scheduler() -> None:
    slots = BOARD.sms * BOARD.sm.sub_partitions
    found = floor({"inst_executed": slots * 1000, "load_footprint_sectors": 1}, BOARD)
    assert found.kind == "issue"
    assert found.ns == pytest.approx(1000 / BOARD.clock_boost_mhz * 1000)


def test_the_larger_of_the_two_is_the_floor() -> None:
    slots = BOARD.sms * BOARD.sm.sub_partitions * BOARD.clock_boost_mhz  # instructions in 1000 ns
    bytes_in_it = 1000 * BOARD.dram_gbs
    sectors = round(bytes_in_it / SECTOR)
    assert (
        floor({"inst_executed": round(slots * 0.99), "load_footprint_sectors": sectors}, BOARD).kind == "dram"
    )
    assert (
        floor({"inst_executed": round(slots * 1.01), "load_footprint_sectors": sectors}, BOARD).kind
        == "issue"
    )


def test_without_counters_there_is_no_floor_to_speak_of() -> None:
    found = floor({}, BOARD)
    assert (found.kind, found.ns, found.bytes) == ("dram", 0, 0)
