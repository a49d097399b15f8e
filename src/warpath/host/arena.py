"""Memory that the program and the model GPU share: one memfd, mapped at the same address on both sides."""

from __future__ import annotations

import os

# Linux on x86-64 maps neither executables (up to 2/3 of the address space and 16 TiB of randomisation) nor
# libraries and stacks (from 2^47 - 16 TiB on) here, so the fixed mapping in the program cannot collide.
BASE = 0x6A00_0000_0000
SIZE = 64 << 30


class HostArena:
    """A sparse memfd of `size` bytes for pinned, managed and staging memory; pages cost nothing until touched."""

    def __init__(self, base: int = BASE, size: int = SIZE) -> None:
        self.base = base
        self.size = size
        self.fd = os.memfd_create("warpath-arena", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, size)

    def close(self) -> None:
        """Give the memory back once nobody maps it any more."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
