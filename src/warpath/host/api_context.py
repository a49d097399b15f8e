"""Contexts of the driver API. There is one context, the device's primary one; explicit ones are further names of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.host.api_device import check_device
from warpath.host.dispatch import entry

if TYPE_CHECKING:
    from warpath.host.dispatch import Call

API_VERSION = 3020  # what cuCtxGetApiVersion reports since the driver API's version 2


def _create(call: Call, pointer: int, device: int) -> None:
    check_device(device)
    handle = call.runtime.contexts.create()
    call.thread.contexts.append(handle)
    call.out(pointer, "Q", handle)


@entry("cuCtxCreate", "cuCtxCreate_v2", context=False)
def context_create(call: Call, pointer: int, _flags: int, device: int) -> None:
    """A context, made current."""
    call.process.initialised = True
    _create(call, pointer, device)


@entry("cuCtxCreate_v3", context=False)
def context_create_v3(
    call: Call, pointer: int, _affinity: int, _count: int, _flags: int, device: int
) -> None:
    """The same with affinity parameters, which have no effect."""
    context_create(call, pointer, 0, device)


@entry("cuCtxCreate_v4", context=False)
def context_create_v4(call: Call, pointer: int, _parameters: int, _flags: int, device: int) -> None:
    """The same with creation parameters, which have no effect."""
    context_create(call, pointer, 0, device)


@entry("cuCtxDestroy_v2", "cuCtxDestroy", "cuCtxDetach", context=False)
def context_destroy(call: Call, handle: int) -> None:
    """The name is gone; memory stays until the program ends, since it belongs to the one context there is."""
    call.runtime.contexts.destroy(handle)
    call.thread.contexts = [other for other in call.thread.contexts if other != handle]


@entry("cuDevicePrimaryCtxRetain", context=False)
def primary_context_retain(call: Call, pointer: int, device: int) -> None:
    """The device's context, which the runtime uses too."""
    check_device(device)
    call.process.initialised = True
    call.out(pointer, "Q", call.runtime.contexts.primary)


@entry("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", context=False)
def primary_context_release(_call: Call, device: int) -> None:
    """The context stays: the program may be using it through the runtime."""
    check_device(device)


@entry("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", context=False)
def primary_context_set_flags(call: Call, device: int, flags: int) -> None:
    """How waiting threads wait."""
    check_device(device)
    call.runtime.device_flags = flags


@entry("cuDevicePrimaryCtxGetState", context=False)
def primary_context_get_state(call: Call, device: int, flags: int, active: int) -> None:
    """Its flags, and whether anything has used it."""
    check_device(device)
    call.out(flags, "I", call.runtime.device_flags)
    call.out(active, "i", int(call.process.initialised))


def _current(call: Call) -> int:
    return call.thread.contexts[-1] if call.thread.contexts else 0


@entry("cuCtxGetCurrent", context=False)
def context_get_current(call: Call, pointer: int) -> None:
    """The thread's context, null when it has none."""
    call.out(pointer, "Q", _current(call))


@entry("cuCtxSetCurrent", context=False)
def context_set_current(call: Call, handle: int) -> None:
    """Replace the top of the thread's stack; null empties it."""
    if call.thread.contexts:
        call.thread.contexts.pop()
    if handle:
        call.runtime.contexts.check(handle)
        call.thread.contexts.append(handle)


@entry("cuCtxPushCurrent_v2", "cuCtxPushCurrent", context=False)
def context_push(call: Call, handle: int) -> None:
    """Make a context current on top of others."""
    call.runtime.contexts.check(handle)
    call.thread.contexts.append(handle)


@entry("cuCtxPopCurrent_v2", "cuCtxPopCurrent", context=False)
def context_pop(call: Call, pointer: int) -> None:
    """Back to the one below; error 201 when there is none."""
    if not call.thread.contexts:
        raise CudaError(Error.DEVICE_UNINITIALIZED, "the thread has no current context")
    call.out_if(pointer, "Q", call.thread.contexts.pop())


@entry("cuCtxGetDevice")
def context_get_device(call: Call, pointer: int) -> None:
    """The only device."""
    call.out(pointer, "i", 0)


@entry("cuCtxGetFlags")
def context_get_flags(call: Call, pointer: int) -> None:
    """How waiting threads wait."""
    call.out(pointer, "I", call.runtime.device_flags)


@entry("cuCtxGetApiVersion", context=False)
def context_get_api_version(call: Call, handle: int, pointer: int) -> None:
    """Version of the interface the context was made with."""
    if handle:
        call.runtime.contexts.check(handle)
    call.out(pointer, "I", API_VERSION)


@entry("cuCtxGetId", context=False)
def context_get_id(call: Call, handle: int, pointer: int) -> None:
    """A number unique in the program."""
    handle = handle or _current(call)
    call.runtime.contexts.check(handle)
    call.out(pointer, "Q", handle)
