// Lane loops: the shape of nearly every ALU op. Loops are written so that the compiler vectorises them.
#pragma once

#include <bit>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "exec/operand.hpp"
#include "ops/slots.hpp"

namespace warpath {

// Bit `lane` is set when word `lane` of `row` has its top bit set.
inline u32 top_bits(const u32* row) {
#ifdef __AVX2__
  u32 bits = 0;
  for (int part = 0; part < 4; ++part) {
    const __m256 words = _mm256_loadu_ps(reinterpret_cast<const float*>(row + 8 * part));
    bits |= static_cast<u32>(_mm256_movemask_ps(words)) << (8 * part);
  }
  return bits;
#else
  u32 bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= (row[lane] >> 31) << lane;
  return bits;
#endif
}

// Lane mask of a test on the lane number.
template <class Test>
[[gnu::always_inline]] inline u32 lanes_where(Test test) {
  Row hit;
  for (int lane = 0; lane < kLanes; ++lane) hit.v[lane] = test(lane) ? 0xffffffffu : 0u;
  return top_bits(hit.v);
}

// Stores a computed row to a vector or uniform destination.
inline void store32(Warp& warp, const Operand& dst, const u32* values, u32 mask) {
  if (dst.kind == OperandKind::Reg) {
    write32(warp, dst.reg, values, mask);
  } else {
    write_uniform(warp, dst.reg, values[0]);
  }
}

// dst = fn(lane) for the lanes of `mask`. A full warp is written in place: `fn` may read rows that alias the
// destination, since a lane reads only its own words and reads them before the store.
template <class Fn>
[[gnu::always_inline]] inline void each_lane(Warp& warp, const Operand& dst, u32 mask, Fn fn) {
  Row scratch;
  const bool direct = mask == kFullMask && dst.kind == OperandKind::Reg;
  u32* out = direct ? warp.write_row(dst.reg) : scratch.v;
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) out[lane] = fn(lane);
  if (!direct) store32(warp, dst, out, mask);
}

// The same for a 64-bit result in a register pair.
template <class Fn>
[[gnu::always_inline]] inline void each_lane64(Warp& warp, const Operand& dst, u32 mask, Fn fn) {
  Row64 wide;
  for (int lane = 0; lane < kLanes; ++lane) wide.v[lane] = fn(lane);
  if (dst.kind == OperandKind::Reg) {
    write64(warp, dst.reg, wide, mask);
  } else {
    write_uniform64(warp, dst.reg, wide.v[0]);
  }
}

// 64-bit integer source with its '-' or '~'.
inline void int64(const Warp& warp, const Operand& op, Row64& out) {
  raw64(warp, op, out);
  if (op.neg) {
    for (int lane = 0; lane < kLanes; ++lane) out.v[lane] = 0 - out.v[lane];
  } else if (op.inv) {
    for (int lane = 0; lane < kLanes; ++lane) out.v[lane] = ~out.v[lane];
  }
}

// The two words of a 64-bit source: a register pair is read in place, anything else is filled in.
struct WordPair {
  const u32* low;
  const u32* high;
};

inline WordPair words64(const Warp& warp, const Operand& op, Row& low, Row& high) {
  if (op.kind == OperandKind::Reg && !op.neg && !op.inv) {
    const u32* first = warp.read_row(op.reg);
    return {first, op.reg == kRZ ? first : warp.read_row(static_cast<u16>(op.reg + 1))};
  }
  if (op.kind == OperandKind::Const) {
    const u64 word = uniform_const64(warp, op);
    const u64 value = op.neg ? 0 - word : op.inv ? ~word : word;
    for (int lane = 0; lane < kLanes; ++lane) low.v[lane] = static_cast<u32>(value);
    for (int lane = 0; lane < kLanes; ++lane) high.v[lane] = static_cast<u32>(value >> 32);
    return {low.v, high.v};
  }
  Row64 wide;
  int64(warp, op, wide);
  for (int lane = 0; lane < kLanes; ++lane) {
    low.v[lane] = static_cast<u32>(wide.v[lane]);
    high.v[lane] = static_cast<u32>(wide.v[lane] >> 32);
  }
  return {low.v, high.v};
}

