"""All API handlers: importing this package's `api_*` modules registers them."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "context",
    "device",
    "error",
    "event",
    "function",
    "graph",
    "graph_nodes",
    "launch",
    "memory",
    "module",
    "pool",
    "stream",
    "transfer",
)


def load() -> None:
    """Register every handler; doing it again changes nothing."""
    for name in MODULES:
        import_module(f"warpath.host.api_{name}")
