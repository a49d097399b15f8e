"""Warp operations: SHFL, VOTE, MATCH, REDUX, ELECT, MOVM, special registers, CTA barriers with reductions."""

from __future__ import annotations

from ..form import Form, code, ptx

_ALL = "0xffffffff"
_SHFL = [
    code(
        f"shfl.{m}.{how}",
        f'asm volatile("{{ .reg .pred p; shfl.sync.{m}.b32 %0|p, %2, %3, {c}, {_ALL}; selp.u32 %1, 1, 0, p; }}" '
        ': "=r"(r0), "=r"(r1) : "r"(w0), "r"(w1), "r"(w2));',
        ("any", "lane", "any"),
        2,
        "SHFL",
    )
    for m in ("up", "down", "bfly", "idx")
    for how, c in (("reg", "%4"), ("full", "0" if m == "up" else "31"), ("width8", "0x1800" if m == "up" else "0x181f"))
] + [
    code(f"shfl.{m}.const", f"r0 = __shfl_{text};", ("any",), 1, "SHFL")
    for m, text in (
        ("up", f"up_sync({_ALL}, w0, 3)"), ("down", f"down_sync({_ALL}, w0, 5)"), ("xor", f"xor_sync({_ALL}, w0, 16)"),
        ("idx", f"sync({_ALL}, w0, 7)"), ("idx.width4", f"sync({_ALL}, w0, 2, 4)"),
    )
] + [
    code("shfl.partial", "if (threadIdx.x & 1) r0 = __shfl_xor_sync(0xaaaaaaaa, w0, 6); else "
         "r0 = __shfl_down_sync(0x55555555, w0, 2, 16);", ("any",), 1, "SHFL"),
    code("shfl.64", "u64 x = __shfl_sync(0xffffffff, L(w0, w1), w2 & 31); r0 = x; r1 = x >> 32;", ("any", "any", "any"), 2, "SHFL"),
    code("warp.scan", "unsigned x = w0; for (int d = 1; d < 32; d *= 2) { unsigned y = __shfl_up_sync(0xffffffff, x, d); "
         "if ((threadIdx.x & 31) >= d) x += y; } r0 = x;", ("any",), 1, "SHFL"),
]  # fmt: skip
_VOTE = [
    code(f"vote.{name}", f"r0 = {text};", ("few", "small"), 1, "VOTE")
    for name, text in (
        ("all", f"__all_sync({_ALL}, w0 != 0 || w1 > 2)"), ("any", f"__any_sync({_ALL}, w0 == 0 && w1 == 1)"),
        ("uni", f"__uni_sync({_ALL}, w1 < 31)"), ("ballot", f"__ballot_sync({_ALL}, w0 == 0)"),
        ("activemask", "(w0 == 0 ? __activemask() : w1)"),
        ("partial", "(threadIdx.x & 3) == 1 ? __ballot_sync(0x22222222, w1 & 1) : 9"),
        ("popc", f"__popc(__ballot_sync({_ALL}, w1 > 15))"),
    )
]  # fmt: skip
_MATCH = [
    code("match.any.b32", f"r0 = __match_any_sync({_ALL}, w0);", ("few",), 1, "MATCH"),
    code(
        "match.all.b32",
        f"int p; r0 = __match_all_sync({_ALL}, w1 & 32 ? w0 : t >> 6, &p); r1 = p;",
        ("few", "small"),
        2,
        "MATCH",
    ),
    code("match.any.b64", f"r0 = __match_any_sync({_ALL}, L(w0, w1));", ("few", "few"), 1, "MATCH"),
    code(
        "match.all.b64",
        f"int p; r0 = __match_all_sync({_ALL}, L(7, t >> 5), &p); r1 = p;",
        ("few",),
        2,
        "MATCH",
    ),
    code(
        "match.any.partial",
        "r0 = threadIdx.x & 2 ? __match_any_sync(0xcccccccc, w0) : 1;",
        ("few",),
        1,
        "MATCH",
    ),
]
_REDUX = [
    ptx(f"redux.sync.{op}.{t}", "u:u", "REDUX", inputs=("any",), tail=f", {_ALL}", name=f"redux.{op}.{t}")
    for op, t in (("add", "s32"), ("add", "u32"), ("min", "s32"), ("min", "u32"), ("max", "s32"), ("max", "u32"),
                  ("and", "b32"), ("or", "b32"), ("xor", "b32"))
] + [
    code("redux.partial", "r0 = (threadIdx.x & 4) ? __reduce_add_sync(0xf0f0f0f0, w0) : __reduce_max_sync(0x0f0f0f0f, w0);",
         ("any",), 1, "REDUX"),
]  # fmt: skip
_ELECT = [
    code("elect", 'asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" '
         ': "=r"(r0), "=r"(r1));', ("any",), 2, "ELECT"),
    code("elect.partial", 'if (threadIdx.x & 8) asm volatile("{ .reg .pred p; elect.sync %0|p, 0xff00ff00; selp.u32 %1, 1, 0, p; }" '
         ': "=r"(r0), "=r"(r1));', ("any",), 2, "ELECT"),
]  # fmt: skip
_SPECIAL = [
    code(
        f"sreg.{name}",
        f'asm volatile("mov.u32 %0, %{name};" : "=r"(r0));'.replace("%" + name, "%%" + name),
        ("any",),
    )
    for name in (
        "tid.x", "tid.y", "ntid.x", "ctaid.x", "nctaid.x", "laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt",
        "lanemask_ge", "total_smem_size", "dynamic_smem_size", "cluster_ctaid.x", "cluster_nctaid.x", "cluster_ctarank",
    )
]  # fmt: skip
_BARRIER = [
    code("bar.red.popc", "r0 = __syncthreads_count(w0 & 1);", ("any",), 1, "BAR"),
    code("bar.red.and", "r0 = __syncthreads_and((w0 & 127) || t & 128);", ("any",), 1, "BAR"),
    code("bar.red.or", "r0 = __syncthreads_or((w0 & 127) == 0);", ("any",), 1, "BAR"),
    code("bar.shared", "__shared__ unsigned s[128]; s[threadIdx.x] = w0; __syncthreads(); r0 = s[threadIdx.x ^ 127] + s[(threadIdx.x + 1) & 127];",
         ("any",), 1, "BAR"),
    code("bar.named", "__shared__ unsigned s[128]; s[threadIdx.x] = w0; if (threadIdx.x < 64) { "
         'asm volatile("bar.sync 3, 64;" ::: "memory"); r0 = s[63 - threadIdx.x]; } else { asm volatile("barrier.sync 5, 64;" ::: "memory"); '
         "r0 = s[191 - threadIdx.x]; }", ("any",), 1, "BAR"),
    code("bar.arrive", "__shared__ unsigned s[64]; if (threadIdx.x < 64) { s[threadIdx.x] = w0; __threadfence_block(); "
         'asm volatile("bar.arrive 1, 128;" ::: "memory"); } else { asm volatile("bar.sync 1, 128;" ::: "memory"); r0 = s[threadIdx.x - 64]; }',
         ("any",), 1, "BAR"),
    code("syncwarp", "__shared__ unsigned s[128]; s[threadIdx.x] = w0; __syncwarp(); r0 = s[threadIdx.x ^ 31];", ("any",)),
    code("movmatrix", 'asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r0) : "r"(w0));', ("any",), 1, "MOVM"),
    code("nanosleep", "__nanosleep(w0 & 63); r0 = w0;", ("any",), 1, "NANOSLEEP"),
]  # fmt: skip
FORMS: list[Form] = _SHFL + _VOTE + _MATCH + _REDUX + _ELECT + _SPECIAL + _BARRIER