// Where a register pair's words go: in place for a full warp, else into scratch rows that `store` writes
// from.
class PairWriter {
 public:
  PairWriter(Warp& warp, const Operand& dst, u32 mask)
      : warp_(warp),
        dst_(dst),
        mask_(mask),
        direct_(mask == kFullMask && dst.kind == OperandKind::Reg && dst.reg != kRZ),
        low(direct_ ? warp.write_row(dst.reg) : low_scratch_.v),
        high(direct_ ? warp.write_row(static_cast<u16>(dst.reg + 1)) : high_scratch_.v) {}

  void store() {
    if (direct_ || dst_.reg == kRZ) return;
    Operand upper = dst_;
    ++upper.reg;
    store32(warp_, dst_, low, mask_);
    store32(warp_, upper, high, mask_);
  }

 private:
  Warp& warp_;
  const Operand& dst_;
  u32 mask_;
  bool direct_;
  Row low_scratch_, high_scratch_;

 public:
  u32* low;
  u32* high;
};

// binary64 source as bits: |x| clears, '-' flips the sign bit. NaNs keep theirs (measured on an H200).
inline void float64(const Warp& warp, const Operand& op, Row64& out) {
  raw64(warp, op, out);
  if (!op.neg && !op.abs) return;
  const u64 keep = op.abs ? 0x7fffffffffffffffull : ~0ull;
  const u64 flip = op.neg ? 0x8000000000000000ull : 0ull;
  for (int lane = 0; lane < kLanes; ++lane) {
    const u64 word = out.v[lane];
    const bool nan = (word & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
    out.v[lane] = nan ? word : (word & keep) ^ flip;
  }
}

inline float as_float(u32 bits) { return std::bit_cast<float>(bits); }
inline u32 as_bits(float value) { return std::bit_cast<u32>(value); }
inline double as_double(u64 bits) { return std::bit_cast<double>(bits); }
inline u64 as_bits(double value) { return std::bit_cast<u64>(value); }

// Ready-made exec functions for ops that map words to a word.
template <auto Fn>
void exec_int1(Warp& warp, const Instr& in, u32 mask) {
  Row sa;
  const u32* a = int32(warp, slot(in, kA), sa);
  each_lane(warp, in.operands[0], mask, [=](int i) { return Fn(a[i]); });
}

template <auto Fn>
void exec_int2(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  each_lane(warp, in.operands[0], mask, [=](int i) { return Fn(a[i], b[i]); });
}

template <auto Fn>
void exec_int3(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  each_lane(warp, in.operands[0], mask, [=](int i) { return Fn(a[i], b[i], c[i]); });
}

// How two conditions of a SETP join: result = condition OP other.
enum class BoolOp : u32 { And, Or, Xor };

inline BoolOp bool_op(const InstrText& text) {
  return static_cast<BoolOp>(choose(text, {"AND", "OR", "XOR"}, 0));
}

inline u32 join(BoolOp op, u32 condition, u32 other) {
  switch (op) {
    case BoolOp::And:
      return condition & other;
    case BoolOp::Or:
      return condition | other;
    default:
      return condition ^ other;
  }
}

// Writes the two results of a SETP: condition OP p, and (not condition) OP p.
inline void write_setp(Warp& warp, const Instr& in, BoolOp op, u32 condition, u32 mask) {
  const u32 other = pred_mask(warp, slot(in, kPredIn));
  write_pred(warp, slot(in, kPredOut), join(op, condition, other), mask);
  write_pred(warp, slot(in, kPredOut2), join(op, ~condition, other), mask);
}

}  // namespace warpath
