"""What a real system's log would say of a fault, and what that means for others (NVIDIA's Xid catalogue)."""

from __future__ import annotations

_MMU = {"illegal_address", "use_after_free"}
_SM = {
    "shared_out_of_range": "Out Of Range Address",
    "local_out_of_range": "Out Of Range Address",
    "misaligned_address": "Misaligned Address",
    "illegal_address_space": "Invalid Address Space",
    "illegal_instruction": "Illegal Instruction Encoding",
    "invalid_pc": "Invalid Program Counter",
    "stack_overflow": "Stack Overflow",
    "trap": "breakpoint or trap",
}
_REACH = (
    "The context of this process is lost: every later CUDA call in it returns the same error until it ends. "
    "Other processes on the GPU go on, unless they share it through MPS."
)


def describe(kind: str, access: str, address: int) -> list[str]:
    """Lines on the Xid of a fault; empty when hardware would log none."""
    if kind in _MMU:
        virt = {"write": "WRITE", "atomic": "ATOMIC", "read": "READ"}.get(access, "READ")
        return [
            f"Hardware: MMU fault, Xid 31 (FAULT_PDE, ACCESS_TYPE_VIRT_{virt}, address {address:#x}).",
            _REACH,
        ]
    if kind in _SM:
        return [f"Hardware: SM exception, Xid 13 ({_SM[kind]}).", _REACH]
    if kind.startswith("device_") and kind.endswith("_free"):
        return [
            "Hardware: what a wrong free() does there is not defined; the model ends the launch with 719."
        ]
    if kind == "device_assert":
        return ["Hardware: no Xid; the assertion stops the context.", _REACH]
    if kind in ("hang", "timeout"):
        return [
            "Hardware: with a display attached the watchdog ends the launch after 2 s (Windows TDR) to 5 s and reports "
            "702; without one it runs for ever."
        ]
    return []
