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

// Writes carry-outs: the first predicate when at least one carry left bit 31, the second when two did.
inline void write_carries(Warp& warp, const Instr& in, const Row& carries, u32 mask) {
  write_pred(warp, slot(in, kPredOut), lanes_where([&](int i) { return carries.v[i] >= 1; }), mask);
  write_pred(warp, slot(in, kPredOut2), lanes_where([&](int i) { return carries.v[i] >= 2; }), mask);
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
  each_lane(warp, in.operands[0], mask, [=, &carries](int i) {
    const u32 ab = a[i] + b[i];
    const u32 abc = ab + c[i];
    const u32 sum = abc + carry_in(extra, first, second, i);
    carries.v[i] = (ab < a[i]) + (abc < ab) + (sum < abc);
    return sum;
  });
  write_carries(warp, in, carries, mask);
}

void exec_add64(Warp& warp, const Instr& in, u32 mask) {
  Row64 a, b, c;
  Row carries;
  u64 extra = 0;
  const auto fetch = [&](Slot which, Row64& row) {
    const Operand& op = slot(in, which);
    raw64(warp, op, row);
    if (!op.neg && !op.inv) return;
    extra += op.neg ? 1 : 0;
    for (int lane = 0; lane < kLanes; ++lane) row.v[lane] = ~row.v[lane];
  };
  fetch(kA, a);
  fetch(kB, b);
  fetch(kC, c);
  const u32 first = pred_mask(warp, slot(in, kPredIn));
  const u32 second = pred_mask(warp, slot(in, kPredIn2));
  each_lane64(warp, in.operands[0], mask, [&](int i) {
    const u64 ab = a.v[i] + b.v[i];
    const u64 abc = ab + c.v[i];
    const u64 sum = abc + extra + ((first >> i) & 1) + ((second >> i) & 1);
    carries.v[i] = (ab < a.v[i]) + (abc < ab) + (sum < abc);
    return sum;
  });
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

void exec_lea_carry(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, carries;
  u32 extra = 0;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = addend(warp, slot(in, kB), sb, extra);
  const u32 shift = lea_shift(in);
  each_lane(warp, in.operands[0], mask, [=, &carries](int i) {
    const u32 shifted = a[i] << shift;
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
  const int form = chained ? match_slots(text, out, {"dabp", "doabp"}) : match_slots(text, out, {"dab", "doab"});
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
    form = chained ? match_slots(text, out, {"dabcip", "doabcip"}) : match_slots(text, out, {"dabci", "doabci"});
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
