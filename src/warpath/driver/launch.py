"""Kernel launches: arguments packed as the cubin lays them out, constant bank 0 and QMD built, one segment
submitted.

The launch returns when the doorbell is rung.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpath.command import constbank, grid, templates
from warpath.command.constbank import FieldValue
from warpath.command.grid import ConstantBank, Dependent, DependentAction, GridType, GridWork, Release
from warpath.command.qmd import Qmd
from warpath.command.segments import LaunchSegment, Semaphore
from warpath.container.cubin import Kernel
from warpath.driver import limits
from warpath.driver.address_space import LOCAL_WINDOW, SHARED_WINDOW, align_up
from warpath.driver.error import CudaError, Error
from warpath.driver.journal import LaunchRecord
from warpath.driver.limits import Configuration
from warpath.driver.module import Function
from warpath.driver.slots import NEXT_BANK_BYTES, SHARED_BANK_BYTES, LaunchSlot
from warpath.gpu.occupancy import Request, driver_carveout, launch_registers, shared_allocation
from warpath.gpu.spec import Sm

if TYPE_CHECKING:
    from warpath.driver.stream import Stream
    from warpath.driver.submission import Submitter

WINDOW_BYTES = 0x100_0000  # each of the shared and local windows
# Top of the local window that the real driver keeps for itself: R1 starts below it, and every thread's local
# memory is that much larger than its stack (captured: R1 = 0xfffdc0, 1600 bytes for a stack of 1024).
STACK_RESERVE = 0x240
STACK_POINTER = WINDOW_BYTES - STACK_RESERVE
_BANK_UNIT = 256  # captured: a bank of 0x22c bytes was declared as 0x300
_WITH_DRIVER_BANKS = "V04_00"  # the only QMD version whose launches were captured whole
_AHEAD = 5  # constant bank that is fetched before the grid starts
_LOCAL_UNIT = 16
_WORD_MASK = 0xFFFF_FFFF
_PLANS = 256  # kept for each module
_FLOAT_ONE = constbank.float_bits(1.0)


def pack_arguments(kernel: Kernel, arguments: Sequence[bytes]) -> bytes:
    """The parameter block: each argument at its offset, zeros between. Error 1 when they do not match."""
    if len(arguments) != len(kernel.params):
        raise CudaError(
            Error.INVALID_VALUE, f"{len(arguments)} arguments for {len(kernel.params)} parameters"
        )
    block = bytearray(kernel.param_size)
    for param, value in zip(kernel.params, arguments, strict=True):
        if len(value) != param.size:
            raise CudaError(
                Error.INVALID_VALUE, f"argument {param.index} has {len(value)} bytes, not {param.size}"
            )
        block[param.offset : param.offset + param.size] = value
    return bytes(block)


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch, ready to be submitted any number of times (a graph node does)."""

    function: Function
    configuration: Configuration
    params: bytes

    @property
    def label(self) -> str:
        """For the report."""
        return f"launch {self.function.name}"

    def call_ns(self, driver: Submitter) -> int:
        """Host time of the call."""
        return driver.host.path.launch_call_ns

    def check(self, driver: Submitter) -> None:
        """Raise the error that the driver returns for a launch it refuses."""
        if self._key(driver) in self.function.module.plans:
            return  # a launch like this one was accepted before
        limits.check(self.function, self.configuration, driver.spec, driver.configuration_error)

    def submit(self, driver: Submitter, stream: Stream) -> None:
        """Load the module if need be, build everything in memory terms, ring the doorbell."""
        self.function.module.load(f"launch of {self.function.name}")
        index = driver.journal.launched
        plan = self._plan(driver)
        slot = driver.slots.take(plan.param_base + len(self.params))
        segment = driver.segment(stream, stream.channel)
        latch = stream.channel.next_latch()
        segment.launch(plan.segment(self.params, slot, index, latch, segment.done))
        submission = driver.journal.submitted
        fence = segment.submit(self.label, index)
        slot.used_by(fence)
        driver.journal.add_launch(
            plan.record(self.params, slot, index, stream.id, submission, driver.journal.call)
        )

    def _plan(self, driver: Submitter) -> LaunchPlan:
        """The plan for this kernel and configuration, kept with the loaded module."""
        key = self._key(driver)
        plans = self.function.module.plans
        if key not in plans:
            if len(plans) >= _PLANS:
                plans.clear()
            plans[key] = LaunchPlan(driver, self)
        return plans[key]

    def _key(self, driver: Submitter) -> Hashable:
        """All that check and plan depend on, besides the kernel's code and the GPU."""
        return (*self.function.settings, self.configuration, driver.limits.stack, driver.configuration_error)


