"""Checks of a launch configuration, in the order of the real driver, each refusal with its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from warpath.container.cubin import Kernel
from warpath.driver.error import CudaError, Error
from warpath.driver.module import Function
from warpath.gpu.occupancy import Occupancy, occupancy
from warpath.gpu.spec import Gpu, Sm

Triple = tuple[int, int, int]

_MAX_BLOCK: Triple = (1024, 1024, 64)
_MAX_GRID: Triple = (2**31 - 1, 65535, 65535)
PORTABLE_CLUSTER = 8
MAX_CLUSTER = 16


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a launch asks for; `dynamic_shared` in bytes, `cluster` (1, 1, 1) when there is none."""

    grid: Triple
    block: Triple
    dynamic_shared: int = 0
    cooperative: bool = False
    cluster: Triple = (1, 1, 1)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(self.block)

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return prod(self.grid)


def max_threads(kernel: Kernel, sm: Sm) -> int:
    """Largest block this kernel can run with: launch bounds and registers
    (`cudaFuncAttributes.maxThreadsPerBlock`).
    """
    limit = sm.max_threads_per_block
    if kernel.max_threads is not None:
        limit = min(limit, prod(kernel.max_threads))
    while limit > 0 and _by_registers(kernel, sm, limit) == 0:
        limit = (limit - 1) // sm.warp_size * sm.warp_size
    return limit


def _by_registers(kernel: Kernel, sm: Sm, threads: int) -> int | None:
    return occupancy(sm, threads, kernel.registers).limits["registers"]


def dynamic_shared_limit(function: Function, sm: Sm) -> int:
    """Most dynamic shared memory in bytes a launch may ask for, given what the program opted in to."""
    if function.max_dynamic_shared is not None:
        return function.max_dynamic_shared
    return max(sm.shared_per_block_bytes - function.kernel.static_shared, 0)


def check(function: Function, configuration: Configuration, gpu: Gpu, configuration_error: Error) -> None:
    """Raise what the driver would return for this launch; `configuration_error` is the runtime's code for
    dimensions out of range (9 up to CUDA 12, 1 from 13)."""
    _check_dimensions(configuration, configuration_error)
    _check_resources(function, configuration, gpu)
    _check_shared(function, configuration, gpu)
    if configuration.cooperative:
        _check_cooperative(function, configuration, gpu)
    if configuration.cluster != (1, 1, 1):
        _check_cluster(function, configuration, gpu)


def _check_dimensions(configuration: Configuration, code: Error) -> None:
    for what, size, limits in (
        ("grid", configuration.grid, _MAX_GRID),
        ("block", configuration.block, _MAX_BLOCK),
    ):
        for axis, value, limit in zip("xyz", size, limits, strict=True):
            if not 1 <= value <= limit:
                raise CudaError(code, f"{what} dimension {axis} is {value}, must be 1 to {limit}")
    if configuration.threads > _MAX_BLOCK[0]:
        raise CudaError(
            code, f"a block of {configuration.threads} threads exceeds the limit of {_MAX_BLOCK[0]}"
        )


def _check_resources(function: Function, configuration: Configuration, gpu: Gpu) -> None:
    kernel, sm = function.kernel, gpu.sm
    if kernel.max_threads is not None and configuration.threads > prod(kernel.max_threads):
        raise CudaError(
            Error.INVALID_VALUE,
            f"{configuration.threads} threads exceed the launch bounds of {prod(kernel.max_threads)}",
        )
    if kernel.required_threads is not None and configuration.block != kernel.required_threads:
        raise CudaError(Error.INVALID_VALUE, f"the kernel requires blocks of {kernel.required_threads}")
    if _by_registers(kernel, sm, configuration.threads) == 0:
        refusal = occupancy(sm, configuration.threads, kernel.registers).refusal
        fits = max_threads(kernel, sm)
        keep = _registers_for(sm, configuration.threads)
        raise CudaError(
            Error.LAUNCH_OUT_OF_RESOURCES,
            f"{refusal}; blocks of up to {fits} threads would fit, and __launch_bounds__({configuration.threads}) "
            f"makes the compiler keep to {keep} registers",
        )


def _registers_for(sm: Sm, threads: int) -> int:
    """Most registers per thread with which a block of this size fits."""
    return max(
        (count for count in range(8, 256, 8) if occupancy(sm, threads, count).limits["registers"]), default=0
    )


def _check_shared(function: Function, configuration: Configuration, gpu: Gpu) -> None:
    limit = dynamic_shared_limit(function, gpu.sm)
    if configuration.dynamic_shared <= limit:
        return
    optin = gpu.sm.shared_per_block_optin_bytes - function.kernel.static_shared
    advice = f"cudaFuncSetAttribute allows up to {optin}" if optin > limit else "the GPU allows no more"
    raise CudaError(
        Error.INVALID_VALUE,
        f"{configuration.dynamic_shared} bytes of dynamic shared memory, the limit is {limit}; {advice}",
    )


def resident(function: Function, configuration: Configuration, sm: Sm) -> Occupancy:
    """Occupancy of a launch with this configuration."""
    kernel = function.kernel
    return occupancy(
        sm,
        configuration.threads,
        kernel.registers,
        kernel.static_shared,
        configuration.dynamic_shared,
        max(kernel.barriers, 1),
        function.carveout,
    )


def _check_cooperative(function: Function, configuration: Configuration, gpu: Gpu) -> None:
    per_sm = resident(function, configuration, gpu.sm).blocks_per_sm
    room = per_sm * gpu.sms
    if configuration.blocks > room:
        raise CudaError(
            Error.COOPERATIVE_LAUNCH_TOO_LARGE,
            f"{configuration.blocks} blocks must fit at once, {gpu.sms} SMs hold {per_sm} each: {room}",
        )


def _check_cluster(function: Function, configuration: Configuration, gpu: Gpu) -> None:
    size = prod(configuration.cluster)
    limit = MAX_CLUSTER if function.non_portable_cluster else PORTABLE_CLUSTER
    divides = all(g % c == 0 for g, c in zip(configuration.grid, configuration.cluster, strict=True))
    if gpu.sm.major < 9:
        raise CudaError(Error.NOT_SUPPORTED, f"{gpu.sm.name} has no clusters")
    if size > limit or not divides:
        raise CudaError(
            Error.INVALID_CLUSTER_SIZE,
            f"clusters of {configuration.cluster}: at most {limit} blocks, the grid a multiple of them",
        )
