"""What a program can ask about a kernel and set on it, and occupancy queries."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from warpath.driver import limits
from warpath.driver.error import CudaError, Error
from warpath.driver.limits import Configuration
from warpath.driver.module import Function, Module
from warpath.gpu.occupancy import Request, available_dynamic_shared, suggest_block_size
from warpath.host.api_device import check_device
from warpath.host.api_launch import find_function, launch_options
from warpath.host.dispatch import entry
from warpath.host.layout import enum

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

MAX_CARVEOUT = 100
_DEFAULT = -1  # attribute value that means: no preference


def attribute_values(call: Call, function: Function) -> dict[str, int]:
    """Attributes of a kernel under the names of `CUfunction_attribute` without their prefix."""
    kernel, sm = function.kernel, call.driver.spec.sm
    cluster = function.cluster or kernel.cluster or (0, 0, 0)
    return {
        "MAX_THREADS_PER_BLOCK": limits.max_threads(kernel, sm),
        "SHARED_SIZE_BYTES": kernel.static_shared,
        "CONST_SIZE_BYTES": sum(len(item.data) for bank, item in kernel.constants.items() if bank != 0),
        "LOCAL_SIZE_BYTES": kernel.frame_size,
        "NUM_REGS": kernel.registers,
        "PTX_VERSION": function.module.cubin.sm,
        "BINARY_VERSION": function.module.cubin.sm,
        "CACHE_MODE_CA": 0,
        "MAX_DYNAMIC_SHARED_SIZE_BYTES": limits.dynamic_shared_limit(function, sm),
        "PREFERRED_SHARED_MEMORY_CARVEOUT": _DEFAULT if function.carveout is None else function.carveout,
        "CLUSTER_SIZE_MUST_BE_SET": 0,
        "REQUIRED_CLUSTER_WIDTH": cluster[0],
        "REQUIRED_CLUSTER_HEIGHT": cluster[1],
        "REQUIRED_CLUSTER_DEPTH": cluster[2],
        "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": int(function.non_portable_cluster),
        "CLUSTER_SCHEDULING_POLICY_PREFERENCE": 0,
    }


@entry("cudaFuncGetAttributes")
def func_get_attributes(call: Call, pointer: int, symbol: int) -> None:
    """All attributes at once."""
    values = attribute_values(call, find_function(call, symbol))
    members = {
        "sharedSizeBytes": "SHARED_SIZE_BYTES",
        "constSizeBytes": "CONST_SIZE_BYTES",
        "localSizeBytes": "LOCAL_SIZE_BYTES",
        "maxThreadsPerBlock": "MAX_THREADS_PER_BLOCK",
        "numRegs": "NUM_REGS",
        "ptxVersion": "PTX_VERSION",
        "binaryVersion": "BINARY_VERSION",
        "maxDynamicSharedSizeBytes": "MAX_DYNAMIC_SHARED_SIZE_BYTES",
        "preferredShmemCarveout": "PREFERRED_SHARED_MEMORY_CARVEOUT",
        "requiredClusterWidth": "REQUIRED_CLUSTER_WIDTH",
        "requiredClusterHeight": "REQUIRED_CLUSTER_HEIGHT",
        "requiredClusterDepth": "REQUIRED_CLUSTER_DEPTH",
        "nonPortableClusterSizeAllowed": "NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
    }
    call.out_struct(pointer, "cudaFuncAttributes", {member: values[name] for member, name in members.items()})


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
    ids = enum("CUfunction_attribute")
    sm = call.driver.spec.sm
    width, height, depth = function.cluster or (1, 1, 1)
    if attribute == ids["CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"]:
        most = sm.shared_per_block_optin_bytes - function.kernel.static_shared
        if not 0 <= value <= most:
            raise CudaError(Error.INVALID_VALUE, f"{value} bytes of dynamic shared memory: the limit is {most}")
        function.max_dynamic_shared = value
    elif attribute == ids["CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT"]:
        if not _DEFAULT <= value <= MAX_CARVEOUT:
            raise CudaError(Error.INVALID_VALUE, f"a shared memory carveout of {value} percent")
        function.carveout = None if value == _DEFAULT else value
    elif attribute == ids["CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"]:
        function.non_portable_cluster = bool(value)
    elif attribute == ids["CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH"]:
        function.cluster = (value, height, depth)
    elif attribute == ids["CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT"]:
        function.cluster = (width, value, depth)
    elif attribute == ids["CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH"]:
        function.cluster = (width, height, value)
    elif attribute != ids["CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE"]:
        raise CudaError(Error.INVALID_VALUE, f"function attribute {attribute} cannot be set")


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


@entry("cudaFuncSetCacheConfig", "cuFuncSetCacheConfig", "cudaFuncSetSharedMemConfig", "cuFuncSetSharedMemConfig")
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
    function = find_function(call, symbol)
    if threads <= 0:
        raise CudaError(Error.INVALID_VALUE, f"blocks of {threads} threads")
    found = limits.resident(function, Configuration((1, 1, 1), (threads, 1, 1), shared), call.driver.spec.sm)
    call.out(pointer, "i", found.blocks_per_sm)


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
    kernel = find_function(call, symbol).kernel
    if threads <= 0 or blocks <= 0:
        raise CudaError(Error.INVALID_VALUE, f"{blocks} blocks of {threads} threads")
    request = Request(threads, kernel.registers, kernel.static_shared, barriers=max(kernel.barriers, 1))
    call.out(pointer, "Q", available_dynamic_shared(call.driver.spec.sm, request, blocks))


def _suggest(call: Call, grid: int, block: int, handle: int, callback: int, shared: int, limit: int) -> None:
    kernel, spec = find_function(call, handle).kernel, call.driver.spec
    most = limits.max_threads(kernel, spec.sm)

    def needed(threads: int) -> int:
        return call.connection.invoke(callback, threads) if callback else shared

    found = suggest_block_size(
        spec.sm, kernel.registers, needed, kernel.static_shared, min(most, limit) if limit > 0 else most
    )
    threads, blocks = found[0], found[1]
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


def _cluster_config(call: Call, config: int) -> tuple[Configuration, int]:
    """(configuration, blocks of a cluster) from a launch configuration of either API; error 801 before sm_90."""
    if call.driver.spec.sm.major < 9:
        raise CudaError(Error.NOT_SUPPORTED, f"{call.driver.spec.sm.name} has no clusters")
    values = call.take_struct(config, "cudaLaunchConfig_t")
    options = launch_options(call, values["attrs"], values["numAttrs"])
    cluster = options.get("cluster", (1, 1, 1))
    grid = (values["gridDim.x"], values["gridDim.y"], values["gridDim.z"])
    block = (values["blockDim.x"], values["blockDim.y"], values["blockDim.z"])
    # The driver's structure has the shared memory size in 32 bits at the same place.
    shared = values["dynamicSmemBytes"] & (0xFFFF_FFFF if call.library == 0 else ~0)
    return Configuration(grid, block, shared, cluster=cluster), prod(cluster)


@entry("cudaOccupancyMaxPotentialClusterSize", "cuOccupancyMaxPotentialClusterSize")
def potential_cluster_size(call: Call, pointer: int, symbol: int, config: int) -> None:
    """Largest cluster that this kernel can be launched with."""
    function = find_function(call, symbol)
    configuration, _ = _cluster_config(call, config)
    fits = limits.resident(function, configuration, call.driver.spec.sm).blocks_per_sm
    most = limits.MAX_CLUSTER if function.non_portable_cluster else limits.PORTABLE_CLUSTER
    call.out(pointer, "i", most if fits else 0)


@entry("cudaOccupancyMaxActiveClusters", "cuOccupancyMaxActiveClusters")
def max_active_clusters(call: Call, pointer: int, symbol: int, config: int) -> None:
    """Clusters that the whole GPU holds; the model places them without regard to GPC borders."""
    function = find_function(call, symbol)
    configuration, size = _cluster_config(call, config)
    fits = limits.resident(function, configuration, call.driver.spec.sm).blocks_per_sm
    call.out(pointer, "i", fits * call.driver.spec.sms // size)
