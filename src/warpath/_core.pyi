"""The compiled core: GPU memory, programs in SASS, and grids that execute them.

Addresses and sizes are in bytes, program counters are byte offsets from the start of the program's code.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

class AccessError(ValueError):
    """An access from outside the grid that no mapped page covers."""

    address: int
    size: int

class Memory:
    """GPU memory: address regions whose pages (2 MiB, as on hardware) are mapped by live allocations.

    Host memory is committed when it is touched. Access from Python needs mapped pages and raises AccessError
    otherwise.
    """

    def __init__(self) -> None: ...
    def reserve(self, base: int, size: int, fd: int = -1) -> None:
        """Add a region, both numbers multiples of 2 MiB; with `fd`, a shared mapping of that file from its start.

        ValueError when it overlaps another; OSError when the host refuses.
        """

    def alloc(self, va: int, size: int, kind: int) -> None:
        """Register a live allocation: 1 device, 2 host pinned, 3 managed, 4 code, 5 driver's own."""

    def free(self, va: int) -> None:
        """End the live allocation that starts at `va`; ValueError when there is none."""

    def read(self, va: int, size: int) -> bytes:
        """The bytes at `va`."""

    def write(self, va: int, data: bytes | bytearray | memoryview) -> None:
        """Store bytes."""

    def fill(self, va: int, value: int, size: int, width: int) -> None:
        """Repeat `value`, `width` (1, 2, 4 or 8) bytes wide, over `size` bytes."""

    def copy(self, dst: int, src: int, size: int) -> None:
        """Copy bytes; the ranges may overlap."""

    def view(self, va: int, size: int) -> memoryview:
        """A writable view of the bytes at `va`."""

    def extent(self, va: int) -> tuple[int, int] | None:
        """(base, size) of the live allocation holding `va`."""

    def nearest(self, va: int) -> list[tuple[int, int, int]]:
        """(base, size, kind) of the live allocations at or below `va` and above it: up to two."""

    def allocations(self) -> list[tuple[int, int, int]]:
        """(base, size, kind) of every live allocation, by address."""

    def set_heap(self, va: int, size: int) -> None:
        """Use this mapped range for device-side malloc and free, empty at first."""

class Undeclared(TypedDict):
    """An instruction that the core does not execute."""

    pc: int
    text: str
    bytes: str  # 32 hexadecimal digits, as in memory
    reason: str

class InstructionInfo(TypedDict):
    """One instruction of a program and its declaration; None where it has none."""

    pc: int
    text: str
    family: str | None
    pipe: str | None
    latency: str | None

class Program:
    """Decoded code. Instructions that are not declared fault when they are executed."""

    def __init__(self, sm: int, base_va: int, code: bytes, text: Sequence[tuple[str, str, str]]) -> None:
        """`text` has (predicate, opcode, operands) as nvdisasm prints them, one per 16 bytes of `code`; an empty
        opcode stands for bytes that are no instruction. ValueError when the lengths do not fit.
        """

    @property
    def sm(self) -> int:
        """Compute capability, 89 for 8.9."""

    @property
    def base_va(self) -> int:
        """Address of the first instruction."""

    @property
    def order_visible(self) -> bool:
        """Whether results can depend on the order of CTAs; such grids run on one host thread."""

    def undeclared(self) -> list[Undeclared]:
        """What the program holds that the core does not execute."""

    def instructions(self) -> list[InstructionInfo]:
        """Every instruction, in order."""

    def __len__(self) -> int: ...

class Fault(TypedDict):
    """What stopped a grid."""

    kind: str  # illegal_address, misaligned_address, illegal_address_space, shared_out_of_range, ...
    pc: int
    text: str
    bytes: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    warp: int
    lane: int
    address: int
    size: int
    access: str  # read, write, atomic, execute or ""
    message: str

class Note(TypedDict):
    """The first access of an instruction to a mapped page outside every live allocation: hardware lets it pass."""

    kind: str  # out_of_bounds
    pc: int
    text: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    address: int
    size: int
    access: str
    count: int  # lanes of this instruction, over the whole grid

class Group(TypedDict):
    """Lanes of a warp that stand together."""

    block: tuple[int, int, int]
    warp: int
    mask: int
    pc: int
    text: str
    state: str  # running, ready, convergence, warpsync, barrier
    missing: int  # lanes of the warp that it waits for
    barrier: int  # at a CTA barrier: its number, threads that have come, threads that complete it
    arrived: int
    expected: int

class Grid:
    """A launch. Constant bank i is `const_banks[i]` as (address, size), size 0 where there is none.

    `shared_bytes` is what a CTA can address from offset 0 of its window, `local_bytes` what a thread can
    address below 0x1000000 of its own (a multiple of 16). `registers` is the number per thread.
    With `count`, memory requests, sectors, lines, wavefronts and bank conflicts are counted too.
    Block i runs on SM i mod `sms`. `warps_per_sm` is what %nwarpid says; `shared_reserved` bytes beyond
    `shared_bytes` are counted by SR_SMEMSZ only.
    """

    def __init__(
        self,
        memory: Memory,
        program: Program,
        entry_va: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        registers: int,
        shared_bytes: int,
        local_bytes: int,
        const_banks: Sequence[tuple[int, int]],
        shared_window: int,
        local_window: int,
        sms: int,
        blocks_per_sm: int,
        count: bool = False,
        warps_per_sm: int = 64,
        shared_reserved: int = 0,
    ) -> None: ...
    def step(self, budget: int, threads: int = 1) -> str:
        """Run about `budget` warp instructions on up to `threads` host threads (0: all; the first call decides).

        Returns "running", "done" or "fault". Results do not depend on `threads` or `budget`.
        """

    @property
    def fault(self) -> Fault | None:
        """What stopped the grid."""

    @property
    def notes(self) -> list[Note]:
        """Accesses outside live allocations, one per instruction, by pc."""

    @property
    def counters(self) -> dict[str, Any]:
        """Totals `inst_executed`, `thread_inst_executed`, `thread_inst_executed_pred_on`, blocks per SM as
        `sm_blocks`, and columns by instruction (bytes, one little-endian u64 each): executed, threads,
        threads_on; with counting requests, sectors, lines, wavefronts, conflicts.
        """

    def groups(self) -> list[Group]:
        """Where the lanes of every resident CTA are."""

    def watch(self, checker: Checker) -> None:
        """Let `checker` see every instruction, on one host thread; before the first step."""

    def text(self, index: int) -> str:
        """The text of an instruction."""

    @property
    def started(self) -> int:
        """Blocks that have been given to an SM so far."""

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""

    def placement(self) -> bytes:
        """The SM of each block in order, one little-endian u32 each."""

