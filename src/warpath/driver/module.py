"""Modules: a fat binary registered by the program, from which one member is chosen, and loaded when first
needed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpath.container.cubin import Cubin, Kernel
from warpath.container.fatbin import FLAG_ARCH_SPECIFIC, FLAG_FAMILY, Fatbin, Member
from warpath.driver import syscalls
from warpath.driver.address_space import Kind
from warpath.driver.error import CudaError, Error
from warpath.driver.image import Image, Placement, Room
from warpath.driver.journal import LoadEvent, Upload
from warpath.errors import FormatError, ToolError
from warpath.gpu.spec import Sm

if TYPE_CHECKING:
    from warpath.driver.launch import LaunchPlan
    from warpath.driver.submission import Submitter

_TARGET = re.compile(rb"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)
_VERSION = re.compile(rb"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)


def fits(member: Member, sm: Sm) -> bool:
    """Whether the GPU can use a member: SASS of its own major version and at most its minor one, PTX of any
    older target. Code with suffix `a` fits its own architecture only, with `f` the same major version."""
    if member.suffix == "a":
        return member.sm == sm.number
    same_major = member.sm // 10 == sm.major
    return member.sm <= sm.number and (same_major or (member.kind == "ptx" and member.suffix == ""))


def choose_member(fatbin: Fatbin, sm: Sm) -> Member | None:
    """The member the driver takes: the closest SASS, else the closest PTX, which is then assembled. None:
    error 209.
    """
    for members in (fatbin.elfs(), fatbin.ptxs()):
        usable = [member for member in members if fits(member, sm)]
        if usable:
            return max(usable, key=lambda member: (member.sm, member.suffix != ""))
    return None


def ptx_member(text: bytes) -> Member:
    """PTX text as a member for its own target; FormatError when it has no `.target` line."""
    text = text.rstrip(b"\0")
    target = _TARGET.search(text)
    version = _VERSION.search(text)
    if target is None or version is None:
        raise FormatError(
            f"module image starts with {text[:8].hex() or 'nothing'}: no fat binary, cubin or PTX"
        )
    flags = {b"a": FLAG_ARCH_SPECIFIC, b"f": FLAG_FAMILY}.get(target[2], 0)
    return Member("ptx", int(target[1]), (int(version[1]), int(version[2])), flags, "", text, len(text))


@dataclass(frozen=True, slots=True)
class VariableRef:
    """A `__device__` or `__constant__` variable in memory; sizes in bytes."""

    name: str
    va: int
    size: int
    is_constant: bool


class Module:
    """One module. Nothing is parsed before `cubin` is asked for, nothing uploaded before `load`."""

    def __init__(self, driver: Submitter, index: int, source: Fatbin | bytes, what: str) -> None:
        self.index = index
        self.what = what
        self.event: LoadEvent | None = None
        self.plans: dict[Hashable, LaunchPlan] = {}  # of launches, while it is loaded
        self._driver = driver
        self._source = source
        self._member = ""
        self._jit = False
        self._jit_bytes = 0  # of PTX that was assembled
        self._choosing = 0.0  # seconds spent on finding or assembling the code
        self._cubin: Cubin | None = None
        self._image: Image | None = None
        self._blocks: list[int] = []

    @property
    def loaded(self) -> bool:
        """Whether its code and data are in device memory."""
        return self._image is not None

    @property
    def cubin(self) -> Cubin:
        """The code for this GPU: a SASS member, or PTX assembled now. Error 209 when there is neither, 218
        when the PTX does not assemble."""
        if self._cubin is None:
            started = time.perf_counter()
            self._cubin = self._choose()
            self._choosing = time.perf_counter() - started
        return self._cubin

    @property
    def ptx_version(self) -> int:
        """Target of the PTX that the code came from: 89. Libraries choose block sizes by it."""
        return self.cubin.virtual_sm

    @property
    def image(self) -> Image:
        """The loaded image; loads the module when needed."""
        self.load("first use")
        if self._image is None:
            raise RuntimeError("a loaded module has an image")
        return self._image

    def kernel(self, name: str) -> Kernel:
        """A kernel by mangled name; error 98 when the code for this GPU has none so called."""
        kernel = self.cubin.kernels.get(name)
        if kernel is None:
            raise CudaError(Error.INVALID_DEVICE_FUNCTION, f"{self.what} has no kernel {name} for this GPU")
        return kernel

    def entry(self, kernel: Kernel) -> int:
        """Address of the kernel's first instruction."""
        return self.image.address(kernel.section, kernel.offset)

    def banks(self, kernel: Kernel) -> list[tuple[int, int, int]]:
        """(bank, address, bytes) of every constant bank the kernel uses besides bank 0."""
        return [
            (bank, self.image.address(constant.section, 0), len(constant.data))
            for bank, constant in sorted(kernel.constants.items())
            if bank != 0 and constant.data
        ]

    def variable(self, name: str) -> VariableRef:
        """A variable's address and size; loads the module. Error 500 when there is none so called."""
        variable = self.cubin.globals.get(name)
        if variable is None:
            raise CudaError(Error.SYMBOL_NOT_FOUND, f"{self.what} has no variable {name}")
        managed = self.image.managed_va.get(name)
        va = self.image.address(variable.section, variable.offset) if managed is None else managed
        return VariableRef(name, va, variable.size, variable.section.startswith(".nv.constant"))

    def variables(self) -> list[VariableRef]:
        """All variables of a loaded module, to name addresses in reports."""
        return [self.variable(name) for name in self.cubin.globals] if self.loaded else []

    def load(self, reason: str) -> None:
        """Lay out, relocate and upload, unless that has happened, and wait for the uploads: loading is
        synchronous, so that no copy or launch in any stream overtakes it.
        """
        if self._image is not None:
            return
        cubin = self.cubin
        host = self._driver.host
        jit_ns = self._jit_bytes * host.path.jit_ns_per_byte
        loaded_ns = host.now_ns + host.path.module_ns + jit_ns
        started = time.perf_counter()
        image = Image(cubin)
        self._driver.provide_system_calls([name for name in cubin.externals if name in syscalls.NAMES])
        try:
            image.link(self._allocate)
            uploads = self._upload(image)
            self._driver.invalidate(code=True)
            last = self._driver.invalidate(code=False)
        except BaseException:
            self._release()
            raise
        self._image = image
        self.event = LoadEvent(
            self.index,
            self._member,
            self._jit,
            reason,
            tuple(cubin.kernels),
            tuple(uploads),
            self._driver.journal.launched,
            time.perf_counter() - started + self._choosing,
            upload_ns=host.path.module_ns,
            jit_ns=jit_ns,
        )
        self._driver.journal.loads.append(self.event)
        self._driver.wait(last)  # the loader stream is ordered, so all uploads are done
        host.reach(loaded_ns)

    def unload(self) -> None:
        """Free everything; the caller has waited for work that uses it."""
        self._release()
        self._image = None
        self.plans.clear()

    def _release(self) -> None:
        for va in self._blocks:
            self._driver.space.release(va)
        self._blocks.clear()

    def _choose(self) -> Cubin:
        if isinstance(self._source, bytes):
            self._member = "cubin"
            return self._checked(Cubin(self._source, self.what))
        sm = self._driver.spec.sm
        member = choose_member(self._source, sm)
        if member is None:
            present = ", ".join(f"{m.kind} {m.sm}{m.suffix}" for m in self._source.members) or "nothing"
            raise CudaError(
                Error.NO_KERNEL_IMAGE_FOR_DEVICE, f"{self.what} has {present}, {sm.name} can use none of it"
            )
        self._member = f"{'SASS sm' if member.kind == 'elf' else 'PTX compute'}_{member.sm}{member.suffix}"
        if member.kind == "elf":
            return Cubin(member.payload(), self.what)
        self._jit = True
        self._jit_bytes = len(member.payload())
        return Cubin(self._assemble(member), self.what)

    def _checked(self, cubin: Cubin) -> Cubin:
        """A bare cubin carries its architecture itself."""
        sm = self._driver.spec.sm
        if cubin.sm // 10 != sm.major or cubin.sm > sm.number:
            raise CudaError(
                Error.NO_KERNEL_IMAGE_FOR_DEVICE, f"{self.what} is for sm_{cubin.sm}, the GPU is {sm.name}"
            )
        return cubin

    def _assemble(self, member: Member) -> bytes:
        try:
            return self._driver.assemble_ptx(member.payload(), self._driver.spec.sm.name)
        except ToolError as error:
            raise CudaError(Error.INVALID_PTX, error.output or str(error)) from error

    def _allocate(self, placement: Placement) -> int:
        space = self._driver.space
        kind = {Room.CODE: Kind.CODE, Room.DEVICE: Kind.DEVICE, Room.SHARED: Kind.MANAGED}[placement.room]
        arena = space.host if placement.room is Room.SHARED else space.modules
        allocation = space.allocate(placement.size, kind, arena)
        if allocation is None:
            raise CudaError(Error.MEMORY_ALLOCATION, f"no room for {placement.what} of {self.what}")
        self._blocks.append(allocation.va)
        return allocation.va

    def _upload(self, image: Image) -> list[Upload]:
        uploads: list[Upload] = []
        for block in image.blocks:
            what, size = block.placement.what, block.placement.size
            if block.placement.room is Room.SHARED:  # the CPU may read it at once, so the CPU writes it
                self._driver.memory.write(block.va, block.data.ljust(size, b"\0"))
                uploads.append(Upload(what, block.va, size, "host"))
                continue
            how, _ = self._driver.upload(block.va, block.data, size, f"upload {what} of module {self.index}")
            uploads.append(Upload(what, block.va, size, how))
        return uploads


