"""What a program can ask about a kernel and set on it, and occupancy queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpath.driver import limits, queries
from warpath.driver.error import CudaError, Error
from warpath.driver.limits import Configuration
from warpath.driver.module import Function, Module
from warpath.gpu.occupancy import suggest_block_size
from warpath.host.api_device import check_device
from warpath.host.api_launch import find_function, launch_options
from warpath.host.dispatch import entry
from warpath.host.layout import enum

if TYPE_CHECKING:
    from warpath.host.dispatch import Call


def attribute_values(call: Call, function: Function) -> dict[str, int]:
    """Attributes of a kernel under the names of `CUfunction_attribute` without their prefix."""
    found = queries.attributes(function, call.driver.spec)
    width, height, depth = found.cluster
    return {
        "MAX_THREADS_PER_BLOCK": found.max_threads_per_block,
        "SHARED_SIZE_BYTES": found.shared_size,
        "CONST_SIZE_BYTES": found.const_size,
        "LOCAL_SIZE_BYTES": found.local_size,
        "NUM_REGS": found.registers,
        "PTX_VERSION": found.ptx_version,
        "BINARY_VERSION": found.binary_version,
        "CACHE_MODE_CA": 0,
        "MAX_DYNAMIC_SHARED_SIZE_BYTES": found.max_dynamic_shared,
        "PREFERRED_SHARED_MEMORY_CARVEOUT": found.preferred_carveout,
        "CLUSTER_SIZE_MUST_BE_SET": 0,
        "REQUIRED_CLUSTER_WIDTH": width,
        "REQUIRED_CLUSTER_HEIGHT": height,
        "REQUIRED_CLUSTER_DEPTH": depth,
        "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": int(found.non_portable_cluster),
        "CLUSTER_SCHEDULING_POLICY_PREFERENCE": 0,
    }


@entry("cudaFuncGetAttributes")
def func_get_attributes(call: Call, pointer: int, symbol: int) -> None:
    """All attributes at once."""
    found = queries.attributes(find_function(call, symbol), call.driver.spec)
    width, height, depth = found.cluster
    values = {
        "sharedSizeBytes": found.shared_size,
        "constSizeBytes": found.const_size,
        "localSizeBytes": found.local_size,
        "maxThreadsPerBlock": found.max_threads_per_block,
        "numRegs": found.registers,
        "ptxVersion": found.ptx_version,
        "binaryVersion": found.binary_version,
        "maxDynamicSharedSizeBytes": found.max_dynamic_shared,
        "preferredShmemCarveout": found.preferred_carveout,
        "requiredClusterWidth": width,
        "requiredClusterHeight": height,
        "requiredClusterDepth": depth,
        "nonPortableClusterSizeAllowed": int(found.non_portable_cluster),
    }
    call.out_struct(pointer, "cudaFuncAttributes", values)


def _get_attribute(call: Call, pointer: int, attribute: int, function: Function) -> None:
    numbers = enum("CUfunction_attribute")
    for name, value in attribute_values(call, function).items():
        if numbers[f"CU_FUNC_ATTRIBUTE_{name}"] == attribute:
            call.out(pointer, "i", value)
            return
    raise CudaError(Error.INVALID_VALUE, f"function attribute {attribute} is not known")


@entry("cuFuncGetAttribute")
def driver_func_get_attribute(call: Call, pointer: int, attribute: int, handle: int) -> None:
    """One attribute."""
    _get_attribute(call, pointer, attribute, find_function(call, handle))


@entry("cuKernelGetAttribute")
def driver_kernel_get_attribute(call: Call, pointer: int, attribute: int, handle: int, device: int) -> None:
    """One attribute on a device."""
    check_device(device)
    _get_attribute(call, pointer, attribute, find_function(call, handle))


def _set_attribute(call: Call, function: Function, attribute: int, value: int) -> None:
    queries.set_attribute(function, attribute, value, call.driver.spec)


@entry("cudaFuncSetAttribute", "cuFuncSetAttribute")
def func_set_attribute(call: Call, symbol: int, attribute: int, value: int) -> None:
    """Dynamic shared memory beyond 48 KB, the carveout, cluster sizes."""
    _set_attribute(call, find_function(call, symbol), attribute, value)


@entry("cuKernelSetAttribute")
def driver_kernel_set_attribute(call: Call, attribute: int, value: int, handle: int, device: int) -> None:
    """The same for a library's kernel."""
    check_device(device)
    _set_attribute(call, find_function(call, handle), attribute, value)


@entry("cudaKernelSetAttributeForDevice")
def kernel_set_attribute(call: Call, handle: int, attribute: int, value: int, device: int) -> None:
    """The runtime's form."""
    check_device(device)
    _set_attribute(call, find_function(call, handle), attribute, value)


@entry(
    "cudaFuncSetCacheConfig", "cuFuncSetCacheConfig", "cudaFuncSetSharedMemConfig", "cuFuncSetSharedMemConfig"
)
def func_set_config(call: Call, symbol: int, _config: int) -> None:
    """Without effect on the supported generations."""
    find_function(call, symbol)


@entry("cudaFuncGetName", "cuFuncGetName", "cuKernelGetName")
def func_get_name(call: Call, pointer: int, symbol: int) -> None:
    """The mangled name."""
    call.out(pointer, "Q", call.place_text(find_function(call, symbol).name))


@entry("cudaFuncGetParamCount", "cuFuncGetParamCount", "cuKernelGetParamCount")
def func_get_param_count(call: Call, symbol: int, pointer: int) -> None:
    """How many parameters it has."""
    call.out(pointer, "Q", len(find_function(call, symbol).kernel.params))


