"""What work costs on its way to the GPU and between pieces of it: the `[launch]` tables of the data files.

A board's own table wins; what it lacks is taken from the reference board, which was measured. Transfer rates then
follow the board's PCIe generation and DRAM bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

from warpath.gpu.spec import Gpu, load
from warpath.gpu.timing import REFERENCE

_TABLE = "launch."


@dataclass(frozen=True, slots=True)
class LaunchPath:
    """Host times are from entry to return of a call, its doorbell at the end. Rates in 10^6 bytes a second; 0: no time.

    `doorbell_ns`: from the doorbell until the front end has the work of an idle channel. `segment_ns`: between pieces
    of work of one channel, beyond what they execute; `node_ns` when they came with one doorbell, as a graph's do.
    `stamp_ns`: writing a time. `copy_ns`: setting up the copy engine. `module_ns`, `function_ns`: the first use of
    each.
    """

    launch_call_ns: int = 0
    graph_call_ns: int = 0
    record_call_ns: int = 0
    copy_call_ns: int = 0
    device_copy_call_ns: int = 0
    fill_call_ns: int = 0
    small_call_ns: int = 0
    sync_call_ns: int = 0
    malloc_call_ns: int = 0
    free_call_ns: int = 0
    module_ns: int = 0
    function_ns: int = 0
    jit_ns_per_byte: int = 0
    doorbell_ns: int = 0
    segment_ns: int = 0
    node_ns: int = 0
    stamp_ns: int = 0
    copy_ns: int = 0
    pcie_up_mbs: int = 0
    pcie_down_mbs: int = 0
    staging_up_mbs: int = 0
    staging_down_mbs: int = 0
    inline_mbs: int = 0
    device_copy_mbs: int = 0
    device_fill_mbs: int = 0
    origin: str = ""  # the board that was measured


TIMELESS = LaunchPath()


def transfer_ns(size: int, mbs: int) -> int:
    """How long `size` bytes take at a rate."""
    return round(size * 1000 / mbs) if mbs else 0


@cache
def resolve(gpu: Gpu) -> LaunchPath:
    """The launch path of `gpu`."""
    reference = load(REFERENCE)
    own = {
        name.removeprefix(_TABLE): datum.value for name, datum in gpu.data.items() if name.startswith(_TABLE)
    }
    scale = {
        "pcie": 2.0 ** (gpu.pcie_gen - reference.pcie_gen),
        "inline": 2.0 ** (gpu.pcie_gen - reference.pcie_gen),
        "device": gpu.dram_clock_gbs / reference.dram_clock_gbs,
    }
    values: dict[str, int] = {}
    for field in fields(LaunchPath):
        if field.name == "origin":
            continue
        value = own.get(field.name)
        if value is None:
            value = reference.data[_TABLE + field.name].value
            kind = field.name.split("_")[0]
            if field.name.endswith("_mbs"):
                value = round(value * scale.get(kind, 1.0)) if isinstance(value, int) else value
        assert isinstance(value, int), field.name
        values[field.name] = value
    return LaunchPath(**values, origin=gpu.name if own else REFERENCE)
