// Reading packed halves, and the comparison ops of the half family.
#pragma once

#include "ops/decl.hpp"
#include "ops/rounding.hpp"

namespace warpath {

// A packed operand widened: part[0] is the lower half, part[1] the upper, as binary32 bits.
struct HalfRows {
  Row part[2];
};

// Operand::half of the selector ".H0_NH1", besides those in instr.hpp.
inline constexpr u8 kCrossed = 4;

// Applies the half selector, |x|, '-' and flushing of denormals; a ".F32" operand gives its value twice.
void read_halves(const Warp& warp, const Operand& op, bool bfloat, bool flush, HalfRows& out);

// match_float_slots with one of the sources possibly an immediate pair, which nvdisasm prints as two
// operands.
int match_half_slots(const InstrText& text, Instr& out, std::string_view pattern);

// binary32 to binary16 bits, nearest even; NaN is canonical. Right for exact values and for values rounded to
// odd.
inline u32 float_to_half(u32 bits) {
  const u32 sign = (bits >> 16) & 0x8000u;
  const u32 magnitude = bits & 0x7fffffffu;
  // Normal: rebias, add the rounding increment, drop 13 bits. Overflow carries into infinity by itself below
  // 2^16.
  const u32 normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
  // Denormal: adding 0.5 lines the last kept bit up with binary32's last bit, and the addition rounds.
  const u32 denormal = as_bits(as_float(magnitude) + 0.5f) - 0x3f000000u;
  const u32 finite = magnitude < 0x38800000u ? denormal : normal;
  const u32 value = magnitude >= 0x47800000u ? 0x7c00u : finite;
  return magnitude > 0x7f800000u ? kNan16 : sign | value;
}

// binary32 to bfloat16 bits, nearest even; NaN is canonical.
inline u32 float_to_bfloat(u32 bits) {
  const u32 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return is_nan32(bits) ? kNan16 : rounded;
}

// half_compare.cpp
std::string bind_hsetp2(const InstrText& text, Instr& out);
std::string bind_hset2(const InstrText& text, Instr& out);
std::string bind_hmnmx2(const InstrText& text, Instr& out);

}  // namespace warpath