@entry("cudaFuncGetParamInfo", "cuFuncGetParamInfo", "cuKernelGetParamInfo")
def func_get_param_info(call: Call, symbol: int, index: int, offset: int, size: int) -> None:
    """Offset and size of a parameter; error 1 for one it does not have."""
    params = find_function(call, symbol).kernel.params
    if index >= len(params):
        raise CudaError(Error.INVALID_VALUE, f"parameter {index} of {len(params)}")
    call.out(offset, "Q", params[index].offset)
    call.out_if(size, "Q", params[index].size)


@entry("cuFuncGetModule", "cuKernelGetLibrary")
def func_get_module(call: Call, pointer: int, handle: int) -> None:
    """The module it came from."""
    module: Module = find_function(call, handle).module
    call.out(pointer, "Q", call.runtime.handles.put(module))


@entry("cuFuncIsLoaded")
def func_is_loaded(call: Call, pointer: int, handle: int) -> None:
    """1 once its module is in device memory."""
    call.out(pointer, "i", int(find_function(call, handle).module.loaded))


@entry("cuFuncLoad")
def func_load(call: Call, handle: int) -> None:
    """Load its module now."""
    function = find_function(call, handle)
    function.module.load(f"cuFuncLoad of {function.name}")


# Occupancy


def _blocks(call: Call, pointer: int, symbol: int, threads: int, shared: int) -> None:
    call.out(
        pointer,
        "i",
        queries.max_active_blocks(find_function(call, symbol), threads, shared, call.driver.spec),
    )


@entry("cudaOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessor")
def max_active_blocks(call: Call, pointer: int, symbol: int, threads: int, shared: int) -> None:
    """Blocks of this kernel that one SM holds."""
    _blocks(call, pointer, symbol, threads, shared)


@entry(
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
)
def max_active_blocks_with_flags(
    call: Call, pointer: int, symbol: int, threads: int, shared: int, _flags: int
) -> None:
    """The same; the flag concerns caching that no supported generation can switch."""
    _blocks(call, pointer, symbol, threads, shared)


@entry("cudaOccupancyAvailableDynamicSMemPerBlock", "cuOccupancyAvailableDynamicSMemPerBlock")
def available_dynamic_memory(call: Call, pointer: int, symbol: int, blocks: int, threads: int) -> None:
    """Dynamic shared memory that still allows this many blocks per SM."""
    function = find_function(call, symbol)
    call.out(pointer, "Q", queries.available_dynamic_shared(function, blocks, threads, call.driver.spec))


def _suggest(call: Call, grid: int, block: int, handle: int, callback: int, shared: int, limit: int) -> None:
    kernel, spec = find_function(call, handle).kernel, call.driver.spec
    most = limits.max_threads(kernel, spec.sm)

    def needed(threads: int) -> int:
        return call.connection.invoke(callback, threads) if callback else shared

    largest = min(most, limit) if limit > 0 else most
    threads, blocks = suggest_block_size(spec.sm, kernel.registers, needed, kernel.static_shared, largest)
    call.out(grid, "i", blocks * spec.sms)
    call.out(block, "i", threads)


@entry("cuOccupancyMaxPotentialBlockSize")
def potential_block_size(
    call: Call, grid: int, block: int, handle: int, callback: int, shared: int, limit: int
) -> None:
    """The block size with most resident threads; the callback tells shared memory by block size."""
    _suggest(call, grid, block, handle, callback, shared, limit)


@entry("cuOccupancyMaxPotentialBlockSizeWithFlags")
def potential_block_size_with_flags(
    call: Call, grid: int, block: int, handle: int, callback: int, shared: int, limit: int, _flags: int
) -> None:
    """The same."""
    _suggest(call, grid, block, handle, callback, shared, limit)


def _cluster_config(call: Call, config: int) -> Configuration:
    """From a launch configuration of either API; error 801 before sm_90."""
    if call.driver.spec.sm.major < 9:
        raise CudaError(Error.NOT_SUPPORTED, f"{call.driver.spec.sm.name} has no clusters")
    values = call.take_struct(config, "cudaLaunchConfig_t")
    options = launch_options(call, values["attrs"], values["numAttrs"])
    cluster = options.get("cluster", (1, 1, 1))
    grid = (values["gridDim.x"], values["gridDim.y"], values["gridDim.z"])
    block = (values["blockDim.x"], values["blockDim.y"], values["blockDim.z"])
    # The driver's structure has the shared memory size in 32 bits at the same place.
    shared = values["dynamicSmemBytes"] & (0xFFFF_FFFF if call.library == 0 else ~0)
    return Configuration(grid, block, shared, cluster=cluster)


@entry("cudaOccupancyMaxPotentialClusterSize", "cuOccupancyMaxPotentialClusterSize")
def potential_cluster_size(call: Call, pointer: int, symbol: int, config: int) -> None:
    """Largest cluster that this kernel can be launched with."""
    function = find_function(call, symbol)
    configuration = _cluster_config(call, config)
    fits = limits.resident(function, configuration, call.driver.spec.sm).blocks_per_sm
    most = limits.MAX_CLUSTER if function.non_portable_cluster else limits.PORTABLE_CLUSTER
    call.out(pointer, "i", most if fits else 0)


@entry("cudaOccupancyMaxActiveClusters", "cuOccupancyMaxActiveClusters")
def max_active_clusters(call: Call, pointer: int, symbol: int, config: int) -> None:
    """Clusters that the whole GPU holds; the model places them without regard to GPC borders."""
    function = find_function(call, symbol)
    configuration = _cluster_config(call, config)
    call.out(pointer, "i", queries.max_active_clusters(function, configuration, call.driver.spec))
