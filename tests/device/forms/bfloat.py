"""bfloat16: HADD2.BF16_V2, HMUL2.BF16_V2, HFMA2.BF16_V2, HMNMX2.BF16_V2."""

from __future__ import annotations

from ..form import Form, code, ptx

_TWO, _THREE = ("b2", "b2"), ("b2", "b2", "b2")
_ARITHMETIC = [
    *(ptx(f"{op}.rn.bf16x2", "u:uu", inputs=_TWO) for op in ("add", "sub", "mul")),
    *(ptx(f"{op}.rn.bf16", "h:hh", inputs=("bf16", "bf16")) for op in ("add", "sub", "mul")),
    *(ptx(f"fma.rn{s}.bf16x2", "u:uuu", "HFMA2", inputs=_THREE) for s in ("", ".relu")),
    *(ptx(f"fma.rn{s}.bf16", "h:hhh", "HFMA2", inputs=("bf16",) * 3) for s in ("", ".relu")),
    *(
        ptx(f"{op}{nan}{xor}.bf16x2", "u:uu", "HMNMX2", inputs=_TWO)
        for op in ("min", "max")
        for nan in ("", ".NaN")
        for xor in ("", ".xorsign.abs")
    ),
    *(
        ptx(f"{op}{nan}.bf16", "h:hh", "HMNMX2", inputs=("bf16", "bf16"))
        for op in ("min", "max")
        for nan in ("", ".NaN")
    ),
    *(ptx(f"{op}.bf16x2", "u:u", inputs=("b2",)) for op in ("abs", "neg")),
    *(ptx(f"fma.rn.oob{s}.bf16x2", "u:uuu", inputs=_THREE) for s in ("", ".relu")),
    ptx("ex2.approx.ftz.bf16", "h:h", inputs=("bf16",)),
    ptx("ex2.approx.ftz.bf16x2", "u:u", inputs=("b2",)),
    ptx("tanh.approx.bf16", "h:h", inputs=("bf16",)),
    ptx("tanh.approx.bf16x2", "u:u", inputs=("b2",)),
]
_SOURCES = [
    code(f"source.{name}", "__nv_bfloat162 a = as<__nv_bfloat162>(w0), b = as<__nv_bfloat162>(w1), c = as<__nv_bfloat162>(w2); "
         f"(void)c; r0 = as<unsigned>({text});", _THREE)
    for name, text in (
        ("add.neg", "__hadd2_rn(__hneg2(a), b)"), ("add.swap", "__hadd2_rn(__lowhigh2highlow(a), b)"),
        ("mul.low", "__hmul2_rn(__low2bfloat162(a), b)"), ("fma.neg", "__hfma2(__hneg2(a), b, c)"),
        ("fma.high", "__hfma2(__high2bfloat162(a), b, __low2bfloat162(c))"), ("fma.sat", "__hfma2_sat(a, b, c)"),
        ("fma.imm", "__hfma2(a, __floats2bfloat162_rn(1.5f, -0.25f), c)"), ("add.sat", "__hadd2_sat(a, b)"),
        ("mul.sat", "__hmul2_sat(a, b)"), ("cplx", "__hcmadd(a, b, c)"),
    )
]  # fmt: skip
_FUNCTIONS = [
    code(f"b2.{name}", f"r0 = as<unsigned>({name}(as<__nv_bfloat162>(w0)));", ("b2",))
    for name in ("h2rcp", "h2sqrt", "h2rsqrt", "h2exp2", "h2log2", "h2floor", "h2rint")
] + [
    code("b2.div", "r0 = as<unsigned>(__h2div(as<__nv_bfloat162>(w0), as<__nv_bfloat162>(w1)));", _TWO),
    code("b2.widen", "float2 x = __bfloat1622float2(as<__nv_bfloat162>(w0)); r0 = U(x.x); r1 = U(x.y);", ("b2",), 2),
    code("bf16.from", "r0 = __bfloat16_as_ushort(__float2bfloat16_rd(F(w0))); r1 = __bfloat16_as_ushort(__float2bfloat16_ru(F(w0))); "
         "r2 = __bfloat16_as_ushort(__int2bfloat16_rn((int)w0)); r3 = __bfloat16_as_ushort(__uint2bfloat16_rz(w0));", ("f32",), 4),
]  # fmt: skip
# every bfloat16 value
_ALL = [
    code(
        "all.oob",
        " ".join(
            f'asm volatile("fma.rn.oob.bf16 %0, %1, %2, %3;" : "=h"(o{i}) : {operands});'
            for i, operands in enumerate(
                ('"h"(a), "h"(one), "h"(two)', '"h"(one), "h"(a), "h"(two)', '"h"(two), "h"(one), "h"(a)')
            )
        ).join(
            ("unsigned short a = w0, one = 0x3f80, two = 0x4000, o0, o1, o2; ", " r0 = o0; r1 = o1; r2 = o2;")
        ),
        ("all16",),
        3,
        "HFMA2",
    ),
    ptx("ex2.approx.ftz.bf16", "h:h", "MUFU", inputs=("all16",), name="all.ex2"),
    ptx("tanh.approx.bf16", "h:h", "MUFU", inputs=("all16",), name="all.tanh"),
]
FORMS: list[Form] = _ALL + _ARITHMETIC + _SOURCES + _FUNCTIONS
