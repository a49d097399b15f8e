// binary32 arithmetic: FADD, FMUL, FFMA and their packed forms, in every rounding, with .FTZ and .SAT.
#include "ops/floating.hpp"

#include <cmath>

#include "ops/families.hpp"

namespace warpath {
namespace {

enum class Arith { Add, Mul, Fma };

template <Arith Op>
inline float apply(float a, float b, float c) {
  if constexpr (Op == Arith::Add) {
    return a + b;
  } else if constexpr (Op == Arith::Mul) {
    return a * b;
  } else {
    return __builtin_fmaf(a, b, c);
  }
}

template <Arith Op, bool Ftz, bool Sat>
inline u32 arith_word(u32 a, u32 b, u32 c) {
  const auto read = [](u32 bits) { return as_float(Ftz ? flush32(bits) : bits); };
  const float result = apply<Op>(read(a), read(b), read(c));
  u32 bits = result != result ? kNan32 : as_bits(result);
  if (Ftz) bits = flush32(bits);
  return Sat ? saturate32(bits) : bits;
}

template <Arith Op, bool Sat>
void exec_arith(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32* c = Op == Arith::Fma ? float32(warp, slot(in, kC), sc) : a;
  each_lane(warp, in.operands[0], mask, [=](int i) { return arith_word<Op, false, Sat>(a[i], b[i], c[i]); });
}

// FTZ decides on the value rounded as if exponents had no lower end, so a result that becomes the smallest
// normal only by denormal rounding is flushed too. Sums cannot do that.
template <Arith Op>
void flush_rounded_up(const u32* a, const u32* b, const u32* c, u32* out, Round mode) {
  constexpr u32 smallest = 0x00800000u;
  const u32 suspects = lanes_where([=](int i) { return (out[i] & 0x7fffffffu) == smallest; });
  for_lanes(suspects, [=](u32 i) {
    const double product = static_cast<double>(as_float(flush32(a[i]))) * as_float(flush32(b[i]));
    const double exact = Op == Arith::Fma ? add_to_odd(product, as_float(flush32(c[i]))) : product;
    const u32 scaled = round_to(kBinary32, exact * 0x1p64, mode) & 0x7fffffffu;
    if (scaled < smallest + (64u << 23)) out[i] &= 0x80000000u;
  });
}

// One row under a directed rounding; not inlined, see HostRounding.
template <Arith Op, bool Ftz, bool Sat>
[[gnu::noinline]] void arith_row(const u32* a, const u32* b, const u32* c, u32* out) {
  for (int i = 0; i < kLanes; ++i) out[i] = arith_word<Op, Ftz, Sat>(a[i], b[i], c[i]);
}

// Any rounding, with or without FTZ.
template <Arith Op, bool Ftz, bool Sat>
void exec_careful(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc, result;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32* c = Op == Arith::Fma ? float32(warp, slot(in, kC), sc) : a;
  const Round mode = static_cast<Round>(in.flags);
  if (mode == Round::Nearest) {
    arith_row<Op, Ftz, Sat>(a, b, c, result.v);
  } else {
    const HostRounding scope(mode);
    arith_row<Op, Ftz, Sat>(a, b, c, result.v);
  }
  if (Ftz && Op != Arith::Add) flush_rounded_up<Op>(a, b, c, result.v, mode);
  store32(warp, in.operands[0], result.v, mask);
}

template <Arith Op>
void pick_arith(const InstrText& text, Instr& out) {
  static constexpr ExecFn careful[] = {exec_careful<Op, false, false>, exec_careful<Op, false, true>,
                                       exec_careful<Op, true, false>, exec_careful<Op, true, true>};
  const Round mode = rounding(text);
  const bool flush = text.has("FTZ"), saturate = text.has("SAT");
  out.flags = static_cast<u32>(mode);
  if (mode != Round::Nearest || flush) {
    out.exec = careful[(flush ? 2 : 0) + (saturate ? 1 : 0)];
  } else {
    out.exec = saturate ? exec_arith<Op, true> : exec_arith<Op, false>;
  }
}

// Flags of a scaled product, above the two bits of the rounding; the exponent is stored with an offset.
constexpr u32 kScaledFtz = 4, kScaledSat = 8, kScaleShift = 4;
constexpr i32 kScaleOffset = 8;

// FMUL.D2 .. .M8: the exact product is scaled by a power of two before the only rounding.
void exec_scaled(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, result;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const Round mode = static_cast<Round>(in.flags & 3);
  const bool flush = in.flags & kScaledFtz;
  const double scale = std::ldexp(1.0, static_cast<i32>(in.flags >> kScaleShift) - kScaleOffset);
  for (int i = 0; i < kLanes; ++i) {
    const double x = as_float(flush ? flush32(a[i]) : a[i]), y = as_float(flush ? flush32(b[i]) : b[i]);
    const double product = x * y * scale;  // exact: 48 bits, exponents far inside binary64
    u32 bits = product != product ? kNan32 : static_cast<u32>(round_to(kBinary32, product, mode));
    if (flush) bits = flush32(bits);
    result.v[i] = in.flags & kScaledSat ? saturate32(bits) : bits;
  }
  store32(warp, in.operands[0], result.v, mask);
}

// The exponent that a scale modifier stands for, 0 without one.
i32 scale_exponent(const InstrText& text) {
  static constexpr struct {
    const char* name;
    i32 exponent;
  } kScales[] = {{"D2", -1}, {"D4", -2}, {"D8", -3}, {"M2", 1}, {"M4", 2}, {"M8", 3}};
  for (const auto& scale : kScales) {
    if (text.has(scale.name)) return scale.exponent;
  }
  return 0;
}

// The lower or upper half of a packed pair of binary32 values.
Operand half_operand(const Operand& op, int half) {
  Operand part = op;
  if (half == 0) return part;
  if (op.kind == OperandKind::Const) {
    part.value += 4;
  } else if (op.reg != kRZ) {
    ++part.reg;
  }
  return part;
}

constexpr u32 kPackedFtz = 4;  // above the two bits of the rounding

template <Arith Op>
void exec_packed(Warp& warp, const Instr& in, u32 mask) {
  Row result[2];
  for (int half = 0; half < 2; ++half) {
    Row sa, sb, sc;
    const u32* a = float32(warp, half_operand(slot(in, kA), half), sa);
    const u32* b = float32(warp, half_operand(slot(in, kB), half), sb);
    const u32* c = Op == Arith::Fma ? float32(warp, half_operand(slot(in, kC), half), sc) : a;
    u32* out = result[half].v;
    const bool flush = in.flags & kPackedFtz;
    const Round mode = static_cast<Round>(in.flags & 3);
    {
      const HostRounding scope(mode);
      if (flush) {
        arith_row<Op, true, false>(a, b, c, out);
      } else {
        arith_row<Op, false, false>(a, b, c, out);
      }
    }
    if (flush && Op != Arith::Add) flush_rounded_up<Op>(a, b, c, out, mode);
  }
  for (int half = 0; half < 2; ++half)
    store32(warp, half_operand(in.operands[0], half), result[half].v, mask);
}

constexpr Latency kFixed = Latency::Fixed;

constexpr OpDecl kOps[] = {
    {"FADD", "FTZ SAT RM RP RZ", Pipe::Fma, kFixed, bind_fadd},
    {"FMUL", "FTZ SAT RM RP RZ D2 D4 D8 M2 M4 M8", Pipe::Fma, kFixed, bind_fmul},
    {"FFMA", "FTZ SAT RM RP RZ", Pipe::Fma, kFixed, bind_ffma},
    {"FADD2", "FTZ RM RP RZ", Pipe::Fma, kFixed, bind_packed},
    {"FMUL2", "FTZ RM RP RZ", Pipe::Fma, kFixed, bind_packed},
    {"FFMA2", "FTZ RM RP RZ", Pipe::Fma, kFixed, bind_packed},
    {"FSETP", "LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR", Pipe::Alu, kFixed,
     bind_fsetp},
    {"FSET", "LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR BF", Pipe::Alu, kFixed,
     bind_fset},
    {"FSEL", "FTZ", Pipe::Alu, kFixed, bind_fsel},
    {"FMNMX", "FTZ NAN XORSIGN", Pipe::Alu, kFixed, bind_fmnmx},
    {"FMNMX3", "FTZ NAN", Pipe::Alu, kFixed, bind_fmnmx3},
    {"FCHK", "DIVIDE", Pipe::Xu, Latency::Variable, bind_fchk},
};

}  // namespace

std::string bind_fadd(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
  pick_arith<Arith::Add>(text, out);
  return "";
}

std::string bind_fmul(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
  pick_arith<Arith::Mul>(text, out);
  if (const i32 exponent = scale_exponent(text); exponent != 0) {
    out.flags = static_cast<u32>(rounding(text)) | (text.has("FTZ") ? kScaledFtz : 0) |
                (text.has("SAT") ? kScaledSat : 0) | static_cast<u32>(exponent + kScaleOffset) << kScaleShift;
    out.exec = exec_scaled;
  }
  return "";
}

std::string bind_ffma(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  pick_arith<Arith::Fma>(text, out);
  return "";
}

std::string bind_packed(const InstrText& text, Instr& out) {
  const bool fma = text.mnemonic == "FFMA2";
  if (match_float_slots(text, out, {fma ? "dabc" : "dab"}) < 0) return refuse_operands(text);
  for (std::size_t i = 1; i < text.operands.size(); ++i) {
    const bool pair = text.operand_texts[i].find(".F32x2.HI_LO") != std::string::npos;
    if (!pair || text.operands[i].kind == OperandKind::Imm) return refuse_operands(text);
  }
  out.flags = static_cast<u32>(rounding(text)) | (text.has("FTZ") ? kPackedFtz : 0);
  out.exec = fma                        ? exec_packed<Arith::Fma>
             : text.mnemonic == "FADD2" ? exec_packed<Arith::Add>
                                        : exec_packed<Arith::Mul>;
  return "";
}

const Family& floating_family() {
  static constexpr Family family{"floating", kOps};
  return family;
}

}  // namespace warpath
