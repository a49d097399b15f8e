"""All API handlers: importing this package's `api_*` modules registers them."""

from __future__ import annotations

from importlib import import_module

MODULES = ("device", "error", "event", "function", "graph", "launch", "memory", "module", "pool", "stream", "transfer")


def load() -> None:
    """Register every handler; doing it again changes nothing."""
    for name in MODULES:
        import_module(f"warpath.host.api_{name}")
