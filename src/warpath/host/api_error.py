"""Last errors, error names and texts, profiler switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error, error_text, runtime_name
from warpath.host.dispatch import entry

if TYPE_CHECKING:
    from warpath.host.dispatch import Call


@entry("cudaGetLastError", context=False, sets_error=False)
def get_last_error(call: Call) -> int:
    """The thread's last error, which is then forgotten; one that broke the context comes back with the next call (as on
    an H200, driver 580).
    """
    last, call.thread.last_error = call.thread.last_error, 0
    return last


@entry("cudaPeekAtLastError", context=False, sets_error=False)
def peek_at_last_error(call: Call) -> int:
    """The thread's last error."""
    return call.thread.last_error


@entry("cudaGetErrorName", context=False, sets_error=False)
def get_error_name(call: Call, code: int) -> int:
    """`cudaErrorInvalidValue`."""
    return call.place_text(runtime_name(code))


@entry("cudaGetErrorString", context=False, sets_error=False)
def get_error_string(call: Call, code: int) -> int:
    """`invalid argument`."""
    return call.place_text(error_text(code))


def _known(code: int) -> Error:
    try:
        return Error(code)
    except ValueError:
        raise CudaError(Error.INVALID_VALUE, f"{code} is not an error code") from None


@entry("cuGetErrorName", context=False)
def driver_error_name(call: Call, code: int, pointer: int) -> None:
    """`CUDA_ERROR_INVALID_VALUE`; a null pointer is stored for an unknown code."""
    call.out(pointer, "Q", 0)
    call.out(pointer, "Q", call.place_text(_known(code).driver_name))


@entry("cuGetErrorString", context=False)
def driver_error_string(call: Call, code: int, pointer: int) -> None:
    """`invalid argument`; a null pointer is stored for an unknown code."""
    call.out(pointer, "Q", 0)
    call.out(pointer, "Q", call.place_text(_known(code).text))


@entry("cudaProfilerStart", "cudaProfilerStop", "cuProfilerStart", "cuProfilerStop")
def profiler_switch(_call: Call) -> None:
    """Without a profiler attached these succeed and do nothing."""
