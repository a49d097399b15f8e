"""How many blocks of a kernel fit on one SM, what stops the next one, and what would admit it.

The arithmetic is NVIDIA's (`cuda_occupancy.h`, which the oracle test compiles and compares with); all figures
are therefore computed, except `driver_carveout`, which is a rule read off measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from warpath.errors import UsageError
from warpath.gpu.spec import Gpu, Sm

# What limits residency, in the order reports list it; the names are keys of `Occupancy.limits`.
RESOURCES = ("warps", "registers", "shared_mem", "blocks", "barriers")
UNITS = {
    "warps": "threads per block",
    "registers": "registers per thread",
    "shared_mem": "bytes per block",
    "blocks": "blocks per SM",
    "barriers": "barriers per block",
}


@dataclass(frozen=True, slots=True)
class Request:
    """What one block asks for. Shared memory in bytes, without the driver's reserve."""

    threads: int
    registers: int  # per thread
    static_shared: int = 0
    dynamic_shared: int = 0
    barriers: int = 1
    # cudaFuncAttributePreferredSharedMemoryCarveout, percent; None: no preference
    carveout: int | None = None
    # cudaFuncAttributeMaxDynamicSharedMemorySize; None: as much as is used
    max_dynamic_shared: int | None = None

    def __post_init__(self) -> None:
        if self.threads <= 0:
            raise UsageError(f"a block needs at least one thread, not {self.threads}")
        for name in ("registers", "static_shared", "dynamic_shared", "barriers"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name.replace('_', ' ')} cannot be negative: {getattr(self, name)}")
        if self.carveout is not None and not 0 <= self.carveout <= 100:
            raise UsageError(f"the carve-out preference is a percentage, not {self.carveout}")


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident blocks and warps of one SM; `blocks_per_sm` is 0 when the launch would be refused."""

    request: Request
    blocks_per_sm: int
    warps_per_sm: int
    warps_per_scheduler: float
    max_warps: int
    limits: dict[str, int | None]  # blocks that each resource alone would admit; None: it does not limit
    limiter: list[str]  # every resource whose limit is the smallest
    registers_per_block: int  # as allocated
    shared_per_block: int  # bytes as allocated, reserve included
    carveout_bytes: int  # shared memory assumed for `limits["shared_mem"]`
    needs_opt_in: bool  # more shared memory than a block gets without cudaFuncSetAttribute
    refusal: str | None  # why no block can run, or None

    @property
    def fraction(self) -> float:
        """Resident warps over the hardware's maximum, 0 to 1."""
        return self.warps_per_sm / self.max_warps


@dataclass(frozen=True, slots=True)
class Step:
    """What one more block per SM asks of one resource, and what that change alone would do."""

    resource: str  # a key of `Occupancy.limits`
    unit: str
    now: int
    needed: int | None  # the largest value that admits one more block; None: no value does
    blocks: int  # resident blocks after this change alone
    warps: int  # resident warps after this change alone


def occupancy(
    sm: Sm,
    threads: int,
    registers: int,
    static_shared: int = 0,
    dynamic_shared: int = 0,
    barriers: int = 1,
    carveout: int | None = None,
    max_dynamic_shared: int | None = None,
) -> Occupancy:
    """Occupancy of a block of `threads` threads with `registers` registers each; UsageError on absurd input.

    `carveout` is the preference in percent of shared memory (None: none, which means all of it, as NVIDIA's
    calculator has it). `max_dynamic_shared` is the limit set with cudaFuncSetAttribute; None takes it as set
    just high enough. Clusters are not considered.
    """
    return evaluate(
        sm,
        Request(threads, registers, static_shared, dynamic_shared, barriers, carveout, max_dynamic_shared),
    )


def evaluate(sm: Sm, request: Request) -> Occupancy:
    """`occupancy` for a request object."""
    shared = shared_allocation(sm, request.static_shared + request.dynamic_shared)
    limits = {name: _LIMITS[name](sm, request) for name in RESOURCES}
    blocks = min(limit for limit in limits.values() if limit is not None)
    warps = blocks * _warps(sm, request)
    return Occupancy(
        request=request,
        blocks_per_sm=blocks,
        warps_per_sm=warps,
        warps_per_scheduler=warps / sm.schedulers,
        max_warps=sm.max_warps,
        limits=limits,
        limiter=[name for name in RESOURCES if limits[name] == blocks],
        registers_per_block=_registers_per_warp(sm, request) * _warps(sm, request),
        shared_per_block=shared,
        carveout_bytes=_carveout(sm, request, shared),
        needs_opt_in=request.static_shared + request.dynamic_shared > sm.shared_per_block_bytes,
        refusal=_refusal(sm, request, limits) if blocks == 0 else None,
    )


def waves(grid_blocks: int, gpu: Gpu, occupancy: Occupancy) -> float | None:
    """Times the grid fills the whole GPU: blocks / (SMs x blocks per SM); None when no block fits."""
    resident = gpu.sms * occupancy.blocks_per_sm
    return grid_blocks / resident if resident else None


