"""Launch records made by hand, for rules and views."""

from __future__ import annotations

from typing import Any

from warpath.report.model import (
    InstructionInfo,
    KernelInfo,
    Launch,
    LaunchFlow,
    OccupancyInfo,
    ParamValue,
    PtxPart,
    Submission,
    Time,
)


def instruction(sass: str, *, executed: int = 1, line: int = 7, **counts: Any) -> InstructionInfo:
    """One instruction of `prog.cu`; all lanes took part unless `counts` says otherwise."""
    lanes = {"thread_executed": 32 * executed, "thread_active": 32 * executed}
    return InstructionInfo(
        pc=0,
        sass=sass,
        file="/src/prog.cu",
        line=line,
        control="",
        stall=1,
        yield_=False,
        write_barrier=None,
        read_barrier=None,
        wait_mask=0,
        producers={},
        executed=executed,
        **{**lanes, **counts},
    )


def flow(read: int = 0, written: int = 0, *, unused: int = 0, from_l2: int = 0) -> LaunchFlow:
    return LaunchFlow(
        read_bytes=read,
        written_bytes=written,
        unused_bytes=unused,
        fetched_twice_bytes=0,
        from_l2_bytes=from_l2,
    )


def occupancy(blocks: int = 6, warps: int = 48, limiter: str = "warps", max_warps: int = 48) -> OccupancyInfo:
    return OccupancyInfo(
        blocks_per_sm=blocks,
        warps_per_sm=warps,
        warps_per_scheduler=warps / 4,
        max_warps_per_sm=max_warps,
        limits={limiter: blocks},
        limiter=[limiter],
        waves=0.0,
    )


def launch(*code: InstructionInfo, index: int = 0, **changes: Any) -> Launch:
    """A launch of 768 CTAs of 256 threads, one full wave on an RTX 4090, with `changes`."""
    fields: dict[str, Any] = {
        "index": index,
        "kernel": "k(float *, int)",
        "mangled": "k",
        "grid": [768, 1, 1],
        "block": [256, 1, 1],
        "registers": 32,
        "shared_bytes": 1024,
        "program_va": 0,
        "param_base": 0x160,
        "params": [ParamValue(offset=0, size=8, value="0x0")],
        "load": None,
        "submission": Submission(
            channel=0,
            gpfifo_entry=0,
            pushbuffer_va=0,
            pushbuffer_dwords=0,
            doorbell=0,
            methods=[],
            qmd_va=0,
            qmd_version="",
            qmd={},
            constant_va=0,
            constant_bank={},
        ),
        "occupancy": occupancy(),
        "counters": {},
        "sm_blocks": [],
        "traffic": [],
        "instructions": list(code),
        "floor_ns": 0.0,
        "floor_bytes": 0,
    }
    return Launch(**{**fields, **changes})


def timed(duration_ns: int = 1000, cache: str = "warm") -> dict[str, Any]:
    """Fields of a launch whose clock ran."""
    time = Time(
        cache=cache,
        sm_clock_mhz=2520,
        front_ns=0,
        execution_ns=duration_ns,
        drain_ns=0,
        constants_from="h200",
    )
    return {"duration_ns": duration_ns, "time": time}


def kernel(*ptx: str, line: int = 7, **changes: Any) -> KernelInfo:
    """What is known of a kernel's compilation; `ptx` all comes from one line of `prog.cu`."""
    fields: dict[str, Any] = {
        "demangled": "k(float *, int)",
        "ptx_registers": {},
        "registers": 32,
        "params": [],
        "param_base": 0x160,
        "static_shared": 0,
        "stack": 0,
        "instructions": 10,
        "fused": {},
        "ptx": [PtxPart(file="/src/prog.cu", line=line, text=list(ptx))],
    }
    return KernelInfo(**{**fields, **changes})
