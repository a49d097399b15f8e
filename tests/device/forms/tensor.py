"""Tensor instructions through mma.sync: HMMA, IMMA, BMMA, DMMA in every shape sm_90 has.

`exact` forms use small integers, whose products and sums are exact whatever the adder does. `full` forms use
random values; `special` forms carry NaN, infinity and denormals.
"""

from __future__ import annotations

from ..form import Form, code


def _mma(shape: str, layout: str, types: str, words: tuple[int, int, int], letter: str, operands: tuple[str, str], how: str,
         expect: str, extra: str = "") -> Form:
    """One mma.sync; `words` are the 32-bit registers of A, B and C, `letter` the C/D constraint (f, r or d)."""
    a, b, c = words
    registers = c // 2 if letter == "d" else c
    accumulators, word = [], a + b
    for i in range(registers):
        if letter == "d":
            accumulators.append(f"D(w{word}, w{word + 1})")
            word += 2
        else:
            accumulators.append(f"F(w{word})" if letter == "f" else f"w{word}")
            word += 1
    ctype = {"f": "float", "r": "unsigned", "d": "double"}[letter]
    double_in = operands[0].startswith("f64")
    na, nb = (a // 2, b // 2) if double_in else (a, b)
    source = (
        [f'"d"(D(w{2 * i}, w{2 * i + 1}))' for i in range(na + nb)]
        if double_in
        else [f'"r"(w{i})' for i in range(a + b)]
    )
    holes = iter(range(100))

    def group(n: int) -> str:
        return "{" + ", ".join(f"%{next(holes)}" for _ in range(n)) + "}"

    groups = [group(registers), group(na), group(nb), group(registers)]
    outs = ", ".join(f'"=%s"(x{i})' % letter for i in range(registers))
    ins = ", ".join(source + [f'"{letter}"({x})' for x in accumulators])
    store = " ".join(
        f"r{2 * i} = __double2loint(x{i}); r{2 * i + 1} = __double2hiint(x{i});" if letter == "d"
        else f"r{i} = U(x{i});" if letter == "f" else f"r{i} = x{i};"
        for i in range(registers)
    )
    declare = " ".join(f"{ctype} x{i};" for i in range(registers))
    text = f'{declare} asm volatile("mma.sync.aligned.{shape}.{layout}{types}{extra} {", ".join(groups)};" : {outs} : {ins}); {store}'
    per = 2 if double_in else 1
    inputs = (operands[0],) * ((a + b) // per) + (operands[1],) * (c // (2 if letter == "d" else 1))
    return code(f"mma.{shape}{types}{extra}.{how}", text, inputs, c, expect)


_FLOAT_SHAPES = (
    ("m16n8k16", ".f32.f16.f16.f32", (4, 2, 4), "f", "h2", "f32"), ("m16n8k8", ".f32.f16.f16.f32", (2, 1, 4), "f", "h2", "f32"),
    ("m16n8k16", ".f16.f16.f16.f16", (4, 2, 2), "r", "h2", "h2"), ("m16n8k8", ".f16.f16.f16.f16", (2, 1, 2), "r", "h2", "h2"),
    ("m16n8k16", ".f32.bf16.bf16.f32", (4, 2, 4), "f", "b2", "f32"), ("m16n8k8", ".f32.bf16.bf16.f32", (2, 1, 4), "f", "b2", "f32"),
    ("m16n8k8", ".f32.tf32.tf32.f32", (4, 2, 4), "f", "f32", "f32"), ("m16n8k4", ".f32.tf32.tf32.f32", (2, 1, 4), "f", "f32", "f32"),
)  # fmt: skip
_FLOAT = [
    _mma(shape, "row.col", types, words, letter, (a + suffix, c + suffix), how, "HMMA")
    for shape, types, words, letter, a, c in _FLOAT_SHAPES
    for how, suffix in (("exact", "int"), ("full", "mid"), ("special", ""))
]
_DOUBLE = [
    _mma(shape, "row.col", ".f64.f64.f64.f64", words, "d", ("f64" + suffix, "f64" + suffix), how, "DMMA")
    for shape, words in (("m8n8k4", (2, 2, 4)), ("m16n8k4", (4, 2, 8)), ("m16n8k8", (8, 4, 8)), ("m16n8k16", (16, 8, 8)))
    for how, suffix in (("exact", "int"), ("full", "mid"), ("special", ""))
]
_INTEGER = [
    _mma(shape, "row.col", f".s32.{a}.{b}.s32", words, "r", ("any", "u32"), "full", "IMMA", extra)
    for shape, kind, words in (
        ("m8n8k16", "8", (1, 1, 2)), ("m16n8k16", "8", (2, 1, 4)), ("m16n8k32", "8", (4, 2, 4)),
    )
    for a, b in (("s" + kind, "s" + kind), ("u" + kind, "u" + kind), ("u" + kind, "s" + kind), ("s" + kind, "u" + kind))
    for extra in ("",)
] + [
    _mma(shape, "row.col", f".satfinite.s32.{a}.{b}.s32", words, "r", ("any", "u32"), "sat", "IMMA")
    for shape, a, b, words in (("m16n8k32", "s8", "s8", (4, 2, 4)), ("m16n8k16", "u8", "s8", (2, 1, 4)), ("m8n8k16", "u8", "u8", (1, 1, 2)))
] + [
    _mma(shape, "row.col", f".s32.{t}.{t}.s32", words, "r", ("any", "u32"), "full", "")
    for shape, words in (("m8n8k32", (1, 1, 2)), ("m16n8k32", (2, 1, 4)), ("m16n8k64", (4, 2, 4)))
    for t in ("s4", "u4")
] + [
    _mma(shape, "row.col", ".s32.b1.b1.s32", words, "r", ("any", "u32"), "full", "", f".{op}.popc")
    for shape, words in (("m8n8k128", (1, 1, 2)), ("m16n8k128", (2, 1, 4)), ("m16n8k256", (4, 2, 4)))
    for op in ("and", "xor")
]  # fmt: skip
_FP8 = [
    _mma(shape, "row.col", f".f32.{a}.{b}.f32", words, "f", ("any", "f32mid"), "full", "")
    for shape, words in (("m16n8k32", (4, 2, 4)),)
    for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"))
]
FORMS: list[Form] = _FLOAT + _DOUBLE + _INTEGER + _FP8
