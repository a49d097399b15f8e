"""Registration by generated host code, modules and libraries loaded at run time, symbols."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING

from warpath.container import fatbin
from warpath.driver.error import CudaError, Error
from warpath.driver.module import Function, Module
from warpath.errors import FormatError
from warpath.host.api_launch import find_function
from warpath.host.connection import MAX_STRING
from warpath.host.dispatch import entry
from warpath.host.layout import proc_addresses, signatures

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

WRAPPER_BYTES, FATBIN_HEADER_BYTES = 16, 16
ELF_HEADER_BYTES, SECTION_HEADER_BYTES = 64, 64
MAX_IMAGE_BYTES = 1 << 30
_FOUND, _NOT_FOUND, _VERSION_TOO_LOW = 0, 1, 2  # CUdriverProcAddressQueryResult
_PER_THREAD_FLAG = 2  # CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM


def read_fatbin(call: Call, address: int) -> bytes:
    """The fat binary at `address` in the program; its header says how long it is."""
    size = fatbin.header_bytes(call.connection.read(address, FATBIN_HEADER_BYTES))
    if size > MAX_IMAGE_BYTES:
        raise FormatError(f"the fat binary at {address:#x} claims to have {size} bytes")
    return call.connection.read(address, size)


@entry("__cudaRegisterFatBinary", context=False)
def register_fat_binary(call: Call, wrapper: int) -> int:
    """A fat binary in the program's image. Returns its handle."""
    target = fatbin.wrapper_target(call.connection.read(wrapper, WRAPPER_BYTES))
    module = call.driver.registry.register_fatbin(read_fatbin(call, target))
    handle = call.runtime.handles.put(module)
    call.process.modules[handle] = module
    return handle


@entry("__cudaRegisterFatBinaryEnd", context=False)
def register_fat_binary_end(call: Call, handle: int) -> None:
    """All of its kernels and variables are known: with eager loading it is uploaded now."""
    call.driver.end_registration(call.runtime.handles.get(handle, Module))


@entry("__cudaUnregisterFatBinary", context=False)
def unregister_fat_binary(call: Call, handle: int) -> None:
    """The program ends. A forked child leaves its parent's modules alone."""
    module = call.process.modules.pop(handle, None)
    if module is not None:
        call.driver.unload_module(module)
        call.runtime.handles.drop(handle)


@entry("__cudaRegisterFunction", context=False)
def register_function(
    call: Call,
    handle: int,
    host_function: int,
    _device_function: int,
    name: int,
    _thread_limit: int,
    *_unused: int,
) -> None:
    """Tie the address of a host stub to a kernel."""
    module = call.runtime.handles.get(handle, Module)
    call.driver.registry.register_function(module, host_function, call.text(name))


@entry("__cudaRegisterVar", context=False)
def register_variable(
    call: Call,
    handle: int,
    host_variable: int,
    _device: int,
    name: int,
    _external: int,
    _size: int,
    _constant: int,
    _global: int,
) -> None:
    """Tie the address of a variable's host shadow to the device variable."""
    module = call.runtime.handles.get(handle, Module)
    call.driver.registry.register_variable(module, host_variable, call.text(name))


@entry("__cudaRegisterManagedVar", context=False)
def register_managed_variable(
    call: Call,
    handle: int,
    pointer: int,
    _device: int,
    name: int,
    _external: int,
    _size: int,
    _constant: int,
    _global: int,
) -> None:
    """A `__managed__` variable: the program reads its address from `pointer` once the module is initialised."""
    module = call.runtime.handles.get(handle, Module)
    label = call.text(name)
    call.driver.registry.register_variable(module, pointer, label)
    call.process.managed.setdefault(handle, []).append((pointer, label))


@entry("__cudaRegisterHostVar", context=False)
def register_host_variable(_call: Call, _handle: int, _name: int, _address: int, _size: int) -> None:
    """Host variables that device code may read directly; only systems with shared page tables use them."""


@entry("__cudaInitModule")
def init_module(call: Call, handle: int) -> int:
    """The program is about to touch a managed variable: load the module and tell where its variables are."""
    module = call.runtime.handles.get(handle, Module)
    for pointer, name in call.process.managed.pop(handle, []):
        va = module.variable(name).va
        call.connection.write(pointer, struct.pack("<Q", va))
        # A symbol API gets the variable itself, not its pointer.
        call.driver.registry.register_variable(module, va, name)
    return 1


# Symbols of the program


