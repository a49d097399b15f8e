"""Comparisons that write predicates: ISETP, FSETP, DSETP, HSETP2, set, testp."""

from __future__ import annotations

from ..form import Form, code, pred, ptx

_SIGNED = ("eq", "ne", "lt", "le", "gt", "ge")
_FLOAT = (*_SIGNED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
_INTEGER = [
    *(pred(f"setp.{c}.s32", "uu", r"ISETP") for c in _SIGNED),
    *(pred(f"setp.{c}.u32", "uu", r"ISETP") for c in ("lo", "ls", "hi", "hs")),
    *(pred(f"setp.{c}.s64", "ll", r"ISETP") for c in _SIGNED),
    *(pred(f"setp.{c}.u64", "ll", r"ISETP") for c in ("lo", "ls", "hi", "hs")),
    *(pred(f"setp.{c}.{t}", "hh", r"ISETP") for c in ("lt", "ge") for t in ("s16", "u16")),
]
# setp with a combining predicate and both results
_COMBINE = [
    code(
        f"setp.{c}.{b}{'.not' if n else ''}.{t}",
        f'asm volatile("{{ .reg .pred p, q, s; setp.ne.u32 s, %3, 0; setp.{c}.{b}.{t} p|q, %1, %2, {n}s; '
        'selp.u32 %0, 1, 0, p; @q add.u32 %0, %0, 2; }" : "=r"(r0) : '
        + ('"r"(w0), "r"(w1), "r"(w2));' if t != "f32" else '"f"(F(w0)), "f"(F(w1)), "r"(w2));'),
        ("f32", "f32", "few") if t == "f32" else ("u32", "u32", "few"),
    )
    for c, t in (("lt", "s32"), ("ge", "s32"), ("ge", "u32"), ("ne", "u32"), ("gt", "f32"), ("neu", "f32"))
    for b in ("and", "or", "xor")
    for n in ("", "!")
]
_F32 = [pred(f"setp.{c}{z}.f32", "ff", "FSETP") for c in _FLOAT for z in ("", ".ftz")]
# with a combining predicate ptxas keeps the comparison asked for; without one it may turn it round
_KEPT = [
    code(
        f"kept.{c}{z}.{t}",
        f'asm volatile("{{ .reg .pred p, s; setp.ne.u32 s, %3, 0; setp.{c}.and{z}.{t} p, %1, %2, s; selp.u32 %0, 1, 0, p; }}" '
        f': "=r"(r0) : {", ".join(args)}, "r"(w{word}));',
        (kind, kind, "few"),
        1,
        rf"SETP2?\..*\b{c.upper()}\b" if c not in ("num", "nan") else "",
    )
    for t, kind, args, word, cases in (
        ("f32", "f32", ('"f"(F(w0))', '"f"(F(w1))'), 2, [(c, z) for c in _FLOAT for z in ("", ".ftz")]),
        ("f64", "f64", ('"d"(D(w0, w1))', '"d"(D(w2, w3))'), 4, [(c, "") for c in _FLOAT]),
        ("f16", "f16", ('"h"((unsigned short)w0)', '"h"((unsigned short)w1)'), 2, [(c, "") for c in _FLOAT]),
        (
            "bf16",
            "bf16",
            ('"h"((unsigned short)w0)', '"h"((unsigned short)w1)'),
            2,
            [(c, "") for c in _FLOAT],
        ),
        ("s32", "u32", ('"r"(w0)', '"r"(w1)'), 2, [(c, "") for c in _SIGNED]),
        ("s64", "u64", ('"l"(L(w0, w1))', '"l"(L(w2, w3))'), 4, [(c, "") for c in _SIGNED]),
    )
    for c, z in cases
]
_F64 = [pred(f"setp.{c}.f64", "dd", "DSETP") for c in _FLOAT]
_TEST = [
    pred(f"testp.{c}.{t}", letter)
    for c in ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    for t, letter in (("f32", "f"), ("f64", "d"))
]
_SET = [
    ptx("set.lt.u32.s32", "u:uu"),
    *(ptx(f"set.{c}{z}.f32.f32", "f:ff") for c in _FLOAT for z in ("", ".ftz")),
    ptx("set.ge.ftz.u32.f32", "u:ff", "FSET"),
    ptx("set.le.f32.s32", "f:uu"),
    ptx("set.eq.u32.f64", "u:dd"),
    *(
        code(f"set.{c}.{b}.f32", f'float x; asm volatile("{{ .reg .pred s; setp.ne.u32 s, %3, 0; set.{c}.{b}.f32.f32 %0, %1, %2, s; }}" '
             ': "=f"(x) : "f"(F(w0)), "f"(F(w1)), "r"(w2)); r0 = U(x);', ("f32", "f32", "few"), 1, "FSET")
        for c, b in (("lt", "or"), ("neu", "xor"), ("ge", "and"))
    ),
]  # fmt: skip
_HALF = [
    pred(f"setp.{c}{z}.f16", "hh", "HSETP2", inputs=("f16", "f16")) for c in _FLOAT for z in ("", ".ftz")
] + [
    pred(f"setp.{c}.bf16", "hh", "HSETP2", inputs=("bf16", "bf16")) for c in _FLOAT
] + [
    code(
        f"setp.{c}.{b}.{t}",
        f'asm volatile("{{ .reg .pred p, q, s; setp.ne.u32 s, %3, 0; setp.{c}.{b}.{t} p|q, %1, %2, s; '
        'selp.u32 %0, 1, 0, p; @q add.u32 %0, %0, 2; }" : "=r"(r0) : "r"(w0), "r"(w1), "r"(w2));',
        (k, k, "few"),
        1,
        "HSETP2",
    )
    for c, b, t, k in (
        ("lt", "and", "f16x2", "h2"), ("geu", "or", "f16x2", "h2"), ("ne", "xor", "f16x2", "h2"),
        ("gt", "and", "bf16x2", "b2"), ("leu", "xor", "bf16x2", "b2"),
    )
] + [
    ptx(f"set.{c}.{o}.{t}", "u:uu", "HSET2", inputs=(k, k))
    for c in _FLOAT
    for o, t, k in (("f16x2", "f16x2", "h2"), ("bf16x2", "bf16x2", "b2"))
] + [
    code(f"h2mask.{c}", f"r0 = __h{c}2_mask(as<__half2>(w0), as<__half2>(w1));", ("h2", "h2")) for c in ("lt", "geu", "ne", "equ")
]  # fmt: skip
FORMS: list[Form] = _INTEGER + _COMBINE + _F32 + _KEPT + _F64 + _TEST + _SET + _HALF
