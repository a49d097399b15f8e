"""Tensor instructions through mma.sync: HMMA, IMMA, BMMA, DMMA in every shape sm_90 has.

`exact` forms use small integers, whose products and sums are exact whatever the adder does. `full` forms use
random values; `special` forms carry NaN, infinity and denormals.
"""

from __future__ import annotations

from ..form import Form, code


def _value(letter: str, word: int) -> str:
    return {"d": f"D(w{word}, w{word + 1})", "f": f"F(w{word})", "r": f"w{word}"}[letter]


def _store(letter: str, i: int) -> str:
    pair = f"r{2 * i} = __double2loint(x{i}); r{2 * i + 1} = __double2hiint(x{i});"
    return {"d": pair, "f": f"r{i} = U(x{i});", "r": f"r{i} = x{i};"}[letter]


def _mma(
    shape: str,
    types: str,
    words: tuple[int, int, int],
    letter: str,
    operands: tuple[str, str],
    how: str,
    expect: str,
    extra: str = "",
) -> Form:
    """One mma.sync; `words` are the 32-bit words of A, B and C, `letter` is the C and D constraint (f, r or d)."""
    a, b, c = words
    factor = letter if letter == "d" else "r"  # letter of A and B
    size = 2 if letter == "d" else 1  # words a register
    counts = (c // size, a // size, b // size, c // size)  # D, A, B, C
    starts = [sum(counts[:i]) for i in range(4)]
    groups = [
        "{" + ", ".join(f"%{start + i}" for i in range(n)) + "}"
        for start, n in zip(starts, counts, strict=True)
    ]
    sources = [f'"{factor}"({_value(factor, word)})' for word in range(0, a + b, size)]
    sources += [f'"{letter}"({_value(letter, word)})' for word in range(a + b, a + b + c, size)]
    results = ", ".join(f'"={letter}"(x{i})' for i in range(counts[0]))
    ctype = {"f": "float", "r": "unsigned", "d": "double"}[letter]
    body = " ".join(f"{ctype} x{i};" for i in range(counts[0]))
    body += f' asm volatile("mma.sync.aligned.{shape}.row.col{types}{extra} {", ".join(groups)};" : {results} : {", ".join(sources)}); '
    body += " ".join(_store(letter, i) for i in range(counts[0]))
    inputs = (operands[0],) * (counts[1] + counts[2]) + (operands[1],) * counts[3]
    return code(f"mma.{shape}{types}{extra}.{how}", body, inputs, c, expect)


_FLOAT_SHAPES = (
    ("m16n8k16", ".f32.f16.f16.f32", (4, 2, 4), "f", "h2", "f32"), ("m16n8k8", ".f32.f16.f16.f32", (2, 1, 4), "f", "h2", "f32"),
    ("m16n8k16", ".f16.f16.f16.f16", (4, 2, 2), "r", "h2", "h2"), ("m16n8k8", ".f16.f16.f16.f16", (2, 1, 2), "r", "h2", "h2"),
    ("m16n8k16", ".f32.bf16.bf16.f32", (4, 2, 4), "f", "b2", "f32"), ("m16n8k8", ".f32.bf16.bf16.f32", (2, 1, 4), "f", "b2", "f32"),
    ("m16n8k8", ".f32.tf32.tf32.f32", (4, 2, 4), "f", "f32", "f32"), ("m16n8k4", ".f32.tf32.tf32.f32", (2, 1, 4), "f", "f32", "f32"),
)  # fmt: skip
_FLOAT = [
    _mma(shape, types, words, letter, (a + suffix, c + suffix), how, "HMMA")
    for shape, types, words, letter, a, c in _FLOAT_SHAPES
    for how, suffix in (("exact", "int"), ("full", "mid"), ("special", ""))
]
_DOUBLE = [
    _mma(shape, ".f64.f64.f64.f64", words, "d", ("f64" + suffix, "f64" + suffix), how, "DMMA")
    for shape, words in (
        ("m8n8k4", (2, 2, 4)),
        ("m16n8k4", (4, 2, 8)),
        ("m16n8k8", (8, 4, 8)),
        ("m16n8k16", (16, 8, 8)),
    )
    for how, suffix in (("exact", "int"), ("full", "mid"), ("special", ""))
]
_INTEGER = [
    _mma(shape, f".s32.{a}.{b}.s32", words, "r", ("any", "u32"), "full", "IMMA", extra)
    for shape, kind, words in (
        ("m8n8k16", "8", (1, 1, 2)), ("m16n8k16", "8", (2, 1, 4)), ("m16n8k32", "8", (4, 2, 4)),
    )
    for a, b in (("s" + kind, "s" + kind), ("u" + kind, "u" + kind), ("u" + kind, "s" + kind), ("s" + kind, "u" + kind))
    for extra in ("",)
] + [
    _mma(shape, f".satfinite.s32.{a}.{b}.s32", words, "r", ("any", "u32"), "sat", "IMMA")
    for shape, a, b, words in (("m16n8k32", "s8", "s8", (4, 2, 4)), ("m16n8k16", "u8", "s8", (2, 1, 4)), ("m8n8k16", "u8", "u8", (1, 1, 2)))
] + [
    _mma(shape, f".s32.{t}.{t}.s32", words, "r", ("any", "u32"), "full", "")
    for shape, words in (("m8n8k32", (1, 1, 2)), ("m16n8k32", (2, 1, 4)), ("m16n8k64", (4, 2, 4)))
    for t in ("s4", "u4")
] + [
    _mma(shape, ".s32.b1.b1.s32", words, "r", ("any", "u32"), "full", "", f".{op}.popc")
    for shape, words in (("m8n8k128", (1, 1, 2)), ("m16n8k128", (2, 1, 4)), ("m16n8k256", (4, 2, 4)))
    for op in ("and", "xor")
]  # fmt: skip
_FP8 = [
    _mma(shape, f".f32.{a}.{b}.f32", words, "f", ("any", "f32mid"), "full", "")
    for shape, words in (("m16n8k32", (4, 2, 4)),)
    for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"))
]
FORMS: list[Form] = _FLOAT + _DOUBLE + _INTEGER + _FP8
