"""The host's own model time: what calls cost and what the host waits for, so that nothing depends on this machine.

One clock serves all host threads. What the program computes between its calls takes no time.
"""

from __future__ import annotations

from warpath.gpu.launch_path import LaunchPath, transfer_ns


class HostClock:
    """Nanoseconds since the context was made; `path` holds the costs."""

    def __init__(self, path: LaunchPath) -> None:
        self.path = path
        self.now_ns = 0

    def spend(self, nanoseconds: int) -> None:
        """The host is busy."""
        self.now_ns += nanoseconds

    def move(self, size: int, mbs: int) -> None:
        """The host moves `size` bytes at a rate in 10^6 bytes a second."""
        self.now_ns += transfer_ns(size, mbs)

    def reach(self, time_ns: int) -> None:
        """The host has waited for something that happened at `time_ns`."""
        self.now_ns = max(self.now_ns, time_ns)
