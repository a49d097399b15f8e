"""Special functions. 2^14 points an operation, so that a table can be fitted and checked bit for bit."""

from __future__ import annotations

from dataclasses import replace

from ..form import Form, code, ptx

_OPS = (
    ("rcp.approx", "RCP"), ("rsqrt.approx", "RSQ"), ("sqrt.approx", "SQRT"), ("ex2.approx", "EX2"),
    ("lg2.approx", "LG2"), ("sin.approx", "SIN"), ("cos.approx", "COS"),
)  # fmt: skip
_DENSE = (
    [
        ptx(f"{op}{z}.f32", "f:f", rf"MUFU\.{name}", inputs=("mufu",))
        for op, name in _OPS
        for z in ("", ".ftz")
    ]
    + [ptx("tanh.approx.f32", "f:f", r"MUFU\.TANH", inputs=("mufu",))]
    + [
        replace(
            ptx(
                f"{op}.approx.ftz.f32",
                "f:f",
                rf"MUFU\.{op.upper()}",
                inputs=("mufu",),
                name=f"mufu.{op}.turns",
            ),
            patch=(r"FMUL\.RZ", 0x3F800000),
        )
        for op in ("sin", "cos")
    ]
)
_OTHER = [
    ptx("rcp.approx.ftz.f64", "d:d", r"MUFU\.RCP64H", inputs=("f64",)),
    ptx("rsqrt.approx.ftz.f64", "d:d", r"MUFU\.RSQ64H", inputs=("f64",)),
    ptx("div.approx.f32", "f:ff", "MUFU"),
    ptx("div.approx.ftz.f32", "f:ff", "MUFU"),
    ptx("div.full.f32", "f:ff", "MUFU"),
    ptx("div.full.ftz.f32", "f:ff", "MUFU"),
    code("fast.exp", "r0 = U(__expf(F(w0))); r1 = U(__log2f(F(w0))); r2 = U(__powf(fabsf(F(w0)), 1.5f));", ("f32mid",), 3),
]  # fmt: skip
FORMS: list[Form] = _DENSE + _OTHER
