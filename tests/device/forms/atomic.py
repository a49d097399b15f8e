"""Atomics and reductions: each thread on its own word (old and new value), then contended commutative ones."""

from __future__ import annotations

from ..form import Form, code

_TYPES = {
    "u32": ("r", "unsigned", 1), "s32": ("r", "unsigned", 1), "b32": ("r", "unsigned", 1), "u64": ("l", "u64", 2),
    "s64": ("l", "u64", 2), "b64": ("l", "u64", 2), "f32": ("f", "float", 1), "f64": ("d", "double", 2),
    "noftz.f16x2": ("r", "unsigned", 1), "noftz.bf16x2": ("r", "unsigned", 1), "noftz.f16": ("h", "unsigned short", 1),
    "noftz.bf16": ("h", "unsigned short", 1), "b16": ("h", "unsigned short", 1),
}  # fmt: skip
_KIND = {
    "u32": "u32", "s32": "u32", "b32": "u32", "u64": "u64", "s64": "u64", "b64": "u64", "f32": "f32", "f64": "f64",
    "noftz.f16x2": "h2", "noftz.bf16x2": "b2", "noftz.f16": "f16", "noftz.bf16": "bf16", "b16": "u16",
}  # fmt: skip
_OPS = [
    *(
        (op, t)
        for op in ("add",)
        for t in ("u32", "s32", "u64", "f32", "f64", "noftz.f16x2", "noftz.bf16x2", "noftz.f16", "noftz.bf16")
    ),
    *((op, t) for op in ("min", "max") for t in ("u32", "s32", "u64", "s64")),
    *((op, "u32") for op in ("inc", "dec")),
    *((op, t) for op in ("and", "or", "xor", "exch") for t in ("b32", "b64")),
    *(("cas", t) for t in ("b16", "b32", "b64")),
]
_PLACE = {
    "global": ("unsigned* p = (unsigned*)mem;", '"l"(p)'),
    "shared": (
        "__shared__ uint4 s[128]; unsigned* p = (unsigned*)&s[threadIdx.x];",
        '"r"((unsigned)__cvta_generic_to_shared(p))',
    ),
    "generic": (
        "__shared__ uint4 s[128]; unsigned* p = t & 1 ? (unsigned*)mem : (unsigned*)&s[threadIdx.x];",
        '"l"(p)',
    ),
}


def _value(kind: str, word: int) -> str:
    constraint, ctype, words = _TYPES[kind]
    if words == 1:
        return f"F(w{word})" if constraint == "f" else f"({ctype})w{word}"
    pair = f"w{word}, w{word + 1}"
    return f"D({pair})" if constraint == "d" else f"L({pair})"


def _own(space: str, op: str, kind: str) -> Form:
    """Old value and new value of one operation on a word nobody else touches."""
    constraint, ctype, words = _TYPES[kind]
    place, address = _PLACE[space]
    dot = "" if space == "generic" else "." + space
    preset = f"*({ctype}*)p = {_value(kind, 0)};" if kind != "f64" else "*(double*)p = D(w0, w1);"
    args = f'{address}, "{constraint}"({_value(kind, words)})'
    if op == "cas":
        # compare with the present value in half of the threads
        args += f', "{constraint}"(({ctype}){_value(kind, 2 * words)})'
        args = args.replace(
            f"({_value(kind, words)})", f"(t & 1 ? {_value(kind, 0)} : {_value(kind, words)})", 1
        )
    holes = "%2" if op != "cas" else "%2, %3"
    old = {
        "f": "r0 = U(x);",
        "d": "r0 = __double2loint(x); r1 = __double2hiint(x);",
        "l": "r0 = x; r1 = x >> 32;",
    }
    body = (
        f"{place} ((volatile unsigned*)p)[0] = 0; ((volatile unsigned*)p)[1] = 0; {preset} {ctype} x; "
        f'asm volatile("atom{dot}.{op}.{kind} %0, [%1], {holes};" : "={constraint}"(x) : {args} : "memory"); '
        f"{old.get(constraint, 'r0 = x;')} r{words} = ((volatile unsigned*)p)[0];"
        + (f" r{words + 1} = ((volatile unsigned*)p)[1];" if words == 2 else "")
    )
    inputs = (_KIND[kind],) * (3 if op == "cas" else 2)
    return code(f"atom.{space}.{op}.{kind}", body, inputs, 2 * words, "ATOM")


