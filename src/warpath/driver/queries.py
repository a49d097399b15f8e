"""Questions about kernels: attributes and occupancy, as the runtime and driver APIs answer them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import prod

from warpath.driver import limits
from warpath.driver.error import CudaError, Error
from warpath.driver.limits import Configuration
from warpath.driver.module import Function
from warpath.errors import UsageError
from warpath.gpu import occupancy
from warpath.gpu.occupancy import Request
from warpath.gpu.spec import Gpu

_USER_CONSTANT_BANK = 3


class FunctionAttribute(IntEnum):
    """`cudaFuncAttribute` and the settable `CUfunction_attribute` values; both enums share these numbers."""

    MAX_DYNAMIC_SHARED_SIZE = 8
    PREFERRED_SHARED_CARVEOUT = 9
    CLUSTER_DIM_MUST_BE_SET = 10
    REQUIRED_CLUSTER_WIDTH = 11
    REQUIRED_CLUSTER_HEIGHT = 12
    REQUIRED_CLUSTER_DEPTH = 13
    NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
    CLUSTER_SCHEDULING_POLICY = 15


@dataclass(frozen=True, slots=True)
class FunctionAttributes:
    """`cudaFuncAttributes`; sizes in bytes, versions as 10 * major + minor."""

    shared_size: int
    const_size: int
    local_size: int
    max_threads_per_block: int
    registers: int
    ptx_version: int
    binary_version: int
    max_dynamic_shared: int
    preferred_carveout: int  # percent, -1: the driver chooses
    cluster: tuple[int, int, int]  # required cluster size, zeros when there is none
    non_portable_cluster: bool


def attributes(function: Function, gpu: Gpu) -> FunctionAttributes:
    """What `cudaFuncGetAttributes` reports; error 209 or 98 when this GPU has no code for the kernel."""
    kernel = function.kernel
    constants = kernel.constants.get(_USER_CONSTANT_BANK)
    return FunctionAttributes(
        shared_size=kernel.static_shared,
        const_size=len(constants.data) if constants else 0,
        local_size=kernel.min_stack or kernel.frame_size,
        max_threads_per_block=limits.max_threads(kernel, gpu.sm),
        registers=kernel.registers,
        ptx_version=function.module.ptx_version,
        binary_version=function.module.cubin.sm,
        max_dynamic_shared=limits.dynamic_shared_limit(function, gpu.sm),
        preferred_carveout=-1 if function.carveout is None else function.carveout,
        cluster=kernel.cluster or function.cluster or (0, 0, 0),
        non_portable_cluster=function.non_portable_cluster,
    )


def set_attribute(function: Function, attribute: int, value: int, gpu: Gpu) -> None:
    """`cudaFuncSetAttribute`; error 1 for an unknown attribute or a value out of range."""
    if attribute == FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE:
        limit = gpu.sm.shared_per_block_optin_bytes - function.kernel.static_shared
        if not 0 <= value <= limit:
            raise CudaError(
                Error.INVALID_VALUE, f"{value} bytes of dynamic shared memory: {gpu.sm.name} allows {limit}"
            )
        function.max_dynamic_shared = value
    elif attribute == FunctionAttribute.PREFERRED_SHARED_CARVEOUT:
        if not -1 <= value <= 100:
            raise CudaError(Error.INVALID_VALUE, f"a carve-out is -1 or a percentage, not {value}")
        function.carveout = None if value == -1 else value
    elif attribute in _CLUSTER_AXES:
        axis = _CLUSTER_AXES[FunctionAttribute(attribute)]
        size = list(function.cluster or (1, 1, 1))
        size[axis] = value
        function.cluster = (size[0], size[1], size[2])
    elif attribute == FunctionAttribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        function.non_portable_cluster = bool(value)
    elif attribute != FunctionAttribute.CLUSTER_SCHEDULING_POLICY:
        raise CudaError(Error.INVALID_VALUE, f"function attribute {attribute} cannot be set")


_CLUSTER_AXES = {
    FunctionAttribute.REQUIRED_CLUSTER_WIDTH: 0,
    FunctionAttribute.REQUIRED_CLUSTER_HEIGHT: 1,
    FunctionAttribute.REQUIRED_CLUSTER_DEPTH: 2,
}


def max_active_blocks(function: Function, threads: int, dynamic_shared: int, gpu: Gpu) -> int:
    """Resident blocks per SM (`cudaOccupancyMaxActiveBlocksPerMultiprocessor`); 0 when a block cannot run."""
    request = _request(function, threads, dynamic_shared)
    return occupancy.evaluate(gpu.sm, request).blocks_per_sm


def available_dynamic_shared(function: Function, blocks: int, threads: int, gpu: Gpu) -> int:
    """Bytes per block that keep `blocks` resident (`cudaOccupancyAvailableDynamicSMemPerBlock`); error 1 when
    none.
    """
    try:
        return occupancy.available_dynamic_shared(gpu.sm, _request(function, threads, 0), blocks)
    except UsageError as error:
        raise CudaError(Error.INVALID_VALUE, str(error)) from error


def suggest_block_size(function: Function, dynamic_shared: int, limit: int, gpu: Gpu) -> tuple[int, int]:
    """(smallest grid that fills the GPU, block size) for the most threads
    (`cuOccupancyMaxPotentialBlockSize`).
    """
    kernel = function.kernel
    most = limits.max_threads(kernel, gpu.sm)
    threads, blocks = occupancy.suggest_block_size(
        gpu.sm, kernel.registers, lambda _: dynamic_shared, kernel.static_shared, min(limit or most, most)
    )
    return blocks * gpu.sms, threads


def max_active_clusters(function: Function, configuration: Configuration, gpu: Gpu) -> int:
    """Clusters that fit on the GPU at once, counting SMs alone (`cudaOccupancyMaxActiveClusters`)."""
    per_sm = limits.resident(function, configuration, gpu.sm).blocks_per_sm
    return per_sm * gpu.sms // prod(configuration.cluster)


def _request(function: Function, threads: int, dynamic_shared: int) -> Request:
    if threads <= 0 or dynamic_shared < 0:
        raise CudaError(
            Error.INVALID_VALUE, f"blocks of {threads} threads and {dynamic_shared} bytes do not exist"
        )
    kernel = function.kernel
    return Request(
        threads,
        kernel.registers,
        kernel.static_shared,
        dynamic_shared,
        max(kernel.barriers, 1),
        function.carveout,
        function.max_dynamic_shared,
    )
