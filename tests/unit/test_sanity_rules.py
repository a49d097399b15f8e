"""Each rule on both sides of its threshold."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.launch_kit import flow, instruction, kernel, launch, occupancy, timed
from warpath.account.sanity import compiled, diagnose, memory, shape, waiting
from warpath.account.sanity.kit import Case, Rule
from warpath.gpu import spec
from warpath.report.model import Diagnosis, KernelInfo, Launch

RTX = spec.load("rtx4090")


def run(rule: Rule, what: Launch, info: KernelInfo | None = None, board: str = "rtx4090") -> list[Diagnosis]:
    return list(rule(Case(what, info, spec.load(board))))


def only(rule: Rule, what: Launch, info: KernelInfo | None = None, board: str = "rtx4090") -> Diagnosis:
    found = run(rule, what, info, board)
    assert len(found) == 1, found
    return found[0]


def grid(blocks: int, **changes: Any) -> Launch:
    return launch(instruction("EXIT"), grid=[blocks, 1, 1], **changes)


def test_few_sms_below_the_number_of_sms() -> None:
    found = only(shape.few_sms, grid(127))
    assert found.figures == {"active_sms": 127, "sms": 128}
    assert found.source == "computed"
    assert run(shape.few_sms, grid(128)) == []


@pytest.mark.parametrize(("blocks", "rounds"), [(768, None), (769, 2), (1228, 2), (1229, None), (1537, 3)])
def test_tail_wave_when_a_fifth_of_all_slots_stays_empty(blocks: int, rounds: int | None) -> None:
    found = run(shape.tail_wave, grid(blocks))
    assert [int(each.figures["rounds"]) for each in found] == ([rounds] if rounds else [])


def test_occupancy_at_half_names_the_limit_and_the_step() -> None:
    limited = grid(768, registers=96, occupancy=occupancy(2, 16, "registers"))
    found = only(shape.occupancy_limited, limited)
    assert "limited by registers; 80 registers per thread instead of 96" in found.text
    assert found.figures["occupancy_pct"] == 33.3
    assert run(shape.occupancy_limited, grid(768, occupancy=occupancy(3, 24, "registers"))) != []
    assert run(shape.occupancy_limited, grid(768, occupancy=occupancy(4, 32, "registers"))) == []


def test_block_slots_limit_nobody_while_sms_are_empty() -> None:
    slots = occupancy(24, 24, "blocks")
    assert run(shape.occupancy_limited, grid(127, block=[32, 1, 1], occupancy=slots)) == []
    assert "larger blocks" in only(shape.occupancy_limited, grid(128, block=[32, 1, 1], occupancy=slots)).text


@pytest.mark.parametrize(("lanes", "found"), [(255, 1), (256, 0)])
def test_unused_lanes_below_four_fifths(lanes: int, found: int) -> None:
    code = instruction("FFMA R0,R1,R2,R3", executed=10, thread_active=lanes)
    assert len(run(shape.unused_lanes, launch(code))) == found


def test_unused_lanes_names_the_line_that_loses_most() -> None:
    code = (
        instruction("FADD R0,R1,R2", executed=10, line=3, thread_active=10),
        instruction("FMUL R0,R1,R2", executed=100, line=5, thread_active=1600),
    )
    found = only(shape.unused_lanes, launch(*code))
    assert (found.line, found.figures["line_lanes_pct"]) == (5, 50.0)


FOLD = (
    "mad.lo.s32 %r27, %r27, 158984081, -1426500812;",
    "mad.lo.s32 %r27, %r27, 1664525, 1013904223;",
)


def test_folded_work_counts_the_steps_of_the_source() -> None:
    per_warp = 256 * 768 * 8  # IMAD of every warp
    code = instruction("IMAD R3,R5,R4,-0x5506accc", executed=per_warp)
    found = only(compiled.folded_work, launch(code), kernel(*FOLD))
    wanted = {"source_steps": 1024, "executed_imad": 256, "folded_multiplier": 158984081, "steps": 4}
    assert found.figures == wanted


def test_folded_work_needs_an_exact_power_that_ran() -> None:
    code = instruction("IMAD R3,R5,R4,-0x5506accc", executed=100)
    off_by_one = (FOLD[0].replace("158984081", "158984083"), FOLD[1])
    assert run(compiled.folded_work, launch(code), kernel(*off_by_one)) == []
    assert run(compiled.folded_work, launch(code), kernel(FOLD[0])) == []
    assert run(compiled.folded_work, launch(instruction("EXIT")), kernel(*FOLD)) == []
    assert run(compiled.folded_work, launch(code)) == []  # PTX is not known


def test_dead_work_is_a_kernel_with_arguments_that_stores_nothing() -> None:
    assert only(compiled.dead_work, launch(instruction("EXIT"))).figures == {"instructions": 1}
    assert run(compiled.dead_work, launch(instruction("EXIT"), params=[])) == []
    never_ran = instruction("STG.E [R2.64],R5", executed=0)
    assert run(compiled.dead_work, launch(instruction("EXIT"), never_ran)) == []


def test_hidden_fp64_costs_what_the_board_takes() -> None:
    warps = 768 * 8
    code = (
        instruction("DFMA R6,R6,R4,1.25", executed=16 * warps),
        instruction("F2F.F64.F32 R6,R0", executed=warps),
    )
    found = only(compiled.hidden_fp64, launch(*code))
    assert found.figures["fp64_per_thread"] == 16
    assert found.figures["conversions_per_thread"] == 1
    assert found.figures["fp64_per_clk_sm"] == 2
    clocks = 16 * warps * 32 / (128 * 2)
    assert found.figures["cost_us"] == pytest.approx(clocks / RTX.clock_boost_mhz, rel=1e-3)
    assert only(compiled.hidden_fp64, launch(*code), board="h200").figures["fp64_per_clk_sm"] == 64


def test_fp64_is_hidden_only_where_no_double_is_declared() -> None:
    code = instruction("DADD R6,R6,R4")
    assert run(compiled.hidden_fp64, launch(code, kernel="k(double *)")) == []
    assert run(compiled.hidden_fp64, launch(code, kernel="k_double(float *)")) != []
    assert run(compiled.hidden_fp64, launch(instruction("F2F.F16.F32 R6,R4"))) == []


def test_spills_and_local_arrays_exclude_one_another() -> None:
    code = instruction("LDL R0,[R9]", executed=10, requests=10, lines=140)
    spilled = kernel(stack=16, spill_stores=8, spill_loads=12)
    array = kernel(stack=64, spill_stores=0, spill_loads=0)
    assert only(compiled.spills, launch(code), spilled).figures == {"spill_stores": 8, "spill_loads": 12}
    assert run(compiled.spills, launch(code), array) == []
    found = only(compiled.local_array, launch(code), array)
    assert (found.figures["stack_bytes"], found.line) == (64, 7)
    assert "14.0 lines a request" in found.text
    assert run(compiled.local_array, launch(code), spilled) == []
    assert run(compiled.local_array, launch(instruction("EXIT")), array) == []


@pytest.mark.parametrize(("sectors", "found"), [(47, 0), (48, 1)])
def test_unused_bytes_from_a_fifth_more_sectors_than_needed(sectors: int, found: int) -> None:
    code = instruction("LDG.E R0,[R2.64]", executed=10, requests=10, sectors=sectors)
    assert len(run(memory.unused_bytes, launch(code))) == found


def test_unused_bytes_tells_loads_from_stores_and_leaves_small_lines_alone() -> None:
    store = instruction("STG.E [R2.64],R0", executed=10, line=9, requests=10, sectors=320)
    bulk = instruction("LDG.E R0,[R2.64]", executed=10_000, requests=10_000, sectors=40_000)
    found = only(memory.unused_bytes, launch(store))
    assert (found.line, found.figures["store"], found.figures["useful_pct"]) == (9, 1, 12.5)
    assert run(memory.unused_bytes, launch(store, bulk)) == []


def test_a_broadcast_wastes_nothing() -> None:
    code = instruction("LDG.E R0,[R2.64]", executed=10, requests=10, sectors=10)
    assert run(memory.unused_bytes, launch(code)) == []


@pytest.mark.parametrize(("times", "found"), [(1.99, 0), (2.0, 1)])
def test_redundant_loads_from_twice_on(times: float, found: int) -> None:
    distinct = 2048
    code = instruction("LDG.E R0,[R2.64]", executed=1000, requests=1000, sectors=int(times * distinct))
    assert len(run(memory.redundant_loads, launch(code, flow=flow(distinct * 32)))) == found


def test_a_set_that_l1_holds_is_not_redundant() -> None:
    code = instruction("LDG.E R0,[R2.64]", executed=1000, requests=1000, sectors=1 << 20)
    assert run(memory.redundant_loads, launch(code, flow=flow((1 << 15) - 32))) == []
    assert run(memory.redundant_loads, launch(code, flow=flow(1 << 15))) != []


@pytest.mark.parametrize(("wavefronts", "found"), [(19, 0), (20, 1)])
def test_bank_conflicts_from_two_ways_on(wavefronts: int, found: int) -> None:
    code = instruction(
        "LDS R0,[R2]", executed=10, requests=10, wavefronts=wavefronts, conflicts=wavefronts - 10
    )
    assert len(run(memory.bank_conflicts, launch(code))) == found


def test_wide_accesses_have_ways_beyond_their_width_only() -> None:
    code = instruction("LDS.128 R0,[R2]", executed=10, requests=10, wavefronts=40, conflicts=0)
    assert run(memory.bank_conflicts, launch(code)) == []


def traffic(sectors: int) -> dict[str, float]:
    return {"lts__t_sectors_srcunit_tex_op_read.sum": sectors, "lts__t_sectors_srcunit_tex_op_write.sum": 0}


@pytest.mark.parametrize(("sectors", "found"), [(31500, 0), (31501, 1)])
def test_l2_resident_above_the_bandwidth_of_dram(sectors: int, found: int) -> None:
    what = launch(instruction("EXIT"), counters=traffic(sectors), flow=flow(1 << 20), **timed(1000))
    assert len(run(memory.l2_resident, what)) == found  # 31500 sectors in 1 us are 1008 GB/s


def test_l2_resident_names_the_working_set_and_needs_it_to_fit() -> None:
    fits = launch(instruction("EXIT"), counters=traffic(40_000), flow=flow(RTX.l2_bytes), **timed(1000))
    beyond = launch(
        instruction("EXIT"), counters=traffic(40_000), flow=flow(RTX.l2_bytes + 32), **timed(1000)
    )
    found = only(memory.l2_resident, fits)
    assert (found.figures["working_set_bytes"], found.figures["l2_bytes"]) == (RTX.l2_bytes, RTX.l2_bytes)
    assert run(memory.l2_resident, beyond) == []


@pytest.mark.parametrize(("held", "found"), [((1 << 19) - 32, 0), (1 << 19, 1)])
def test_l2_resident_when_half_of_the_reads_were_still_there(held: int, found: int) -> None:
    what = launch(instruction("EXIT"), counters=traffic(10), flow=flow(1 << 20, from_l2=held), **timed(1000))
    assert len(run(memory.l2_resident, what)) == found


@pytest.mark.parametrize(
    ("read", "told"), [(503_999, "this is L2's bandwidth"), (504_000, "what was written stayed")]
)
def test_l2_resident_does_not_deny_dram_its_part(read: int, told: str) -> None:
    counters = {**traffic(40_000), "dram__bytes_read.sum": read}
    what = launch(instruction("EXIT"), counters=counters, flow=flow(1 << 20, 1 << 20), **timed(1000))
    assert told in only(memory.l2_resident, what).text


def atomic(lanes: int, words: int, *, requests: int = 1, opcode: str = "RED.E.ADD") -> Launch:
    code = instruction(
        f"{opcode} [R2.64],R5", executed=requests, thread_executed=lanes, requests=requests, words=words
    )
    return launch(code, flow=flow(0, 1024))


def test_contended_atomics_from_a_quarter_of_a_warp_on() -> None:
    assert only(waiting.contended_atomics, atomic(32, 4)).figures["lanes_per_address"] == 8
    assert run(waiting.contended_atomics, atomic(31, 4)) == []
    assert run(waiting.contended_atomics, atomic(32, 1, opcode="ATOMS.POPC.INC.32")) == []


def test_one_sector_serialises_requests_of_all_warps() -> None:
    def one_sector(requests: int, written: int) -> Launch:
        code = instruction(
            "RED.E.ADD [R2.64],R5",
            executed=requests,
            thread_executed=requests,
            requests=requests,
            words=requests,
        )
        return launch(code, flow=flow(0, written))

    assert "256 requests on one sector" in only(waiting.contended_atomics, one_sector(256, 32)).text
    assert run(waiting.contended_atomics, one_sector(255, 32)) == []
    assert run(waiting.contended_atomics, one_sector(256, 36)) == []


@pytest.mark.parametrize(("tries", "found"), [(511, 0), (512, 1)])
def test_serialised_lock_from_two_attempts_a_success_on(tries: int, found: int) -> None:
    code = (
        instruction("ATOMG.E.CAS.STRONG.GPU PT,R0,[R2],R4,R5", thread_executed=tries),
        instruction("ATOMG.E.EXCH.STRONG.GPU PT,RZ,[R2],R4", thread_executed=256),
    )
    diagnoses = run(waiting.serialised_lock, launch(*code))
    assert [each.figures["successful_cas"] for each in diagnoses] == [256] * found


def waiter(share: float, warps: float) -> Launch:
    code = instruction("LDG.E R0,[R2.64]", executed=768 * 8 * 100)
    stalls = {"long_scoreboard": share, "selected": 1 - share}
    counters = {"smsp__warps_active.avg.per_cycle_active": warps}
    return launch(code, stalls=stalls, counters=counters, **timed(27_000))


def test_low_parallelism_latency_when_few_warps_wait_most_of_the_time() -> None:
    found = only(waiting.low_parallelism_latency, waiter(0.6, 2.0))
    assert "about 100 loads a warp, 270 ns each" in found.text
    assert run(waiting.low_parallelism_latency, waiter(0.59, 2.0)) == []
    assert run(waiting.low_parallelism_latency, waiter(0.6, 2.1)) == []


def test_a_plain_launch_has_nothing_to_say_and_neither_has_one_without_code() -> None:
    code = (
        instruction("LDG.E R0,[R2.64]", executed=6144, requests=6144, sectors=24576),
        instruction("STG.E [R2.64],R0", executed=6144, requests=6144, sectors=24576),
    )
    assert diagnose(launch(*code, flow=flow(24576 * 32, 24576 * 32)), kernel(), RTX) == []
    assert diagnose(launch(grid=[1, 1, 1]), None, RTX) == []
