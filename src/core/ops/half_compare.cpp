// Packed-half operand reading, comparison and selection: HSETP2, HSET2, HMNMX2.
#include "ops/floating.hpp"
#include "ops/half.hpp"

namespace warpath {

int match_half_slots(const InstrText& text, Instr& out, std::string_view pattern) {
  int form = match_float_slots(text, out, {pattern});
  // A pair of immediates: the second one is skipped, the first stands for both.
  for (std::size_t i = 1; form < 0 && i < pattern.size() && i + 1 < text.operands.size(); ++i) {
    if (text.operands[i].kind != OperandKind::Imm || text.operands[i + 1].kind != OperandKind::Imm) continue;
    std::string longer(pattern.substr(0, i + 1));
    longer += '*';
    longer += pattern.substr(i + 1);
    form = match_float_slots(text, out, {longer});
  }
  // ".H0_NH1" (complex products) is a selector of its own: the lower half above, the upper half negated
  // below.
  for (std::size_t i = 1; form >= 0 && i < text.operands.size(); ++i) {
    if (text.operand_texts[i].find(".H0_NH1") != std::string::npos) out.operands[i].half = kCrossed;
  }
  return form;
}

namespace {

// One half of each word, widened; `shift` says which.
template <bool Bfloat, bool Flush>
void widen_row(const u32* row, u32 shift, u32 keep, u32 flip, Row& out) {
  constexpr u32 smallest_normal = Bfloat ? 0x80 : 0x400;
  for (int i = 0; i < kLanes; ++i) {
    const u32 half = (row[i] >> shift) & 0xffff;
    const u32 kept = Flush && (half & 0x7fff) < smallest_normal ? half & 0x8000u : half;
    out.v[i] = ((Bfloat ? bfloat_to_float(kept) : half_to_float(kept)) & keep) ^ flip;
  }
}

}  // namespace

void read_halves(const Warp& warp, const Operand& op, bool bfloat, bool flush, HalfRows& out) {
  Row scratch;
  const u32* row = raw32(warp, op, scratch);
  const u32 keep = op.abs ? 0x7fffffffu : 0xffffffffu;
  const u32 flip = op.neg ? 0x80000000u : 0u;
  if (op.half == 3) {
    for (int i = 0; i < kLanes; ++i) out.part[0].v[i] = (row[i] & keep) ^ flip;
    out.part[1] = out.part[0];
    return;
  }
  const bool crossed = op.half == kCrossed;
  const u32 flip_low = crossed ? flip ^ 0x80000000u : flip;
  const u32 low_shift = op.half == 2 || crossed ? 16 : 0;
  const u32 high_shift = op.half == 1 || crossed ? 0 : 16;
  const auto widen = bfloat ? (flush ? widen_row<true, true> : widen_row<true, false>)
                            : (flush ? widen_row<false, true> : widen_row<false, false>);
  widen(row, low_shift, keep, flip_low, out.part[0]);
  widen(row, high_shift, keep, flip, out.part[1]);
}

namespace {

// Flags: comparison set in 3:0, boolean operation in 5:4, then
constexpr u32 kBfloat = 0x40, kFlush = 0x80, kAsFloat = 0x100, kBoth = 0x200;

// Lane masks of the comparison for the lower and the upper halves.
struct HalfMasks {
  u32 lower;
  u32 upper;
};

HalfMasks compare_halves(const Warp& warp, const Instr& in) {
  HalfRows a, b;
  read_halves(warp, slot(in, kA), in.flags & kBfloat, in.flags & kFlush, a);
  read_halves(warp, slot(in, kB), in.flags & kBfloat, in.flags & kFlush, b);
  const u32 set = in.flags & 15;
  const auto lanes = [&](int h) {
    u32 hit = 0;
    for (int i = 0; i < kLanes; ++i) {
      hit |= static_cast<u32>((relation(as_float(a.part[h].v[i]), as_float(b.part[h].v[i])) & set) != 0) << i;
    }
    return hit;
  };
  return {lanes(0), lanes(1)};
}

BoolOp flag_op(u32 flags) { return static_cast<BoolOp>((flags >> 4) & 3); }

void exec_hsetp2(Warp& warp, const Instr& in, u32 mask) {
  const HalfMasks hit = compare_halves(warp, in);
  if (in.flags & kBoth) {
    write_setp(warp, in, flag_op(in.flags), hit.lower & hit.upper, mask);
    return;
  }
  const u32 other = pred_mask(warp, slot(in, kPredIn));
  write_pred(warp, slot(in, kPredOut), join(flag_op(in.flags), hit.lower, other), mask);
  write_pred(warp, slot(in, kPredOut2), join(flag_op(in.flags), hit.upper, other), mask);
}

void exec_hset2(Warp& warp, const Instr& in, u32 mask) {
  const HalfMasks hit = compare_halves(warp, in);
  const u32 other = pred_mask(warp, slot(in, kPredIn));
  const u32 lower = join(flag_op(in.flags), hit.lower, other);
  const u32 upper = join(flag_op(in.flags), hit.upper, other);
  const u32 yes = !(in.flags & kAsFloat) ? 0xffffu : in.flags & kBfloat ? 0x3f80u : 0x3c00u;
  each_lane(warp, in.operands[0], mask,
            [=](int i) { return ((lower >> i) & 1 ? yes : 0) | ((upper >> i) & 1 ? yes << 16 : 0); });
}

constexpr u32 kPropagateNan = 1, kXorSign = 2, kFtz = 4, kIsBfloat = 8;

// The chosen half of two, widened to binary32 bits; -0 is below +0.
u32 pick_half(u32 a, u32 b, bool want_min, u32 flags) {
  const auto key = [](u32 bits) {
    return static_cast<i32>(static_cast<i32>(bits) < 0 ? bits ^ 0x7fffffffu : bits);
  };
  const bool nan_a = is_nan32(a), nan_b = is_nan32(b);
  if (nan_a || nan_b) {
    if ((nan_a && nan_b) || (flags & kPropagateNan)) return kNan32;
    return nan_a ? b : a;
  }
  return (key(a) < key(b)) == want_min ? a : b;
}

u32 narrow(u32 bits, bool bfloat) {
  if (is_nan32(bits)) return kNan16;
  return bfloat ? bits >> 16 : float_to_half(bits);
}

void exec_hmnmx2(Warp& warp, const Instr& in, u32 mask) {
  HalfRows a, b, raw_a, raw_b;
  const bool bfloat = in.flags & kIsBfloat;
  read_halves(warp, slot(in, kA), bfloat, in.flags & kFtz, a);
  read_halves(warp, slot(in, kB), bfloat, in.flags & kFtz, b);
  if (in.flags & kXorSign) {  // the signs before |..| decide
    Operand plain_a = slot(in, kA), plain_b = slot(in, kB);
    plain_a.abs = plain_a.neg = plain_b.abs = plain_b.neg = false;
    read_halves(warp, plain_a, bfloat, false, raw_a);
    read_halves(warp, plain_b, bfloat, false, raw_b);
  }
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  const auto one = [&](int i, int h) {
    u32 bits = pick_half(a.part[h].v[i], b.part[h].v[i], (want_min >> i) & 1, in.flags);
    if ((in.flags & kXorSign) && !is_nan32(bits)) {
      bits = (bits & 0x7fffffffu) | ((raw_a.part[h].v[i] ^ raw_b.part[h].v[i]) & 0x80000000u);
    }
    return narrow(bits, bfloat);
  };
  Row result;
  for (int i = 0; i < kLanes; ++i) result.v[i] = one(i, 0) | one(i, 1) << 16;
  write32(warp, in.operands[0].reg, result.v, mask);
}

std::string bind_comparison(const InstrText& text, Instr& out, std::string_view pattern, ExecFn exec) {
  if (match_half_slots(text, out, pattern) < 0) return refuse_operands(text);
  const u32 set = float_comparison(text);
  if (set == 0) return refuse_modifiers(text);
  out.flags = set | static_cast<u32>(bool_op(text)) << 4 | (text.has("BF16_V2") ? kBfloat : 0) |
              (text.has("FTZ") ? kFlush : 0) | (text.has("BF") ? kAsFloat : 0) |
              (text.has("H_AND") ? kBoth : 0);
  out.exec = exec;
  return "";
}

}  // namespace

std::string bind_hsetp2(const InstrText& text, Instr& out) {
  return bind_comparison(text, out, "ooabp", exec_hsetp2);
}

std::string bind_hset2(const InstrText& text, Instr& out) {
  return bind_comparison(text, out, "dabp", exec_hset2);
}

std::string bind_hmnmx2(const InstrText& text, Instr& out) {
  if (match_half_slots(text, out, "dabp") < 0) return refuse_operands(text);
  out.flags = (text.has("NAN") ? kPropagateNan : 0) | (text.has("XORSIGN") ? kXorSign : 0) |
              (text.has("FTZ") ? kFtz : 0) | (text.has("BF16_V2") ? kIsBfloat : 0);
  out.exec = exec_hmnmx2;
  return "";
}

}  // namespace warpath
