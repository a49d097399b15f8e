"""From a call's name and words to its handler, with the arguments typed by the API's signature.

A handler is registered under the names it serves:

    @entry("cudaMalloc")
    def malloc(call: Call, pointer: int, size: int) -> None: ...

The argument types come from `data/signatures.json`: integers arrive masked and signed as declared, `dim3` as
(x, y, z), other structures as their bytes. A handler returns None for success or the result word, and raises
`CudaError`. Names ending in `_ptsz` or `_ptds` (per-thread default stream) share the plain name's handler.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from warpath.driver.error import CudaError, Error
from warpath.driver.stream import Stream
from warpath.host.layout import layout, signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warpath.driver.context import Driver
    from warpath.driver.staging import Mover
    from warpath.host.connection import Connection
    from warpath.host.session import Runtime
    from warpath.host.state import ProcessState, ThreadState

Handler = Callable[..., int | None]

LEGACY_STREAM, PER_THREAD_STREAM = 1, 2


@dataclass(frozen=True, slots=True)
class Entry:
    """A handler and how it is called.

    `context`: the call needs a context, and so creates one. `sets_error`: its failure becomes the thread's last
    error (all runtime functions but those that report the last error). `waits`: the call only waits, so it can be
    broken off while the GPU works, to serve another thread, and made again.
    """

    handler: Handler
    context: bool
    sets_error: bool
    waits: bool


class GiveWay(Exception):
    """Raised out of the GPU's work: the call in progress must make room or come to an end."""


_ENTRIES: dict[tuple[str, int], Entry] = {}
_PER_THREAD = ("_ptsz", "_ptds")


