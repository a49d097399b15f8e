"""What the front end needs of the compiled core: the shape of `warpath._core`, or of what tests bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Text = tuple[str, str, str]  # predicate, opcode, operands of one instruction


class Memory(Protocol):
    """GPU memory by virtual address; accesses outside live mappings raise the core's AccessError."""

    def read(self, va: int, size: int) -> bytes:
        """The bytes at `va`."""
        ...

    def write(self, va: int, data: bytes) -> None:
        """Store bytes."""
        ...

    def fill(self, va: int, value: int, size: int, width: int) -> None:
        """Store `value`, `width` bytes wide, over `size` bytes."""
        ...

    def copy(self, dst: int, src: int, size: int) -> None:
        """Copy bytes."""
        ...

    def nearest(self, va: int) -> list[tuple[int, int, int]]:
        """(base, size, kind) of the allocations right below and above `va`, or around it."""
        ...

    def extent(self, va: int) -> tuple[int, int] | None:
        """(base, size) of the live allocation that holds `va`, None when there is none."""
        ...


class Grid(Protocol):
    """One grid in execution."""

    @property
    def fault(self) -> Mapping[str, Any] | None:
        """What stopped the grid, None while nothing has."""
        ...

    @property
    def counters(self) -> Mapping[str, Any]:
        """Counters so far."""
        ...

    def placement(self) -> bytes:
        """The SM of each CTA, packed u32."""
        ...

    def step(self, budget_warp_instructions: int, threads: int) -> str:
        """Run on; `running`, `done` or `fault`."""
        ...


class GridFactory(Protocol):
    """The constructor of a grid; sizes in bytes, local memory per thread."""

    def __call__(
        self,
        memory: Any,
        program: Any,
        entry_va: int,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        registers: int,
        shared_bytes: int,
        local_bytes: int,
        const_banks: Sequence[tuple[int, int]],
        shared_window: int,
        local_window: int,
        sms: int,
        blocks_per_sm: int,
        count: bool,
        warps_per_sm: int,
        shared_reserved: int,
        /,
    ) -> Grid:
        """A grid ready to step."""
        ...


class ProgramFactory(Protocol):
    """The constructor of a program from code bytes and their disassembly."""

    def __call__(self, sm: int, base_va: int, code: bytes, text: Sequence[Text], /) -> Any:
        """Code ready to run; UnsupportedError or ValueError when it cannot be parsed."""
        ...


class Core(Protocol):
    """The module `warpath._core`."""

    @property
    def Grid(self) -> GridFactory:  # noqa: N802 - the name of a class in the compiled module
        """Constructor of grids."""
        ...

    @property
    def Program(self) -> ProgramFactory:  # noqa: N802
        """Constructor of programs."""
        ...

    @property
    def AccessError(self) -> type[Exception]:  # noqa: N802
        """Raised by Memory for an access outside live mappings."""
        ...
