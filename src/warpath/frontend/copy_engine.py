"""The copy engine: pitch-linear copies of one or many lines, fills through the remap unit, semaphores."""

from __future__ import annotations

from warpath.command.methods import Method
from warpath.errors import UnsupportedError
from warpath.frontend import accepted
from warpath.frontend.engine import Copy, Engine, Machine, field_name, require
from warpath.frontend.semaphore import ReleaseWrite, reduction_name
from warpath.gpu.launch_path import TIMELESS

_SOURCES = ("SRC_X", "SRC_Y", "SRC_Z", "SRC_W")
_COMPONENTS = ("DST_X", "DST_Y", "DST_Z", "DST_W")
_FILL_WIDTHS = (1, 2, 4)


class CopyEngine(Engine):
    """One copy class bound to a channel."""

    kept = frozenset(
        {
            "OFFSET_IN_UPPER",
            "OFFSET_IN_LOWER",
            "OFFSET_OUT_UPPER",
            "OFFSET_OUT_LOWER",
            "PITCH_IN",
            "PITCH_OUT",
            "LINE_LENGTH_IN",
            "LINE_COUNT",
            "SET_SEMAPHORE_A",
            "SET_SEMAPHORE_B",
            "SET_SEMAPHORE_PAYLOAD",
            "SET_SEMAPHORE_PAYLOAD_UPPER",
            "SET_REMAP_CONST_A",
            "SET_REMAP_CONST_B",
        }
    )
    accepted = accepted.COPY

    def __init__(self, machine: Machine, token: int) -> None:
        super().__init__(machine, token)
        self.handlers |= {
            "LAUNCH_DMA": self._launch,
            "SET_REMAP_COMPONENTS": self._remap,
            "SET_RENDER_ENABLE_C": lambda method: require(method, MODE="TRUE"),
        }
        self._components: Method | None = None

    def _remap(self, method: Method) -> None:
        self._components = method

    def _launch(self, method: Method) -> None:
        if field_name(method, "DATA_TRANSFER_TYPE") != "NONE":
            require(
                method,
                SRC_MEMORY_LAYOUT="PITCH",
                DST_MEMORY_LAYOUT="PITCH",
                SRC_TYPE="VIRTUAL",
                DST_TYPE="VIRTUAL",
                MEMORY_SCRUB_ENABLE="FALSE",
            )
            self._transfer(method)
        self._semaphore(method)

    def _transfer(self, method: Method) -> None:
        several = field_name(method, "MULTI_LINE_ENABLE") == "TRUE"
        lines = self.value("LINE_COUNT") if several else 1
        remap = field_name(method, "REMAP_ENABLE") == "TRUE"
        src = self.address("OFFSET_IN_UPPER", "OFFSET_IN_LOWER")
        dst = self.address("OFFSET_OUT_UPPER", "OFFSET_OUT_LOWER")
        src_pitch, dst_pitch = self.value("PITCH_IN"), self.value("PITCH_OUT")
        mover = _Remapper(self, self._components) if remap else None
        count = self.value("LINE_LENGTH_IN")
        width = count if mover is None else mover.width(count)
        for line in range(lines):
            to, source = dst + line * dst_pitch, src + line * src_pitch
            if mover is None:
                self.machine.memory.copy(to, source, width)
            else:
                mover.line(to, source, count)
        kind = "fill" if mover is not None and not mover.reads else "copy"
        source = 0 if kind == "fill" else src
        if self.machine.path is not TIMELESS:
            self.machine.transfer(width * lines, self._rate(kind, src, dst), self.machine.path.copy_ns)
        self.machine.notify(
            "on_copy", Copy(self.token, kind, source, dst, width, lines, src_pitch, dst_pitch)
        )

    def _rate(self, kind: str, src: int, dst: int) -> int:
        """10^6 bytes a second: across PCIe when a side is host memory."""
        path = self.machine.path
        if not self.machine.on_device(dst):
            return path.pcie_down_mbs
        if kind == "fill":
            return path.device_fill_mbs
        return path.device_copy_mbs if self.machine.on_device(src) else path.pcie_up_mbs

    def _semaphore(self, method: Method) -> None:
        kind = field_name(method, "SEMAPHORE_TYPE")
        words = {"NONE": 0, "RELEASE_SEMAPHORE_NO_TIMESTAMP": 1, "RELEASE_SEMAPHORE_WITH_TIMESTAMP": 4}
        words |= {"RELEASE_ONE_WORD_SEMAPHORE": 1, "RELEASE_FOUR_WORD_SEMAPHORE": 4}
        if kind not in words:
            raise UnsupportedError(f"copy engine semaphore {kind} has no model")
        if not words[kind]:
            return
        reduction = None
        if field_name(method, "SEMAPHORE_REDUCTION_ENABLE") == "TRUE":
            reduction = reduction_name(field_name(method, "SEMAPHORE_REDUCTION"))
        wide = field_name(method, "SEMAPHORE_PAYLOAD_SIZE") == "TWO_WORD"
        upper = self.value("SET_SEMAPHORE_PAYLOAD_UPPER") if wide else 0
        write = ReleaseWrite(
            va=self.address("SET_SEMAPHORE_A", "SET_SEMAPHORE_B"),
            payload=upper << 32 | self.value("SET_SEMAPHORE_PAYLOAD"),
            words=words[kind],
            wide=wide,
            reduction=reduction,
            signed=field_name(method, "SEMAPHORE_REDUCTION_SIGN") == "SIGNED",
        )
        self.machine.release(write)


