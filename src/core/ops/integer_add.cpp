// Additions: IADD3, IADD, LEA, with carries in and out.
#include "ops/integer.hpp"
#include "ops/lanes.hpp"

namespace warpath {
namespace {

u32 add3(u32 a, u32 b, u32 c) { return a + b + c; }
u32 add2(u32 a, u32 b) { return a + b; }

// Adds the carry predicates of `lane` to `base`.
inline u32 carry_in(u32 base, u32 first, u32 second, int lane) {
  return base + ((first >> lane) & 1) + ((second >> lane) & 1);
}

// Writes carry-outs: the first predicate when at least one carry left the top bit, the second when two did.
inline void write_carries(Warp& warp, const Instr& in, const Row& carries, u32 mask) {
  const Operand& one = slot(in, kPredOut);
  const Operand& two = slot(in, kPredOut2);
  if (one.reg != kPT) write_pred(warp, one, lanes_where([&](int i) { return carries.v[i] >= 1; }), mask);
  if (two.reg != kPT) write_pred(warp, two, lanes_where([&](int i) { return carries.v[i] >= 2; }), mask);
}

// A negated operand enters as its complement plus one, so that a - b carries out exactly when a >= b.
inline const u32* addend(const Warp& warp, const Operand& op, Row& scratch, u32& extra) {
  const u32* row = raw32(warp, op, scratch);
  if (!op.neg && !op.inv) return row;
  extra += op.neg ? 1 : 0;
  for (int lane = 0; lane < kLanes; ++lane) scratch.v[lane] = ~row[lane];
  return scratch.v;
}

void exec_add3_carry(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc, carries;
  u32 extra = 0;
  const u32* a = addend(warp, slot(in, kA), sa, extra);
  const u32* b = addend(warp, slot(in, kB), sb, extra);
  const u32* c = addend(warp, slot(in, kC), sc, extra);
  const u32 first = pred_mask(warp, slot(in, kPredIn));
  const u32 second = pred_mask(warp, slot(in, kPredIn2));
  if ((extra | first | second) == 0) {  // carries only come out
    each_lane(warp, in.operands[0], mask, [=, &carries](int i) {
      const u32 ab = a[i] + b[i];
      const u32 sum = ab + c[i];
      carries.v[i] = (ab < a[i]) + (sum < ab);
      return sum;
    });
  } else {
    each_lane(warp, in.operands[0], mask, [=, &carries](int i) {
      const u32 ab = a[i] + b[i];
      const u32 abc = ab + c[i];
      const u32 sum = abc + carry_in(extra, first, second, i);
      carries.v[i] = (ab < a[i]) + (abc < ab) + (sum < abc);
      return sum;
    });
  }
  write_carries(warp, in, carries, mask);
}

// 64-bit sums of two or three operands, in 32-bit words.
void exec_add64(Warp& warp, const Instr& in, u32 mask) {
  Row a_low, a_high, b_low, b_high, c_low, c_high, carries;
  u32 extra = 0;
  const auto fetch = [&](Slot which, Row& low, Row& high) {
    Operand op = slot(in, which);
    extra += op.neg ? 1 : 0;
    op.inv = op.inv || op.neg;  // -x enters as ~x + 1
    op.neg = false;
    return words64(warp, op, low, high);
  };
  const WordPair a = fetch(kA, a_low, a_high);
  const WordPair b = fetch(kB, b_low, b_high);
  const WordPair c = fetch(kC, c_low, c_high);
  const u32 first = pred_mask(warp, slot(in, kPredIn));
  const u32 second = pred_mask(warp, slot(in, kPredIn2));
  PairWriter out(warp, in.operands[0], mask);
  u32* low_out = out.low;
  u32* high_out = out.high;
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i) {
    const u32 a_upper = a.high[i], b_upper = b.high[i], c_upper = c.high[i];
    const u32 ab = a.low[i] + b.low[i];
    const u32 abc = ab + c.low[i];
    const u32 low = abc + carry_in(extra, first, second, i);
    const u32 middle = (ab < a.low[i]) + (abc < ab) + (low < abc);
    const u32 ab_high = a_upper + b_upper;
    const u32 abc_high = ab_high + c_upper;
    const u32 high = abc_high + middle;
    carries.v[i] = (ab_high < a_upper) + (abc_high < ab_high) + (high < abc_high);
    low_out[i] = low;
    high_out[i] = high;
  }
  out.store();
  write_carries(warp, in, carries, mask);
}

bool uses_carries(const Instr& out) {
  return slot(out, kPredOut).reg != kPT || slot(out, kPredOut2).reg != kPT;
}

u32 lea_shift(const Instr& in) { return static_cast<u32>(slot(in, kImm).value) & 31; }

void exec_lea(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 shift = lea_shift(in);
  each_lane(warp, in.operands[0], mask, [=](int i) { return (a[i] << shift) + b[i]; });
}

// A negated first operand is shifted, then enters as its complement plus one, as in IADD3: -0 carries out.
void exec_lea_carry(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, carries;
  Operand shifted_operand = slot(in, kA);
  u32 extra = shifted_operand.neg ? 1 : 0;
  const u32 flip = shifted_operand.neg ? ~0u : 0u;
  shifted_operand.neg = false;
  const u32* a = int32(warp, shifted_operand, sa);
  const u32* b = addend(warp, slot(in, kB), sb, extra);
  const u32 shift = lea_shift(in);
  each_lane(warp, in.operands[0], mask, [=, &carries](int i) {
    const u32 shifted = (a[i] << shift) ^ flip;
    const u32 partial = shifted + b[i];
    const u32 sum = partial + extra;
    carries.v[i] = (partial < shifted) + (sum < partial);
    return sum;
  });
  write_carries(warp, in, carries, mask);
}

// LEA.HI: the high word of {c, a} << shift, plus b and a carry. With SX32 the high part is a's sign.
template <bool SignExtend>
void exec_lea_hi(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc, carries;
  u32 extra = 0;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = addend(warp, slot(in, kB), sb, extra);
  const u32* c = int32(warp, slot(in, kC), sc);
  const u32 shift = lea_shift(in);
  const u32 low_shift = 31 - shift;  // applied after a shift by one, so that shift 0 gives 0
  const u32 first = pred_mask(warp, slot(in, kPredIn));
  each_lane(warp, in.operands[0], mask, [=, &carries](int i) {
    const u32 high = SignExtend ? static_cast<u32>(static_cast<i32>(a[i]) >> 31) : c[i];
    const u32 shifted = (high << shift) | ((a[i] >> 1) >> low_shift);
    const u32 partial = shifted + b[i];
    const u32 sum = partial + carry_in(extra, first, 0, i);
    carries.v[i] = (partial < shifted) + (sum < partial);
    return sum;
  });
  write_carries(warp, in, carries, mask);
}

}  // namespace

