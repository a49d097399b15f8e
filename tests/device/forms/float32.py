"""Binary32 arithmetic: FADD, FMUL, FFMA, FMNMX, division and root sequences with FCHK."""

from __future__ import annotations

from ..form import Form, code, ptx

_ROUND = ("rn", "rz", "rm", "rp")
_MODES = [(r, z, s) for r in _ROUND for z in ("", ".ftz") for s in ("", ".sat")]
_ARITHMETIC = [
    *(
        ptx(f"{op}.{r}{z}{s}.f32", "f:ff", opcode)
        for op, opcode in (("add", "FADD"), ("mul", "FMUL"))
        for r, z, s in _MODES
    ),
    ptx("sub.rn.f32", "f:ff", "FADD"),
    *(ptx(f"fma.{r}{z}{s}.f32", "f:fff", "FFMA") for r, z, s in _MODES),
    *(
        ptx(f"{op}{z}{nan}{xor}.f32", "f:ff", "FMNMX")
        for op in ("min", "max")
        for z in ("", ".ftz")
        for nan in ("", ".NaN")
        for xor in ("", ".xorsign.abs")
    ),
    ptx("abs.f32", "f:f"),
    ptx("abs.ftz.f32", "f:f"),
    ptx("neg.f32", "f:f"),
    ptx("neg.ftz.f32", "f:f"),
    ptx("copysign.f32", "f:ff"),
]
_SOURCES = [
    code(f"source.{name}", f"r0 = U({text});", ("f32", "f32", "f32"))
    for name, text in (
        ("add.neg", "__fadd_rn(-F(w0), F(w1))"), ("add.abs", "__fadd_rn(fabsf(F(w0)), -fabsf(F(w1)))"),
        ("mul.neg", "__fmul_rn(-F(w0), F(w1))"), ("mul.abs", "__fmul_rn(fabsf(F(w0)), F(w1))"),
        ("fma.negprod", "__fmaf_rn(-F(w0), F(w1), F(w2))"), ("fma.negadd", "__fmaf_rn(F(w0), F(w1), -F(w2))"),
        ("fma.both", "__fmaf_rn(-F(w0), F(w1), -F(w2))"), ("add.imm", "__fadd_rn(F(w0), 1.5f)"),
        ("mul.imm", "__fmul_rn(F(w0), 0.3f)"), ("fma.imm", "__fmaf_rn(F(w0), 3.25f, F(w1))"),
        ("fma.immadd", "__fmaf_rn(F(w0), F(w1), 1e-3f)"), ("min.neg", "fminf(-F(w0), fabsf(F(w1)))"),
        ("abs.sub", "fabsf(__fadd_rn(F(w0), -F(w1)))"), ("mul.two", "__fmul_rn(F(w0), 2.0f)"),
        ("min3", "fminf(fminf(F(w0), F(w1)), F(w2))"), ("clamp", "fminf(fmaxf(F(w0), -1.f), 1.f)"),
        ("saturate", "__saturatef(F(w0))"), ("relu", "fmaxf(F(w0), 0.f)"),
    )
]  # fmt: skip
_SEQUENCES = [
    *(ptx(f"div.{r}{z}.f32", "f:ff", "FCHK" if r == "rn" else "") for r in _ROUND for z in ("", ".ftz")),
    *(ptx(f"{op}.{r}{z}.f32", "f:f") for op in ("rcp", "sqrt") for r in _ROUND for z in ("", ".ftz")),
    code("fchk.div.scale", "r0 = U(F(w0) / F(w1)); r1 = U(F(w1) / 3.0f); r2 = U(1.0f / F(w0));", ("f32", "f32"), 3),
    code("truncate", "r0 = U(truncf(F(w0))); r1 = U(floorf(F(w0))); r2 = U(ceilf(F(w0))); r3 = U(rintf(F(w0)));", ("f32",), 4),
    code("round.away", "r0 = U(roundf(F(w0))); r1 = (unsigned)lroundf(F(w0)); r2 = U(nearbyintf(F(w0)));", ("f32",), 3),
    code("ldexp", "r0 = U(ldexpf(F(w0), (int)w1 & 63)); int e; r1 = U(frexpf(F(w0), &e)); r2 = e; r3 = U(scalbnf(F(w0), (int)w1));",
         ("f32", "u32"), 4),
    code("nextafter", "r0 = U(nextafterf(F(w0), F(w1))); r1 = U(fdimf(F(w0), F(w1))); r2 = ilogbf(F(w0));", ("f32", "f32"), 3),
    code("fmod", "r0 = U(fmodf(F(w0), F(w1))); r1 = U(remainderf(F(w0), F(w1)));", ("f32mid", "f32mid"), 2),
    code("classify", "r0 = isnan(F(w0)) | isinf(F(w0)) << 1 | signbit(F(w0)) << 2 | isfinite(F(w0)) << 3;", ("f32",)),
]  # fmt: skip
FORMS: list[Form] = _ARITHMETIC + _SOURCES + _SEQUENCES
