"""System calls: functions that device code may call and that no cubin contains.

The real driver resolves `vprintf`, `malloc`, `free` and `__assertfail` to device code of its own. Here each gets a
slot in a reserved page, and the model GPU carries out a call or jump to a slot as a built-in with that function's
device ABI: arguments from R4 up, result from R4 up, return address in R20:R21. `addresses()` is what to tell the model
GPU; a slot also describes itself in memory. Slot n lies at BASE + n * SLOT_BYTES and holds

    +0x00  16 bytes  MARK (not an instruction of any SM)
    +0x10  48 bytes  the function's name, zero-padded ASCII
    +0x40   8 bytes  address of the buffer that the function works on (0: none)
    +0x48   8 bytes  size of that buffer

Buffer of `vprintf` and `__assertfail` (one FIFO for both), drained by the driver whenever the GPU has stopped:

    +0x00   8 bytes  bytes written so far, header included; starts at 16, advanced by the writer
    +0x08   8 bytes  records dropped since the FIFO was full
    +0x10   records, each starting on 8 bytes: u32 size with this header, u32 kind, then
            kind 1 assert: u64 message, u64 file, u64 function (addresses), u32 line, u32 block xyz, u32 thread xyz
            kind 2 text:   bytes ready to print (printf's conversions are done where the arguments are: on the GPU)

`malloc` and `free` share a heap: ordinary device memory, which the driver names to the memory model (`set_heap`).
"""

from __future__ import annotations

import struct

from warpath.driver.address_space import CALLS_BASE as BASE

SLOT_BYTES = 128
MARK = b"warpath syscall\0"
NAMES = ("vprintf", "__assertfail", "malloc", "free", "__assert_fail", "abort")

FIFO_HEADER_BYTES = 16
ASSERT_RECORD, TEXT_RECORD = 1, 2

_OUTPUT = frozenset({"vprintf", "__assertfail", "__assert_fail"})
_HEAP = frozenset({"malloc", "free"})


def slot_address(name: str) -> int | None:
    """Where calls to `name` go, None when it is not a system call."""
    return BASE + NAMES.index(name) * SLOT_BYTES if name in NAMES else None


def addresses() -> dict[int, str]:
    """Slot address to function name, for whoever disassembles or executes a call."""
    return {BASE + index * SLOT_BYTES: name for index, name in enumerate(NAMES)}


def needs_output(name: str) -> bool:
    """Whether the call writes to the output FIFO."""
    return name in _OUTPUT


def needs_heap(name: str) -> bool:
    """Whether the call works on the device heap."""
    return name in _HEAP


def page(fifo: tuple[int, int], heap: tuple[int, int]) -> bytes:
    """The bytes of all slots; `fifo` and `heap` are (address, size), (0, 0) while there is none."""
    slots = bytearray()
    for name in NAMES:
        buffer = fifo if needs_output(name) else heap if needs_heap(name) else (0, 0)
        slots += struct.pack("<16s48sQQ48x", MARK, name.encode(), *buffer)
    return bytes(slots)
