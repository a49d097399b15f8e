"""Blocks of the device heap in words: who allocated them with malloc() in a kernel, and who freed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpath.report.model import AllocationInfo, Fault, FaultSite


class Heap:
    """Names blocks as the core records them. `spot` makes a site of a program address and a record.

    `codes` must hold the program address of every launch by its index: a block may be older than the launch that
    misuses it.
    """

    def __init__(self, spot: Callable[[int, Mapping[str, Any]], FaultSite]) -> None:
        self.codes: dict[int, int] = {}
        self._spot = spot

    def lines(self, block: Mapping[str, Any] | None, address: int) -> list[str]:
        """On the block that is closest to `address`."""
        if block is None:
            return ["The address lies in the device heap, of which malloc() has handed out nothing."]
        lines = [
            f"{block['size']:,} bytes of the device heap at {block['address']:#x}, allocated by "
            f"{self._site(block['made'])}; the address is at its start {address - block['address']:+#x}."
        ]
        if block["freed"]:
            lines.append(f"Freed by {self._site(block['freed'])}.")
        return lines

    def info(self, block: Mapping[str, Any] | None, address: int) -> AllocationInfo | None:
        """The same for reports."""
        if block is None:
            return None
        return AllocationInfo(
            address=block["address"],
            size=block["size"],
            kind="device heap",
            offset=address - block["address"],
            allocated_by=self._site(block["made"]),
            freed_by=self._site(block["freed"]) if block["freed"] else "",
        )

    def leak(self, block: Mapping[str, Any]) -> Fault:
        """The finding for a block that was never freed."""
        return Fault(
            tool="memcheck",
            kind="device_leak",
            title=f"Leaked {block['size']:,} bytes at {block['address']:#x} on the device heap",
            address=block["address"],
            size=block["size"],
            notes=[f"Allocated by {self._site(block['made'])}, never freed."],
        )

    def _site(self, site: Mapping[str, Any]) -> str:
        """`thread (1,0,0) in block (0,0,0) of launch 2 at f(int *)+0x90 in file.cu:12`."""
        spot = self._spot(self.codes[site["launch"]], site)
        return f"{spot.who} of launch {site['launch']} at {spot.where}"
