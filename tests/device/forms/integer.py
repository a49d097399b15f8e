"""Integer arithmetic: IADD3, IMAD, VIMNMX, VIADDMNMX, IABS, IDP, carries, video SIMD."""

from __future__ import annotations

from ..form import Form, code, ptx

_SIMPLE = [
    ptx(f"{op}.{t}", "u:uu")
    for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem")
    for t in ("s32", "u32")
] + [
    ptx(f"{op}.{t}", "l:ll", inputs=("u64", "s64e"))
    for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem")
    for t in ("s64", "u64")
]
_WIDE = [
    *(ptx(f"mul.wide.{t}", "l:uu", r"IMAD\.WIDE") for t in ("s32", "u32")),
    *(ptx(f"mad.wide.{t}", "l:uul", r"IMAD\.WIDE") for t in ("s32", "u32")),
    *(ptx(f"mul.wide.{t}", "u:hh") for t in ("s16", "u16")),
    *(ptx(f"mul.{p}.{t}", "h:hh") for p in ("lo", "hi") for t in ("s16", "u16")),
    *(ptx(f"mad.lo.{t}", "h:hhh") for t in ("s16", "u16")),
    *(ptx(f"mad.{p}.{t}", "u:uuu") for p in ("lo", "hi") for t in ("s32", "u32")),
    ptx("mad.hi.sat.s32", "u:uuu"),
    ptx("add.sat.s32", "u:uu"),
    ptx("sub.sat.s32", "u:uu"),
    *(ptx(f"mad.{p}.{t}", "l:lll") for p in ("lo", "hi") for t in ("s64", "u64")),
    *(ptx(f"mul24.{p}.{t}", "u:uu") for p in ("lo", "hi") for t in ("s32", "u32")),
    *(ptx(f"mad24.{p}.{t}", "u:uuu") for p in ("lo", "hi") for t in ("s32", "u32")),
    *(ptx(f"sad.{t}", "u:uuu") for t in ("s32", "u32")),
    *(ptx(f"sad.{t}", "h:hhh") for t in ("s16", "u16")),
    *(ptx(f"abs.{t}", "u:u", r"IABS") for t in ("s32",)),
    ptx("abs.s64", "l:l"),
    ptx("neg.s32", "u:u"),
    ptx("neg.s64", "l:l"),
    ptx("neg.s16", "h:h"),
    ptx("abs.s16", "h:h"),
    *(ptx(f"{op}.{t}", "h:hh") for op in ("add", "sub", "min", "max", "div", "rem") for t in ("s16", "u16")),
    *(ptx(f"{op}.{t}x2", "u:uu") for op in ("min", "max") for t in ("s16", "u16")),
    *(ptx(f"add.{t}x2", "u:uu") for t in ("s16", "u16")),
    *(ptx(f"{op}.s16x2.relu", "u:uu") for op in ("min", "max")),
    *(ptx(f"{op}.relu.s32", "u:uu") for op in ("min", "max")),
]
_CARRY = [
    code(
        f"carry.{first}.{last}",
        f'asm volatile("{first}.cc.u32 %0, %3, %5; {last}.cc.u32 %1, %4, %6; {last}.u32 %2, 0, 0;" '
        ': "=r"(r0), "=r"(r1), "=r"(r2) : "r"(w0), "r"(w1), "r"(w2), "r"(w3));',
        ("u64", "s64e"),
        3,
    )
    for first, last in (("add", "addc"), ("sub", "subc"))
] + [
    code(
        "carry.mad",
        'asm volatile("mad.lo.cc.u32 %0, %3, %4, %5; madc.hi.cc.u32 %1, %3, %4, %6; madc.lo.u32 %2, %5, %6, 0;" '
        ': "=r"(r0), "=r"(r1), "=r"(r2) : "r"(w0), "r"(w1), "r"(w2), "r"(w3));',
        ("u64", "s64e"),
        3,
    ),
    code(
        "carry.mad.signed",
        'asm volatile("mad.lo.cc.s32 %0, %3, %4, %5; madc.hi.cc.s32 %1, %3, %4, %6; addc.s32 %2, %5, %6;" '
        ': "=r"(r0), "=r"(r1), "=r"(r2) : "r"(w0), "r"(w1), "r"(w2), "r"(w3));',
        ("u64", "s64e"),
        3,
    ),
    code(
        "carry.add128",
        "unsigned __int128 x = ((unsigned __int128)L(w0, w1) << 64) | L(w2, w3), "
        "y = ((unsigned __int128)L(w4, w5) << 64) | L(w6, w7), z = x + y; r0 = (unsigned)z; "
        "r1 = (unsigned)(z >> 32); r2 = (unsigned)(z >> 64); r3 = (unsigned)(z >> 96);",
        ("u64", "s64e", "u64", "s64e"),
        4,
    ),
    code(
        "mul128",
        "unsigned __int128 z = (unsigned __int128)L(w0, w1) * L(w2, w3); r0 = (unsigned)z; "
        "r1 = (unsigned)(z >> 32); r2 = (unsigned)(z >> 64); r3 = (unsigned)(z >> 96);",
        ("u64", "u64"),
        4,
    ),
]
_THREE = (
    [
        code(f"iadd3.{name}", f"r0 = {text};", ("u32", "u32", "u32"), 1, "IADD3")
        for name, text in (
            ("plain", "w0 + w1 + w2"),
            ("neg1", "w0 - w1 + w2"),
            ("neg2", "w0 - w1 - w2"),
            ("const", "w0 + w1 + 0x12345"),
            ("notneg", "~w0 + w1 - w2"),
        )
    ]
    + [
        code(f"lea.{n}", f"r0 = (w0 << {n}) + w1; r1 = (w0 << {n}) - w1;", ("u32", "u32"), 2)
        for n in (1, 3, 7, 31)
    ]
    + [
        code(
            f"lea64.{n}", f"u64 x = (L(w0, w1) << {n}) + L(w2, w3); r0 = x; r1 = x >> 32;", ("u64", "u64"), 2
        )
        for n in (2, 5)
    ]
    + [
        code(
            f"lea.hi.sx32.{n}",
            f"u64 x = ((long long)(int)w0 << {n}) + L(w1, w2); r0 = x; r1 = x >> 32;",
            ("u32", "u64"),
            2,
        )
        for n in (2, 4)
    ]
    + [
        code(
            f"div.const.{n}",
            f"r0 = w0 / {n}u; r1 = w0 % {n}u; r2 = (int)w0 / {n}; r3 = (int)w0 % {n};",
            ("u32",),
            4,
        )
        for n in (3, 7, 10, 8, 1000003)
    ]
)
_TYPES3 = ("s32", "u32", "s16x2", "u16x2")
_MINMAX = [
    *(
        code(f"{op}.{t}{relu}", f"r0 = __{op}_{t}{relu}(w0, w1, w2);", ("u32", "u32", "u32"))
        for op in ("vimax3", "vimin3", "viaddmax", "viaddmin")
        for t in _TYPES3
        for relu in ("", "_relu")
        if not (relu and t.startswith("u"))
    ),
    *(
        code(f"{op}.{t}_relu", f"r0 = __{op}_{t}_relu(w0, w1);", ("u32", "u32"))
        for op in ("vimax", "vimin")
        for t in ("s32", "s16x2")
    ),
    *(
        code(f"{op}.{t}", f"bool p; r0 = __{op}_{t}(w0, w1, &p); r1 = p;", ("u32", "u32"), 2)
        for op in ("vibmax", "vibmin")
        for t in ("s32", "u32")
    ),
    *(
        code(f"{op}.{t}", f"bool p, q; r0 = __{op}_{t}(w0, w1, &p, &q); r1 = p + 2 * q;", ("u32", "u32"), 2)
        for op in ("vibmax", "vibmin")
        for t in ("s16x2", "u16x2")
    ),
]
_DOT = [
    *(ptx(f"dp4a.{a}.{b}", "u:uuu", r"IDP\.4A") for a in ("u32", "s32") for b in ("u32", "s32")),
    *(
        ptx(f"dp2a.{half}.{a}.{b}", "u:uuu", r"IDP\.2A")
        for half in ("lo", "hi")
        for a in ("u32", "s32")
        for b in ("u32", "s32")
    ),
]
_VIDEO = [
    *(
        code(f"simd.{name}", f"r0 = __{name}(w0, w1);", ("u32", "u32"))
        for name in (
            "vabsdiffs2", "vabsdiffs4", "vabsdiffu2", "vabsdiffu4", "vadd2", "vadd4", "vaddss2", "vaddss4", "vaddus2",
            "vaddus4", "vavgs2", "vavgs4", "vavgu2", "vavgu4", "vcmpeq2", "vcmpeq4", "vcmpges4", "vcmpgeu2", "vcmpgts2",
            "vcmpltu4", "vhaddu2", "vhaddu4", "vmaxs2", "vmaxs4", "vmaxu2", "vmaxu4", "vmins4", "vminu4", "vsadu4",
            "vsads2", "vsetles4", "vsetltu2", "vsub2", "vsub4", "vsubss2", "vsubus4", "vsads4",
        )
    ),
    *(code(f"simd.{name}", f"r0 = __{name}(w0);", ("u32",)) for name in ("vabs2", "vabs4", "vabsss4", "vneg2", "vnegss4")),
    *(
        ptx(f"{op}.s32.s32.s32", "u:uu")
        for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
    ),
    ptx("vadd.s32.u32.s32.sat", "u:uu"),
    ptx("vmad.s32.s32.u32.shr7", "u:uuu"),
    ptx("vshl.u32.u32.u32.clamp", "u:uu", inputs=("u32", "shift")),
    code("hadd.signed", "r0 = __hadd((int)w0, (int)w1); r1 = __rhadd((int)w0, (int)w1); r2 = __uhadd(w0, w1); "
         "r3 = __urhadd(w0, w1);", ("u32", "u32"), 4),
    code("mul24.intrinsic", "r0 = __mul24((int)w0, (int)w1); r1 = __umul24(w0, w1);", ("u32", "u32"), 2),
]  # fmt: skip
FORMS: list[Form] = _SIMPLE + _WIDE + _CARRY + _THREE + _MINMAX + _DOT + _VIDEO
