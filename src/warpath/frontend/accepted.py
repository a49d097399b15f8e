"""Methods that change nothing the model has: caches it does not keep, pools and counters it does not use.

A method that is neither here nor handled by its engine stops the run with its name, so this list is the
whole of what is passed over.
"""

from __future__ import annotations

_COMMON = frozenset(
    {
        "SET_OBJECT",
        "NO_OPERATION",
        "WAIT_FOR_IDLE",  # every method ends before the next begins
        "PM_TRIGGER",
        "PM_TRIGGER_WFI",
        "PIPE_NOP",
        "SEND_GO_IDLE",
        "SET_INSTRUMENTATION_METHOD_HEADER",
        "SET_INSTRUMENTATION_METHOD_DATA",
        "SET_RENDER_ENABLE_A",
        "SET_RENDER_ENABLE_B",
    }
)

HOST = frozenset(
    {
        "SET_OBJECT",
        "NOP",
        "NON_STALL_INTERRUPT",
        "FB_FLUSH",
        "MEM_OP_A",  # membars and TLB invalidates: memory is always coherent here
        "MEM_OP_B",
        "MEM_OP_C",
        "MEM_OP_D",
        "SET_REFERENCE",
        "WFI",
        "YIELD",
    }
)

COPY = frozenset(
    {"SET_OBJECT", "NOP", "PM_TRIGGER", "PM_TRIGGER_END", "SET_RENDER_ENABLE_A", "SET_RENDER_ENABLE_B"}
)

INLINE = _COMMON

COMPUTE = (
    _COMMON
    | frozenset(
        {
            # data caches: the model's memory needs no invalidation
            "INVALIDATE_SAMPLER_CACHE",
            "INVALIDATE_SAMPLER_CACHE_NO_WFI",
            "INVALIDATE_TEXTURE_DATA_CACHE",
            "INVALIDATE_TEXTURE_DATA_CACHE_NO_WFI",
            "INVALIDATE_TEXTURE_HEADER_CACHE",
            "INVALIDATE_TEXTURE_HEADER_CACHE_NO_WFI",
            "INVALIDATE_SKED_CACHES",
            # versions and scheduling hints
            "SET_SPA_VERSION",
            "SET_TEXTURE_HEADER_VERSION",
            "SET_COMPUTE_CLASS_VERSION",
            "CHECK_COMPUTE_CLASS_VERSION",
            "CHECK_QMD_VERSION",
            "SET_CWD_REF_COUNTER",
            "SET_CWD_SLOT_COUNT",
            "SET_SKED_CACHE_CONTROL",
            "SET_SM_SCG_CONTROL",
            "SET_SM_TIMEOUT_INTERVAL",
            "SET_SCG_COMPUTE_SCHEDULING_PARAMETERS",
            "SET_SHADER_CACHE_CONTROL",
            "THROTTLE_SM",
            "SET_VALID_SPAN_OVERFLOW_AREA_A",
            "SET_VALID_SPAN_OVERFLOW_AREA_B",
            "SET_VALID_SPAN_OVERFLOW_AREA_C",
            # local memory is backed by the model itself
            "SET_SHADER_LOCAL_MEMORY_A",
            "SET_SHADER_LOCAL_MEMORY_B",
            "SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_A",
            "SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_B",
            "SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_C",
            # texture pools: kernels that use textures are refused by opcode
            "SET_TEX_SAMPLER_POOL_A",
            "SET_TEX_SAMPLER_POOL_B",
            "SET_TEX_SAMPLER_POOL_C",
            "SET_TEX_HEADER_POOL_A",
            "SET_TEX_HEADER_POOL_B",
            "SET_TEX_HEADER_POOL_C",
            "SET_BINDLESS_TEXTURE",
            # trap handlers and exceptions: faults stop the grid and are reported
            "SET_TRAP_HANDLER_A",
            "SET_TRAP_HANDLER_B",
            "SET_SHADER_EXCEPTIONS",
            # the method macro engine is loaded but never called
            "LOAD_MME_INSTRUCTION_RAM_POINTER",
            "LOAD_MME_INSTRUCTION_RAM",
            "LOAD_MME_START_ADDRESS_RAM_POINTER",
            "LOAD_MME_START_ADDRESS_RAM",
            "SET_MME_SHADOW_RAM_CONTROL",
            "SET_MME_SHADOW_SCRATCH",
            "SET_MME_SWITCH_STATE",
            "SET_FALCON04",
        }
    )
    | frozenset(f"SET_RESERVED_SW_METHOD{index:02d}" for index in range(16))
    | frozenset(f"SET_SPARE{index:02d}" for index in range(4))
    | frozenset(f"SET_I2M_SPARE_NOOP{index:02d}" for index in range(4))
)
