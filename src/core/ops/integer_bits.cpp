// Bit and byte manipulation: PRMT, POPC, FLO, BREV, SGXT, BMSK.
#include "ops/integer.hpp"
#include "ops/lanes.hpp"

namespace warpath {
namespace {

enum class PermuteMode : int { Index, Forward4, Backward4, Replicate8, EdgeLeft, EdgeRight, Replicate16 };

// One result byte: bits 2:0 of `code` choose a byte of {c, a}, bit 3 replaces it by copies of its sign.
inline u32 permute_byte(u64 joined, u32 code) {
  const u32 byte = static_cast<u32>(joined >> (8 * (code & 7))) & 0xff;
  const u32 sign = (byte & 0x80) != 0 ? 0xff : 0x00;
  return code & 8 ? sign : byte;
}

u32 permute_index(u32 a, u32 selector, u32 c) {
  const u64 joined = (static_cast<u64>(c) << 32) | a;
  return permute_byte(joined, selector & 15) | permute_byte(joined, (selector >> 4) & 15) << 8 |
         permute_byte(joined, (selector >> 8) & 15) << 16 | permute_byte(joined, (selector >> 12) & 15) << 24;
}

// The selector that a special mode stands for, from the low two bits of the control word.
inline u32 mode_selector(PermuteMode mode, u32 control) {
  const u32 n = control & 3;
  switch (mode) {
    case PermuteMode::Forward4:
      return 0x3210 + 0x1111 * n;
    case PermuteMode::Backward4: {
      u32 selector = 0;
      for (u32 k = 0; k < 4; ++k) selector |= ((n - k) & 7) << (4 * k);
      return selector;
    }
    case PermuteMode::Replicate8:
      return 0x1111 * n;
    case PermuteMode::EdgeLeft: {
      u32 selector = 0;
      for (u32 k = 0; k < 4; ++k) selector |= (k > n ? k : n) << (4 * k);
      return selector;
    }
    case PermuteMode::EdgeRight: {
      u32 selector = 0;
      for (u32 k = 0; k < 4; ++k) selector |= (k < n ? k : n) << (4 * k);
      return selector;
    }
    case PermuteMode::Replicate16:
      return n & 1 ? 0x3232 : 0x1010;
    default:
      return control;
  }
}

// A constant selector: each result byte is a shift and a mask known before the loop.
void exec_prmt_constant(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* c = int32(warp, slot(in, kC), sc);
  const u32 selector = in.flags;
  if ((selector & 0x8888) != 0) {
    each_lane(warp, in.operands[0], mask, [=](int i) { return permute_index(a[i], selector, c[i]); });
    return;
  }
  u32 from_a[4], shift[4];
  for (int k = 0; k < 4; ++k) {
    const u32 code = (selector >> (4 * k)) & 7;
    from_a[k] = code < 4 ? 0xffffffffu : 0u;
    shift[k] = 8 * (code & 3);
  }
  const auto byte = [=](u32 low, u32 high, int k) {
    return (((low & from_a[k]) | (high & ~from_a[k])) >> shift[k] & 0xff) << (8 * k);
  };
  each_lane(warp, in.operands[0], mask, [=](int i) {
    return byte(a[i], c[i], 0) | byte(a[i], c[i], 1) | byte(a[i], c[i], 2) | byte(a[i], c[i], 3);
  });
}

void exec_prmt(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const PermuteMode mode = static_cast<PermuteMode>(in.flags);
  each_lane(warp, in.operands[0], mask,
            [=](int i) { return permute_index(a[i], mode_selector(mode, b[i]), c[i]); });
}

u32 count_ones(u32 a) { return static_cast<u32>(std::popcount(a)); }

u32 reverse_bits(u32 a) {
  a = ((a >> 1) & 0x55555555u) | ((a & 0x55555555u) << 1);
  a = ((a >> 2) & 0x33333333u) | ((a & 0x33333333u) << 2);
  a = ((a >> 4) & 0x0f0f0f0fu) | ((a & 0x0f0f0f0fu) << 4);
  return __builtin_bswap32(a);
}

// Position of the leading one (for signed words, of the first bit unlike the sign); all ones when there is
// none.
template <bool Signed, bool AsShift>
u32 leading_one(u32 a) {
  const u32 word = Signed && static_cast<i32>(a) < 0 ? ~a : a;
  if (word == 0) return 0xffffffffu;
  const u32 zeros = static_cast<u32>(std::countl_zero(word));
  return AsShift ? zeros : 31 - zeros;
}

// Keeps the low `width` bits and extends them by sign or zero.
template <bool Signed, bool Wrap>
u32 extend(u32 a, u32 width) {
  const u32 bits = Wrap ? width & 31 : width;
  if (bits >= 32) return a;
  if (bits == 0) return 0;
  const u32 shift = 32 - bits;
  return Signed ? static_cast<u32>(static_cast<i32>(a << shift) >> shift) : (a << shift) >> shift;
}

// `width` ones starting at bit `start`, cut at bit 31.
template <bool Wrap>
u32 bit_mask(u32 start, u32 width) {
  const u32 first = Wrap ? start & 31 : start;
  const u32 count = Wrap ? width & 31 : width;
  if (first >= 32) return 0;
  const u32 ones = count >= 32 ? 0xffffffffu : (1u << count) - 1;
  return ones << first;
}

}  // namespace

std::string bind_prmt(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  const int mode = 1 + choose(text, {"F4E", "B4E", "RC8", "ECL", "ECR", "RC16"}, -1);
  const Operand& selector = slot(out, kB);
  if (selector.kind == OperandKind::Imm) {
    out.flags = mode_selector(static_cast<PermuteMode>(mode), static_cast<u32>(selector.value));
    out.exec = exec_prmt_constant;
  } else {
    out.flags = static_cast<u32>(mode);
    out.exec = exec_prmt;
  }
  return "";
}

std::string bind_popc(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  out.exec = exec_int1<count_ones>;
  return "";
}

std::string bind_brev(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  out.exec = exec_int1<reverse_bits>;
  return "";
}

std::string bind_flo(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  const bool shift = text.has("SH");
  if (text.has("U32")) {
    out.exec = shift ? exec_int1<leading_one<false, true>> : exec_int1<leading_one<false, false>>;
  } else {
    out.exec = shift ? exec_int1<leading_one<true, true>> : exec_int1<leading_one<true, false>>;
  }
  return "";
}

std::string bind_sgxt(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
  const bool wrap = text.has("W");
  if (text.has("U32")) {
    out.exec = wrap ? exec_int2<extend<false, true>> : exec_int2<extend<false, false>>;
  } else {
    out.exec = wrap ? exec_int2<extend<true, true>> : exec_int2<extend<true, false>>;
  }
  return "";
}

std::string bind_bmsk(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
  out.exec = text.has("W") ? exec_int2<bit_mask<true>> : exec_int2<bit_mask<false>>;
  return "";
}

}  // namespace warpath
