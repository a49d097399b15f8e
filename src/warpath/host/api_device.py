"""Devices: how many, which one, what they can do. There is one, the board given with `--gpu`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.host.device import (
    DRIVER_VERSION,
    PRIORITIES,
    RUNTIME_VERSIONS,
    attributes,
    device_uuid,
    properties,
)
from warpath.host.dispatch import entry
from warpath.host.layout import enum, layout

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

DEVICE = 0
PCI_BUS_ID = "0000:01:00.0"


def check_device(device: int) -> None:
    """Error 101 for any device but the only one."""
    if device != DEVICE:
        raise CudaError(Error.INVALID_DEVICE, f"there is no device {device}, only device 0")


@entry("cudaGetDeviceCount", "cuDeviceGetCount", context=False)
def get_device_count(call: Call, pointer: int) -> None:
    """One."""
    call.out(pointer, "i", 1)


@entry("cudaGetDevice", context=False)
def get_device(call: Call, pointer: int) -> None:
    """The thread's current device."""
    call.out(pointer, "i", call.thread.device)


@entry("cudaSetDevice")
def set_device(call: Call, device: int) -> None:
    """Make a device current."""
    check_device(device)
    call.thread.device = device


@entry("cudaInitDevice")
def init_device(_call: Call, device: int, _device_flags: int, _flags: int) -> None:
    """Create the context now."""
    check_device(device)


@entry("cudaSetDeviceFlags", context=False)
def set_device_flags(call: Call, flags: int) -> None:
    """How a waiting thread waits; kept and otherwise without effect."""
    call.runtime.device_flags = flags


@entry("cudaGetDeviceFlags", context=False)
def get_device_flags(call: Call, pointer: int) -> None:
    """What was set, with host mapping always on."""
    map_host = 8
    call.out(pointer, "I", call.runtime.device_flags | map_host)


@entry("cudaSetValidDevices", context=False)
def set_valid_devices(call: Call, pointer: int, count: int) -> None:
    """A list of devices to choose from."""
    for device in call.take(pointer, f"{count}i") if count > 0 else ():
        check_device(device)


@entry("cudaChooseDevice", context=False)
def choose_device(call: Call, pointer: int, _properties: int) -> None:
    """The best match is the only device."""
    call.out(pointer, "i", DEVICE)


@entry("cudaDeviceGetAttribute", context=False)
def device_get_attribute(call: Call, pointer: int, attribute: int, device: int) -> None:
    """One number; error 1 for an unknown attribute."""
    check_device(device)
    value = attributes(call.driver.spec).get(attribute)
    if value is None:
        raise CudaError(Error.INVALID_VALUE, f"device attribute {attribute} is not known")
    call.out(pointer, "i", value)


@entry("cuDeviceGetAttribute", context=False)
def driver_get_attribute(call: Call, pointer: int, attribute: int, device: int) -> None:
    """One number; attributes that only the driver API has (virtual memory, handle types) are unsupported: 0."""
    check_device(device)
    if not 0 < attribute < enum("CUdevice_attribute")["CU_DEVICE_ATTRIBUTE_MAX"]:
        raise CudaError(Error.INVALID_VALUE, f"device attribute {attribute} is not known")
    call.out(pointer, "i", attributes(call.driver.spec).get(attribute, 0))


@entry("cudaGetDeviceProperties", "cudaGetDeviceProperties_v2", context=False)
def get_device_properties(call: Call, pointer: int, device: int) -> None:
    """Everything at once, laid out for the runtime version that asks."""
    check_device(device)
    values = properties(call.driver.spec)
    form = layout("cudaDeviceProp", call.library)
    if call.library == 12 and call.name == "cudaGetDeviceProperties":
        # The structure before CUDA 12: no uuid members and a shorter tail; its common part follows the name.
        raise CudaError(Error.NOT_SUPPORTED, "the cudaDeviceProp of CUDA 11 is not supported")
    call.out_struct(pointer, form.name, values)


@entry("cuDeviceGetProperties", context=False)
def driver_get_properties(call: Call, pointer: int, device: int) -> None:
    """The short property block of the driver API."""
    check_device(device)
    values = properties(call.driver.spec)
    renamed = {
        "sharedMemPerBlock": values["sharedMemPerBlock"],
        "totalConstantMemory": values["totalConstMem"],
        "SIMDWidth": values["warpSize"],
        "memPitch": values["memPitch"],
        "regsPerBlock": values["regsPerBlock"],
        "clockRate": values["clockRate"],
        "textureAlign": values["textureAlignment"],
        "maxThreadsPerBlock": values["maxThreadsPerBlock"],
        "maxThreadsDim": values["maxThreadsDim"],
        "maxGridSize": values["maxGridSize"],
    }
    call.out_struct(pointer, "CUdevprop", renamed)


@entry("cuDeviceGet", context=False)
def driver_device_get(call: Call, pointer: int, ordinal: int) -> None:
    """A device handle, which is the ordinal."""
    check_device(ordinal)
    call.out(pointer, "i", ordinal)


@entry("cuDeviceGetName", context=False)
def device_get_name(call: Call, pointer: int, length: int, device: int) -> None:
    """The board's name, cut to the given length."""
    check_device(device)
    if length <= 0 or pointer == 0:
        raise CudaError(Error.INVALID_VALUE, "no room for the device's name")
    call.connection.write(pointer, call.driver.spec.label.encode()[: length - 1] + b"\0")


