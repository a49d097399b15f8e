"""Loads and stores of every width and space, cache hints, cp.async, ldmatrix, constants, local memory."""

from __future__ import annotations

from ..form import Form, code

_SPACES = ("global", "shared", "local", "generic")
_SETUP = {
    "global": "unsigned char* p = mem;",
    "shared": "__shared__ uint4 s[128]; unsigned char* p = (unsigned char*)&s[threadIdx.x];",
    "local": "uint4 s[4]; s[0] = s[1] = s[2] = s[3] = make_uint4(0, 0, 0, 0); unsigned char* p = (unsigned char*)&s[w1 & 3];",
    "generic": "__shared__ uint4 s[128]; s[threadIdx.x] = make_uint4(0, 0, 0, 0); "
               "unsigned char* p = w1 & 64 ? mem : (unsigned char*)&s[threadIdx.x];",
}  # fmt: skip
_ADDRESS = {
    "global": '"l"(p)', "shared": '"r"((unsigned)__cvta_generic_to_shared(p))',
    "local": '"r"((unsigned)__cvta_generic_to_local(p))', "generic": '"l"(p)',
}  # fmt: skip


def _dot(space: str) -> str:
    return "" if space == "generic" else "." + space


_LOAD = [
    code(
        f"ld.{space}.{t}",
        f"{_SETUP[space]} *(volatile unsigned*)p = w0; *(volatile unsigned*)(p + 4) = ~w0; {ctype} x; "
        f'asm volatile("ld{_dot(space)}.{t} %0, [%1+{offset}];" : "={c}"(x) : {_ADDRESS[space]} : "memory"); {put}',
        ("any", "small"),
        2,
    )
    for space in _SPACES
    for t, c, ctype, offset, put in (
        ("u8", "r", "unsigned", 3, "r0 = x;"), ("s8", "r", "unsigned", 1, "r0 = x;"), ("u16", "h", "unsigned short", 2, "r0 = x;"),
        ("s16", "r", "unsigned", 0, "r0 = x;"), ("b32", "r", "unsigned", 4, "r0 = x;"),
        ("b64", "l", "u64", 0, "r0 = x; r1 = x >> 32;"),
    )
]  # fmt: skip
_STORE = [
    code(
        f"st.{space}.{t}",
        f"{_SETUP[space]} *(volatile unsigned*)p = w1; *(volatile unsigned*)(p + 4) = 0x11223344; {ctype} x = {value}; "
        f'asm volatile("st{_dot(space)}.{t} [%0+{offset}], %1;" :: {_ADDRESS[space]}, "{c}"(x) : "memory"); '
        "r0 = *(volatile unsigned*)p; r1 = *(volatile unsigned*)(p + 4);",
        ("any", "any"),
        2,
    )
    for space in _SPACES
    for t, c, ctype, offset, value in (
        ("b8", "r", "unsigned", 3, "w0"), ("b16", "h", "unsigned short", 2, "w0"), ("b32", "r", "unsigned", 4, "w0"),
        ("b64", "l", "u64", 0, "L(w0, ~w0)"),
    )
]  # fmt: skip
_VECTOR = [
    code(
        f"v4.{space}",
        f"{_SETUP[space]} uint4 x = make_uint4(w0, w1, ~w0, w0 ^ w1); "
        f'asm volatile("st{_dot(space)}.v4.b32 [%0], {{%1, %2, %3, %4}};" :: {_ADDRESS[space]}, "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory"); '
        f'asm volatile("ld{_dot(space)}.v2.b32 {{%0, %1}}, [%2+8];" : "=r"(r2), "=r"(r3) : {_ADDRESS[space]} : "memory"); '
        f'asm volatile("ld{_dot(space)}.v4.b32 {{%0, %1, %2, %3}}, [%4];" : "=r"(r0), "=r"(r1), "=r"(x.z), "=r"(x.w) : {_ADDRESS[space]} : "memory"); '
        "r2 += x.z; r3 += x.w;",
        ("any", "any"),
        4,
    )
    for space in _SPACES
]
_HINTS = [
    code(f"ld.global.{hint}", f'asm volatile("ld.global.{hint} %0, [%1];" : "=r"(r0) : "l"(in + (t ^ 5)) : "memory");', ("any",))
    for hint in (
        "ca.b32", "cg.b32", "cs.b32", "cv.b32", "lu.b32", "nc.b32", "nc.L1::no_allocate.b32", "L1::evict_last.b32",
        "L2::128B.b32", "relaxed.gpu.b32", "acquire.sys.b32", "relaxed.cta.b32",
    )
] + [
    code(f"st.global.{hint}", f'asm volatile("st.global.{hint} [%0], %1;" :: "l"(mem), "r"(w0) : "memory"); '
         "r0 = *(volatile unsigned*)mem;", ("any",))
    for hint in ("wb.b32", "cg.b32", "cs.b32", "wt.b32", "relaxed.gpu.b32", "release.sys.b32", "L1::evict_first.b32")
] + [
    code("ld.volatile", "r0 = ((volatile const unsigned*)in)[t ^ 9]; ((volatile unsigned*)mem)[1] = w0; r1 = ((volatile unsigned*)mem)[1];",
         ("any",), 2),
    code("ldg.v4.plain", "((volatile unsigned*)mem)[0] = w0; ((volatile unsigned*)mem)[1] = w1; ((volatile unsigned*)mem)[3] = ~w0; "
         'asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "l"(mem) : "memory");',
         ("any", "any"), 4, r"LDG\.E\.128"),
    *(
        code(f"ld.generic.{hint}", "__shared__ uint4 s[128]; s[threadIdx.x] = make_uint4(w0, 1, 2, 3); *(volatile unsigned*)mem = w1; "
             "void* p = w1 & 64 ? (void*)mem : (void*)&s[threadIdx.x]; "
             f'asm volatile("ld.{hint}.u32 %0, [%1];" : "=r"(r0) : "l"(p) : "memory"); '
             f'asm volatile("st.{store}.u32 [%0], %1;" :: "l"(p), "r"(~w0) : "memory"); r1 = *(volatile unsigned*)p;', ("any", "any"), 2, "LD")
        for hint, store in (("relaxed.gpu", "relaxed.gpu"), ("acquire.gpu", "release.gpu"), ("relaxed.sys", "relaxed.sys"),
                            ("acquire.cta", "release.cta"), ("volatile", "volatile"), ("relaxed.cta", "relaxed.cta"))
    ),
    code("ld.generic.v4", "__shared__ uint4 s[128]; s[threadIdx.x] = make_uint4(w0, w1, ~w1, 3); *(uint4*)mem = make_uint4(w1, w0, 7, ~w0); "
         "uint4* p = w1 & 64 ? (uint4*)mem : &s[threadIdx.x]; "
         'asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "l"(p) : "memory");', ("any", "any"), 4,
         r"LD\.E\.128"),
    *(code(f"ld.global.L2.{n}B", f'asm volatile("ld.global.L2::{n}B.b32 %0, [%1];" : "=r"(r0) : "l"(in + (t ^ 5)) : "memory");', ("any",))
      for n in (64, 256)),
    code("griddepcontrol", 'asm volatile("griddepcontrol.launch_dependents; griddepcontrol.wait;" ::: "memory"); r0 = w0 + 1;', ("any",), 1, "PREEXIT"),
    code("fence.proxy", 'asm volatile("fence.proxy.async; fence.proxy.alias;" ::: "memory"); r0 = w0 + 1;', ("any",), 1, "FENCE"),
    code("discard", 'asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(in + (t & ~31)) : "memory"); r0 = w0;', ("any",)),
    code("prefetch.generic", 'asm volatile("prefetch.L1 [%0]; prefetch.global.L2::evict_last [%0]; prefetchu.L1 [%0];" :: "l"(in + t)); r0 = w0;', ("any",)),
    code("prefetch", 'asm volatile("prefetch.global.L2 [%0]; prefetch.global.L1 [%0];" :: "l"(in + t)); r0 = w0;', ("any",), 1, "CCTL"),
    code("createpolicy", 'u64 x; asm volatile("createpolicy.fractional.L2::evict_last.b64 %1, 1.0; ld.global.L2::cache_hint.b32 %0, [%2], %1;" '
         ': "=r"(r0), "=l"(x) : "l"(in + t));', ("any",)),
    *(code(f"fence.{f}", f'*(volatile unsigned*)mem = w0; asm volatile("{f};" ::: "memory"); r0 = *(volatile unsigned*)mem;', ("any",), 1)
      for f in ("membar.cta", "membar.gl", "membar.sys", "fence.sc.gpu", "fence.acq_rel.cta", "fence.acq_rel.sys")),
    code("isspacep", "__shared__ unsigned s[128]; unsigned l[4]; l[w0 & 3] = w0; s[threadIdx.x] = w0; "
         "void* p = w1 < 10 ? (void*)mem : w1 < 20 ? (void*)&s[threadIdx.x] : (void*)&l[w0 & 3]; "
         "r0 = __isGlobal(p) | __isShared(p) << 1 | __isLocal(p) << 2 | __isConstant(p) << 3; r1 = *(unsigned*)p;", ("any", "small"), 2),
]  # fmt: skip
_ASYNC = [
    code(f"cp.async.{kind}.{n}", "__shared__ uint4 s[128]; s[threadIdx.x] = make_uint4(1, 2, 3, 4); "
         "((uint4*)scratch)[t] = make_uint4(w0, w1, ~w0, ~w1); __syncthreads(); "
         f'asm volatile("cp.async.{kind}.shared.global [%0], [%1], {n}; cp.async.commit_group; cp.async.wait_group 0;" '
         ':: "r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])), "l"(scratch + 16 * t) : "memory"); '
         "__syncthreads(); uint4 x = s[threadIdx.x ^ 3]; r0 = x.x; r1 = x.y; r2 = x.z; r3 = x.w;", ("any", "any"), 4, "LDGSTS")
    for kind, n in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16))
] + [
    code("cp.async.zfill", "__shared__ uint4 s[128]; s[threadIdx.x] = make_uint4(1, 2, 3, 4); ((uint4*)scratch)[t] = make_uint4(w0, w1, ~w0, ~w1); "
         '__syncthreads(); asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2; cp.async.wait_all;" '
         ':: "r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])), "l"(scratch + 16 * t), "r"(w1 & 16) : "memory"); '
         "uint4 x = s[threadIdx.x]; r0 = x.x; r1 = x.y; r2 = x.z; r3 = x.w;", ("any", "any"), 4, "LDGSTS"),
] + [
    code(f"ldmatrix.x{n}{trans}", "__shared__ uint4 s[128]; s[threadIdx.x] = make_uint4(w0, w1, ~w0, ~w1); __syncthreads(); "
         f'asm volatile("ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {{{", ".join(f"%{i}" for i in range(n))}}}, [%{n}];" : '
         + ", ".join(f'"=r"(r{i})' for i in range(n))
         + ' : "r"((unsigned)__cvta_generic_to_shared(&s[(threadIdx.x * 5) & 127])) : "memory");', ("any", "any"), n, "LDSM")
    for n in (1, 2, 4) for trans in ("", ".trans")
] + [
    code(f"stmatrix.x{n}{trans}", "__shared__ uint4 s[128]; s[threadIdx.x] = make_uint4(9, 8, 7, 6); __syncthreads(); "
         f'asm volatile("stmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 [%0], {{{", ".join(f"%{i + 1}" for i in range(n))}}};" :: '
         '"r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x ^ 6])), '
         + ", ".join(f'"r"(w{i})' for i in range(n))
         + ' : "memory"); __syncthreads(); uint4 x = s[threadIdx.x]; r0 = x.x; r1 = x.y; r2 = x.z; r3 = x.w;', ("any",) * 4, 4, "STSM")
    for n in (1, 2, 4) for trans in ("", ".trans")
]  # fmt: skip
_TABLE = ", ".join(str(i * 2654435761 & 0xFFFFFFFF) + "u" for i in range(64))
_CONSTANT = [
    code(f"ldc.{name}", f"r0 = {text};", ("u32",))
    for name, text in (
        ("b32", "ctable[w0 & 63]"), ("u8", "((const unsigned char*)ctable)[w0 & 255]"), ("s8", "((const signed char*)ctable)[w0 & 255]"),
        ("u16", "((const unsigned short*)ctable)[w0 & 127]"), ("s16", "((const short*)ctable)[w0 & 127]"),
        ("b64", "(unsigned)(((const u64*)ctable)[w0 & 31] >> 20)"), ("fixed", "ctable[5] + w0 * ctable[17]"),
        ("uniform", "ctable[blockIdx.x & 63] ^ w0"),
    )
]  # fmt: skip
_LOCAL = [
    code("local.array", "unsigned a[16]; for (int i = 0; i < 16; i++) a[i] = w0 * (i + 1); a[w1 & 15] ^= w1; unsigned x = 0; "
         "for (int i = 0; i < 16; i++) x = x * 31 + a[(i + w0) & 15]; r0 = x; r1 = a[w1 >> 4 & 15];", ("any", "any"), 2, "LDL"),
    code("bool.bytes", "signed char a[48]; for (int i = 0; i < 48; i++) a[i] = (signed char)(w0 >> (i & 24)) * i; a[w1 & 31] = -5; "
         "short b[40]; for (int i = 0; i < 40; i++) b[i] = (short)(w1 >> (i & 15)); b[w0 & 31] = -7; "
         "r0 = a[w1 >> 5 & 31]; r1 = b[w0 >> 5 & 31];", ("any", "any"), 2, "LDL"),
    code("local.bytes", "unsigned char a[32]; for (int i = 0; i < 32; i++) a[i] = w0 >> (i & 24); a[w1 & 31] = 0x5a; "
         "r0 = a[w1 >> 5 & 31] | a[w1 >> 10 & 31] << 8; signed char* b = (signed char*)a; r1 = b[w1 >> 15 & 31];", ("any", "any"), 2, "LDL"),
    code("shared.bytes", "__shared__ unsigned char s[512]; for (int i = 0; i < 4; i++) s[i * 128 + threadIdx.x] = w0 >> 8 * i; __syncthreads(); "
         "r0 = s[w1 & 511] | s[w1 >> 9 & 511] << 8 | s[w1 >> 18 & 511] << 16; r1 = (int)(signed char)s[w1 >> 5 & 511];", ("any", "any"), 2, "LDS"),
    code("local.vector", "uint4 a[48]; for (int i = 0; i < 48; i++) a[i] = make_uint4(w0 + i, w1 * i, w0 ^ i, w1 - i); a[w1 & 31].y ^= 5; "
         "uint4 x = a[w1 >> 5 & 31]; r0 = x.x; r1 = x.y; r2 = x.z; r3 = x.w;", ("any", "any"), 4),
    code("ldg.vector", "uint4 x = ((const uint4*)in)[t >> 2]; uint2 y = ((const uint2*)in)[t >> 1]; *(uint4*)mem = x; "
         "r0 = x.x ^ y.x; r1 = x.y + y.y; r2 = x.z; r3 = ((volatile unsigned*)mem)[3];", ("any",), 4, r"LDG\.E\.128"),
    code("ldc.uniform.narrow", "r0 = ((const unsigned char*)ctable)[blockIdx.x] + w0; r1 = ((const unsigned short*)ctable)[blockIdx.x + 3] ^ w0; "
         "r2 = (int)((const signed char*)ctable)[blockIdx.x + 9] + w0; r3 = (int)((const short*)ctable)[blockIdx.x + 5];", ("any",), 4),
    code("byte.loads", "const unsigned char* b = (const unsigned char*)in; r0 = b[4 * t + 1]; r1 = (int)((const signed char*)b)[4 * t + 2]; "
         "r2 = ((const unsigned short*)b)[2 * t + 1]; r3 = (int)((const short*)b)[2 * t];", ("any",), 4, r"LDG\.E\.U8"),
]  # fmt: skip
DECLARATIONS = f"__constant__ unsigned ctable[64] = {{{_TABLE}}};\n"
FORMS: list[Form] = _LOAD + _STORE + _VECTOR + _HINTS + _ASYNC + _CONSTANT + _LOCAL
