// Packed binary16 and bfloat16 arithmetic: HADD2, HMUL2, HFMA2, and the Blackwell mixed FHADD, FHFMA.
#include "ops/half.hpp"

#include "ops/families.hpp"

namespace warpath {
namespace {

enum class Arith { Add, Mul, Fma };

// Flags of the arithmetic ops.
constexpr u32 kBfloat = 1, kFlush = 2, kSat = 4, kRelu = 8, kOob = 16;

// a + b rounded to odd in binary32: exact, or the neighbour whose last bit is set.
inline u32 sum_to_odd(float a, float b) {
  const float sum = a + b;
  const float b_part = sum - a;
  const u32 error = as_bits((a - (sum - b_part)) + (b - b_part));
  const u32 bits = as_bits(sum);
  const u32 finite = (bits & 0x7f800000u) != 0x7f800000u ? 1 : 0;
  const u32 inexact = (error << 1) != 0 ? 1 : 0;
  const u32 adjust = finite & inexact & ~bits & 1;
  // Away from zero when the error has the sum's sign, else towards it.
  return (error ^ bits) >> 31 ? bits - adjust : bits + adjust;
}

template <Arith Op>
inline u32 half_arith(u32 a, u32 b, u32 c) {
  if constexpr (Op == Arith::Add) return sum_to_odd(as_float(a), as_float(b));
  if constexpr (Op == Arith::Mul) return as_bits(as_float(a) * as_float(b));
  return sum_to_odd(as_float(a) * as_float(b), as_float(c));
}

// Clamps the bits of a half; NaN becomes +0 under SAT and stays NaN under RELU.
inline u32 clamp_half(u32 half, u32 flags) {
  const u32 infinity = flags & kBfloat ? 0x7f80 : 0x7c00;
  const u32 one = flags & kBfloat ? 0x3f80 : 0x3c00;
  const bool negative = half & 0x8000;
  const bool nan = (half & 0x7fff) > infinity;
  if (flags & kSat) return nan || negative ? 0 : half < one ? half : one;
  return (flags & kRelu) && negative && !nan ? 0 : half;
}

// One half of every lane: exact or odd-rounded in a wider format, then rounded.
template <Arith Op, bool Bfloat, bool Flush>
void arith_row(const Row& a, const Row& b, const Row& c, Row& out) {
  for (int i = 0; i < kLanes; ++i) {
    if constexpr (Bfloat) {
      // bfloat16 has binary32's exponents, so products need binary64.
      const double x = as_float(a.v[i]), y = as_float(b.v[i]), z = as_float(c.v[i]);
      const double value = Op == Arith::Add   ? add_to_odd(x, y)
                           : Op == Arith::Mul ? x * y
                                              : fma_to_odd(x, y, z);
      out.v[i] = value != value ? kNan16 : round_to(kBfloat16, value, Round::Nearest);
    } else {
      const u32 value = half_arith<Op>(a.v[i], b.v[i], c.v[i]);
      const u32 half = float_to_half(value);
      // As in binary32, FTZ decides on the value rounded as if exponents had no lower end: here, 2^10 times
      // larger.
      const bool tiny = Flush && (float_to_half(as_bits(as_float(value) * 0x1p10f)) & 0x7fff) < 0x2c00;
      out.v[i] = tiny ? half & 0x8000 : half;
    }
  }
}

// .OOB: the NaN that marks elements outside a tensor, as a factor, makes the result +0. Its pattern is 0x7ff7
// in both formats, either sign (measured on an H200).
void zero_out_of_bounds(const Row& a, const Row& b, bool bfloat, Row& out) {
  const u32 marker = bfloat ? bfloat_to_float(0x7ff7) : half_to_float(0x7ff7);
  for (int i = 0; i < kLanes; ++i) {
    const bool outside = (a.v[i] & 0x7fffffffu) == marker || (b.v[i] & 0x7fffffffu) == marker;
    out.v[i] = outside ? 0 : out.v[i];
  }
}

template <Arith Op, bool Bfloat, bool Flush>
void exec_half(Warp& warp, const Instr& in, u32 mask) {
  HalfRows a, b, c, result;
  read_halves(warp, slot(in, kA), Bfloat, Flush, a);
  read_halves(warp, slot(in, kB), Bfloat, Flush, b);
  if (Op == Arith::Fma) read_halves(warp, slot(in, kC), Bfloat, Flush, c);
  const HalfRows& third = Op == Arith::Fma ? c : b;
  for (int h = 0; h < 2; ++h) {
    arith_row<Op, Bfloat, Flush>(a.part[h], b.part[h], third.part[h], result.part[h]);
    if (in.flags & kOob) zero_out_of_bounds(a.part[h], b.part[h], Bfloat, result.part[h]);
    if ((in.flags & (kSat | kRelu)) == 0) continue;
    for (int i = 0; i < kLanes; ++i) result.part[h].v[i] = clamp_half(result.part[h].v[i], in.flags);
  }
  each_lane(warp, in.operands[0], mask,
            [&](int i) { return result.part[0].v[i] | result.part[1].v[i] << 16; });
}

// HADD2.F32: the lower parts added in binary32.
void exec_hadd_f32(Warp& warp, const Instr& in, u32 mask) {
  HalfRows a, b;
  read_halves(warp, slot(in, kA), in.flags & kBfloat, in.flags & kFlush, a);
  read_halves(warp, slot(in, kB), in.flags & kBfloat, in.flags & kFlush, b);
  const bool saturate = in.flags & kSat;
  each_lane(warp, in.operands[0], mask, [&](int i) {
    const float sum = as_float(a.part[0].v[i]) + as_float(b.part[0].v[i]);
    const u32 bits = sum != sum ? kNan32 : as_bits(sum);
    return saturate ? saturate32(bits) : bits;
  });
}

// HFMA2 is also how a constant is put into a register: -0 * 0 + immediate. The result is known when bound.
void exec_constant(Warp& warp, const Instr& in, u32 mask) {
  const u32 value = in.flags;
  each_lane(warp, in.operands[0], mask, [=](int) { return value; });
}

bool is_constant_move(const Instr& out) {
  const Operand& a = slot(out, kA);
  const Operand& b = slot(out, kB);
  const Operand& c = slot(out, kC);
  // -0 * 0 is -0, and -0 + c is c for every c, NaN aside.
  const u32 low = c.bits & 0x7fff, high = (c.bits >> 16) & 0x7fff;
  return is_zero_register(a) && is_zero_register(b) && a.neg != b.neg && c.kind == OperandKind::Imm &&
         low <= 0x7c00 && high <= 0x7c00;
}

u32 arith_flags(const InstrText& text) {
  return (text.has("BF16_V2") || text.has("BF16") ? kBfloat : 0) | (text.has("FTZ") ? kFlush : 0) |
         (text.has("SAT") ? kSat : 0) | (text.has("RELU") ? kRelu : 0) | (text.has("OOB") ? kOob : 0);
}

template <Arith Op>
std::string bind_half(const InstrText& text, Instr& out) {
  const char* pattern = Op == Arith::Fma ? "dabc" : "dab";
  if (match_half_slots(text, out, pattern) < 0) return refuse_operands(text);
  out.flags = arith_flags(text);
  if ((out.flags & kBfloat) && (out.flags & kFlush)) return refuse_modifiers(text);
  if (Op == Arith::Add && text.has("F32")) {
    out.exec = exec_hadd_f32;
  } else if (Op == Arith::Fma && out.flags == 0 && is_constant_move(out)) {
    out.flags = slot(out, kC).bits;
    out.exec = exec_constant;
  } else {
    out.exec = out.flags & kBfloat  ? exec_half<Op, true, false>
               : out.flags & kFlush ? exec_half<Op, false, true>
                                    : exec_half<Op, false, false>;
  }
  return "";
}

// --- FHADD, FHFMA: half factors and a binary32 addend, binary32 result
// -----------------------------------------
constexpr u32 kRoundShift = 4;

template <bool Fma>
[[gnu::noinline]] void mixed_row(const Row& a, const Row& b, const u32* c, u32* out) {
  for (int i = 0; i < kLanes; ++i) {
    const float result = Fma ? __builtin_fmaf(as_float(a.v[i]), as_float(b.v[i]), as_float(c[i]))
                             : as_float(a.v[i]) + as_float(c[i]);
    out[i] = result != result ? kNan32 : as_bits(result);
  }
}

template <bool Fma>
void exec_mixed(Warp& warp, const Instr& in, u32 mask) {
  HalfRows a, b;
  Row sc, result;
  read_halves(warp, slot(in, kA), in.flags & kBfloat, false, a);
  if (Fma) read_halves(warp, slot(in, kB), in.flags & kBfloat, false, b);
  const u32* c = float32(warp, slot(in, Fma ? kC : kB), sc);
  {
    const HostRounding scope(static_cast<Round>(in.flags >> kRoundShift));
    mixed_row<Fma>(a.part[0], Fma ? b.part[0] : a.part[0], c, result.v);
  }
  const bool saturate = in.flags & kSat;
  each_lane(warp, in.operands[0], mask,
            [&](int i) { return saturate ? saturate32(result.v[i]) : result.v[i]; });
}

template <bool Fma>
std::string bind_mixed(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {Fma ? "dabc" : "dab"}) < 0) return refuse_operands(text);
  for (const Operand& op : text.operands) {
    if (op.kind == OperandKind::Imm) return refuse_operands(text);
  }
  out.flags = arith_flags(text) | static_cast<u32>(rounding(text)) << kRoundShift;
  out.exec = exec_mixed<Fma>;
  return "";
}

