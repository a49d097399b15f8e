"""Whatever happens to a file on the way, the readers answer or refuse with FormatError, quickly."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpath.container.cubin import Cubin
from warpath.container.fatbin import Fatbin, from_elf
from warpath.errors import FormatError, UnsupportedError

CONTAINERS = Path(__file__).resolve().parent.parent / "data" / "containers"
SETTINGS = settings(
    max_examples=150, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def read_cubin(data: bytes) -> None:
    cubin = Cubin(data)
    _ = (cubin.sm, cubin.kernels, cubin.functions, cubin.globals, cubin.constants, cubin.externals)
    for section in cubin.sections:
        cubin.relocations(section.name)
        cubin.line_table(section.name)


def read_fatbin(data: bytes) -> None:
    for member in Fatbin.parse(data).members:
        member.payload()


def read_program(data: bytes) -> None:
    for fatbin in from_elf(data):
        for member in fatbin.members:
            member.payload()


READERS: list[tuple[str, Callable[[bytes], None]]] = [
    ("tour.sm_89.cubin", read_cubin),
    ("tour.sm_120.cubin", read_cubin),
    ("tour.none.fatbin", read_fatbin),
    ("tour.size.fatbin", read_fatbin),
    ("tour.speed.fatbin", read_fatbin),
    ("tour.o", read_program),
]
files = pytest.mark.parametrize(("name", "read"), READERS, ids=[name for name, _ in READERS])


@pytest.fixture(autouse=True)
def little_memory() -> None:
    """No example may ask for more than a gigabyte beyond what is in use."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def attempt(read: Callable[[bytes], None], data: bytes) -> None:
    try:
        read(data)
    except (FormatError, UnsupportedError) as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 400


@files
@given(draw=st.data())
@SETTINGS
def test_truncated(name: str, read: Callable[[bytes], None], draw: st.DataObject) -> None:
    data = (CONTAINERS / name).read_bytes()
    attempt(read, data[: draw.draw(st.integers(0, len(data)))])


@files
@given(draw=st.data())
@SETTINGS
def test_flipped_bytes(name: str, read: Callable[[bytes], None], draw: st.DataObject) -> None:
    data = bytearray((CONTAINERS / name).read_bytes())
    # Headers and tables decide what is read, so most damage goes to the two ends of the file.
    place = st.one_of(
        st.integers(0, 160),
        st.integers(1, 2400).map(lambda back: len(data) - back),
        st.integers(0, len(data) - 1),
    )
    for at in draw.draw(st.lists(place, min_size=1, max_size=6)):
        data[at] = draw.draw(st.integers(0, 255))
    attempt(read, bytes(data))


@files
@given(draw=st.data())
@SETTINGS
def test_damaged_section_contents(name: str, read: Callable[[bytes], None], draw: st.DataObject) -> None:
    data = bytearray((CONTAINERS / name).read_bytes())
    start = draw.draw(st.integers(0, len(data) - 1))
    length = draw.draw(st.integers(1, 64))
    data[start : start + length] = draw.draw(st.binary(min_size=length, max_size=length))
    attempt(read, bytes(data))


@given(st.binary(max_size=300))
@SETTINGS
def test_anything_at_all(data: bytes) -> None:
    for _, read in READERS:
        attempt(read, data)
        attempt(read, b"\x7fELF\x02\x01" + data)
        attempt(read, b"\x50\xed\x55\xba" + data)