@entry("cudaGetSymbolAddress")
def get_symbol_address(call: Call, pointer: int, symbol: int) -> None:
    """Device address of a registered variable; loads its module."""
    call.out(pointer, "Q", call.driver.registry.variable(symbol).va)


@entry("cudaGetSymbolSize")
def get_symbol_size(call: Call, pointer: int, symbol: int) -> None:
    """Bytes of a registered variable."""
    call.out(pointer, "Q", call.driver.registry.variable(symbol).size)


# Modules and libraries


def read_image(call: Call, address: int) -> bytes:
    """A module image given by its address alone: wrapper, fat binary, ELF or PTX text, each telling its length."""
    if address == 0:
        raise CudaError(Error.INVALID_VALUE, "no image")
    start = call.connection.read(address, 4)
    magic = int.from_bytes(start, "little")
    if magic == fatbin.WRAPPER_MAGIC:
        return read_fatbin(call, fatbin.wrapper_target(call.connection.read(address, WRAPPER_BYTES)))
    if magic == fatbin.MAGIC:
        return read_fatbin(call, address)
    if start == b"\x7fELF":
        return call.connection.read(address, _elf_size(call, address))
    return _read_text(call, address)


def _elf_size(call: Call, address: int) -> int:
    """Bytes up to the end of the last section or table."""
    header = call.connection.read(address, ELF_HEADER_BYTES)
    segments, sections = struct.unpack_from("<QQ", header, 32)
    segment_bytes, segment_count, section_bytes, section_count = struct.unpack_from("<4H", header, 54)
    end = max(
        ELF_HEADER_BYTES, segments + segment_bytes * segment_count, sections + section_bytes * section_count
    )
    if section_bytes != SECTION_HEADER_BYTES or end > MAX_IMAGE_BYTES:
        raise CudaError(Error.INVALID_KERNEL_IMAGE, "the image's section table makes no sense")
    table = call.connection.read(address + sections, section_bytes * section_count)
    no_bits = 8
    for start in range(0, len(table), SECTION_HEADER_BYTES):
        (kind,) = struct.unpack_from("<I", table, start + 4)
        offset, size = struct.unpack_from("<QQ", table, start + 24)
        if kind != no_bits:
            end = max(end, offset + size)
    if end > MAX_IMAGE_BYTES:
        raise CudaError(Error.INVALID_KERNEL_IMAGE, f"the image claims to have {end} bytes")
    return end


def _read_text(call: Call, address: int) -> bytes:
    """PTX: a zero-terminated string of any length."""
    text = ""
    while True:
        piece = call.connection.read_string(address + len(text))
        text += piece
        if len(piece) < MAX_STRING:
            return text.encode()


def _load(call: Call, pointer: int, data: bytes, what: str) -> None:
    module = call.driver.load_module(data, what)
    call.out(pointer, "Q", call.runtime.handles.put(module))


@entry("cuModuleLoadData", "cuModuleLoadFatBinary")
def module_load_data(call: Call, pointer: int, image: int) -> None:
    """Load an image in memory."""
    _load(call, pointer, read_image(call, image), "module")


@entry("cuModuleLoadDataEx")
def module_load_data_ex(
    call: Call, pointer: int, image: int, _count: int, _options: int, _values: int
) -> None:
    """The same with options for the assembler, which have no effect."""
    _load(call, pointer, read_image(call, image), "module")


@entry("cudaLibraryLoadData", "cuLibraryLoadData")
def library_load_data(call: Call, pointer: int, image: int, *_options: int) -> None:
    """A library is a module that is not tied to a context."""
    _load(call, pointer, read_image(call, image), "library")


@entry("cuModuleLoad")
def module_load(call: Call, pointer: int, path: int) -> None:
    """Load an image from a file; error 301 when it cannot be read."""
    _load_file(call, pointer, path)


@entry("cudaLibraryLoadFromFile", "cuLibraryLoadFromFile")
def library_load_file(call: Call, pointer: int, path: int, *_options: int) -> None:
    """The same for a library."""
    _load_file(call, pointer, path)


def _load_file(call: Call, pointer: int, path: int) -> None:
    name = Path(call.text(path))
    try:
        # Relative to the program's directory, not ours.
        data = (Path(f"/proc/{call.process.pid}/cwd") / name).read_bytes()
    except OSError as error:
        raise CudaError(Error.FILE_NOT_FOUND, f"{name}: {error.strerror}") from None
    _load(call, pointer, data, str(name))