_OWN = [
    _own(space, op, kind)
    for space in _PLACE
    for op, kind in _OPS
    if not (space == "generic" and kind == "f64")
]
_RED = [
    code(
        f"red.global.{op}.{kind}",
        f'*({_TYPES[kind][1]}*)mem = {_value(kind, 0)}; asm volatile("red.global.{op}.{kind} [%0], %1;" :: "l"(mem), '
        f'"{_TYPES[kind][0]}"({_value(kind, _TYPES[kind][2])}) : "memory"); '
        "r0 = ((volatile unsigned*)mem)[0]; r1 = ((volatile unsigned*)mem)[1];",
        (_KIND[kind],) * 2,
        2,
        r"RED",
    )
    for op, kind in _OPS
    if op not in ("exch", "cas") and kind not in ("noftz.f16", "noftz.bf16")
] + [
    code(
        f"red.global.add.vector.{suffix}",
        f'*(uint4*)mem = make_uint4(w0, w1, w2, w3); asm volatile("red.global.add{suffix} [%0], {{{holes}}};" :: "l"(mem), {args} : "memory"); '
        "uint4 x = __ldcv((uint4*)mem); r0 = x.x; r1 = x.y; r2 = x.z; r3 = x.w;",
        (kind,) * 8,
        4,
    )
    for suffix, kind, holes, args in (
        (".v2.f32", "f32", "%1, %2", '"f"(F(w4)), "f"(F(w5))'),
        (".v4.f32", "f32", "%1, %2, %3, %4", '"f"(F(w4)), "f"(F(w5)), "f"(F(w6)), "f"(F(w7))'),
        (".noftz.v4.f16x2", "h2", "%1, %2, %3, %4", '"r"(w4), "r"(w5), "r"(w6), "r"(w7)'),
        (".noftz.v2.bf16x2", "b2", "%1, %2", '"r"(w4), "r"(w5)'),
    )
]  # fmt: skip
_CONTENDED = [
    code(
        f"contended.{space}.{op}",
        (
            "__shared__ unsigned s[4]; if (threadIdx.x < 4) s[threadIdx.x] = threadIdx.x * 77; __syncthreads(); unsigned* p = s; "
            if space == "shared"
            else "unsigned* p = (unsigned*)(scratch + blockIdx.x * 2048); if (threadIdx.x < 4) p[threadIdx.x] = threadIdx.x * 77; __syncthreads(); "
        )
        + f"{call}; __syncthreads(); r0 = ((volatile unsigned*)p)[threadIdx.x & 3];",
        ("any", "small"),
    )
    for space in ("global", "shared")
    for op, call in (
        ("add", "atomicAdd(p + (w1 & 3), w0)"), ("add.same", "atomicAdd(p, w0)"), ("add.one", "atomicAdd(p + (w1 & 3), 1u)"),
        ("min", "atomicMin((int*)p + (w1 & 3), (int)w0)"), ("max", "atomicMax(p + (w1 & 3), w0)"), ("and", "atomicAnd(p + (w1 & 1), w0 | w1)"),
        ("or", "atomicOr(p + (w1 & 3), w0 & w1)"), ("xor", "atomicXor(p + (w1 & 3), w0)"), ("inc", "atomicInc(p + (w1 & 3), 19)"),
        ("add.f32", "atomicAdd((float*)p + (w1 & 3), (float)(int)(w0 >> 20))"),
        ("add.f64", "atomicAdd((double*)p + (w1 & 1), (double)(w0 >> 8))"),
        ("cas.loop", "unsigned o = p[w1 & 3], e; do { e = o; o = atomicCAS(p + (w1 & 3), e, e + w0 * 3); } while (o != e)"),
    )
] + [
    code("aggregated", "unsigned* p = (unsigned*)(scratch + blockIdx.x * 2048); if (w1 < 20) atomicAdd(p, w1); __syncthreads(); r0 = *(volatile unsigned*)p;",
         ("any", "small")),
]  # fmt: skip
_WIDE = [
    code(
        "atom.global.exch.b128",
        'ulonglong2 x = make_ulonglong2(L(w0, w1), L(w2, w3)); *(ulonglong2*)mem = x; asm volatile("{ .reg .b128 a, b; mov.b128 b, {%3, %4}; '
        'atom.global.exch.b128 a, [%2], b; mov.b128 {%0, %1}, a; }" : "=l"(x.x), "=l"(x.y) : "l"(mem), "l"(x.y), "l"(~x.x) : "memory"); '
        "r0 = x.x; r1 = x.y >> 32; r2 = ((volatile unsigned*)mem)[0]; r3 = ((volatile unsigned*)mem)[3];",
        ("any",) * 4,
        4,
        "ATOM",
    ),
    code("atom.scopes", 'unsigned x, y, z; asm volatile("atom.acq_rel.cta.global.add.u32 %0, [%3], 5; atom.relaxed.sys.global.add.u32 %1, [%3], 6; '
         'atom.release.gpu.global.exch.b32 %2, [%3], 9;" : "=r"(x), "=r"(y), "=r"(z) : "l"(mem) : "memory"); r0 = x; r1 = y; r2 = z; '
         "r3 = *(volatile unsigned*)mem;", ("any",), 4, "ATOM"),
]  # fmt: skip
FORMS: list[Form] = _OWN + _RED + _CONTENDED + _WIDE
