// Packed and saturating integer arithmetic: VIADD, VABSDIFF, VABSDIFF4.
#include <algorithm>

#include "ops/integer.hpp"
#include "ops/lanes.hpp"

namespace warpath {
namespace {

u32 add_words(u32 a, u32 b) { return a + b; }

// '-' of a packed operand negates each element, so the loops take raw words and signs.
template <int Bits>
u32 add_packed(u32 a, bool neg_a, u32 b, bool neg_b) {
  constexpr u32 field = (1u << Bits) - 1;
  u32 word = 0;
  for (int at = 0; at < 32; at += Bits) {
    const u32 x = (a >> at) & field;
    const u32 y = (b >> at) & field;
    word |= (((neg_a ? 0u - x : x) + (neg_b ? 0u - y : y)) & field) << at;
  }
  return word;
}

template <int Bits>
void exec_add_packed(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = raw32(warp, slot(in, kA), sa);
  const u32* b = raw32(warp, slot(in, kB), sb);
  const bool neg_a = slot(in, kA).neg;
  const bool neg_b = slot(in, kB).neg;
  each_lane(warp, in.operands[0], mask, [=](int i) { return add_packed<Bits>(a[i], neg_a, b[i], neg_b); });
}

// Sum of the exact values, clamped to the signed range.
void exec_add_saturated(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = raw32(warp, slot(in, kA), sa);
  const u32* b = raw32(warp, slot(in, kB), sb);
  const i64 sign_a = slot(in, kA).neg ? -1 : 1;
  const i64 sign_b = slot(in, kB).neg ? -1 : 1;
  each_lane(warp, in.operands[0], mask, [=](int i) {
    const i64 sum = sign_a * static_cast<i32>(a[i]) + sign_b * static_cast<i32>(b[i]);
    return static_cast<u32>(std::clamp<i64>(sum, INT32_MIN, INT32_MAX));
  });
}

u32 difference_signed(u32 a, u32 b, u32 c) {
  return (static_cast<i32>(a) < static_cast<i32>(b) ? b - a : a - b) + c;
}
u32 difference_unsigned(u32 a, u32 b, u32 c) { return (a < b ? b - a : a - b) + c; }

u32 byte_difference(u32 a, u32 b, int k) {
  const i32 x = static_cast<i32>((a >> (8 * k)) & 0xff);
  const i32 y = static_cast<i32>((b >> (8 * k)) & 0xff);
  return static_cast<u32>(x < y ? y - x : x - y);
}

u32 byte_differences(u32 a, u32 b, u32) {
  u32 word = 0;
  for (int k = 0; k < 4; ++k) word |= byte_difference(a, b, k) << (8 * k);
  return word;
}

u32 byte_differences_sum(u32 a, u32 b, u32 c) {
  for (int k = 0; k < 4; ++k) c += byte_difference(a, b, k);
  return c;
}

}  // namespace

std::string bind_viadd(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
  if (text.has("16x2")) {
    out.exec = exec_add_packed<16>;
  } else if (text.has("U8x4")) {
    out.exec = exec_add_packed<8>;
  } else {
    out.exec = text.has("ISAT") ? exec_add_saturated : exec_int2<add_words>;
  }
  return "";
}

std::string bind_vabsdiff(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  out.exec = text.has("U32") ? exec_int3<difference_unsigned> : exec_int3<difference_signed>;
  return "";
}

std::string bind_vabsdiff4(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  if (!text.has("U8")) return refuse_modifiers(text);
  out.exec = text.has("ACC") ? exec_int3<byte_differences_sum> : exec_int3<byte_differences>;
  return "";
}

}  // namespace warpath
