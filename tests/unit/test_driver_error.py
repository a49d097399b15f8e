"""Error codes: numbers, names and texts are those of the public runtime."""

from __future__ import annotations

import ctypes

import pytest

from warpath.driver.error import UNRECOGNISED, CudaError, Error, error_text, runtime_name, to_driver
from warpath.toolchain.locate import Tools


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        (Error.SUCCESS, "cudaSuccess", "no error"),
        (Error.ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "an illegal memory access was encountered"),
        (
            Error.LAUNCH_OUT_OF_RESOURCES,
            "cudaErrorLaunchOutOfResources",
            "too many resources requested for launch",
        ),
        (
            Error.COOPERATIVE_LAUNCH_TOO_LARGE,
            "cudaErrorCooperativeLaunchTooLarge",
            "too many blocks in cooperative launch",
        ),
        (Error.ASSERT, "cudaErrorAssert", "device-side assert triggered"),
        (Error.INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"),
    ],
)
def test_names_and_texts(code: Error, name: str, text: str) -> None:
    assert code.runtime_name == name
    assert code.text == text


def test_unknown_codes_have_the_runtimes_answer() -> None:
    assert runtime_name(12345) == UNRECOGNISED
    assert error_text(12345) == UNRECOGNISED


def test_driver_names() -> None:
    assert Error.ILLEGAL_ADDRESS.driver_name == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert to_driver(Error.INVALID_CONFIGURATION) is Error.INVALID_VALUE
    assert all(to_driver(error).driver_name.startswith("CUDA_") for error in Error)


def test_sticky_errors_are_those_of_faulted_kernels() -> None:
    assert CudaError(Error.ILLEGAL_ADDRESS).sticky
    assert not CudaError(Error.LAUNCH_OUT_OF_RESOURCES).sticky
    assert not CudaError(Error.MEMORY_ALLOCATION).sticky


@pytest.mark.oracle
def test_all_texts_equal_those_of_nvidias_runtime(tools: Tools) -> None:
    library = ctypes.CDLL(str(tools.lib / "libcudart.so.13"))
    library.cudaGetErrorString.restype = ctypes.c_char_p
    library.cudaGetErrorName.restype = ctypes.c_char_p
    for code in range(1100):
        assert error_text(code) == library.cudaGetErrorString(code).decode(), code
        assert runtime_name(code) == library.cudaGetErrorName(code).decode(), code