class Checker:
    """Watches grids: races, misused barriers and masks, reads of what nobody wrote; with `memcheck` constants out of
    range and the device heap.

    What has been written to device memory is followed from its construction on, which must come before the first
    allocation.
    """

    def __init__(
        self,
        memory: Memory,
        races: bool = False,
        sync: bool = False,
        initialized: bool = False,
        memcheck: bool = False,
    ) -> None: ...
    def name_masks(self, masks: Sequence[tuple[int, int]]) -> None:
        """(instruction index, register) of *_sync functions and their masks, for the next grid."""

    def name_launch(self, number: int) -> None:
        """The launch that the next grid is, as sites of heap blocks name it."""

    def heap_block(self, address: int) -> dict[str, Any] | None:
        """The block of the device heap closest to an address: address, size, made and freed (launch, pc, block,
        thread; freed is None while it lives).
        """

    def heap_leaks(self) -> list[dict[str, Any]]:
        """Blocks of the device heap that live."""

    def findings(self, grid: Grid) -> list[dict[str, Any]]:
        """What was found in the grid that was watched last: kind, space, site and other (as in Fault), address, size,
        count, mask, pairs of warps, and for the device heap the block next to it.
        """

    @property
    def complete(self) -> bool:
        """False when a grid touched more memory than the race check follows."""

def probe_hang(grid: Grid) -> dict[str, list[dict[str, Any]]]:
    """Who waits for whom in a grid that was stopped; it runs copies of its warps on and leaves the grid as it is.

    `spins`: groups that run in circles (block, warp, mask, loop, trips seen, whether registers stay `constant`, which
    `changes`, and `polls`: space, home, address, size, value, pc, mask). `writers` of the polled words: block, warp,
    lane, thread, pc, `swapped` (it did, storing `value`; else it would if it could go on), `started`.
    """

STALLS: tuple[str, ...]
"""Stall reasons in the order of the rows of `TimedGrid.result()["instructions"]["stalls"]`."""

class MemorySystem:
    """Crossbar, L2 and DRAM of one GPU over time; contents last from launch to launch."""

    def __init__(self, params: dict[str, int]) -> None:
        """ValueError that names the first parameter missing, or says that one is unknown."""

    def flush(self) -> None:
        """Empty all caches, as before each pass of a profiler with cache control."""

    def put_back(self) -> None:
        """Leave every line in its home partition alone, and clean, as a profiler that puts memory back does."""

    def copied(self, va: int, size: int) -> None:
        """A copy engine wrote `size` bytes at `va`: they are in L2 now, dirty."""

class TimedGrid:
    """A grid under the clock; the grid itself must not have been stepped. Faults and counts are the grid's."""

    def __init__(
        self, grid: Grid, memory: MemorySystem, l1_bytes: int, code_id: int, timeline: bool = False
    ) -> None:
        """`l1_bytes`: what the carve-out leaves for L1; `code_id` names the program, to know code seen before;
        `timeline`: keep what happened when.
        """

    def step(self, budget: int, threads: int = 1) -> str:
        """Run about `budget` warp instructions: `running`, `done` or `fault`. Same results for any `threads`."""

    @property
    def now(self) -> int:
        """Cycles since the launch began."""

    def pause_at(self, cycle: int) -> None:
        """The next step ends at that cycle at the latest."""

    def result(self) -> dict[str, Any]:
        """What has been measured: cycles, stalls by reason, counts of L1, shared memory, L2 and DRAM.

        `instructions` holds columns by instruction index (packed u64): `stalls` has one row of `STALLS` each.
        """

    def timeline(self) -> dict[str, Any] | None:
        """What happened when, in cycles since the launch began; None unless asked for. Packed u64 throughout.

        Columns by bin of `bin_cycles`: `warp_cycles`, `issued`, `dram_bytes`, `l2_sectors`. Rows of `ctas`: block, SM,
        start, end. Rows of `stretches` of the warps of SM `watched_sm`: block, warp, sub-partition, instruction index,
        index into `STALLS`, start, end; `dropped` counts those beyond the first 20,000. `samples`: by instruction
        index, the 32 lane addresses of its first request, -1 for lanes that took no part.
        """

class OpRow(TypedDict):
    """The declaration of an opcode."""

    mnemonic: str
    modifiers: list[str]
    pipe: str
    latency: str
    family: str

def op_table() -> list[OpRow]:
    """Every declared opcode."""

def parse(opcode: str, operands: str) -> dict[str, Any]:
    """One instruction's text taken apart: mnemonic, modifiers, operands, family, pipe, latency, error."""
