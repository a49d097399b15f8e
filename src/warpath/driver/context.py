"""The driver: one context on one model GPU. Owns channels, address space, modules, streams and the error state.

Every call that the program makes ends up here. Work is written to memory and announced by a doorbell; the model GPU
runs when the driver waits (`wait`, `synchronize`) or when the host layer has nothing else to do (`advance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from warpath.command import segments
from warpath.command.doorbell import Token
from warpath.command.qmd import load_format
from warpath.command.segments import MAX_INLINE_BYTES, Classes, SegmentWriter
from warpath.container.fatbin import MAGIC, Fatbin
from warpath.driver import output, syscalls
from warpath.driver.address_space import LOCAL_WINDOW, SHARED_WINDOW, AddressSpace, Kind, Memory
from warpath.driver.channel import (
    ENTRIES,
    PUSHBUFFER_BYTES,
    RING_STRIDE,
    SEMAPHORE_STRIDE,
    Channel,
    Doorbell,
    Fence,
)
from warpath.driver.error import CudaError, Error
from warpath.driver.fault import to_cuda_error
from warpath.driver.journal import Journal
from warpath.driver.launch import Launch, pack_arguments
from warpath.driver.limits import Configuration
from warpath.driver.memory import MemoryManager
from warpath.driver.module import Function, Module, Registry
from warpath.driver.output import Output
from warpath.driver.segment import Segment
from warpath.driver.slots import LaunchSlots
from warpath.driver.staging import PIECE_BYTES, Staging
from warpath.driver.stream import Event, Stream, StreamSet
from warpath.driver.transfer import Copy, Fill
from warpath.errors import FormatError
from warpath.gpu.spec import Gpu

COMPUTE_CHANNELS = 8  # CUDA_DEVICE_MAX_CONNECTIONS' default
_SLOT_BYTES = 32
_SLOT_COUNT = 4096  # streams and events alive together

# Runlists as on the captured machine: 0 graphics and compute, 1 and 3 copy engines.
_COMPUTE_RUNLIST, _COPY_IN_RUNLIST, _COPY_OUT_RUNLIST = 0, 1, 3
_FIRST_COMPUTE_ID, _COPY_IN_ID, _COPY_OUT_ID = 0x0A, 0x12, 0x16
"""


class ModelGpu(Doorbell, Protocol):
    """The model GPU as the driver uses it (`frontend.ModelGpu`)."""

    faults: list[Mapping[str, object]]

    def run(self) -> None: ...


class Work(Protocol):
    """Something a stream can be given: a launch, a copy, a fill, a host call, an event record."""

    @property
    def label(self) -> str: ...
    def check(self, driver: Driver) -> None: ...
    def submit(self, driver: Driver, stream: Stream) -> None: ...
