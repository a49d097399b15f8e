"""Library functions: long compiler-made sequences over many opcodes, compared bit for bit with the device."""

from __future__ import annotations

from ..form import Form, code

_ONE = (
    "sinf", "cosf", "tanf", "expf", "exp2f", "exp10f", "expm1f", "logf", "log2f", "log10f", "log1pf", "cbrtf", "erff", "erfcf", "tgammaf",
    "lgammaf", "sinhf", "coshf", "tanhf", "asinf", "acosf", "atanf", "asinhf", "acoshf", "atanhf", "rsqrtf", "sqrtf", "j0f", "normcdff", "sinpif",
    "erfinvf",
)  # fmt: skip
_TWO = ("powf", "atan2f", "hypotf", "fmodf", "remainderf")
_DOUBLE = ("sin", "cos", "exp", "log", "sqrt", "cbrt", "atan", "tanh", "log2", "exp2", "rsqrt", "erf")
_SINGLE = [
    *(code(name, f"r0 = U({name}(F(w0)));", ("f32",)) for name in _ONE),
    *(code(name, f"r0 = U({name}(F(w0), F(w1)));", ("f32", "f32mid")) for name in _TWO),
]
_PAIR = "r0 = __double2loint(x); r1 = __double2hiint(x);"
_F64 = [
    *(code(f"double.{name}", f"double x = {name}(D(w0, w1)); {_PAIR}", ("f64",), 2) for name in _DOUBLE),
    code("double.pow", f"double x = pow(D(w0, w1), D(w2, w3)); {_PAIR}", ("f64mid", "f64mid"), 2),
]
_INTEGER = [
    code("xorshift", "unsigned x = w0 | 1; for (int i = 0; i < 20; i++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; } r0 = x;", ("any",)),
    code("crc32", "unsigned c = ~w0; for (int i = 0; i < 32; i++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0); r0 = ~c;", ("any",)),
    code("sha.round", "unsigned a = w0, b = w1, c = w2; for (int i = 0; i < 16; i++) { unsigned s = __funnelshift_r(a, a, 6) ^ __funnelshift_r(a, a, 11) ^ "
         "__funnelshift_r(a, a, 25), m = (a & b) ^ (~a & c); c = b; b = a; a = s + m + i * 0x9e3779b9u; } r0 = a; r1 = b; r2 = c;", ("any", "any", "any"), 3),
    code("gcd", "unsigned a = w0, b = w1; while (b) { unsigned x = a % b; a = b; b = x; } r0 = a;", ("u32", "u32")),
    code("isqrt", "r0 = (unsigned)sqrtf((float)w0); r1 = (unsigned)sqrt((double)w0);", ("u32",), 2),
]  # fmt: skip
FORMS: list[Form] = _SINGLE + _F64 + _INTEGER
