"""Logic and bit movement: LOP3, PLOP3, SHF, PRMT, POPC, FLO, BREV, SGXT, BMSK, SEL."""

from __future__ import annotations

from ..form import Form, code, ptx

_LOP3 = [
    code(
        f"lop3.{base:02x}-{base + 7:02x}",
        " ".join(
            f'asm volatile("lop3.b32 %0, %1, %2, %3, {base + i};" : "=r"(r{i}) : "r"(w0), "r"(w1), "r"(w2));'
            for i in range(8)
        ),
        ("any", "any", "few"),
        8,
    )
    for base in range(0, 256, 8)
]
_PLOP3 = [
    code(
        f"plop3.{name}",
        f"bool p = (int)w0 < 0, q = (w1 & 1) != 0, s = w2 > w0; r0 = {text};",
        ("u32", "u32", "u32"),
        1,
    )
    for name, text in (
        ("xor3", "(p ^ q ^ s) ? w0 : w1"),
        ("maj", "((p & q) | (q & s) | (p & s)) ? w2 : w0"),
        ("andor", "((p & !q) | s) ? w1 : 7"),
        ("mux", "(p ? q : s) ? w0 + 1 : w2"),
        ("nor", "!(p | q | s)"),
        ("bits", "(unsigned)p | (unsigned)q << 1 | (unsigned)s << 2"),
    )
]
_LOGIC = [
    *(ptx(f"{op}.b32", "u:uu") for op in ("and", "or", "xor")),
    *(ptx(f"{op}.b64", "l:ll") for op in ("and", "or", "xor")),
    *(ptx(f"{op}.b16", "h:hh") for op in ("and", "or", "xor")),
    ptx("not.b32", "u:u"),
    ptx("not.b64", "l:l"),
    ptx("not.b16", "h:h"),
    ptx("cnot.b32", "u:u"),
    ptx("cnot.b64", "l:l"),
    code(
        "lop3.or.predicate",
        'asm volatile("{ .reg .pred p, q; setp.ne.u32 q, %4, 0; lop3.or.b32 %0|p, %2, %3, %4, 0x96, q; '
        'selp.u32 %1, 1, 0, p; }" : "=r"(r0), "=r"(r1) : "r"(w0), "r"(w1), "r"(w2));',
        ("u32", "u32", "few"),
        2,
    ),
]
_SHIFT = [
    *(ptx(op, "u:uu", inputs=("u32", "shift")) for op in ("shl.b32", "shr.u32", "shr.s32", "shr.b32")),
    *(ptx(op, "l:lu", inputs=("u64", "shift")) for op in ("shl.b64", "shr.u64", "shr.s64")),
    *(ptx(op, "h:hu", inputs=("u16", "shift")) for op in ("shl.b16", "shr.u16", "shr.s16")),
    *(
        ptx(f"shf.{d}.{m}.b32", "u:uuu", r"SHF", inputs=("u32", "u32", "shift"))
        for d in "lr"
        for m in ("clamp", "wrap")
    ),
    *(
        code(f"shift.const.{n}", f"u64 x = L(w0, w1); u64 y = x << {n}; long long z = (long long)x >> {n}; r0 = y; "
             f"r1 = y >> 32; r2 = (unsigned)z; r3 = (unsigned)(z >> 32);", ("u64",), 4)
        for n in (1, 7, 31, 32, 33, 63)
    ),
    code("rotate", "r0 = (w0 << (w1 & 31)) | (w0 >> (-w1 & 31)); r1 = __funnelshift_l(w0, w0, w1); "
         "r2 = __funnelshift_rc(w1, w0, w1);", ("u32", "shift"), 3),
]  # fmt: skip
_PERMUTE = [
    ptx("prmt.b32", "u:uuu", "PRMT"),
    *(ptx(f"prmt.b32.{m}", "u:uuu", "PRMT", inputs=("u32", "u32", "shift")) for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")),
    *(
        code(f"prmt.const.{s:04x}", f"r0 = __byte_perm(w0, w1, 0x{s:04x});", ("any", "any"), 1, "PRMT")
        for s in (0x0123, 0x7654, 0x5410, 0x7632, 0x4440, 0x1054)
    ),
    *(
        code(f"prmt.sign.{s:04x}", f'asm volatile("prmt.b32 %0, %1, %2, 0x{s:04x};" : "=r"(r0) : "r"(w0), "r"(w1));',
             ("any", "any"), 1, "PRMT")
        for s in (0x8888, 0xFEDC, 0x9180, 0xBB10)
    ),
]  # fmt: skip
_COUNT = [
    ptx("popc.b32", "u:u", "POPC"),
    ptx("popc.b64", "u:l", "POPC"),
    ptx("clz.b32", "u:u", "FLO"),
    ptx("clz.b64", "u:l", "FLO"),
    ptx("brev.b32", "u:u", "BREV"),
    ptx("brev.b64", "l:l", "BREV"),
    *(ptx(f"bfind.{t}", "u:u", "FLO") for t in ("u32", "s32")),
    *(ptx(f"bfind.shiftamt.{t}", "u:u", r"FLO.*SH") for t in ("u32", "s32")),
    *(ptx(f"bfind.{t}", "u:l", "FLO") for t in ("u64", "s64")),
    *(ptx(f"bfind.shiftamt.{t}", "u:l") for t in ("u64", "s64")),
    ptx("fns.b32", "u:uuu", inputs=("u32", "small", "small")),
    code("ffs", "r0 = __ffs(w0); r1 = __ffsll(L(w0, w1)); r2 = __clzll(L(w0, w1));", ("u64",), 3),
    code("popc.not", "r0 = __popc(~w0); r1 = __popc(w0 & w1);", ("u32", "u32"), 2),
]
_FIELD = [
    *(ptx(f"bfe.{t}", "u:uuu", inputs=("u32", "shift", "shift")) for t in ("u32", "s32")),
    *(ptx(f"bfe.{t}", "l:luu", inputs=("u64", "shift", "shift")) for t in ("u64", "s64")),
    ptx("bfi.b32", "u:uuuu", inputs=("u32", "u32", "shift", "shift")),
    ptx("bfi.b64", "l:lluu", inputs=("u64", "u64", "shift", "shift")),
    *(ptx(f"szext.{m}.{t}", "u:uu", "SGXT", inputs=("u32", "shift")) for m in ("clamp", "wrap") for t in ("u32", "s32")),
    *(ptx(f"bmsk.{m}.b32", "u:uu", "BMSK", inputs=("shift", "shift")) for m in ("clamp", "wrap")),
    *(code(f"bfe.const.{p}.{n}", f"r0 = w0 >> {p} & {(1 << n) - 1}; r1 = (int)(w0 << {32 - p - n}) >> {32 - n};", ("u32",), 2)
      for p, n in ((8, 8), (3, 5), (16, 16), (0, 12))),
    *(ptx(f"slct.{a}.s32", "u:uuu") for a in ("b32", "u32")),
    ptx("slct.f32.f32", "f:fff"),
    ptx("slct.b64.s32", "l:llu"),
    code("select", "r0 = (int)w0 < 0 ? w1 : w2; r1 = w0 & 1 ? 5 : w1; r2 = F(w0) > 0.f ? w1 : U(-F(w2));",
         ("u32", "u32", "u32"), 3),
    code("fsel", "r0 = U((int)w0 < 0 ? F(w1) : -F(w2)); r1 = U((int)w0 < 5 ? fabsf(F(w1)) : 1.5f);",
         ("u32", "f32", "f32"), 2),
]  # fmt: skip
FORMS: list[Form] = _LOP3 + _PLOP3 + _LOGIC + _SHIFT + _PERMUTE + _COUNT + _FIELD
