"""Kernel launches in all their forms. A launch returns when the doorbell is rung."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpath.driver.error import CudaError, Error
from warpath.driver.module import Function
from warpath.host.dispatch import entry
from warpath.host.layout import enum, layout
from warpath.host.state import Dim3, LaunchConfiguration

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

MAX_ATTRIBUTES = 64
# The `extra` argument of cuLaunchKernel: key, value, ..., 0.
_EXTRA_END, _EXTRA_BUFFER, _EXTRA_SIZE = 0, 1, 2


def find_function(call: Call, handle: int) -> Function:
    """A kernel by handle (CUfunction, cudaKernel_t) or by the address of its host stub; error 98 or 400."""
    found = call.runtime.handles.find(handle, Function)
    if found is not None:
        return found
    if call.library == 0:
        raise CudaError(Error.INVALID_RESOURCE_HANDLE, f"{handle:#x} is not a function handle")
    return call.driver.registry.function(handle)


def read_arguments(call: Call, function: Function, pointers: int) -> list[bytes]:
    """The kernel's arguments: an array of pointers to them, each read with its parameter's size, in two round trips."""
    params = function.kernel.params
    if not params:
        return []
    if pointers == 0:
        raise CudaError(
            Error.INVALID_VALUE, f"{function.name} has {len(params)} parameters but got no arguments"
        )
    addresses = call.take(pointers, f"{len(params)}Q")
    if 0 in addresses:
        raise CudaError(
            Error.INVALID_VALUE, f"argument {addresses.index(0)} of {function.name} is a null pointer"
        )
    return call.connection.gather([(at, param.size) for at, param in zip(addresses, params, strict=True)])


def _launch(
    call: Call,
    function: Function,
    grid: Dim3,
    block: Dim3,
    pointers: int,
    shared: int,
    stream: int,
    **options: Any,
) -> None:
    target = call.stream(stream)
    arguments = read_arguments(call, function, pointers)
    call.driver.launch(function, grid, block, arguments, shared, target, **options)


@entry("__cudaPushCallConfiguration", context=False)
def push_configuration(call: Call, grid: Dim3, block: Dim3, shared: int, stream: int) -> None:
    """Keep what stands between the chevrons for the stub that runs next."""
    call.thread.configurations.append(LaunchConfiguration(grid, block, shared, stream))


@entry("__cudaPopCallConfiguration", context=False)
def pop_configuration(call: Call, grid: int, block: int, shared: int, stream: int) -> None:
    """Give the stub what was pushed; error 52 when nothing was."""
    if not call.thread.configurations:
        raise CudaError(Error.MISSING_CONFIGURATION, "a kernel stub ran without a launch configuration")
    kept = call.thread.configurations.pop()
    call.out(grid, "3I", *kept.grid)
    call.out(block, "3I", *kept.block)
    call.out(shared, "Q", kept.shared)
    call.out(stream, "Q", kept.stream)


@entry("__cudaGetKernel", "cudaGetKernel", "cudaGetFuncBySymbol", context=False)
def get_kernel(call: Call, pointer: int, symbol: int) -> None:
    """A handle for the kernel behind a host stub."""
    call.out(pointer, "Q", call.runtime.handles.put(find_function(call, symbol)))


@entry("__cudaLaunchKernel", "cudaLaunchKernel")
def launch_kernel(
    call: Call, kernel: int, grid: Dim3, block: Dim3, pointers: int, shared: int, stream: int
) -> None:
    """The launch that generated stubs make."""
    _launch(call, find_function(call, kernel), grid, block, pointers, shared, stream)


@entry("cudaLaunchCooperativeKernel")
def launch_cooperative(
    call: Call, kernel: int, grid: Dim3, block: Dim3, pointers: int, shared: int, stream: int
) -> None:
    """All blocks must fit on the GPU together; error 720 when they do not."""
    _launch(call, find_function(call, kernel), grid, block, pointers, shared, stream, cooperative=True)


def launch_options(call: Call, attributes: int, count: int) -> dict[str, Any]:
    """Keyword arguments of `Driver.launch` from an array of launch attributes; others are hints and have no effect."""
    if not 0 <= count <= MAX_ATTRIBUTES:
        raise CudaError(Error.INVALID_VALUE, f"{count} launch attributes")
    form = layout("cudaLaunchAttribute")
    ids = enum("cudaLaunchAttributeID")
    options: dict[str, Any] = {}
    data = call.connection.read(attributes, form.size * count) if count else b""
    for start in range(0, len(data), form.size):
        values = form.unpack(data[start : start + form.size])
        if values["id"] == ids["cudaLaunchAttributeCooperative"]:
            options["cooperative"] = bool(values["val.cooperative"])
        elif values["id"] == ids["cudaLaunchAttributeClusterDimension"]:
            options["cluster"] = tuple(values[f"val.clusterDim.{axis}"] for axis in "xyz")
    return options


@entry("cudaLaunchKernelExC")
def launch_kernel_ex(call: Call, config: int, kernel: int, pointers: int) -> None:
    """A launch with attributes."""
    values = call.take_struct(config, "cudaLaunchConfig_t")
    grid = (values["gridDim.x"], values["gridDim.y"], values["gridDim.z"])
    block = (values["blockDim.x"], values["blockDim.y"], values["blockDim.z"])
    options = launch_options(call, values["attrs"], values["numAttrs"])
    function = find_function(call, kernel)
    _launch(call, function, grid, block, pointers, values["dynamicSmemBytes"], values["stream"], **options)


def packed_parameters(call: Call, extra: int) -> bytes:
    """The parameter block that `extra` points to: key and value pairs, ended by a zero key."""
    buffer = size_at = 0
    while True:
        (key,) = call.take(extra, "Q")
        if key == _EXTRA_END:
            break
        (value,) = call.take(extra + 8, "Q")
        if key == _EXTRA_BUFFER:
            buffer = value
        elif key == _EXTRA_SIZE:
            size_at = value
        else:
            raise CudaError(Error.INVALID_VALUE, f"unknown launch parameter key {key}")
        extra += 16
    (size,) = call.take(size_at, "Q")
    return call.connection.read(buffer, size)


def _launch_driver(
    call: Call,
    handle: int,
    grid: Dim3,
    block: Dim3,
    shared: int,
    stream: int,
    pointers: int,
    extra: int,
    **options: Any,
) -> None:
    function = find_function(call, handle)
    if pointers or not extra:
        _launch(call, function, grid, block, pointers, shared, stream, **options)
        return
    block_bytes = packed_parameters(call, extra)
    params = block_bytes.ljust(function.kernel.param_size, b"\0")[: function.kernel.param_size]
    call.driver.launch_packed(function, grid, block, params, shared, call.stream(stream), **options)


@entry("cuLaunchKernel")
def driver_launch(
    call: Call,
    handle: int,
    gx: int,
    gy: int,
    gz: int,
    bx: int,
    by: int,
    bz: int,
    shared: int,
    stream: int,
    pointers: int,
    extra: int,
) -> None:
    """The driver API's launch, with an array of arguments or a packed block."""
    _launch_driver(call, handle, (gx, gy, gz), (bx, by, bz), shared, stream, pointers, extra)


