"""The compute class: address windows, inline copies, QMDs by pointer or inline, report semaphores."""

from __future__ import annotations

import struct

from warpath.command.methods import Method
from warpath.command.pushbuffer import Op, Packet
from warpath.errors import UnsupportedError
from warpath.frontend import accepted
from warpath.frontend.distributor import Context, Distributor, qmd_bytes
from warpath.frontend.engine import Machine, Steps, field_name, require
from warpath.frontend.execution import Executor
from warpath.frontend.inline_copy import KEPT, InlineEngine
from warpath.frontend.launch import Windows
from warpath.frontend.semaphore import ReleaseWrite, reduction_name

_SMALL_QMD, _LARGE_QMD = 256, 384
_RELOADING = ("INVALIDATE_COPY_SCHEDULE", "INVALIDATE_PREFETCH_COPY_SCHEDULE")
_SCHEDULING = ("SCHEDULE", "PREFETCH_SCHEDULE", *_RELOADING)
_INVALIDATES = ("INVALIDATE_SHADER_CACHES", "INVALIDATE_SHADER_CACHES_NO_WFI")
_INLINE_QMD = ("SET_INLINE_QMD_ADDRESS_A", "SET_INLINE_QMD_ADDRESS_B")  # LOAD_INLINE_QMD_DATA(0) comes next
_STRUCTURES = {"FOUR_WORDS": 4, "ONE_WORD": 1, "TWO_WORDS": 2}


