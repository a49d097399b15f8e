"""Binary64 arithmetic: DADD, DMUL, DFMA, DMNMX sequences, division and roots with MUFU.RCP64H/RSQ64H."""

from __future__ import annotations

from ..form import Form, code, ptx

_ROUND = ("rn", "rz", "rm", "rp")
_ARITHMETIC = [
    *(
        ptx(f"{op}.{r}.f64", "d:dd", opcode)
        for op, opcode in (("add", "DADD"), ("mul", "DMUL"))
        for r in _ROUND
    ),
    *(ptx(f"fma.{r}.f64", "d:ddd", "DFMA") for r in _ROUND),
    ptx("sub.rn.f64", "d:dd", "DADD"),
    ptx("min.f64", "d:dd"),
    ptx("max.f64", "d:dd"),
    ptx("abs.f64", "d:d"),
    ptx("neg.f64", "d:d"),
    ptx("copysign.f64", "d:dd"),
]
_NANS = [
    ptx("add.rn.f64", "d:dd", "DADD", inputs=("nan64a", "nan64b"), name="nan.add"),
    ptx("mul.rn.f64", "d:dd", "DMUL", inputs=("nan64a", "nan64b"), name="nan.mul"),
    ptx("fma.rn.f64", "d:ddd", "DFMA", inputs=("nan64a", "nan64b", "nan64c"), name="nan.fma"),
    ptx("min.f64", "d:dd", inputs=("nan64a", "nan64b"), name="nan.min"),
    ptx("max.f64", "d:dd", inputs=("nan64a", "nan64b"), name="nan.max"),
]
_RESULT = "r0 = __double2loint(x); r1 = __double2hiint(x);"
_SOURCES = [
    code(f"source.{name}", f"double a = D(w0, w1), b = D(w2, w3), c = D(w4, w5); (void)c; double x = {text}; {_RESULT}",
         ("f64", "f64", "f64"), 2)
    for name, text in (
        ("add.neg", "__dadd_rn(-a, b)"), ("add.abs", "__dadd_rn(fabs(a), -fabs(b))"), ("mul.neg", "__dmul_rn(-a, b)"),
        ("fma.negprod", "__fma_rn(-a, b, c)"), ("fma.negadd", "__fma_rn(a, b, -c)"), ("add.imm", "__dadd_rn(a, 1.5)"),
        ("mul.imm", "__dmul_rn(a, 0.3)"), ("fma.imm", "__fma_rn(a, 3.25, b)"), ("mul.abs", "__dmul_rn(fabs(a), b)"),
        ("select", "a < b ? c : -a"), ("clamp", "fmin(fmax(a, -1.0), 1.0)"),
    )
]  # fmt: skip
_SEQUENCES = [
    *(ptx(f"div.{r}.f64", "d:dd", "MUFU.RCP64H") for r in _ROUND),
    *(ptx(f"rcp.{r}.f64", "d:d", "MUFU.RCP64H") for r in _ROUND),
    *(ptx(f"sqrt.{r}.f64", "d:d", "MUFU.RSQ") for r in _ROUND),
    ptx("rcp.approx.ftz.f64", "d:d", "MUFU.RCP64H"),
    ptx("rsqrt.approx.ftz.f64", "d:d", "MUFU.RSQ64H"),
    ptx("rsqrt.approx.f64", "d:d"),
    code("trunc", "double a = D(w0, w1), x = trunc(a); r2 = (unsigned)(int)floor(a); r3 = (unsigned)(int)rint(a);" + _RESULT,
         ("f64",), 4),
    code("ldexp", "double x = ldexp(D(w0, w1), (int)w2 & 255);" + _RESULT, ("f64", "u32"), 2),
]  # fmt: skip
FORMS: list[Form] = _ARITHMETIC + _NANS + _SOURCES + _SEQUENCES
