"""Signatures, argument decoding, structure layouts and the table of handlers."""

from __future__ import annotations

import inspect
import struct

import pytest

from warpath.host import api
from warpath.host.dispatch import decoder, registered, resolve
from warpath.host.layout import enum, layout, proc_addresses, signatures

LIBRARIES = {0: "driver", 12: "runtime12", 13: "runtime13"}


@pytest.fixture(autouse=True, scope="module")
def handlers() -> None:
    api.load()


def test_integers_are_masked_and_signed_as_declared() -> None:
    decode, words = decoder("i32: i32 u32 i64 u64 ptr")
    ones = (1 << 64) - 1
    assert words == 5
    # The upper half of a register that holds an int is not defined.
    assert decode([0xDEAD_FFFF_FFFF, 0xDEAD_FFFF_FFFF, ones, ones, ones]) == (-1, 0xFFFF_FFFF, -1, ones, ones)


def test_structures_and_floats() -> None:
    decode, words = decoder("i32: dim3:12 cudaExtent:24 f32")
    assert words == 6
    grid, extent, value = decode([5 | 6 << 32, 0xFFFF_0000_0007, 1, 2, 3, 0x3FC0_0000])
    assert grid == (5, 6, 7)
    assert extent == struct.pack("<3Q", 1, 2, 3)
    assert value == 1.5


def test_launch_signature_counts_registers_and_stack_alike() -> None:
    resolved = resolve("cudaLaunchKernel", 13)
    assert resolved is not None
    assert resolved.words == 1 + 2 + 2 + 1 + 1 + 1


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_signature_fits_in_a_call_and_decodes(library: int) -> None:
    for name, signature in signatures(LIBRARIES[library]).items():
        decode, words = decoder(signature)
        assert words <= 32, name
        decode([0] * words)


def test_every_handler_is_an_api_function_and_takes_its_arguments() -> None:
    for (name, library), entry in registered().items():
        homes = [key for key in LIBRARIES if name in signatures(LIBRARIES[key]) and library in (-1, key)]
        assert homes, f"{name} is in no API"
        for home in homes:
            resolved = resolve(name, home)
            assert resolved is not None
            parameters = list(inspect.signature(entry.handler).parameters.values())[1:]
            variable = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
            plain = [
                parameter for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            ]
            required = sum(parameter.default is parameter.empty for parameter in plain)
            count = len(resolved.decode([0] * resolved.words))
            fits = required <= count and (variable or count <= len(plain))
            assert fits, f"{name} ({LIBRARIES[home]}) has {count} arguments"


def test_per_thread_variants_share_a_handler() -> None:
    plain, variant = resolve("cudaMemcpyAsync", 13), resolve("cudaMemcpyAsync_ptsz", 13)
    assert plain is not None
    assert variant is not None
    assert plain.entry is variant.entry
    assert (plain.per_thread, variant.per_thread) == (False, True)


def test_unknown_names_are_not_resolved() -> None:
    assert resolve("cudaDoesNotExist", 13) is None
    assert resolve("cuMemAlloc_v2", 13) is None
    assert resolve("cudaMalloc", 0) is None


def test_layouts_differ_between_runtime_versions() -> None:
    assert layout("cudaDeviceProp", 12).fields["clockRate"][1] == "i"
    assert "clockRate" not in layout("cudaDeviceProp", 13).fields


def test_layout_round_trip() -> None:
    form = layout("cudaPitchedPtr")
    data = form.pack({"ptr": 1 << 40, "pitch": 512, "xsize": 5, "ysize": 6, "absent": 1})
    assert form.unpack(data) == {"ptr": 1 << 40, "pitch": 512, "xsize": 5, "ysize": 6}
    with pytest.raises(ValueError, match="32 bytes"):
        form.unpack(data[:-1])


def test_proc_addresses_name_exports_in_order() -> None:
    exports = signatures("driver")
    for name, versions in proc_addresses().items():
        assert versions == sorted(versions), name
        assert all(symbol in exports for _, symbol in versions), name
    assert proc_addresses()["cuMemAlloc"] == [(2000, "cuMemAlloc"), (3020, "cuMemAlloc_v2")]


def test_runtime_and_driver_number_device_attributes_alike() -> None:
    runtime, driver = enum("cudaDeviceAttr"), enum("CUdevice_attribute")
    assert runtime["cudaDevAttrMultiProcessorCount"] == driver["CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT"]
    assert runtime["cudaDevAttrCooperativeLaunch"] == driver["CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH"]