std::string bind_iadd3(const InstrText& text, Instr& out) {
  const bool chained = text.has("X");
  const int form = chained ? match_slots(text, out, {"dabcpp", "doabcpp", "dooabcpp"})
                           : match_slots(text, out, {"dabc", "doabc", "dooabc"});
  if (form < 0) return refuse_operands(text);
  if (text.has("64")) {
    out.exec = exec_add64;
  } else if (chained || uses_carries(out)) {
    out.exec = exec_add3_carry;
  } else {
    out.exec = exec_int3<add3>;
  }
  return "";
}

std::string bind_iadd(const InstrText& text, Instr& out) {
  const bool chained = text.has("X");
  const int form =
      chained ? match_slots(text, out, {"dabp", "doabp"}) : match_slots(text, out, {"dab", "doab"});
  if (form < 0) return refuse_operands(text);
  if (text.has("64")) {
    out.exec = exec_add64;
  } else if (chained || uses_carries(out)) {
    out.exec = exec_add3_carry;
  } else {
    out.exec = exec_int2<add2>;
  }
  return "";
}

std::string bind_lea(const InstrText& text, Instr& out) {
  const bool high = text.has("HI");
  const bool extend = text.has("SX32");
  const bool chained = text.has("X");
  if (!high && (extend || chained)) return refuse_modifiers(text);
  int form = -1;
  if (high && extend) {
    form = chained ? match_slots(text, out, {"dabip", "doabip"}) : match_slots(text, out, {"dabi", "doabi"});
  } else if (high) {
    form =
        chained ? match_slots(text, out, {"dabcip", "doabcip"}) : match_slots(text, out, {"dabci", "doabci"});
  } else {
    form = match_slots(text, out, {"dabi", "doabi"});
  }
  if (form < 0) return refuse_operands(text);
  // Whether '-' on the shifted value negates before or after joining the words is not known.
  if (high && (slot(out, kA).neg || slot(out, kA).inv)) return refuse_operands(text);
  if (high) {
    out.exec = extend ? exec_lea_hi<true> : exec_lea_hi<false>;
  } else {
    out.exec = uses_carries(out) ? exec_lea_carry : exec_lea;
  }
  return "";
}

}  // namespace warpath