@entry("cuDeviceTotalMem", "cuDeviceTotalMem_v2", context=False)
def device_total_memory(call: Call, pointer: int, device: int) -> None:
    """Bytes of device memory."""
    check_device(device)
    call.out(pointer, "Q", call.driver.spec.memory_bytes)


@entry("cuDeviceGetUuid", "cuDeviceGetUuid_v2", context=False)
def device_get_uuid(call: Call, pointer: int, device: int) -> None:
    """16 bytes that identify the board model."""
    check_device(device)
    call.out(pointer, "16s", device_uuid(call.driver.spec))


@entry("cuDeviceComputeCapability", context=False)
def device_compute_capability(call: Call, major: int, minor: int, device: int) -> None:
    """Major and minor version."""
    check_device(device)
    call.out(major, "i", call.driver.spec.sm.major)
    call.out(minor, "i", call.driver.spec.sm.minor)


@entry("cudaDeviceGetPCIBusId", "cuDeviceGetPCIBusId", context=False)
def device_get_pci_bus_id(call: Call, pointer: int, length: int, device: int) -> None:
    """A made-up but constant bus id."""
    check_device(device)
    if length <= len(PCI_BUS_ID) or pointer == 0:
        raise CudaError(Error.INVALID_VALUE, "no room for the bus id")
    call.connection.write(pointer, PCI_BUS_ID.encode() + b"\0")


@entry("cudaDeviceGetByPCIBusId", "cuDeviceGetByPCIBusId", context=False)
def device_get_by_pci_bus_id(call: Call, pointer: int, text: int) -> None:
    """The device with a bus id."""
    if call.text(text).lower() not in (PCI_BUS_ID, PCI_BUS_ID.partition(":")[2]):
        raise CudaError(Error.INVALID_DEVICE, "no device has this bus id")
    call.out(pointer, "i", DEVICE)


@entry("cudaDeviceGetStreamPriorityRange", "cuCtxGetStreamPriorityRange", context=False)
def stream_priority_range(call: Call, least: int, greatest: int) -> None:
    """Least and greatest priority; both may be null."""
    call.out_if(least, "i", PRIORITIES[0])
    call.out_if(greatest, "i", PRIORITIES[1])


@entry("cudaDeviceCanAccessPeer", "cuDeviceCanAccessPeer", context=False)
def device_can_access_peer(call: Call, pointer: int, device: int, peer: int) -> None:
    """Never: there is no other device."""
    check_device(device)
    check_device(peer)
    call.out(pointer, "i", 0)


@entry("cudaDeviceEnablePeerAccess", "cudaDeviceDisablePeerAccess")
def device_peer_access(_call: Call, peer: int, _flags: int = 0) -> None:
    """A device is not its own peer."""
    check_device(peer)
    raise CudaError(Error.INVALID_DEVICE, "a device cannot be its own peer")


@entry("cudaDriverGetVersion", "cuDriverGetVersion", context=False)
def driver_get_version(call: Call, pointer: int) -> None:
    """The CUDA version the driver supports, as 1000 * major + 10 * minor."""
    call.out(pointer, "i", DRIVER_VERSION)


@entry("cudaRuntimeGetVersion", context=False)
def runtime_get_version(call: Call, pointer: int) -> None:
    """The version of the runtime library that asks."""
    call.out(pointer, "i", RUNTIME_VERSIONS[call.library])


@entry("cuInit", context=False)
def driver_init(_call: Call, flags: int) -> None:
    """Start the driver API."""
    if flags:
        raise CudaError(Error.INVALID_VALUE, "cuInit takes no flags")


@entry("cudaDeviceSynchronize", "cuCtxSynchronize", waits=True)
def device_synchronize(call: Call) -> None:
    """Wait for all work; reports what went wrong in it."""
    call.driver.synchronize()


@entry("cudaDeviceReset")
def device_reset(call: Call) -> None:
    """Wait for all work and start over; a broken context works again."""
    call.runtime.reset()


@entry("cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset", context=False)
def primary_context_reset(call: Call, device: int) -> None:
    """The driver API's name for it."""
    check_device(device)
    device_reset(call)


@entry("cudaDeviceGetLimit", "cuCtxGetLimit")
def device_get_limit(call: Call, pointer: int, limit: int) -> None:
    """Stack, printf buffer, heap and the other limits; error 215 for one that is not known."""
    call.out(pointer, "Q", call.driver.get_limit(limit))


@entry("cudaDeviceSetLimit", "cuCtxSetLimit")
def device_set_limit(call: Call, limit: int, value: int) -> None:
    """Ask for a limit; error 215 for one that is not known."""
    call.driver.set_limit(limit, value)


@entry(
    "cudaDeviceGetCacheConfig",
    "cuCtxGetCacheConfig",
    "cudaDeviceGetSharedMemConfig",
    "cuCtxGetSharedMemConfig",
)
def get_cache_config(call: Call, pointer: int) -> None:
    """No preference: the hardware of all supported generations decides itself."""
    call.out(pointer, "i", 0)


@entry(
    "cudaDeviceSetCacheConfig",
    "cuCtxSetCacheConfig",
    "cudaDeviceSetSharedMemConfig",
    "cuCtxSetSharedMemConfig",
)
def set_cache_config(_call: Call, _config: int) -> None:
    """Without effect on the supported generations."""


@entry("cudaCtxResetPersistingL2Cache", "cuCtxResetPersistingL2Cache")
def reset_persisting_l2(_call: Call) -> None:
    """The model keeps no lines persistent."""
