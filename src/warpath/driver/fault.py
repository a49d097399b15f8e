"""What a fault of the model GPU means to the program: the CUDA error code and one line of detail."""

from __future__ import annotations

from collections.abc import Mapping

from warpath.driver.error import CudaError, Error

_CODES: Mapping[str, Error] = {
    "out_of_bounds": Error.ILLEGAL_ADDRESS,
    "use_after_free": Error.ILLEGAL_ADDRESS,
    "illegal_address": Error.ILLEGAL_ADDRESS,
    "shared_out_of_bounds": Error.ILLEGAL_ADDRESS,
    "local_out_of_bounds": Error.ILLEGAL_ADDRESS,
    "misaligned": Error.MISALIGNED_ADDRESS,
    "misaligned_address": Error.MISALIGNED_ADDRESS,
    "invalid_address_space": Error.INVALID_ADDRESS_SPACE,
    "illegal_instruction": Error.ILLEGAL_INSTRUCTION,
    "invalid_pc": Error.INVALID_PC,
    "stack_overflow": Error.HARDWARE_STACK_ERROR,
    "hardware_stack": Error.HARDWARE_STACK_ERROR,
    "assert": Error.ASSERT,
    "timeout": Error.LAUNCH_TIMEOUT,
    "hang": Error.LAUNCH_TIMEOUT,
    "trap": Error.LAUNCH_FAILURE,
}


def error_of(kind: str) -> Error:
    """The code for a fault kind; kinds without one of their own are an unspecified launch failure."""
    return _CODES.get(kind, Error.LAUNCH_FAILURE)


def to_cuda_error(fault: Mapping[str, object]) -> CudaError:
    """The error every call reports from now on, given the record of the model GPU."""
    kind = str(fault.get("kind", "unknown"))
    parts = [f"{name} {fault[name]}" for name in ("kernel", "pc", "block", "thread", "address") if name in fault]
    return CudaError(error_of(kind), f"{kind.replace('_', ' ')}{': ' if parts else ''}{', '.join(parts)}")