def entry(
    *names: str, library: int = -1, context: bool = True, sets_error: bool = True, waits: bool = False
) -> Callable[[Handler], Handler]:
    """Register a handler for API names; `library` 12 or 13 limits it to that runtime version."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if (name, library) in _ENTRIES:
                raise ValueError(f"{name} has two handlers")
            _ENTRIES[name, library] = Entry(handler, context, sets_error, waits)
        return handler

    return register


def registered() -> dict[tuple[str, int], Entry]:
    """All entries by (name, library or -1)."""
    return dict(_ENTRIES)


Decoder = Callable[["Sequence[int]"], "tuple[Any, ...]"]
_MASKS = {"ptr": (1 << 64) - 1, "u64": (1 << 64) - 1, "u32": (1 << 32) - 1, "u16": 0xFFFF, "u8": 0xFF}
_SIGNED = {"i32": 32, "i64": 64}


def _argument(kind: str, index: int) -> tuple[Callable[[Sequence[int]], Any], int]:
    """(how to take an argument that starts at word `index`, words it occupies)."""
    if kind in _MASKS:
        mask = _MASKS[kind]
        return (lambda words: words[index] & mask), 1
    if kind in _SIGNED:
        bits = _SIGNED[kind]
        mask, sign = (1 << bits) - 1, 1 << (bits - 1)
        return (lambda words: ((words[index] & mask) ^ sign) - sign), 1
    if kind == "f32":
        return (lambda words: struct.unpack("<f", struct.pack("<I", words[index] & 0xFFFF_FFFF))[0]), 1
    name, _, size = kind.partition(":")
    count = -(-int(size) // 8)
    if name == "dim3":
        return (
            lambda words: (words[index] & 0xFFFF_FFFF, words[index] >> 32, words[index + 1] & 0xFFFF_FFFF)
        ), count
    length = int(size)
    return (lambda words: struct.pack(f"<{count}Q", *words[index : index + count])[:length]), count


@cache
def decoder(signature: str) -> tuple[Decoder, int]:
    """(function from words to typed arguments, number of words) of "result: argument ..."."""
    result, _, rest = signature.partition(":")
    kinds = rest.split()
    if result == "struct":
        kinds.insert(0, "ptr")  # where the structure goes
    takers: list[Callable[[Sequence[int]], Any]] = []
    index = 0
    for kind in kinds:
        taker, count = _argument(kind, index)
        takers.append(taker)
        index += count
    return (lambda words: tuple(taker(words) for taker in takers)), index


@dataclass(frozen=True, slots=True)
class Resolved:
    """Everything about a name that does not change from call to call."""

    entry: Entry | None
    decode: Decoder
    words: int
    per_thread: bool
    result: str


@cache
def resolve(name: str, library: int) -> Resolved | None:
    """The entry for a call of `library` (13, 12, or 0 for the driver API); None for a name that API does not have."""
    table = signatures("driver" if library == 0 else f"runtime{library}")
    signature = table.get(name)
    if signature is None:
        return None
    base = name[:-5] if name.endswith(_PER_THREAD) else name
    found: Entry | None = None
    for key in ((name, library), (name, -1), (base, library), (base, -1)):
        found = found or _ENTRIES.get(key)
    decode, words = decoder(signature)
    return Resolved(found, decode, words, base != name, signature.partition(":")[0])


class Call:
    """One call in progress: its thread, process and connection, and access to the program's memory."""

    __slots__ = ("connection", "library", "name", "per_thread", "process", "runtime", "thread")

    def __init__(
        self,
        name: str,
        library: int,
        per_thread: bool,
        connection: Connection,
        process: ProcessState,
        thread: ThreadState,
        runtime: Runtime,
    ) -> None:
        self.name = name
        self.library = library
        self.per_thread = per_thread
        self.connection = connection
        self.process = process
        self.thread = thread
        self.runtime = runtime

    @property
    def driver(self) -> Driver:
        """The model GPU's driver."""
        return self.runtime.driver

    def out(self, pointer: int, code: str, *values: int | float | bytes) -> None:
        """Store values of the `struct` format `code` where the program asked for them; error 1 for a null pointer."""
        if pointer == 0:
            raise CudaError(Error.INVALID_VALUE, f"{self.name} got a null pointer for its result")
        self.connection.write(pointer, struct.pack("<" + code, *values))

    def out_if(self, pointer: int, code: str, *values: int | float | bytes) -> None:
        """The same for results that the program may leave out with a null pointer."""
        if pointer:
            self.out(pointer, code, *values)

    def take(self, pointer: int, code: str) -> tuple[Any, ...]:
        """Values of the `struct` format `code` at `pointer`; error 1 for a null pointer."""
        if pointer == 0:
            raise CudaError(Error.INVALID_VALUE, f"{self.name} got a null pointer")
        return struct.unpack("<" + code, self.connection.read(pointer, struct.calcsize("<" + code)))

    def take_struct(self, pointer: int, name: str) -> dict[str, Any]:
        """The members of a structure in program memory; error 1 for a null pointer."""
        if pointer == 0:
            raise CudaError(Error.INVALID_VALUE, f"{self.name} got a null pointer for a {name}")
        form = layout(name, self.library)
        return form.unpack(self.connection.read(pointer, form.size))

    def out_struct(self, pointer: int, name: str, values: dict[str, Any]) -> None:
        """Store a structure; members that are not given are zero; error 1 for a null pointer."""
        if pointer == 0:
            raise CudaError(Error.INVALID_VALUE, f"{self.name} got a null pointer for a {name}")
        self.connection.write(pointer, layout(name, self.library).pack(values))

    def text(self, pointer: int) -> str:
        """The string at `pointer`; error 1 for a null pointer."""
        if pointer == 0:
            raise CudaError(Error.INVALID_VALUE, f"{self.name} got a null pointer for a string")
        return self.connection.read_string(pointer)

    def place_text(self, text: str) -> int:
        """Address in the program of a constant string."""
        known = self.process.texts.get(text)
        if known is None:
            known = self.process.texts[text] = self.connection.intern(text)
        return known

    def stream_id(self, handle: int) -> int:
        """A stream handle with the default streams told apart: 1 is the legacy stream, 2 the per-thread one."""
        if handle == 0:
            return PER_THREAD_STREAM if self.per_thread else LEGACY_STREAM
        return handle

    def stream(self, handle: int) -> Stream:
        """The stream behind a handle; the default ones are told apart by value and by the API variant called."""
        handle = self.stream_id(handle)
        if handle == LEGACY_STREAM:
            return self.driver.streams.legacy
        if handle == PER_THREAD_STREAM:
            if self.thread.default_stream is None:
                self.thread.default_stream = self.driver.streams.create()
            return self.thread.default_stream
        return self.runtime.handles.get(handle, Stream)

    @property
    def mover(self) -> Mover:
        """How the driver reaches this process' memory."""
        return self.runtime.mover(self.process)
