"""Control flow: predication, divergence and reconvergence, indexed branches, calls, recursion, early exit."""

from __future__ import annotations

from ..form import Form, code

_LOOPS = [
    code("loop.data", "unsigned x = w0; int c = 0; while (x != 1 && c < 100) { x = x & 1 ? x * 3 + 1 : x >> 1; c++; } r0 = x; r1 = c;",
         ("any",), 2, "BRA"),
    code("loop.break", "unsigned s = 0; for (int i = 0; i < 64; i++) { if ((w0 >> (i & 31) & 1) && i > (int)w1) break; "
         "if (i % 3 == 0) continue; s += i * w1; } r0 = s;", ("any", "small"), 1, "BRA"),
    code("loop.nested", "unsigned s = 0; for (unsigned i = 0; i < w1; i++) for (unsigned j = i; j < (w0 & 15); j++) { s = s * 7 + i * j; "
         "if (s & 0x1000) break; } r0 = s;", ("any", "small"), 1, "BRA"),
    code("if.else", "if (w1 < 8) r0 = w0 / 3; else if (w1 < 16) r0 = w0 * w0 % 1001; else if (w1 == 20) return; else r0 = __popc(w0); r1 = w0 + r0;",
         ("any", "small"), 2, "BRA"),
    code("exit.early", "out[t] = w0 ^ 0x55; if (w1 > 20) return; __syncwarp(__activemask()); r0 = w0 * 3;", ("any", "small"), 1, "EXIT"),
    code("predicated", "r0 = w0; if (w1 & 1) r0 += 5; if (w1 & 2) r0 ^= w0 >> 3; if (!(w1 & 4)) r0 = ~r0; if (w1 & 8 && w0 & 1) r0--;",
         ("any", "small")),
]  # fmt: skip
_SWITCH = [
    code(
        "switch.dense",
        "switch (w1) { "
        + " ".join(f"case {i}: r0 = w0 {op} {i * 2654435761 & 0xFFFFFF}u; r1 = __brev(w0 + {i}); {end}" for i, (op, end) in enumerate(
            [("+", "break;"), ("*", ""), ("^", "break;"), ("-", "break;"), ("/ 3 +", ""), ("| 1 ^", "break;"), ("&", "break;"), ("% 77 *", "break;"),
             ("+ r1 +", "break;"), ("* 5 -", "break;"), (">> 3 ^", "break;"), ("<< 2 |", "")]))
        + " default: r0 += w1; }",
        ("any", "small"),
        2,
        "BRX",
    ),
]  # fmt: skip
_CALLS = [
    code("call.noinline", "r0 = noinline_mix(w0, w1); if (w1 & 1) r1 = noinline_mix(r0, 3);", ("any", "small"), 2, "CALL"),
    code("call.recursive", "r0 = fibonacci(w1 % 12); r1 = ackermann(w1 & 1, w1 >> 1 & 3);", ("any", "small"), 2, "CALL"),
    code("call.pointer", "mixer f = w1 & 1 ? noinline_mix : w1 & 2 ? noinline_mul : noinline_sub; r0 = f(w0, w1);", ("any", "small"), 1, "CALL"),
    code("call.divergent", "if (w1 < 10) r0 = noinline_mix(w0, 1); else if (w1 < 20) r0 = noinline_mul(w0, w1); else r0 = noinline_sub(w1, w0);",
         ("any", "small"), 1, "CALL"),
]  # fmt: skip
_LOCK = [
    code("spin.lock", "volatile unsigned* v = (volatile unsigned*)(scratch + 16 * 128 * blockIdx.x); unsigned* p = (unsigned*)v; bool done = false; "
         "while (!done) { if (atomicCAS(p, 0, 1) == 0) { v[1] = v[1] + (w0 & 0xffff); __threadfence(); atomicExch(p, 0); done = true; } } "
         "__syncthreads(); r0 = v[1];", ("any",), 1, "ATOM"),
    code("handoff", "volatile __shared__ unsigned s[2]; if (threadIdx.x < 2) s[threadIdx.x] = 0; __syncthreads(); if (threadIdx.x == 5) { s[1] = w0 | 1; } "
         "else if (threadIdx.x == 9) { unsigned x; while ((x = s[1]) == 0); s[0] = x + 7; } __syncthreads(); r0 = s[0] - s[1];", ("any",)),
    code("loop.syncwarp", "unsigned x = w0; for (unsigned i = 0; i < 4; i++) { if (w1 >> i & 1) { x = x * 3 + 1; if (x & 4) x += i; } __syncwarp(); "
         "x ^= __shfl_xor_sync(0xffffffff, x, 1 << i); } r0 = x;", ("any", "small"), 1, "WARPSYNC|SHFL"),
]  # fmt: skip
DECLARATIONS = """
typedef unsigned (*mixer)(unsigned, unsigned);
__device__ __noinline__ unsigned noinline_mix(unsigned a, unsigned b) { return (a ^ b * 2654435761u) * 31 + (a >> 7); }
__device__ __noinline__ unsigned noinline_mul(unsigned a, unsigned b) { return a * b + __popc(a); }
__device__ __noinline__ unsigned noinline_sub(unsigned a, unsigned b) { return (a - b) / 3; }
__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
"""
FORMS: list[Form] = _LOOPS + _SWITCH + _CALLS + _LOCK