@dataclass(eq=False)
class Function:
    """A kernel of a module, with what the program set on it. Sizes in bytes."""

    module: Module
    name: str
    max_dynamic_shared: int | None = None  # cudaFuncAttributeMaxDynamicSharedMemorySize
    carveout: int | None = None  # preferred shared memory, percent
    cluster: tuple[int, int, int] | None = None
    non_portable_cluster: bool = False

    @property
    def settings(self) -> tuple[Hashable, ...]:
        """Its name and what the program set on it."""
        return (self.name, self.max_dynamic_shared, self.carveout, self.cluster, self.non_portable_cluster)

    @property
    def kernel(self) -> Kernel:
        """What the cubin says about it; error 209 or 98 when this GPU has no code for it."""
        return self.module.kernel(self.name)


class Registry:
    """What generated host code registered: fat binaries, kernels by host stub address, variables by host
    address.
    """

    def __init__(self, make: Callable[[Fatbin, str], Module], unknown: Callable[[], Error]) -> None:
        """`make` makes modules; `unknown` says what an unregistered host function is answered with."""
        self._unknown = unknown
        self._make = make
        self._functions: dict[int, Function] = {}
        self._variables: dict[int, tuple[Module, str]] = {}

    def register_fatbin(self, data: bytes) -> Module:
        """A module that is loaded later; FormatError when the fat binary is malformed."""
        return self._make(Fatbin.parse(data), "the program's fat binary")

    def register_function(self, module: Module, host_function: int, name: str) -> Function:
        """Tie the address of a host stub to a kernel's mangled name."""
        function = Function(module, name)
        self._functions[host_function] = function
        return function

    def register_variable(self, module: Module, host_variable: int, name: str) -> None:
        """Tie the address of a variable's host shadow to the device variable."""
        self._variables[host_variable] = (module, name)

    def function(self, host_function: int) -> Function:
        """The kernel behind a host stub; an error when none was registered there."""
        function = self._functions.get(host_function)
        if function is None:
            raise CudaError(self._unknown(), f"no kernel is registered at {host_function:#x}")
        return function

    def variable(self, host_variable: int) -> VariableRef:
        """The variable behind a host shadow; loads its module. Error 13 when none was registered there."""
        entry = self._variables.get(host_variable)
        if entry is None:
            raise CudaError(Error.INVALID_SYMBOL, f"no variable is registered at {host_variable:#x}")
        module, name = entry
        return module.variable(name)

    def forget(self, module: Module) -> None:
        """Drop everything registered for a module."""
        self._functions = {key: value for key, value in self._functions.items() if value.module is not module}
        self._variables = {key: value for key, value in self._variables.items() if value[0] is not module}

    def functions(self) -> list[Function]:
        """Every registered kernel."""
        return list(self._functions.values())
