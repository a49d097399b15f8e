"""Whole grids: distribution, counting, host threads, progress between blocks, and system calls."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from tests.unit.core_kit import BASE, CODE_VA, LOCAL_BYTES, LOCAL_WINDOW, SHARED_WINDOW, line, new_memory, run
from warpath import _core

DATA = BASE + (16 << 20)
CALLS = BASE + (64 << 20)
OUTPUT = BASE + (66 << 20)


def pair(value: int) -> list[int]:
    return [value & 0xFFFFFFFF, value >> 32]


def column(grid: _core.Grid, name: str) -> list[int]:
    return list(memoryview(grid.counters[name]).cast("Q"))


FILL = """
S2R R4,SR_CTAID.X
IMAD R4,R4,0x40,R0
IMAD.WIDE.U32 R2,R4,0x4,c[0x0][0x160]
IMAD R5,R4,R4,0x7
STG.E [R2.64],R5
"""


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("budget", [1, 1000, 1 << 30])
def test_bytes_and_counts_do_not_depend_on_threads_or_budget(threads: int, budget: int) -> None:
    memory = new_memory()
    memory.alloc(DATA, 4096 * 4, 1)
    made = run(FILL, memory=memory, words=pair(DATA), block=64, grid=64, threads=threads, budget=budget * 64)
    assert made.state == "done"
    assert struct.unpack("<4096I", memory.read(DATA, 16384)) == tuple(
        (i * i + 7) & 0xFFFFFFFF for i in range(4096)
    )
    counters = made.grid.counters
    assert counters["inst_executed"] == 64 * 2 * 8
    assert counters["thread_inst_executed"] == 64 * 64 * 8
    assert column(made.grid, "executed") == [128] * 8


def test_small_budget_returns_before_the_end() -> None:
    memory = new_memory()
    memory.alloc(DATA, 4096 * 4, 1)
    made = run(FILL, memory=memory, words=pair(DATA), block=64, grid=1000000, budget=10)
    assert made.state == "running"
    assert 0 < made.grid.counters["inst_executed"] < 64 * 100


def test_guarded_off_lanes_are_counted_apart() -> None:
    made = run("ISETP.LT.U32.AND P0,PT,R0,0x5,PT\n@P0 MOV R4,R0\n@!PT MOV R5,R0")
    assert column(made.grid, "executed")[3:5] == [1, 1]
    assert column(made.grid, "threads")[3:5] == [32, 32]
    assert column(made.grid, "threads_on")[3:5] == [5, 0]


def test_blocks_go_round_the_sms() -> None:
    made = run("NOP", grid=10)
    assert list(memoryview(made.grid.placement()).cast("I")) == [i % 4 for i in range(10)]
    assert made.grid.counters["sm_blocks"] == [3, 3, 2, 2]


def test_every_block_sees_its_own_coordinates() -> None:
    memory = new_memory()
    memory.alloc(DATA, 4096, 1)
    text = [
        line(text)
        for text in (
            "S2R R0,SR_CTAID.X",
            "S2R R1,SR_CTAID.Y",
            "S2R R2,SR_CTAID.Z",
            "S2R R3,SR_TID.Y",
            "S2R R6,SR_TID.Z",
            "IMAD R7,R1,0x3,R0",
            "IMAD R7,R2,0x6,R7",
            "IMAD.WIDE.U32 R4,R7,0x4,c[0x0][0x0]",
            "IMAD R8,R6,0x10,R3",
            "STG.E [R4.64],R8",
            "EXIT",
        )
    ]
    memory.alloc(OUTPUT, 64, 5)
    memory.write(OUTPUT, struct.pack("<Q", DATA))
    program = _core.Program(89, CODE_VA, bytes(16 * len(text)), text)
    windows = (SHARED_WINDOW, LOCAL_WINDOW)
    grid = _core.Grid(
        memory, program, CODE_VA, (3, 2, 2), (1, 5, 3), 16, 0, 0, [(OUTPUT, 64)], *windows, 2, 1
    )
    assert grid.step(1 << 20) == "done"
    assert struct.unpack("<12I", memory.read(DATA, 48)) == (0x24,) * 12  # the last thread, (0, 4, 2), wins


@pytest.mark.parametrize(
    ("source", "requests", "sectors", "lines"),
    [
        ("IMAD.WIDE.U32 R2,R0,0x4,c[0x0][0x160]\nLDG.E R4,[R2.64]", 1, 4, 1),
        ("IMAD.WIDE.U32 R2,R0,0x8,c[0x0][0x160]\nLDG.E R4,[R2.64]", 1, 8, 2),
        ("IMAD.WIDE.U32 R2,R0,0x80,c[0x0][0x160]\nLDG.E R4,[R2.64]", 1, 32, 32),
        ("IMAD.WIDE.U32 R2,R0,0x10,c[0x0][0x160]\nLDG.E.128 R4,[R2.64]", 1, 16, 4),
        ("MOV R2,c[0x0][0x160]\nMOV R3,c[0x0][0x164]\nSTG.E [R2.64+0x1c],R0", 1, 1, 1),
    ],
)
def test_sectors_and_lines(source: str, requests: int, sectors: int, lines: int) -> None:
    memory = new_memory()
    memory.alloc(DATA, 8192, 1)
    made = run(source, memory=memory, words=pair(DATA), count=True)
    counts = {name: sum(column(made.grid, name)) for name in ("requests", "sectors", "lines")}
    assert counts == {"requests": requests, "sectors": sectors, "lines": lines}


@pytest.mark.parametrize(
    ("source", "wavefronts", "conflicts"),
    [
        ("LDS R4,[R0.X4]", 1, 0),
        ("LDS R4,[R0.X8]", 2, 1),
        ("SHF.L.U32 R5,R0,0x7,RZ\nLDS R4,[R5]", 32, 31),
        ("LDS R4,[0x0]", 1, 0),
        ("LDS.64 R4,[R0.X8]", 2, 0),
        ("LDS.128 R4,[R0.X16]", 4, 0),
    ],
)
def test_bank_conflicts(source: str, wavefronts: int, conflicts: int) -> None:
    made = run(source, count=True)
    assert sum(column(made.grid, "wavefronts")) == wavefronts
    assert sum(column(made.grid, "conflicts")) == conflicts


def test_fault_of_the_lowest_block_is_reported() -> None:
    source = "S2R R4,SR_CTAID.X\nISETP.GE.U32.AND P0,PT,R4,0x15,PT\n@P0 LDG.E R5,[R4.U32+UR4]"
    for threads in (1, 4):
        made = run(source, grid=200, threads=threads)
        assert made.grid.fault is not None
        assert made.grid.fault["block"] == (0x15, 0, 0)


GRID_BARRIER = """
MOV R2,c[0x0][0x160]
MOV R3,c[0x0][0x164]
MOV R4,0x1
ISETP.NE.U32.AND P0,PT,R0,RZ,PT
BSSY B0,=out
@P0 BRA =join
ATOMG.E.ADD.STRONG.GPU PT,R5,[R2.64],R4
spin:
LDG.E.STRONG.GPU R6,[R2.64]
ISETP.LT.U32.AND P1,PT,R6,c[0x0][0x168],PT
@P1 BRA =spin
join:
BSYNC B0
out:
BAR.SYNC 0x0
"""


@pytest.mark.parametrize("budget", [100, 1 << 30])
def test_blocks_wait_for_each_other_as_far_as_they_fit(budget: int) -> None:
    memory = new_memory()
    memory.alloc(DATA, 256, 1)
    made = run(
        GRID_BARRIER,
        memory=memory,
        words=[*pair(DATA), 40],
        block=64,
        grid=40,
        sms=10,
        blocks_per_sm=4,
        threads=2,
        budget=budget * 256,
    )
    assert made.state == "done"
    assert memory.read(DATA, 4) == struct.pack("<I", 40)


def test_grid_barrier_of_blocks_that_do_not_fit_never_ends() -> None:
    memory = new_memory()
    memory.alloc(DATA, 256, 1)
    made = run(
        GRID_BARRIER,
        memory=memory,
        words=[*pair(DATA), 41],
        block=64,
        grid=41,
        sms=10,
        blocks_per_sm=4,
        budget=10000,
    )
    assert made.state == "running"
    assert memory.read(DATA, 4) == struct.pack("<I", 40)
    assert len({group["block"] for group in made.grid.groups()}) == 40


def test_shapes_that_cannot_run_are_refused() -> None:
    for options in ({"block": 1025}, {"grid": 0}, {"sms": 0}, {"local_bytes": 8}, {"blocks_per_sm": 0}):
        with pytest.raises(ValueError, match=r"grid|SM|local"):
            run("NOP", **options)


# ---- system calls ----


def call_slot(memory: _core.Memory, name: str, buffer: int = 0, size: int = 0) -> None:
    memory.alloc(CALLS, 4096, 4)
    memory.write(CALLS, struct.pack("<16s48sQQ", b"warpath syscall\0", name.encode(), buffer, size))


CALL = """
MOV R6,c[0x0][0x168]
MOV R7,c[0x0][0x16c]
MOV R16,c[0x0][0x160]
MOV R17,c[0x0][0x164]
LEPC R20,=back
CALL.ABS.NOINC R16
back:
NOP
"""


def output_records(memory: _core.Memory) -> list[tuple[int, bytes]]:
    used, _ = struct.unpack("<QQ", memory.read(OUTPUT, 16))
    records: list[tuple[int, bytes]] = []
    at = 16
    while at < used:
        size, kind = struct.unpack("<II", memory.read(OUTPUT + at, 8))
        records.append((kind, memory.read(OUTPUT + at + 8, size - 8)))
        at = (at + size + 7) & ~7
    return records


def print_memory(fmt: bytes, arguments: bytes, room: int = 4096) -> _core.Memory:
    memory = new_memory()
    memory.alloc(DATA, 4096, 1)
    memory.write(DATA, fmt + b"\0")
    memory.write(DATA + 256, arguments)
    memory.write(DATA + 512, b"word\0")
    memory.alloc(OUTPUT, 4096, 5)
    memory.write(OUTPUT, struct.pack("<QQ", 16, 0))
    call_slot(memory, "vprintf", OUTPUT, room)
    return memory


@pytest.mark.parametrize(
    ("fmt", "arguments", "text", "count"),
    [
        (b"plain %% text\n", b"", b"plain % text\n", 0),
        (b"%d|%5u|%-4x|", struct.pack("<iII", -3, 7, 255), b"-3|    7|ff  |", 3),
        (b"%d %f %s!", struct.pack("<i4xdQ", 1, 2.5, DATA + 512), b"1 2.500000 word!", 3),
        (b"%lld %llu %p", struct.pack("<qQQ", -5, 1 << 63, 0x1234), b"-5 9223372036854775808 0x1234", 3),
        (b"%*d|%.*f|%c", struct.pack("<iii4xdi", 5, 42, 1, 2.25, 65), b"   42|2.2|A", 5),
        (b"%hhd %hd %e", struct.pack("<iid", 300, 70000, 1.0), b"44 4464 1.000000e+00", 3),
        (b"%s", struct.pack("<Q", 0), b"(null)", 1),
    ],
)
def test_printf(fmt: bytes, arguments: bytes, text: bytes, count: int) -> None:
    memory = print_memory(fmt, arguments)
    made = run(
        f"MOV R4,{DATA & 0xFFFFFFFF:#x}\nMOV R5,{DATA >> 32:#x}\n{CALL}",
        ["R4"],
        memory=memory,
        words=[*pair(CALLS), *pair(DATA + 256)],
        block=1,
    )
    assert output_records(memory) == [(2, text)]
    assert made.registers["R4"] == [count]


def test_printf_reads_arguments_from_the_stack_of_each_thread_and_drops_what_does_not_fit() -> None:
    memory = print_memory(b"%d,", b"", room=16 + 3 * 16)
    top = 0x1000000 - LOCAL_BYTES
    run(
        f"MOV R1,{top:#x}\nSTL [R1],R0\nMOV R4,{DATA & 0xFFFFFFFF:#x}\nMOV R5,{DATA >> 32:#x}\n{CALL}",
        memory=memory,
        words=[*pair(CALLS), *pair(LOCAL_WINDOW + top)],
    )
    assert [body for _, body in output_records(memory)] == [b"0,", b"1,", b"2,"]
    assert struct.unpack("<QQ", memory.read(OUTPUT, 16))[1] == 29


def test_assertion_failure_is_recorded_and_stops_the_grid() -> None:
    memory = print_memory(b"", b"")
    memory.write(DATA, b"x > 0\0file.cu\0f()\0")
    memory.free(CALLS)
    call_slot(memory, "__assertfail", OUTPUT, 4096)
    made = run(
        f"""
        MOV R4,{DATA & 0xFFFFFFFF:#x}
        MOV R5,{DATA >> 32:#x}
        MOV R8,0x9
        IADD3 R10,R4,0xe,RZ
        MOV R11,R5
        ISETP.EQ.U32.AND P0,PT,R0,0x23,PT
        @!P0 EXIT
        {CALL}
        """,
        memory=memory,
        words=[*pair(CALLS), *pair(DATA + 6)],
        block=64,
    )
    fault = made.grid.fault
    assert fault is not None
    assert (fault["kind"], fault["thread"]) == ("device_assert", (35, 0, 0))
    assert fault["message"] == "Assertion `x > 0` failed"
    ((kind, body),) = output_records(memory)
    assert kind == 1
    assert struct.unpack("<3Q7I", body) == (DATA, DATA + 6, DATA + 14, 9, 0, 0, 0, 35, 0, 0)


def test_device_heap() -> None:
    memory = new_memory()
    memory.alloc(DATA, 4096, 1)
    memory.set_heap(DATA, 512)
    call_slot(memory, "malloc")
    options: dict[str, Any] = {"memory": memory, "words": [*pair(CALLS), 0, 0]}
    made = run("MOV R4,0x14\nMOV R5,RZ\n" + CALL, ["R4", "R5"], **options)
    # 20 bytes take 32: sixteen fit, the rest get null.
    assert made.registers["R4"] == [(DATA + 32 * lane) & 0xFFFFFFFF if lane < 16 else 0 for lane in range(32)]
    assert made.registers["R5"] == [DATA >> 32 if lane < 16 else 0 for lane in range(32)]


def test_freeing_what_was_not_allocated_is_a_fault() -> None:
    memory = new_memory()
    memory.alloc(DATA, 4096, 1)
    memory.set_heap(DATA, 512)
    call_slot(memory, "free")
    made = run("MOV R4,0x10\nMOV R5,RZ\n" + CALL, memory=memory, words=[*pair(CALLS), 0, 0])
    assert made.grid.fault is not None
    assert made.grid.fault["address"] == 0x10


def test_unknown_system_call_is_named() -> None:
    memory = new_memory()
    call_slot(memory, "cudaLaunchDevice")
    made = run(CALL, memory=memory, words=[*pair(CALLS), 0, 0])
    assert made.grid.fault is not None
    assert made.grid.fault["kind"] == "unsupported_instruction"
    assert "cudaLaunchDevice" in made.grid.fault["message"]