class _Remapper:
    """Builds each destination element from components of the source element and two constants."""

    def __init__(self, engine: CopyEngine, components: Method | None) -> None:
        if components is None:
            raise UnsupportedError("copy engine: REMAP_ENABLE before SET_REMAP_COMPONENTS has no model")
        fields = components.fields
        self._memory = engine.machine.memory
        self._size = fields["COMPONENT_SIZE"] + 1
        self._src_count = fields["NUM_SRC_COMPONENTS"] + 1
        count = fields["NUM_DST_COMPONENTS"] + 1
        self._parts = [field_name(components, name) for name in _COMPONENTS[:count]]
        self._constants = {
            "CONST_A": engine.value("SET_REMAP_CONST_A"),
            "CONST_B": engine.value("SET_REMAP_CONST_B"),
        }
        self.reads = any(part in _SOURCES for part in self._parts)

    def width(self, count: int) -> int:
        """Bytes of a destination line of `count` elements."""
        return count * self._size * len(self._parts)

    def line(self, dst: int, src: int, count: int) -> None:
        """Move one line of `count` elements."""
        if len(self._parts) == 1 and self._parts[0] in self._constants and self._size in _FILL_WIDTHS:
            value = self._constants[self._parts[0]] & ((1 << (8 * self._size)) - 1)
            self._memory.fill(dst, value, count * self._size, self._size)
            return
        stride = self._size * len(self._parts)
        keeps = "NO_WRITE" in self._parts
        out = bytearray(self._memory.read(dst, count * stride)) if keeps else bytearray(count * stride)
        src_stride = self._size * self._src_count
        source = self._memory.read(src, count * src_stride) if self.reads else b""
        for position, part in enumerate(self._parts):
            if part == "NO_WRITE":
                continue
            for byte in range(self._size):
                column = self._column(part, byte, source, src_stride, count)
                out[position * self._size + byte :: stride] = column
        self._memory.write(dst, bytes(out))

    def _column(self, part: str, byte: int, source: bytes, src_stride: int, count: int) -> bytes:
        if part in self._constants:
            return bytes([(self._constants[part] >> (8 * byte)) & 0xFF]) * count
        index = _SOURCES.index(part)
        if index >= self._src_count:
            raise UnsupportedError(
                f"copy engine: {part} of a source of {self._src_count} components has no model"
            )
        return source[index * self._size + byte :: src_stride]
