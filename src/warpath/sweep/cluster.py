"""Run points on the workers of a Dask cluster. Reports come back over the network; sources must be found as here."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from typing import Any

from warpath.errors import UsageError
from warpath.sweep.local import Outcome, run_point
from warpath.sweep.points import Point

CONNECT_SECONDS = 10


def run_cluster(points: Sequence[Point], address: str) -> Iterator[tuple[Point, Outcome]]:
    """Run `points` on the cluster at `address`; each with its outcome as it ends.

    UsageError without the `distributed` package, or when no scheduler answers. Closing the iterator drops what waits.
    """
    if importlib.util.find_spec("distributed") is None:
        raise UsageError("--scheduler needs Dask: pip install 'warpath[cluster]'")
    # Dask publishes no complete types.
    from distributed import Client, as_completed  # pyright: ignore
    from distributed.comm import resolve_address  # pyright: ignore

    try:
        resolve_address(address)  # an address that is none would leave half a client behind
        client: Any = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        futures: dict[Any, Point] = {client.submit(run_point, point, pure=False): point for point in points}
        try:
            done: Any = as_completed(list(futures))
            for future in done:
                yield futures[future], _outcome(future)
        finally:
            client.cancel(list(futures))


def _outcome(future: Any) -> Outcome:
    """What the worker returned, or why it could not: it has no warpath, or was lost."""
    error: BaseException | None = future.exception()
    if error is None:
        return future.result()
    return Outcome(b"", f"the worker failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
