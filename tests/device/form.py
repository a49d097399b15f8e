"""One form: a small kernel whose SASS holds the instruction under test."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# letter: (C type, asm constraint, words, C expression from input words, C statements storing the result)
_TYPES = {
    "u": ("unsigned", "r", 1, "w{0}", "r{0} = {v};"),
    "f": ("float", "f", 1, "F(w{0})", "r{0} = U({v});"),
    "h": ("unsigned short", "h", 1, "(unsigned short)w{0}", "r{0} = {v};"),
    "l": (
        "unsigned long long",
        "l",
        2,
        "L(w{0}, w{1})",
        "r{0} = (unsigned){v}; r{1} = (unsigned)({v} >> 32);",
    ),
    "d": ("double", "d", 2, "D(w{0}, w{1})", "r{0} = __double2loint({v}); r{1} = __double2hiint({v});"),
}

# operand type of inputs.py used for each letter unless a form names others
_DEFAULT_INPUT = {"u": "u32", "f": "f32", "h": "u16", "l": "u64", "d": "f64"}


@dataclass(frozen=True)
class Form:
    """A kernel body over input words `w0..` that sets result words `r0..`.

    `inputs` names operand types of `inputs.py`; together they fix the input words and the thread count.
    `expect` is a regular expression one SASS opcode of the kernel must match.
    `patch` = (opcode regular expression, immediate): the built code gets that 32-bit immediate, for operands
    that the compiler never leaves alone (the 1/(2 pi) in front of MUFU.SIN).
    """

    name: str
    body: str
    inputs: tuple[str, ...]
    outputs: int = 1
    expect: str = ""
    block: int = 128
    patch: tuple[str, int] | None = None

    @property
    def symbol(self) -> str:
        """Kernel symbol, unique inside a family."""
        return "k_" + re.sub(r"[^A-Za-z0-9]", "_", self.name)


def _operand(letter: str, word: int) -> str:
    return _TYPES[letter][3].format(word, word + 1)


def ptx(
    op: str,
    sig: str,
    expect: str = "",
    inputs: Iterable[str] = (),
    tail: str = "",
    name: str = "",
) -> Form:
    """Form around one PTX instruction; `sig` is "outputs:inputs" in type letters, `tail` more asm operands."""
    outs, ins = sig.split(":")
    declare, store, results, sources, word = [], [], [], [], 0
    for i, letter in enumerate(outs):
        ctype, constraint, words, _, put = _TYPES[letter]
        declare.append(f"{ctype} o{i};")
        results.append(f'"={constraint}"(o{i})')
        store.append(put.format(word, word + 1, v=f"o{i}"))
        word += words
    outputs, word = word, 0
    for letter in ins:
        sources.append(f'"{_TYPES[letter][1]}"({_operand(letter, word)})')
        word += _TYPES[letter][2]
    text = ", ".join(f"%{i}" for i in range(len(outs) + len(ins))) + tail
    asm = f'asm volatile("{op} {text};" : {", ".join(results)} : {", ".join(sources)});'
    kinds = tuple(inputs) or tuple(_DEFAULT_INPUT[x] for x in ins)
    body = " ".join([*declare, asm, *store])
    return Form(name or op + tail.replace(", ", "_"), body, kinds, outputs, expect)


def pred(op: str, sig: str, expect: str = "", inputs: Iterable[str] = (), tail: str = "") -> Form:
    """Form around a PTX instruction whose result is one predicate; the result word is 1 where it is true.

    The predicate guards a store, since ptxas may turn a comparison round when it feeds a select.
    """
    sources, word = [], 0
    for letter in sig:
        sources.append(f'"{_TYPES[letter][1]}"({_operand(letter, word)})')
        word += _TYPES[letter][2]
    text = ", ".join(f"%{i + 1}" for i in range(len(sig))) + tail
    asm = (
        f'asm volatile("{{ .reg .pred p; {op} p, {text}; @p st.global.u32 [%0], 1; }}" :: "l"(mem), '
        f'{", ".join(sources)} : "memory"); r0 = *(volatile unsigned*)mem;'
    )
    kinds = tuple(inputs) or tuple(_DEFAULT_INPUT[x] for x in sig)
    return Form(op, asm, kinds, 1, expect)


def code(
    name: str,
    body: str,
    inputs: Iterable[str],
    outputs: int = 1,
    expect: str = "",
    block: int = 128,
) -> Form:
    """Form with a free C++ body."""
    return Form(name, body, tuple(inputs), outputs, expect, block)


PRELUDE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#define F(x) __uint_as_float(x)
#define U(x) __float_as_uint(x)
#define L(lo, hi) (((unsigned long long)(hi) << 32) | (lo))
#define D(lo, hi) __hiloint2double(hi, lo)
typedef unsigned long long u64;
template <typename To, typename From> __device__ __forceinline__ To as(From x) {
  static_assert(sizeof(To) == sizeof(From), "size");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
"""


def kernel_source(form: Form, words: int) -> str:
    """C++ text of the kernel; `in` and `out` are arrays of columns, `mem` is 16 zeroed bytes a thread."""
    lines = [
        f'extern "C" __global__ void __launch_bounds__({form.block}) {form.symbol}'
        "(const unsigned* __restrict__ in, unsigned* out, unsigned char* scratch, int n) {",
        "  int t = blockIdx.x * blockDim.x + threadIdx.x;",
        "  unsigned char* mem = scratch + 16 * (size_t)t; (void)mem;",
    ]
    lines += [f"  unsigned w{i} = in[{i} * n + t]; (void)w{i};" for i in range(words)]
    lines.append("  unsigned " + ", ".join(f"r{i} = 0" for i in range(form.outputs)) + ";")
    lines.append(f"  {form.body}")
    lines += [f"  out[{i} * n + t] = r{i};" for i in range(form.outputs)]
    lines.append("}")
    return "\n".join(lines) + "\n"