class ComputeEngine(InlineEngine):
    """One compute class bound to a channel."""

    kept = KEPT | {
        "SET_SHADER_SHARED_MEMORY_WINDOW_A",
        "SET_SHADER_SHARED_MEMORY_WINDOW_B",
        "SET_SHADER_LOCAL_MEMORY_WINDOW_A",
        "SET_SHADER_LOCAL_MEMORY_WINDOW_B",
        "SET_QMD_VERSION",
        "SEND_PCAS_A",
        "SET_INLINE_QMD_ADDRESS_A",
        "SET_INLINE_QMD_ADDRESS_B",
        "SET_REPORT_SEMAPHORE_A",
        "SET_REPORT_SEMAPHORE_B",
        "SET_REPORT_SEMAPHORE_C",
        "SET_REPORT_SEMAPHORE_PAYLOAD_LOWER",
        "SET_REPORT_SEMAPHORE_PAYLOAD_UPPER",
        "SET_REPORT_SEMAPHORE_ADDRESS_LOWER",
        "SET_REPORT_SEMAPHORE_ADDRESS_UPPER",
    }
    accepted = accepted.COMPUTE

    def __init__(self, machine: Machine, token: int, distributor: Distributor, executor: Executor) -> None:
        super().__init__(machine, token)
        self._distributor = distributor
        self._executor = executor
        self._inline_qmd: dict[int, int] = {}
        self.handlers |= {
            "SEND_SIGNALING_PCAS_B": self._pcas,
            "SEND_SIGNALING_PCAS2_B": self._pcas2,
            "LOAD_INLINE_QMD_DATA": self._inline_data,
            "CALL_MME_MACRO": self._call_macro,
            "CALL_MME_DATA": self._repeat,
            "SET_REPORT_SEMAPHORE_D": self._report,
            "REPORT_SEMAPHORE_EXECUTE": self._report_execute,
            "SET_RENDER_ENABLE_C": lambda method: require(method, MODE="TRUE"),
        }
        self.handlers |= dict.fromkeys(_INVALIDATES, self._invalidate)

    def _context(self, method: Method) -> Context:
        version = self.state.get("SET_QMD_VERSION")
        return Context(
            token=self.token,
            compute_class=method.class_id or 0,
            qmd_number=None if version is None else version & 0xFFFF,
            windows=Windows(
                self.address("SET_SHADER_SHARED_MEMORY_WINDOW_A", "SET_SHADER_SHARED_MEMORY_WINDOW_B"),
                self.address("SET_SHADER_LOCAL_MEMORY_WINDOW_A", "SET_SHADER_LOCAL_MEMORY_WINDOW_B"),
            ),
            submission=self.submission,
        )

    def _pcas(self, method: Method) -> Steps | None:
        """The older form: bits to drop the cached QMD and to schedule it."""
        va, fields = self.value("SEND_PCAS_A") << 8, method.fields
        if fields["SCHEDULE"]:
            reload = bool(fields["INVALIDATE"])
            return self._distributor.schedule(va, self._context(method), "pointer", reload=reload)
        if fields["INVALIDATE"]:
            self._distributor.drop(va)
        return None

    def _pcas2(self, method: Method) -> Steps | None:
        va, action = self.value("SEND_PCAS_A") << 8, field_name(method, "PCAS_ACTION")
        context = self._context(method)
        if action in _SCHEDULING:
            return self._distributor.schedule(va, context, "pointer", reload=action in _RELOADING)
        if action == "DECREMENT_DEPENDENCE":
            return self._distributor.depend(va, context, -1)
        if action == "INCREMENT_DEPENDENCE":
            return self._distributor.depend(va, context, 1)
        if action == "INVALIDATE":
            self._distributor.drop(va)
        elif action == "INVALIDATE_PREFETCH_COPY_FORCE_REQUIRE_SCHEDULING":
            self._distributor.load(va, context, "pointer")
        elif action not in ("NOP", "PREFETCH"):
            raise UnsupportedError(f"PCAS action {action} has no model")
        return None

    def take(self, first: Method, packet: Packet) -> int:
        """An inline QMD's address and words, up to the last one, which schedules it."""
        if packet.op is not Op.INCREASING or first.spec is None or first.spec.name != _INLINE_QMD[0]:
            return super().take(first, packet)
        for name, value in zip(_INLINE_QMD, packet.values, strict=False):
            self.state[name] = value
        count = self._inline_dwords(first) - 1
        words = packet.values[len(_INLINE_QMD) : len(_INLINE_QMD) + count]
        self._inline_qmd = dict(enumerate(words))
        return len(_INLINE_QMD) + len(words)

    def _inline_dwords(self, method: Method) -> int:
        large = bool(self.value("SET_INLINE_QMD_ADDRESS_A") >> 30 & 1)
        return (_LARGE_QMD if large else min(_SMALL_QMD, qmd_bytes(method.class_id or 0))) // 4

    def _inline_data(self, method: Method) -> Steps | None:
        """The last dword stores the QMD at its address and schedules it."""
        assert method.spec is not None
        assert method.spec.index is not None
        self._inline_qmd[method.spec.index] = method.value
        count = self._inline_dwords(method)
        if method.spec.index != count - 1:
            return None
        words = [self._inline_qmd.get(index, 0) for index in range(count)]
        self._inline_qmd = {}
        upper = self.value("SET_INLINE_QMD_ADDRESS_A") & 0x1FF
        va = (upper << 32 | self.value("SET_INLINE_QMD_ADDRESS_B")) << 8
        self.machine.memory.write(va, struct.pack(f"<{count}I", *words))
        return self._distributor.schedule(va, self._context(method), "inline", reload=True)

    def _call_macro(self, method: Method) -> None:
        """The driver's macro 0, as small memsets call it inside an inline copy (seen on an H200)."""
        assert method.spec is not None
        if method.spec.index != 0 or not self.expects_data:
            raise UnsupportedError(f"class {method.class_id or 0:#06x}: {method.describe()} has no model")
        self.state["CALL_MME_MACRO"] = method.value

    def _repeat(self, method: Method) -> None:
        """Its parameter: that many inline data words of one value."""
        for _ in range(self.value("CALL_MME_MACRO")):
            self.handlers["LOAD_INLINE_DATA"](method)

    def _invalidate(self, method: Method) -> None:
        if method.fields["INSTRUCTION"]:
            self._executor.invalidate_instructions()

    def _report(self, method: Method) -> None:
        va = self.address("SET_REPORT_SEMAPHORE_A", "SET_REPORT_SEMAPHORE_B")
        self._release(method, va, self.value("SET_REPORT_SEMAPHORE_C"), wide=False)

    def _report_execute(self, method: Method) -> None:
        va = self.address("SET_REPORT_SEMAPHORE_ADDRESS_UPPER", "SET_REPORT_SEMAPHORE_ADDRESS_LOWER")
        wide = field_name(method, "PAYLOAD_SIZE64") == "TRUE"
        upper = self.value("SET_REPORT_SEMAPHORE_PAYLOAD_UPPER") if wide else 0
        payload = upper << 32 | self.value("SET_REPORT_SEMAPHORE_PAYLOAD_LOWER")
        self._release(method, va, payload, wide=wide)

    def _release(self, method: Method, va: int, payload: int, *, wide: bool) -> None:
        require(method, OPERATION="RELEASE", CONDITIONAL_TRAP="FALSE", TRAP_TYPE="TRAP_NONE")
        reduction = None
        if field_name(method, "REDUCTION_ENABLE") == "TRUE":
            reduction = reduction_name(field_name(method, "REDUCTION_OP"))
        structure = field_name(method, "STRUCTURE_SIZE").removeprefix("SEMAPHORE_")
        write = ReleaseWrite(
            va=va,
            payload=payload,
            words=_STRUCTURES[structure],
            wide=wide,
            reduction=reduction,
            signed=field_name(method, "REDUCTION_FORMAT").startswith("SIGNED"),
        )
        self.machine.release(write)
