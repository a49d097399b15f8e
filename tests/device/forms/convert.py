"""Conversions: F2I, I2F, I2FP, F2F, F2FP, FRND, HADD2.F32, I2I with saturation, fp8 and tf32."""

from __future__ import annotations

from ..form import Form, ptx

_INT = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
_LETTER = {"s8": "u", "u8": "u", "s16": "h", "u16": "h", "s32": "u", "u32": "u", "s64": "l", "u64": "l"}
_FLOAT = {"f16": ("h", "f16"), "f32": ("f", "f32"), "f64": ("d", "f64"), "bf16": ("h", "bf16")}
_TO_INT = [
    ptx(f"cvt.{r}{z}.{i}.{f}", f"{_LETTER[i]}:{letter}", inputs=(kind,))
    for f, (letter, kind) in _FLOAT.items()
    for i in _INT
    for r in ("rni", "rzi", "rmi", "rpi")
    for z in ("", ".ftz")
    if (not z or (f == "f32" and r in ("rni", "rpi")))
    and (f != "bf16" or (r in ("rni", "rzi") and i not in ("s8", "u8")))
]
_FROM_INT = [
    ptx(f"cvt.{r}.{f}.{i}", f"{letter}:{_LETTER[i]}", inputs=("s64e",) if i in ("s64", "u64") else ())
    for f, (letter, _) in _FLOAT.items()
    for i in _INT
    for r in ("rn", "rz", "rm", "rp")
    if (r == "rn" or (f != "bf16" and i in ("s32", "u32", "s64", "u64")))
    and (f != "bf16" or i not in ("s8", "u8"))
]
_FLOAT_FLOAT = [
    *(ptx(f"cvt.{r}{z}.f32.f64", "f:d") for r in ("rn", "rz", "rm", "rp") for z in ("", ".ftz")),
    ptx("cvt.rn.sat.f32.f64", "f:d"),
    ptx("cvt.f64.f32", "d:f"),
    ptx("cvt.ftz.f64.f32", "d:f"),
    ptx("cvt.sat.f64.f32", "d:f"),
    *(ptx(f"cvt.{r}{z}.f16.f32", "h:f") for r in ("rn", "rz", "rm", "rp") for z in ("", ".ftz")),
    ptx("cvt.rn.sat.f16.f32", "h:f"),
    ptx("cvt.f32.f16", "f:h", inputs=("f16",)),
    ptx("cvt.ftz.f32.f16", "f:h", inputs=("f16",)),
    ptx("cvt.sat.f32.f16", "f:h", inputs=("f16",)),
    ptx("cvt.f64.f16", "d:h", inputs=("f16",)),
    *(ptx(f"cvt.{r}.f16.f64", "h:d") for r in ("rn", "rz", "rm", "rp")),
    ptx("cvt.f32.bf16", "f:h", inputs=("bf16",)),
    ptx("cvt.f64.bf16", "d:h", inputs=("bf16",)),
    ptx("cvt.rn.bf16.f64", "h:d"),
    *(ptx(f"cvt.{r}{relu}.bf16.f32", "h:f") for r in ("rn", "rz") for relu in ("", ".relu")),
    *(
        ptx(f"cvt.{r}{relu}.{t}x2.f32", "u:ff", "F2FP")
        for r in ("rn", "rz")
        for relu in ("", ".relu")
        for t in ("f16", "bf16")
    ),
    *(ptx(f"cvt.{r}{relu}.f16.f32", "h:f") for r in ("rn", "rz") for relu in (".relu",)),
    *(ptx(f"cvt.rn{relu}.tf32.f32", "u:f") for relu in ("", ".relu")),
    ptx("cvt.rz.tf32.f32", "u:f"),
    ptx("cvt.rna.tf32.f32", "u:f"),
    ptx("cvt.rna.satfinite.tf32.f32", "u:f"),
    ptx("cvt.rn.bf16.f16", "h:h", inputs=("f16",)),
    ptx("cvt.rn.f16.bf16", "h:h", inputs=("bf16",)),
    ptx("cvt.rz.f16.bf16", "h:h", inputs=("bf16",)),
    *(
        ptx(f"cvt.{r}{z}.f32.f32", "f:f", name=f"frnd.{r}{z}.f32")
        for r in ("rni", "rzi", "rmi", "rpi")
        for z in ("", ".ftz")
    ),
    *(ptx(f"cvt.{r}.sat.f32.f32", "f:f") for r in ("rni", "rmi")),
    *(ptx(f"cvt.{r}.f64.f64", "d:d") for r in ("rni", "rzi", "rmi", "rpi")),
    *(ptx(f"cvt.{r}.f16.f16", "h:h", inputs=("f16",)) for r in ("rni", "rzi", "rmi", "rpi")),
    *(ptx(f"cvt.{r}.bf16.bf16", "h:h", inputs=("bf16",)) for r in ("rni", "rzi", "rmi", "rpi")),
    ptx("cvt.sat.f32.f32", "f:f"),
    ptx("cvt.ftz.f32.f32", "f:f"),
    ptx("cvt.ftz.sat.f32.f32", "f:f"),
    ptx("cvt.sat.f64.f64", "d:d"),
]
_FP8 = [
    *(
        ptx(f"cvt.rn.satfinite{relu}.{t}.f32", "h:ff", "F2FP")
        for t in ("e4m3x2", "e5m2x2")
        for relu in ("", ".relu")
    ),
    *(
        ptx(f"cvt.rn.satfinite{relu}.{t}.f16x2", "h:u", "F2FP", inputs=("h2",))
        for t in ("e4m3x2", "e5m2x2")
        for relu in ("", ".relu")
    ),
    *(
        ptx(f"cvt.rn{relu}.f16x2.{t}", "u:h", "F2FP", inputs=("bytes2",))
        for t in ("e4m3x2", "e5m2x2")
        for relu in ("", ".relu")
    ),
]
# every pair of bytes
_FP8 += [
    ptx(f"cvt.rn.f16x2.{t}", "u:h", "F2FP", inputs=("all16",), name=f"all.{t}") for t in ("e4m3x2", "e5m2x2")
]
_INT_INT = [
    ptx(f"cvt{sat}.{o}.{i}", f"{_LETTER[o]}:{_LETTER[i]}", name=f"i2i{sat}.{o}.{i}")
    for i in ("s32", "u32", "s64", "u64", "s16")
    for o in _INT
    for sat in ("", ".sat")
    if o != i and not (sat and o[1:] == "64" and i[1:] != "64") and (sat, o, i) != (".sat", "s32", "s16")
]
_PACK = [
    *(ptx(f"cvt.pack.sat.{t}.s32", "u:uu") for t in ("s16", "u16")),
    *(ptx(f"cvt.pack.sat.{t}.s32.b32", "u:uuu") for t in ("s8", "u8")),
]
FORMS: list[Form] = _TO_INT + _FROM_INT + _FLOAT_FLOAT + _FP8 + _INT_INT + _PACK