@entry("cuModuleUnload", "cudaLibraryUnload", "cuLibraryUnload")
def module_unload(call: Call, handle: int) -> None:
    """Free a module and forget its functions."""
    module = call.runtime.handles.get(handle, Module)
    call.driver.unload_module(module)
    for function, value in call.runtime.handles.all(Function):
        if value.module is module:
            call.runtime.handles.drop(function)
    call.runtime.handles.drop(handle)


@entry("cuModuleGetFunction", "cudaLibraryGetKernel", "cuLibraryGetKernel")
def module_get_function(call: Call, pointer: int, handle: int, name: int) -> None:
    """A kernel of a module by its mangled name; error 500 when it has none so called."""
    module = call.runtime.handles.get(handle, Module)
    label = call.text(name)
    if label not in module.cubin.kernels:
        raise CudaError(Error.SYMBOL_NOT_FOUND, f"no kernel {label}")
    known = [
        value
        for _, value in call.runtime.handles.all(Function)
        if value.module is module and value.name == label
    ]
    call.out(pointer, "Q", call.runtime.handles.put(known[0] if known else Function(module, label)))


@entry("cuKernelGetFunction", context=False)
def kernel_get_function(call: Call, pointer: int, kernel: int) -> None:
    """Kernels and functions share handles."""
    call.out(pointer, "Q", call.runtime.handles.put(find_function(call, kernel)))


@entry("cuModuleGetGlobal", "cuModuleGetGlobal_v2", "cudaLibraryGetGlobal", "cuLibraryGetGlobal")
def module_get_global(call: Call, pointer: int, size: int, handle: int, name: int) -> None:
    """Address and size of a module's variable; either result may be left out."""
    found = call.runtime.handles.get(handle, Module).variable(call.text(name))
    call.out_if(pointer, "Q", found.va)
    call.out_if(size, "I" if call.name == "cuModuleGetGlobal" else "Q", found.size)


@entry("cuModuleGetFunctionCount", "cudaLibraryGetKernelCount", "cuLibraryGetKernelCount")
def module_function_count(call: Call, pointer: int, handle: int) -> None:
    """Kernels in a module."""
    call.out(pointer, "I", len(call.runtime.handles.get(handle, Module).cubin.kernels))


@entry("cuModuleGetLoadingMode", context=False)
def module_loading_mode(call: Call, pointer: int) -> None:
    """1: eager, 2: lazy."""
    call.out(pointer, "i", 1 if call.driver.eager else 2)


# Entry points by name


def _symbol(name: str, version: int, per_thread: bool) -> str | None:
    """The export that serves driver function `name` for a program built against CUDA `version`."""
    exports = signatures("driver")
    usable = [symbol for since, symbol in proc_addresses().get(name, []) if since <= version]
    base = usable[-1] if usable else name if name in exports and name not in proc_addresses() else None
    if base is not None and per_thread:
        return next((base + suffix for suffix in ("_ptsz", "_ptds") if base + suffix in exports), base)
    return base


def _entry_point(call: Call, name: int, pointer: int, version: int, flags: int, status: int) -> None:
    label = call.text(name)
    symbol = _symbol(label, version, bool(flags & _PER_THREAD_FLAG) or call.per_thread)
    address = call.connection.resolve(symbol) if symbol else 0
    known = label in proc_addresses()
    call.out(pointer, "Q", address)
    call.out_if(status, "i", _FOUND if address else _VERSION_TOO_LOW if known else _NOT_FOUND)
    if not address and not status:
        raise CudaError(Error.SYMBOL_NOT_FOUND, f"the driver API has no {label} for CUDA {version}")


@entry("cuGetProcAddress", context=False)
def get_proc_address(call: Call, name: int, pointer: int, version: int, flags: int) -> None:
    """Address of a driver function; error 500 when there is none."""
    _entry_point(call, name, pointer, version, flags, 0)


@entry("cuGetProcAddress_v2", context=False)
def get_proc_address_v2(call: Call, name: int, pointer: int, version: int, flags: int, status: int) -> None:
    """The same, which also says why there is none."""
    _entry_point(call, name, pointer, version, flags, status)


@entry("cudaGetDriverEntryPoint", context=False)
def get_driver_entry_point(call: Call, name: int, pointer: int, flags: int, status: int) -> None:
    """A driver function as of the runtime's own version."""
    _entry_point(call, name, pointer, 13000 if call.library == 13 else 12090, flags, status)


@entry("cudaGetDriverEntryPointByVersion", context=False)
def get_driver_entry_point_by_version(
    call: Call, name: int, pointer: int, version: int, flags: int, status: int
) -> None:
    """A driver function as of a given version."""
    _entry_point(call, name, pointer, version, flags, status)
