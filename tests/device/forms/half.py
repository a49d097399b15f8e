"""Binary16: HADD2, HMUL2, HFMA2, HMNMX2 with ftz, sat, relu, NaN and xorsign forms."""

from __future__ import annotations

from ..form import Form, code, ptx

_TWO, _THREE = ("h2", "h2"), ("h2", "h2", "h2")
_ARITHMETIC = [
    *(
        ptx(f"{op}.rn{z}{s}.f16x2", "u:uu", inputs=_TWO)
        for op in ("add", "sub", "mul")
        for z in ("", ".ftz")
        for s in ("", ".sat")
    ),
    *(
        ptx(f"fma.rn{z}{s}.f16x2", "u:uuu", "HFMA2", inputs=_THREE)
        for z in ("", ".ftz")
        for s in ("", ".sat", ".relu")
    ),
    *(
        ptx(f"{op}.rn{z}{s}.f16", "h:hh", inputs=("f16", "f16"))
        for op in ("add", "mul")
        for z in ("", ".ftz")
        for s in ("", ".sat")
    ),
    *(
        ptx(f"fma.rn{z}{s}.f16", "h:hhh", inputs=("f16",) * 3)
        for z in ("", ".ftz")
        for s in ("", ".sat", ".relu")
    ),
    *(
        ptx(f"{op}{z}{nan}{xor}.f16x2", "u:uu", "HMNMX2", inputs=_TWO)
        for op in ("min", "max")
        for z in ("", ".ftz")
        for nan in ("", ".NaN")
        for xor in ("", ".xorsign.abs")
    ),
    *(
        ptx(f"{op}{nan}.f16", "h:hh", "HMNMX2", inputs=("f16", "f16"))
        for op in ("min", "max")
        for nan in ("", ".NaN")
    ),
    *(ptx(f"{op}{z}.f16x2", "u:u", inputs=("h2",)) for op in ("abs", "neg") for z in ("", ".ftz")),
    *(ptx(f"fma.rn.oob{s}.f16x2", "u:uuu", inputs=_THREE) for s in ("", ".relu")),
    *(ptx(f"{op}.f16", "h:h", inputs=("f16",)) for op in ("abs", "neg")),
]
_SOURCES = [
    code(f"source.{name}", f"__half2 a = as<__half2>(w0), b = as<__half2>(w1), c = as<__half2>(w2); (void)c; r0 = as<unsigned>({text});",
         _THREE)
    for name, text in (
        ("add.neg", "__hadd2_rn(__hneg2(a), b)"), ("add.abs", "__hadd2_rn(__habs2(a), b)"),
        ("add.swap", "__hadd2_rn(__lowhigh2highlow(a), b)"), ("add.low", "__hadd2_rn(__low2half2(a), b)"),
        ("add.high", "__hadd2_rn(a, __high2half2(b))"), ("mul.low", "__hmul2_rn(__low2half2(a), __high2half2(b))"),
        ("fma.neg", "__hfma2(__hneg2(a), b, c)"), ("fma.low", "__hfma2(__low2half2(a), b, __high2half2(c))"),
        ("fma.imm", "__hfma2(a, __floats2half2_rn(1.5f, -0.25f), c)"), ("add.imm", "__hadd2_rn(a, __floats2half2_rn(3.f, 7.f))"),
        ("mul.imm", "__hmul2_rn(a, __floats2half2_rn(0.1f, 2.f))"), ("cplx", "__hcmadd(a, b, c)"),
        ("merge", "__halves2half2(__low2half(a), __high2half(b))"), ("relu", "__hmax2(a, __floats2half2_rn(0.f, 0.f))"),
    )
]  # fmt: skip
_FUNCTIONS = [
    code(f"h2.{name}", f"r0 = as<unsigned>({name}(as<__half2>(w0)));", ("h2",))
    for name in ("h2rcp", "h2sqrt", "h2rsqrt", "h2exp2", "h2log2", "h2exp", "h2sin", "h2cos", "h2trunc", "h2floor", "h2ceil", "h2rint")
] + [
    code("h2div", "r0 = as<unsigned>(__h2div(as<__half2>(w0), as<__half2>(w1)));", _TWO),
    code("hdiv", "r0 = __half_as_ushort(__hdiv(__ushort_as_half(w0), __ushort_as_half(w1)));", ("f16", "f16")),
    code("widen", "float2 x = __half22float2(as<__half2>(w0)); r0 = U(x.x); r1 = U(x.y);", ("h2",), 2),
    code("narrow", "r0 = as<unsigned>(__floats2half2_rn(F(w0), F(w1))); r1 = __half_as_ushort(__float2half_rz(F(w0)));",
         ("f32", "f32"), 2),
    code("hmath.mixed", "__half a = __ushort_as_half(w0), b = __ushort_as_half(w1); "
         "r0 = U(__half2float(a) * __half2float(b) + F(w2));", ("f16", "f16", "f32")),
    *(ptx(f"{op}.{t}", "h:h", "MUFU", inputs=("f16",)) for op, t in (("ex2.approx", "f16"), ("tanh.approx", "f16"))),
    *(ptx(f"{op}.{t}", "u:u", "MUFU", inputs=("h2",)) for op, t in (("ex2.approx", "f16x2"), ("tanh.approx", "f16x2"))),
    code(
        "hcmp.flags", "__half a = __ushort_as_half(w0), b = __ushort_as_half(w1); r0 = __heq(a, b) | __hlt(a, b) << 1 | "
        "__hge(a, b) << 2 | __hisnan(a) << 3 | __hgtu(a, b) << 4 | __hisinf(a) << 5;", ("f16", "f16")),
    code("half2int", "__half a = __ushort_as_half(w0); r0 = __half2int_rn(a); r1 = __half2uint_rz(a); r2 = __half2short_rd(a); "
         "r3 = (unsigned)__half2ll_ru(a);", ("f16",), 4),
]  # fmt: skip
# every binary16 value
_ALL = [
    code(
        "all.oob",
        " ".join(
            f'asm volatile("fma.rn.oob.f16 %0, %1, %2, %3;" : "=h"(o{i}) : {operands});'
            for i, operands in enumerate(
                ('"h"(a), "h"(one), "h"(two)', '"h"(one), "h"(a), "h"(two)', '"h"(two), "h"(one), "h"(a)')
            )
        ).join(
            ("unsigned short a = w0, one = 0x3c00, two = 0x4000, o0, o1, o2; ", " r0 = o0; r1 = o1; r2 = o2;")
        ),
        ("all16",),
        3,
        "HFMA2",
    ),
    *(ptx(f"{op}.approx.f16", "h:h", "MUFU", inputs=("all16",), name=f"all.{op}") for op in ("ex2", "tanh")),
    code(
        "all.int",
        "__half a = __ushort_as_half(w0); r0 = __half2int_rn(a); r1 = __half2int_ru(a);",
        ("all16",),
        2,
        "F2I",
    ),
]
FORMS: list[Form] = _ALL + _ARITHMETIC + _SOURCES + _FUNCTIONS