class LaunchPlan:
    """What all launches of one kernel in one configuration share: constant bank and QMD but for the addresses of
    the launch's own slot.
    """

    def __init__(self, driver: Submitter, launch: Launch) -> None:
        self.kernel = launch.function.kernel
        self.configuration = launch.configuration
        self.spec = driver.spec
        self.sm: Sm = driver.spec.sm
        module = launch.function.module
        self.program_va = module.entry(self.kernel)
        self.registers = launch_registers(self.sm, self.kernel.registers)
        request = self.kernel.static_shared + launch.configuration.dynamic_shared
        self.shared = shared_allocation(self.sm, request)
        stack = max(driver.limits.stack, self.kernel.min_stack or 0, self.kernel.frame_size)
        self.local = align_up(stack + STACK_RESERVE, _LOCAL_UNIT)
        # Offset of the parameters in bank 0: the cubin's record, or the generation's convention.
        self.param_base = self.kernel.param_base or self.sm.param_base
        self._param_layout = tuple((param.offset, param.size) for param in self.kernel.params)
        self._bank_bytes = align_up(self.param_base + len(launch.params), _BANK_UNIT)
        self._chained = self.spec.qmd_version >= "V04"
        self._driver_banks = self.spec.qmd_version == _WITH_DRIVER_BANKS
        self._layout = constbank.load_layout(self.spec.cbank0)
        constants = bytearray(constbank.build(self._layout, param_base=self.param_base))
        banks = module.banks(self.kernel)
        addresses: dict[str, FieldValue] = {f"bank{index}_address": va for index, va, _ in banks}
        constbank.store(self._layout, constants, **self._named(self._fields() | addresses))
        self._constants = bytes(constants)
        self._qmd = self._build_qmd(banks, launch.function.carveout)

    def segment(
        self, params: bytes, slot: LaunchSlot, index: int, latch: int, done: Semaphore
    ) -> LaunchSegment:
        """All that goes into the pushbuffer for launch `index` in `slot`, which arrives at `latch`."""
        constants = bytearray(self._constants)
        constbank.store(self._layout, constants, **self._named(self._slot_fields(slot, index, len(params))))
        qmd = self._qmd.copy()
        dependents = (
            (Dependent(slot.spacer_va, DependentAction.DECREMENT_DEPENDENCE),) if self._chained else ()
        )
        grid.write_links(
            qmd,
            self._banks(slot),
            (Release(slot.semaphore_va, (index + 1) & _WORD_MASK),),
            dependents,
        )
        if self._driver_banks:
            qmd.set("ARRIVE_AT_LATCH_ID", latch)
        return LaunchSegment(
            bank_va=slot.bank_va,
            constants=bytes(constants),
            param_base=self.param_base,
            params=params,
            qmd=qmd,
            qmd_va=slot.qmd_va,
            report=done,
            slot=Semaphore(slot.semaphore_va, index & _WORD_MASK),
            spacer=templates.spacer_qmd(self.spec.qmd_version, slot.next_qmd_va) if self._chained else None,
            spacer_va=slot.spacer_va,
        )

    def _banks(self, slot: LaunchSlot) -> tuple[ConstantBank, ...]:
        """Bank 0, and those that the driver adds for itself: bank 5 is bank 0 again, to be fetched ahead."""
        bank = ConstantBank(0, slot.bank_va, self._bank_bytes)
        if not self._driver_banks:
            return (bank,)
        return (
            bank,
            ConstantBank(1, slot.context_va + SHARED_BANK_BYTES, NEXT_BANK_BYTES),
            ConstantBank(_AHEAD, slot.bank_va, self._bank_bytes),
            ConstantBank(7, slot.context_va, SHARED_BANK_BYTES),
        )

    def _build_qmd(self, banks: Sequence[tuple[int, int, int]], carveout: int | None) -> Qmd:
        configuration = self.configuration
        cluster = configuration.cluster if configuration.cluster != (1, 1, 1) else (0, 0, 0)
        work = GridWork(
            grid=configuration.grid,
            block=configuration.block,
            program_va=self.program_va,
            registers=self.registers,
            shared=self.shared,
            local_high=self.local,
            barriers=max(self.kernel.barriers, 1),
            type=GridType.CTA if cluster == (0, 0, 0) else GridType.GPC_CGA,
            cluster=cluster,
            banks=tuple(ConstantBank(*bank) for bank in banks),
            dependents=(Dependent(0, DependentAction.DECREMENT_DEPENDENCE),) if self._chained else (),
        )
        return templates.kernel_qmd(
            self.spec.qmd_version,
            work,
            sass_version=self.sm.major << 4 | self.sm.minor,
            shared_config=self._shared_config(carveout),
            code_bytes=len(self.kernel.code),
            prefetch_bank=_AHEAD if self._driver_banks else None,
        )

    def _shared_config(self, preferred: int | None) -> templates.SharedConfig:
        """Carve-outs: the smallest that holds a block, the largest there is, and the driver's choice between
        them.
        """
        sizes = self.sm.carveouts_bytes
        minimum = next((size for size in sizes if size and size >= self.shared), sizes[-1])
        request = Request(
            self.configuration.threads,
            self.kernel.registers,
            self.kernel.static_shared,
            self.configuration.dynamic_shared,
        )
        target = driver_carveout(self.sm, request)
        if preferred is not None:
            wanted = max(preferred * sizes[-1] // 100, self.shared)
            target = next((size for size in sizes if size >= wanted), sizes[-1])
        return templates.SharedConfig(minimum, sizes[-1], max(target, minimum))

    def _named(self, fields: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
        """Those of the fields that this GPU's layout has."""
        return {name: value for name, value in fields.items() if name in self._layout.fields}

    def _slot_fields(self, slot: LaunchSlot, index: int, params: int) -> dict[str, FieldValue]:
        """Values that differ from launch to launch."""
        params_va = slot.bank_va + self.param_base
        barrier_va = slot.barrier_va if self.configuration.cooperative else 0
        high, low = barrier_va >> 32, barrier_va & _WORD_MASK
        return {
            "launch_counter": (index + 1) & _WORD_MASK,
            "qmd_address": slot.qmd_va,
            "bank0_address": slot.bank_va,
            "bank1_address": slot.context_va + SHARED_BANK_BYTES,
            "params_start": params_va,
            "params_end": params_va + params,
            "grid_barrier_high": high,
            "grid_barrier_low": low,
            "grid_barrier_high_a": high,  # Blackwell reads one of two copies, 0xa0 * SR_CgaSize bytes apart
            "grid_barrier_low_a": low,
        }

    def _fields(self) -> dict[str, FieldValue]:
        """Values that stay."""
        configuration = self.configuration
        x, y, z = configuration.cluster
        blocks, cluster = configuration.grid, configuration.cluster
        return {
            "block": configuration.block,
            "grid": blocks,
            "grid_again": blocks,
            "shared_window": SHARED_WINDOW,
            "shared_window_again": SHARED_WINDOW,
            "local_window": LOCAL_WINDOW,
            "window_bytes": WINDOW_BYTES,
            "stack_pointer": STACK_POINTER,
            "dynamic_shared": configuration.dynamic_shared,
            "dynamic_shared_a": configuration.dynamic_shared,
            "shared_top": self.shared,
            "shared_top_a": self.shared,
            "reserved_shared": self.sm.shared_reserved_bytes,
            "program_address": self.program_va,
            "sm_count": self.spec.sms,
            "cooperative": int(configuration.cooperative),
            "cluster_launch": int(cluster != (1, 1, 1)),
            "cluster": cluster,
            "cluster_size": x * y * z,
            "cluster_inverse": tuple(
                constbank.float_bits(1.0 / size) if size != 1 else _FLOAT_ONE for size in cluster
            ),
            "grid_in_clusters": (blocks[0] // x, blocks[1] // y, blocks[2] // z),
        }

    def record(
        self, params: bytes, slot: LaunchSlot, index: int, stream: int, submission: int, call: int
    ) -> LaunchRecord:
        """What the report keeps."""
        configuration = self.configuration
        return LaunchRecord(
            index=index,
            mangled=self.kernel.name,
            demangled=self.kernel.demangled,
            grid=configuration.grid,
            block=configuration.block,
            stream=stream,
            cooperative=configuration.cooperative,
            registers=self.registers,
            static_shared=self.kernel.static_shared,
            dynamic_shared=configuration.dynamic_shared,
            shared=self.shared,
            local=self.local,
            program_va=self.program_va,
            qmd_va=slot.qmd_va,
            constant_va=slot.bank_va,
            param_base=self.param_base,
            params=params,
            param_layout=self._param_layout,
            submission=submission,
            call=call,
        )
