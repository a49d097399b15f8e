"""What a program can ask about the device: the board's specification in the API's terms."""

from __future__ import annotations

import uuid
from functools import cache
from typing import TYPE_CHECKING, Any

from warpath.host.layout import document, enum

if TYPE_CHECKING:
    from warpath.gpu.spec import Gpu

RUNTIME_VERSIONS = {13: 13000, 12: 12090}
DRIVER_VERSION = 13000  # CUDA 13.0, the first driver release that both runtimes accept
PRIORITIES = (0, -5)  # least and greatest stream priority

_PREFIX = "cudaDevAttr"
_CLUSTERS_FROM = 9  # compute capability major that brought thread block clusters
_PERSISTING_FROM = 8  # ... and L2 residency control
# FP32 lanes per FP64 lane, by compute capability (programming guide, arithmetic throughput).
_FP64_RATIO = {(8, 0): 2, (9, 0): 2, (10, 0): 2, (10, 3): 64, (7, 5): 32}


@cache
def attributes(spec: Gpu) -> dict[int, int]:
    """Attribute number -> value, equal for `cudaDeviceGetAttribute` and `cuDeviceGetAttribute`."""
    numbers = enum("cudaDeviceAttr")
    named = document("device")["attributes"] | _from_spec(spec)
    return {numbers[_PREFIX + name]: value for name, value in named.items()}


def _from_spec(spec: Gpu) -> dict[str, int]:
    sm = spec.sm
    persisting = sm.major >= _PERSISTING_FROM
    return {
        "MaxThreadsPerBlock": sm.max_threads_per_block,
        "MaxSharedMemoryPerBlock": sm.shared_per_block_bytes,
        "MaxSharedMemoryPerBlockOptin": sm.shared_per_block_optin_bytes,
        "MaxSharedMemoryPerMultiprocessor": sm.shared_bytes,
        "ReservedSharedMemoryPerBlock": sm.shared_reserved_bytes,
        "MaxRegistersPerBlock": sm.registers_per_block,
        "MaxRegistersPerMultiprocessor": sm.registers,
        "MaxThreadsPerMultiProcessor": sm.max_threads,
        "MaxBlocksPerMultiprocessor": sm.max_blocks,
        "WarpSize": sm.warp_size,
        "ClockRate": spec.clock_boost_mhz * 1000,  # kHz
        "MemoryClockRate": spec.mem_clock_mhz * 1000,
        "GlobalMemoryBusWidth": spec.bus_width_bits,
        "MultiProcessorCount": spec.sms,
        "L2CacheSize": spec.l2_bytes,
        # L2 that can be set aside: 3/4 of it, in the boards where deviceQuery output is published.
        "MaxPersistingL2CacheSize": spec.l2_bytes * 3 // 4 if persisting else 0,
        "MaxAccessPolicyWindowSize": 128 << 20 if persisting else 0,
        "ComputeCapabilityMajor": sm.major,
        "ComputeCapabilityMinor": sm.minor,
        "ClusterLaunch": int(sm.major >= _CLUSTERS_FROM),
        "AsyncEngineCount": 2,
        "EccEnabled": int("HBM" in spec.note("memory_bytes") or sm.number in (80, 90, 100, 103)),
        "SingleToDoublePrecisionPerfRatio": _FP64_RATIO.get((sm.major, sm.minor), 64),
        "Reserved96": 0,
    }


def device_uuid(spec: Gpu) -> bytes:
    """16 bytes that identify the board model, the same in every run."""
    return uuid.uuid5(uuid.NAMESPACE_DNS, f"warpath.{spec.name}").bytes


def properties(spec: Gpu) -> dict[str, Any]:
    """Members of `cudaDeviceProp`; those that a version lacks are dropped when the structure is packed."""
    numbers, values = enum("cudaDeviceAttr"), attributes(spec)
    out: dict[str, Any] = {
        "name": spec.label.encode()[:255],
        "uuid.bytes": device_uuid(spec),
        "totalGlobalMem": spec.memory_bytes,
        "unifiedFunctionPointers": 0,
    }
    for member, names in document("device")["properties"].items():
        found = [values.get(numbers[_PREFIX + name], 0) for name in names]
        out[member] = tuple(found) if len(found) > 1 else found[0]
    return out