@entry("cuLaunchCooperativeKernel")
def driver_launch_cooperative(
    call: Call,
    handle: int,
    gx: int,
    gy: int,
    gz: int,
    bx: int,
    by: int,
    bz: int,
    shared: int,
    stream: int,
    pointers: int,
) -> None:
    """All blocks must fit on the GPU together."""
    _launch_driver(call, handle, (gx, gy, gz), (bx, by, bz), shared, stream, pointers, 0, cooperative=True)


@entry("cuLaunchKernelEx")
def driver_launch_ex(call: Call, config: int, handle: int, pointers: int, extra: int) -> None:
    """A launch with attributes."""
    values = call.take_struct(config, "CUlaunchConfig")
    grid = (values["gridDimX"], values["gridDimY"], values["gridDimZ"])
    block = (values["blockDimX"], values["blockDimY"], values["blockDimZ"])
    options = launch_options(call, values["attrs"], values["numAttrs"])
    shared, stream = values["sharedMemBytes"], values["hStream"]
    _launch_driver(call, handle, grid, block, shared, stream, pointers, extra, **options)


@entry("cudaLaunchHostFunc", "cuLaunchHostFunc")
def launch_host_function(call: Call, stream: int, function: int, argument: int) -> None:
    """Call a function of the program when the stream gets there, on a thread of its own."""
    if function == 0:
        raise CudaError(Error.INVALID_VALUE, "no host function")
    call.runtime.prepare_worker(call)
    runtime, process = call.runtime, call.process
    target = call.stream(stream)
    call.driver.launch_host_function(target, lambda: runtime.run_host_function(process, function, argument))


@entry("cudaStreamAddCallback", "cuStreamAddCallback")
def add_callback(call: Call, stream: int, function: int, argument: int, _flags: int) -> None:
    """The older form: the function also gets the stream and its status."""
    if function == 0:
        raise CudaError(Error.INVALID_VALUE, "no callback")
    call.runtime.prepare_worker(call)
    runtime, process = call.runtime, call.process
    target = call.stream(stream)
    call.driver.launch_host_function(
        target, lambda: runtime.run_host_function(process, function, stream, Error.SUCCESS.value, argument)
    )
