// Multiplications: IMAD in all widths, and the dot products IDP.
#include "ops/integer.hpp"
#include "ops/lanes.hpp"

namespace warpath {
namespace {

u32 mad_low(u32 a, u32 b, u32 c) { return a * b + c; }
u32 pass_third(u32, u32, u32 c) { return c; }

u32 high_unsigned(u32 a, u32 b) { return static_cast<u32>((static_cast<u64>(a) * b) >> 32); }

u32 high_signed(u32 a, u32 b) {
  return high_unsigned(a, b) - (static_cast<i32>(a) < 0 ? b : 0) - (static_cast<i32>(b) < 0 ? a : 0);
}

template <bool Signed>
u32 high(u32 a, u32 b) {
  return Signed ? high_signed(a, b) : high_unsigned(a, b);
}

// IMAD.X: the product plus a word plus a carry; with RZ factors, the upper half of a 64-bit addition.
void exec_imad_x(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const u32 carry = pred_mask(warp, slot(in, kPredIn));
  each_lane(warp, in.operands[0], mask, [=](int i) { return a[i] * b[i] + c[i] + ((carry >> i) & 1); });
}

enum class Part { Both, Upper };

// IMAD.WIDE: 64-bit product plus 64-bit addend, in 32-bit words so that lanes stay 32 bits wide. IMAD.HI is
// the same sum (its addend is a pair too) of which only the upper word is stored.
template <bool Signed, bool Carries, Part Stored>
void exec_imad_wide(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, c_low, c_high, low_scratch, high_scratch, carries;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const WordPair c = words64(warp, slot(in, kC), c_low, c_high);
  const u32 carry = Carries ? pred_mask(warp, slot(in, kPredIn)) : 0;
  const Operand& dst = in.operands[0];
  const bool direct = mask == kFullMask && dst.kind == OperandKind::Reg && dst.reg != kRZ;
  constexpr u16 upper = Stored == Part::Both ? 1 : 0;  // the upper word's register, after the destination's
  u32* low_out = direct && Stored == Part::Both ? warp.write_row(dst.reg) : low_scratch.v;
  u32* high_out = direct ? warp.write_row(static_cast<u16>(dst.reg + upper)) : high_scratch.v;
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i) {
    const u32 product_low = a[i] * b[i];
    const u32 product_high = high<Signed>(a[i], b[i]);
    const u32 addend_high = c.high[i];
    const u32 partial = product_low + c.low[i];
    const u32 low = partial + (Carries ? (carry >> i) & 1 : 0);
    const u32 low_carry = (partial < product_low) + (Carries ? low < partial : 0);
    const u32 partial_high = product_high + addend_high;
    const u32 high_word = partial_high + low_carry;
    if (Carries) carries.v[i] = (partial_high < product_high) | (high_word < partial_high);
    low_out[i] = low;
    high_out[i] = high_word;
  }
  if (!direct) {
    if (Stored == Part::Both) store32(warp, dst, low_out, mask);
    Operand upper_dst = dst;
    if (dst.reg != kRZ) upper_dst.reg = static_cast<u16>(dst.reg + upper);
    store32(warp, upper_dst, high_out, mask);
  }
  if (Carries) {
    write_pred(warp, slot(in, kPredOut), lanes_where([&](int i) { return carries.v[i] != 0; }), mask);
  }
}

i32 byte_of(u32 word, int index, bool is_signed) {
  const u32 byte = (word >> (8 * index)) & 0xff;
  return is_signed ? static_cast<i8>(byte) : static_cast<i32>(byte);
}

i32 half_of(u32 word, int index, bool is_signed) {
  const u32 half = (word >> (16 * index)) & 0xffff;
  return is_signed ? static_cast<i16>(half) : static_cast<i32>(half);
}

template <bool SignedA, bool SignedB>
u32 dot4(u32 a, u32 b, u32 c) {
  for (int k = 0; k < 4; ++k) c += static_cast<u32>(byte_of(a, k, SignedA) * byte_of(b, k, SignedB));
  return c;
}

template <bool SignedA, bool SignedB, int FirstByte>
u32 dot2(u32 a, u32 b, u32 c) {
  for (int k = 0; k < 2; ++k) {
    c += static_cast<u32>(half_of(a, k, SignedA) * byte_of(b, k + FirstByte, SignedB));
  }
  return c;
}

template <bool SignedA, bool SignedB>
ExecFn pick_dot(int shape) {
  switch (shape) {
    case 0:
      return exec_int3<dot4<SignedA, SignedB>>;
    case 1:
      return exec_int3<dot2<SignedA, SignedB, 0>>;
    default:
      return exec_int3<dot2<SignedA, SignedB, 2>>;
  }
}

template <Part Stored>
ExecFn pick_wide(bool is_signed, bool carries) {
  if (is_signed) return carries ? exec_imad_wide<true, true, Stored> : exec_imad_wide<true, false, Stored>;
  return carries ? exec_imad_wide<false, true, Stored> : exec_imad_wide<false, false, Stored>;
}

}  // namespace

std::string bind_imad(const InstrText& text, Instr& out) {
  const bool is_unsigned = text.has("U32");
  const bool chained = text.has("X");
  if (text.has("WIDE") || text.has("HI")) {
    const int form =
        chained ? match_slots(text, out, {"dabcp", "doabcp"}) : match_slots(text, out, {"dabc", "doabc"});
    if (form < 0) return refuse_operands(text);
    const bool carries = chained || slot(out, kPredOut).reg != kPT;
    out.exec = text.has("HI") ? pick_wide<Part::Upper>(!is_unsigned, carries)
                              : pick_wide<Part::Both>(!is_unsigned, carries);
    return "";
  }
  if (match_slots(text, out, {chained ? "dabcp" : "dabc"}) < 0) return refuse_operands(text);
  if (chained) {
    out.exec = exec_imad_x;
  } else if (is_zero_register(slot(out, kA)) && is_zero_register(slot(out, kB))) {
    out.exec = exec_int3<pass_third>;
  } else {
    out.exec = exec_int3<mad_low>;
  }
  return "";
}

std::string bind_idp(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  // Modifiers: 4A or 2A, then LO or HI for 2A, then the types of the two factors.
  const std::size_t count = text.modifiers.size();
  if (count < 3) return refuse_modifiers(text);
  const bool signed_a = text.modifiers[count - 2][0] == 'S';
  const bool signed_b = text.modifiers[count - 1][0] == 'S';
  const int shape = text.has("4A") ? 0 : text.has("HI") ? 2 : 1;
  if (signed_a) {
    out.exec = signed_b ? pick_dot<true, true>(shape) : pick_dot<true, false>(shape);
  } else {
    out.exec = signed_b ? pick_dot<false, true>(shape) : pick_dot<false, false>(shape);
  }
  return "";
}

}  // namespace warpath