constexpr Latency kFixed = Latency::Fixed;

constexpr OpDecl kOps[] = {
    {"HADD2", "BF16_V2 F32 FTZ SAT", Pipe::Fp16, kFixed, bind_half<Arith::Add>},
    {"HMUL2", "BF16_V2 FTZ SAT", Pipe::Fp16, kFixed, bind_half<Arith::Mul>},
    {"HFMA2", "MMA BF16_V2 FTZ SAT RELU OOB", Pipe::Fp16, kFixed, bind_half<Arith::Fma>},
    {"FHADD", "BF16 SAT RM RP RZ", Pipe::Fma, kFixed, bind_mixed<false>},
    {"FHFMA", "BF16 SAT RM RP RZ", Pipe::Fma, kFixed, bind_mixed<true>},
    {"HSETP2", "BF16_V2 LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR H_AND", Pipe::Fp16,
     kFixed, bind_hsetp2},
    {"HSET2", "BF16_V2 BF LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR", Pipe::Fp16,
     kFixed, bind_hset2},
    {"HMNMX2", "BF16_V2 FTZ NAN XORSIGN", Pipe::Alu, kFixed, bind_hmnmx2},
};

}  // namespace

const Family& half_family() {
  static constexpr Family family{"half", kOps};
  return family;
}

}  // namespace warpath
