"""Inline-to-memory: data that travels in the pushbuffer and is stored at an address (compute and 0xa140
classes).
"""

from __future__ import annotations

import struct

from warpath.command.methods import Method
from warpath.command.pushbuffer import Op, Packet
from warpath.errors import FormatError, UnsupportedError
from warpath.frontend.engine import Copy, Engine, Machine, field_name, require
from warpath.frontend.semaphore import ReleaseWrite, reduction_name

KEPT = frozenset(
    {
        "LINE_LENGTH_IN",
        "LINE_COUNT",
        "OFFSET_OUT_UPPER",
        "OFFSET_OUT",
        "PITCH_OUT",
        "SET_I2M_SEMAPHORE_A",
        "SET_I2M_SEMAPHORE_B",
        "SET_I2M_SEMAPHORE_C",
    }
)


class InlineEngine(Engine):
    """Collects the data words after LAUNCH_DMA and stores them when the last one has come."""

    kept = KEPT

    def __init__(self, machine: Machine, token: int) -> None:
        super().__init__(machine, token)
        self.handlers |= {"LAUNCH_DMA": self._launch, "LOAD_INLINE_DATA": self._data}
        self._words: list[int] = []
        self._left = 0  # dwords to come
        self._method: Method | None = None

    @property
    def expects_data(self) -> bool:
        """Whether data words of a LAUNCH_DMA are still to come."""
        return self._left > 0

    def _launch(self, method: Method) -> None:
        require(method, DST_MEMORY_LAYOUT="PITCH", INTERRUPT_TYPE="NONE")
        if self._left:
            raise FormatError(
                f"inline copy: LAUNCH_DMA while {self._left} data words of the last one are missing"
            )
        width, height = self.value("LINE_LENGTH_IN"), self.value("LINE_COUNT")
        if height > 1 and width % 4:
            raise UnsupportedError(f"inline copy of {height} lines of {width} bytes has no model")
        self._left = -(-width // 4) * height
        self._words = []
        self._method = method

    def _data(self, method: Method) -> None:
        if not self._left:
            raise FormatError("inline copy: LOAD_INLINE_DATA without a LAUNCH_DMA that expects it")
        self._words.append(method.value)
        self._left -= 1
        if not self._left:
            self._store()

    def take(self, first: Method, packet: Packet) -> int:
        """Data words, as many as are expected."""
        repeated = packet.op in (Op.NON_INCREASING, Op.OLD_NON_INCREASING)
        if not repeated or first.spec is None or first.spec.name != "LOAD_INLINE_DATA":
            return super().take(first, packet)
        taken = min(self._left, len(packet.values))
        self._words += packet.values[:taken]
        self._left -= taken
        if taken and not self._left:
            self._store()
        return taken

    def _store(self) -> None:
        width, height = self.value("LINE_LENGTH_IN"), self.value("LINE_COUNT")
        data = struct.pack(f"<{len(self._words)}I", *self._words)
        dst, pitch = self.address("OFFSET_OUT_UPPER", "OFFSET_OUT"), self.value("PITCH_OUT")
        for line in range(height):
            self.machine.memory.write(dst + line * pitch, data[line * width : (line + 1) * width])
        self.machine.transfer(width * height, self.machine.path.inline_mbs)
        self.machine.notify("on_copy", Copy(self.token, "inline", 0, dst, width, height, 0, pitch))
        self._complete()

    def _complete(self) -> None:
        method = self._method
        assert method is not None
        if field_name(method, "COMPLETION_TYPE") != "RELEASE_SEMAPHORE":
            return
        reduction = None
        if field_name(method, "REDUCTION_ENABLE") == "TRUE":
            reduction = reduction_name(field_name(method, "REDUCTION_OP"))
        write = ReleaseWrite(
            va=self.address("SET_I2M_SEMAPHORE_A", "SET_I2M_SEMAPHORE_B"),
            payload=self.value("SET_I2M_SEMAPHORE_C"),
            words=1 if field_name(method, "SEMAPHORE_STRUCT_SIZE") == "ONE_WORD" else 4,
            reduction=reduction,
            signed=field_name(method, "REDUCTION_FORMAT").startswith("SIGNED"),
        )
        self.machine.release(write)
