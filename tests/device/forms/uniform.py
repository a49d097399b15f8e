"""Uniform datapath: operands come from a constant table indexed by CTA, so that ptxas keeps them in UR registers."""

from __future__ import annotations

from ..form import Form, code
from ..inputs import Rng
from ..specials import SHIFT, U32

_ROWS = 64
_rng = Rng(77)
_ROW_VALUES = [
    (
        U32[i % len(U32)],
        U32[(i * 5 + 2) % len(U32)] if i & 1 else _rng.bits(32),
        SHIFT[i % len(SHIFT)],
        _rng.bits(32),
    )
    for i in range(_ROWS)
]
_LOAD = "unsigned a = utable[blockIdx.x].x, b = utable[blockIdx.x].y, s = utable[blockIdx.x].z, d = utable[blockIdx.x].w; (void)b; (void)s; (void)d; "
_TEXTS = (
    ("uiadd3", "r0 = a + b - d + w0;"), ("uiadd3.x", "u64 x = L(a, b) + L(d, s); r0 = (unsigned)x ^ w0; r1 = x >> 32;"),
    ("uimad", "r0 = a * b + d; r0 ^= w0;"), ("uimad.wide", "u64 x = (u64)a * b + L(d, a); r0 = (unsigned)x; r1 = (unsigned)(x >> 32) + w0;"),
    ("uimad.hi", "r0 = __umulhi(a, b) ^ w0; r1 = __mulhi((int)a, (int)b);"), ("ulop3", "r0 = ((a & b) | (~a & d)) ^ w0; r1 = a ^ b ^ d;"),
    ("ushf", "r0 = __funnelshift_l(a, b, s) ^ w0; r1 = __funnelshift_r(a, b, s); r2 = (int)a >> (s & 31);"),
    ("ushf.64", "u64 x = L(a, b); r0 = (unsigned)(x << (s & 63)); r1 = (unsigned)(x >> (s & 63)) + w0; r2 = (unsigned)((long long)x >> (s & 63) >> 16);"),
    ("uisetp", "r0 = ((int)a < (int)b ? d : s) ^ w0; r1 = a > b ? 1 : 2; r2 = (a == d && b > s) ? a : 5;"),
    ("uisetp.ex", "r0 = L(a, b) < L(d, s) ? w0 : 7; r1 = (long long)L(a, b) >= (long long)L(d, s) ? 3 : a;"),
    ("usel", "bool p = (a & 1) != 0; r0 = p ? b : d; r1 = !p ? w0 : a;"), ("uprmt", "r0 = __byte_perm(a, b, d & 0x7777) ^ w0; r1 = __byte_perm(a, b, 0x5410);"),
    ("uflo", "r0 = __clz(a) + w0; r1 = __ffs(b); r2 = 31 - __clz(d);"), ("upopc", "r0 = __popc(a) + w0; r1 = __popc(b & d);"),
    ("ubrev", "r0 = __brev(a) ^ w0;"), ("ulea", "r0 = (a << 3) + b + w0; u64 x = L(b, d) + ((u64)a << 2); r1 = x; r2 = x >> 32;"),
    ("usgxt", "r0 = (int)(signed char)a + w0; r1 = (int)(short)(b); r2 = (int)(a << 7) >> 9;"), ("uminmax", "r0 = min(a, b) ^ w0; r1 = max((int)a, (int)d);"),
    ("ubmsk", 'asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r0) : "r"(s), "r"(d & 63)); r0 ^= w0;'),
    ("r2ur", "unsigned x = __shfl_sync(0xffffffff, w0, a & 31); r0 = x * b; r1 = in[x & 63];"),
    ("loop", "unsigned x = 0; for (unsigned i = 0; i < (a & 15); i++) { x = x * 5 + i * b; if (x > d) break; } r0 = x + w0;"),
    ("vote", "r0 = __ballot_sync(0xffffffff, w0 < a); if (r0 == 0) r1 = b; else r1 = d / (s | 1);"),
    ("float", "r0 = U(__fadd_rn(F(a), F(b)) * 1.0f); r1 = U(__fmaf_rn(F(w0), F(a), F(b))); r2 = U(-F(a));"),
    ("idiv", "r0 = a / (s + 1) + w0; r1 = (int)b % 7;"), ("predicates", "bool p = a < b, q = (int)d < 0, z = s == 0; r0 = (p ^ q) | (z & p) << 1 | (p | !q) << 2; r0 += w0;"),
    ("uprmt.index", "r0 = in[__byte_perm(a, b, 0x5410) & 63]; r1 = in[__byte_perm(a, d, 0x7632) & 127];"),
    ("uprmt.branch", "if (__byte_perm(a, b, 0x4321) & 64) r0 = w0 * 3; else r0 = in[(a >> 8 & 255) + threadIdx.x];"),
    ("ulea.hi", "const unsigned char* p = (const unsigned char*)in + ((size_t)(a & 63) << 2) + ((size_t)(b & 7) << 5); r0 = *(const unsigned*)p; "
     "r1 = ((const unsigned*)p)[threadIdx.x];"),
    ("uimad.wide.index", "size_t x = (size_t)(a & 15) * 12 + (b & 3); r0 = in[x]; r1 = in[x + threadIdx.x]; u64 y = (u64)a * d; r2 = in[(y >> 40) & 63];"),
    ("uldc.bytes", "const unsigned char* p = (const unsigned char*)utable; r0 = p[5] + w0; r1 = p[blockIdx.x] * w0; r2 = ((const unsigned short*)utable)[9] ^ w0;"),
    ("uisetp.branch", "if ((int)a <= (int)b) r0 = w0; else if (a > d) r0 = 5 * w0; else r0 = w0 ^ d; if (L(a, b) > L(d, s)) r1 = w0; "
     "if (((a ^ b) & 4) ^ (d > s)) r2 = w0 + 1;"),
    ("uflo.loop", "unsigned x = a | 1, n_bits = 31 - __clz(x), m = 0; for (unsigned i = 0; i < n_bits; i++) m += in[(i + (b & 15)) & 63]; r0 = m + w0;"),
    ("usgxt.index", "int i = (int)(signed char)a & 63; r0 = in[i]; int j = ((int)(b << 4) >> 20) & 31; r1 = in[j + threadIdx.x];"),
    ("upopc.loop", "for (unsigned m = a & 0xffff; m; m &= m - 1) r0 += in[__ffs(m)] + __popc(m); r0 += w0;"),
    ("uvote", "if (__all_sync(0xffffffff, w0 != b)) r0 = 1 + w0; if (__any_sync(0xffffffff, w0 == 7)) r1 = d; r2 = __uni_sync(0xffffffff, w0 > a);"),
    ("uplop", "bool p = (a & 1) != 0, q = (b & 2) != 0, z = (int)d < 0; if ((p && q) || z) r0 = w0; else if (p ^ z) r0 = 3 * w0; r1 = in[((p | q) ? s : d) & 63];"),
    ("uiabs", "int x = (int)a; r0 = in[(x < 0 ? -x : x) & 63]; r1 = in[min((int)b & 127, 60)]; r2 = in[max((int)(d & 63), 9)];"),
    ("uldc.param", "r0 = in[(n + a) & 63]; r1 = in[(n * (int)blockIdx.x >> 7) & 127]; r2 = (unsigned)n / (s | 1) + w0;"),
    ("uabs", "r0 = abs((int)a) + w0; r1 = __sad((int)a, (int)b, d);"), ("s2ur", "r0 = blockIdx.x * 3 + gridDim.x; r1 = blockIdx.y + blockDim.x + w0;"),
)  # fmt: skip
DECLARATIONS = (
    "__constant__ uint4 utable["
    + str(_ROWS)
    + "] = {"
    + ", ".join(f"{{{x}u, {y}u, {z}u, {w}u}}" for x, y, z, w in _ROW_VALUES)
    + "};\n"
)
FORMS: list[Form] = [code(name, _LOAD + text, ("cta64",), 3, block=32) for name, text in _TEXTS]