def shared_allocation(sm: Sm, requested: int) -> int:
    """Bytes of shared memory a block really takes: request plus the driver's reserve, rounded up."""
    return _round_up(requested + sm.shared_reserved_bytes, sm.shared_unit_bytes)


def launch_registers(sm: Sm, compiled: int) -> int:
    """Registers per thread the driver asks for, from the compiler's count (ncu's registers_per_thread)."""
    return max(compiled, sm.min_launch_registers)


def driver_carveout(sm: Sm, request: Request) -> int:
    """Bytes of shared memory the driver sets up without a preference (ncu's shared_mem_config_size).

    Room for twice the blocks that the warp slots admit, at most the block slots, in the next carve-out size
    but never 16 KiB. A rule read off profiled launches on an H200 (driver 580.159, tests/data), all of which
    it reproduces; for other generations it is an analogy.
    """
    shared = shared_allocation(sm, request.static_shared + request.dynamic_shared)
    blocks = min(sm.max_blocks, 2 * sm.max_warps // _warps(sm, request))
    sizes = [size for size in sm.carveouts_bytes if size not in (0, 16 << 10)]
    return next((size for size in sizes if size >= blocks * shared), sizes[-1])


def next_step(sm: Sm, occupancy: Occupancy) -> list[Step]:
    """For each resource that limits, the value that would admit one more block per SM.

    When several limit together, all of them must move; `Step.blocks` shows what one alone achieves.
    """
    target = occupancy.blocks_per_sm + 1
    return [_step(sm, occupancy, resource, target) for resource in occupancy.limiter]


def suggest_block_size(
    sm: Sm,
    registers: int,
    shared: Callable[[int], int] = lambda _: 0,
    static_shared: int = 0,
    max_threads: int = 1024,
) -> tuple[int, int]:
    """(threads, blocks per SM) with most resident threads, largest block first, as NVIDIA's calculator picks.

    `shared` maps a block size to its dynamic shared memory in bytes; `max_threads` is the kernel's own limit
    (launch bounds). (0, 0) when no block size can run.
    """
    best = (0, 0)
    limit = min(max_threads, sm.max_threads_per_block)
    for aligned in range(_round_up(limit, sm.warp_size), 0, -sm.warp_size):
        threads = min(limit, aligned)
        blocks = occupancy(sm, threads, registers, static_shared, shared(threads)).blocks_per_sm
        if threads * blocks > best[0] * best[1]:
            best = (threads, blocks)
        if best[0] * best[1] == sm.max_threads:
            break
    return best


def available_dynamic_shared(sm: Sm, request: Request, blocks: int) -> int:
    """Largest dynamic shared memory in bytes that keeps `blocks` blocks per SM resident.

    What cudaOccupancyAvailableDynamicSMemPerBlock answers; `request.dynamic_shared` is ignored, and
    `request.max_dynamic_shared` caps the answer. UsageError when `blocks` blocks do not fit even without any.
    """
    base = evaluate(sm, replace(request, dynamic_shared=0))
    if not 0 < blocks <= base.blocks_per_sm:
        raise UsageError(f"{blocks} blocks per SM are out of reach: at most {base.blocks_per_sm} fit")
    per_block = _shared_per_block_limit(sm, sm.shared_bytes)
    # One block may use everything; more share what the preference leaves (never less than the smallest size).
    total = per_block if blocks == 1 else _preference(sm, request.carveout) or _align_carveout(sm, 1)
    room = min(total // blocks // sm.shared_unit_bytes * sm.shared_unit_bytes, per_block)
    room -= request.static_shared + sm.shared_reserved_bytes
    return room if request.max_dynamic_shared is None else min(room, request.max_dynamic_shared)


def _warps(sm: Sm, request: Request) -> int:
    return -(-request.threads // sm.warp_size)


def _registers_per_warp(sm: Sm, request: Request) -> int:
    return _round_up(request.registers * sm.warp_size, sm.register_unit)


def _warps_limit(sm: Sm, request: Request) -> int:
    return 0 if request.threads > sm.max_threads_per_block else sm.max_warps // _warps(sm, request)


def _registers_limit(sm: Sm, request: Request) -> int | None:
    per_warp = _registers_per_warp(sm, request)
    # The hardware's launch check counts warps as if every sub-partition got equally many.
    checked = per_warp * _round_up(_warps(sm, request), sm.sub_partitions)
    if checked > sm.registers_per_block or request.registers > sm.max_allocated_registers_per_thread:
        return 0
    if per_warp == 0:
        return None
    warps_per_partition = sm.registers // sm.sub_partitions // per_warp
    return warps_per_partition * sm.sub_partitions // _warps(sm, request)


def _shared_limit(sm: Sm, request: Request) -> int | None:
    shared = shared_allocation(sm, request.static_shared + request.dynamic_shared)
    if request.max_dynamic_shared is not None and request.dynamic_shared > request.max_dynamic_shared:
        return 0
    if shared > _shared_per_block_limit(sm, _shared_ceiling(sm, request)):
        return 0
    return _carveout(sm, request, shared) // shared if shared else None


def _blocks_limit(sm: Sm, request: Request) -> int:
    return sm.max_blocks


def _barriers_limit(sm: Sm, request: Request) -> int | None:
    return sm.barrier_pool // request.barriers if sm.barrier_pool and request.barriers else None


_LIMITS: dict[str, Callable[[Sm, Request], int | None]] = {
    "warps": _warps_limit,
    "registers": _registers_limit,
    "shared_mem": _shared_limit,
    "blocks": _blocks_limit,
    "barriers": _barriers_limit,
}


def _shared_ceiling(sm: Sm, request: Request) -> int:
    """The most shared memory the kernel's attributes let a block use, reserve included."""
    dynamic = request.dynamic_shared if request.max_dynamic_shared is None else request.max_dynamic_shared
    return request.static_shared + sm.shared_reserved_bytes + dynamic


def _shared_per_block_limit(sm: Sm, ceiling: int) -> int:
    opted_in = ceiling > sm.shared_per_block_bytes
    limit = sm.shared_per_block_optin_bytes if opted_in else sm.shared_per_block_bytes
    return limit + sm.shared_reserved_bytes


def _carveout(sm: Sm, request: Request, shared: int) -> int:
    """A preference too small for one block gives way to the smallest carve-out that holds one."""
    preferred = _preference(sm, request.carveout)
    return preferred if preferred >= shared else _align_carveout(sm, shared)


def _preference(sm: Sm, percent: int | None) -> int:
    return _align_carveout(sm, sm.shared_bytes if percent is None else percent * sm.shared_bytes // 100)


def _align_carveout(sm: Sm, size: int) -> int:
    return next((carveout for carveout in sm.carveouts_bytes if carveout >= size), sm.carveouts_bytes[-1])


def _refusal(sm: Sm, request: Request, limits: dict[str, int | None]) -> str:
    """The launch error a user would meet, with the figures that cause it."""
    if limits["warps"] == 0:
        return f"{request.threads} threads per block exceed the limit of {sm.max_threads_per_block}"
    if limits["registers"] == 0:
        if request.registers > sm.max_registers_per_thread:
            limit = sm.max_registers_per_thread
            return f"{request.registers} registers per thread exceed the limit of {limit}"
        warps = _round_up(_warps(sm, request), sm.sub_partitions)
        needed = warps * _registers_per_warp(sm, request)
        return (
            f"too many resources requested for launch: {warps} warps x {_registers_per_warp(sm, request)} "
            f"registers = {needed}, a block may have {sm.registers_per_block}"
        )
    if limits["shared_mem"] == 0:
        total = request.static_shared + request.dynamic_shared
        limit = _shared_per_block_limit(sm, _shared_ceiling(sm, request)) - sm.shared_reserved_bytes
        if request.max_dynamic_shared is not None and request.dynamic_shared > request.max_dynamic_shared:
            return (
                f"{request.dynamic_shared} B of dynamic shared memory exceed the function's limit of "
                f"{request.max_dynamic_shared} B (cudaFuncAttributeMaxDynamicSharedMemorySize)"
            )
        return f"{total} B of shared memory per block exceed the limit of {limit} B"
    return f"{request.barriers} barriers per block exceed the {sm.barrier_pool} of an SM"


def _step(sm: Sm, now: Occupancy, resource: str, target: int) -> Step:
    request = now.request
    current, smaller = _demand(sm, request, resource)
    for value, changed in smaller:
        limit = _LIMITS[resource](sm, changed)
        if limit is None or limit >= target:
            after = evaluate(sm, changed)
            return Step(resource, UNITS[resource], current, value, after.blocks_per_sm, after.warps_per_sm)
    return Step(resource, UNITS[resource], current, None, now.blocks_per_sm, now.warps_per_sm)


def _demand(sm: Sm, request: Request, resource: str) -> tuple[int, Iterator[tuple[int, Request]]]:
    """How much of a resource the request takes now, and every smaller request worth trying, largest first."""
    if resource == "warps":
        sizes = range((_warps(sm, request) - 1) * sm.warp_size, 0, -sm.warp_size)
        return request.threads, ((n, replace(request, threads=n)) for n in sizes)
    if resource == "registers":
        counts = range(request.registers - 1, 0, -1)
        return request.registers, ((n, replace(request, registers=n)) for n in counts)
    if resource == "barriers":
        counts = range(request.barriers - 1, 0, -1)
        return request.barriers, ((n, replace(request, barriers=n)) for n in counts)
    if resource == "shared_mem":
        total = request.static_shared + request.dynamic_shared
        largest = shared_allocation(sm, total) - sm.shared_unit_bytes - sm.shared_reserved_bytes
        totals = range(largest, -1, -sm.shared_unit_bytes)
        return total, ((n, _with_shared(request, n)) for n in totals)
    # Block slots are a count of the hardware: larger blocks, not a smaller request, add warps.
    return sm.max_blocks, iter(())


def _with_shared(request: Request, total: int) -> Request:
    """The request with `total` bytes of shared memory: dynamic memory gives way first."""
    static = min(request.static_shared, total)
    return replace(request, static_shared=static, dynamic_shared=total - static)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
