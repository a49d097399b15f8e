"""What a fault of the model GPU means to the program: the CUDA error code and one line of detail."""

from __future__ import annotations

from collections.abc import Mapping

from warpath.driver.error import CudaError, Error
from warpath.driver.places import Place
from warpath.errors import UnsupportedError

_CODES: Mapping[str, Error] = {
    "illegal_address": Error.ILLEGAL_ADDRESS,
    "shared_out_of_range": Error.ILLEGAL_ADDRESS,
    "local_out_of_range": Error.ILLEGAL_ADDRESS,
    "misaligned_address": Error.MISALIGNED_ADDRESS,
    "illegal_address_space": Error.INVALID_ADDRESS_SPACE,
    "illegal_instruction": Error.ILLEGAL_INSTRUCTION,
    "invalid_pc": Error.INVALID_PC,
    "stack_overflow": Error.ILLEGAL_ADDRESS,
    "device_assert": Error.ASSERT,
    "trap": Error.LAUNCH_FAILURE,
    "hang": Error.LAUNCH_TIMEOUT,
    "timeout": Error.LAUNCH_TIMEOUT,
}
_UNSUPPORTED = "unsupported_instruction"


def error_of(kind: str) -> Error:
    """The code for a fault kind; kinds without one of their own are an unspecified launch failure."""
    return _CODES.get(kind, Error.LAUNCH_FAILURE)


def to_cuda_error(fault: Mapping[str, object], place: Place | None) -> CudaError:
    """The error every call reports from now on, given the record of the model GPU and where its pc points.

    UnsupportedError when not the program is to blame but the model, which lacks an instruction.
    """
    kind = str(fault.get("kind", "unknown"))
    where = f"{place}: " if place is not None else ""
    if kind == _UNSUPPORTED:
        raise UnsupportedError(where + str(fault.get("message", "an instruction has no model")))
    parts = [f"{name} {fault[name]}" for name in ("block", "thread", "address") if name in fault]
    return CudaError(
        error_of(kind), f"{where}{kind.replace('_', ' ')}{' at ' if parts else ''}{', '.join(parts)}"
    )
