// binary64: DADD, DMUL, DFMA and DSETP. Denormals are always kept; NaN results keep an operand's payload.
#include "ops/families.hpp"
#include "ops/floating.hpp"

namespace warpath {
namespace {

enum class Arith { Add, Mul, Fma };

template <Arith Op>
inline double apply(double a, double b, double c) {
  if constexpr (Op == Arith::Add) {
    return a + b;
  } else if constexpr (Op == Arith::Mul) {
    return a * b;
  } else {
    return __builtin_fma(a, b, c);
  }
}

// Not inlined, see HostRounding.
template <Arith Op>
[[gnu::noinline]] void arith_row(const Row64& a, const Row64& b, const Row64& c, Row64& out) {
  for (int i = 0; i < kLanes; ++i)
    out.v[i] = as_bits(apply<Op>(as_double(a.v[i]), as_double(b.v[i]), as_double(c.v[i])));
}

// Replaces the host's NaNs by the hardware's.
inline void settle_nans(const Row64& a, const Row64& b, const Row64& c, Row64& out) {
  u64 any = 0;
  for (int i = 0; i < kLanes; ++i) any |= is_nan64(out.v[i]) ? 1 : 0;
  if (any == 0) return;
  for (int i = 0; i < kLanes; ++i) {
    if (is_nan64(out.v[i])) out.v[i] = nan_result64(a.v[i], b.v[i], c.v[i]);
  }
}

template <Arith Op>
void exec_arith(Warp& warp, const Instr& in, u32 mask) {
  Row64 a, b, c, result;
  float64(warp, slot(in, kA), a);
  float64(warp, slot(in, kB), b);
  if (Op == Arith::Fma) float64(warp, slot(in, kC), c);
  const Round mode = static_cast<Round>(in.flags);
  const Row64& third = Op == Arith::Fma ? c : a;
  if (mode == Round::Nearest) {
    arith_row<Op>(a, b, third, result);
  } else {
    const HostRounding scope(mode);
    arith_row<Op>(a, b, third, result);
  }
  settle_nans(a, b, third, result);
  each_lane64(warp, in.operands[0], mask, [&](int i) { return result.v[i]; });
}

template <Arith Op>
std::string bind_arith(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {Op == Arith::Fma ? "dabc" : "dab"}) < 0) return refuse_operands(text);
  out.flags = static_cast<u32>(rounding(text));
  out.exec = exec_arith<Op>;
  return "";
}

void exec_dsetp(Warp& warp, const Instr& in, u32 mask) {
  Row64 a, b;
  float64(warp, slot(in, kA), a);
  float64(warp, slot(in, kB), b);
  const u32 set = in.flags & 15;
  u32 condition = 0;
  for (int i = 0; i < kLanes; ++i) {
    condition |= static_cast<u32>((relation(as_double(a.v[i]), as_double(b.v[i])) & set) != 0) << i;
  }
  write_setp(warp, in, static_cast<BoolOp>(in.flags >> 4), condition, mask);
}

// Total order of non-NaN values as signed integers, with -0 below +0.
inline i64 order_key(u64 bits) {
  return static_cast<i64>(bits) < 0 ? static_cast<i64>(bits ^ 0x7fffffffffffffffull) : static_cast<i64>(bits);
}

// DSETP.MIN/.MAX feed a selection: the first predicate takes a, the second says that both are NaN, so that
// the code after it sets the quiet bit.
template <bool Min>
void exec_dsetp_min_max(Warp& warp, const Instr& in, u32 mask) {
  Row64 a, b;
  float64(warp, slot(in, kA), a);
  float64(warp, slot(in, kB), b);
  const u32 enabled = pred_mask(warp, slot(in, kPredIn));
  u32 take_a = 0, both_nan = 0;
  for (int i = 0; i < kLanes; ++i) {
    const bool nan_a = is_nan64(a.v[i]), nan_b = is_nan64(b.v[i]);
    const bool ordered = Min ? order_key(a.v[i]) < order_key(b.v[i]) : order_key(a.v[i]) > order_key(b.v[i]);
    const bool first = !nan_a && (nan_b || ordered);
    take_a |= static_cast<u32>(first) << i;
    both_nan |= static_cast<u32>(nan_a && nan_b) << i;
  }
  write_pred(warp, slot(in, kPredOut), take_a & enabled, mask);
  write_pred(warp, slot(in, kPredOut2), both_nan & enabled, mask);
}

std::string bind_dsetp(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"ooabp"}) < 0) return refuse_operands(text);
  if (text.has("MIN") || text.has("MAX")) {
    if (bool_op(text) != BoolOp::And) return refuse_modifiers(text);
    out.exec = text.has("MIN") ? exec_dsetp_min_max<true> : exec_dsetp_min_max<false>;
    return "";
  }
  const u32 set = float_comparison(text);
  if (set == 0) return refuse_modifiers(text);
  out.flags = set | static_cast<u32>(bool_op(text)) << 4;
  out.exec = exec_dsetp;
  return "";
}

constexpr Latency kVariable = Latency::Variable;

constexpr OpDecl kOps[] = {
    {"DADD", "RM RP RZ", Pipe::Fp64, kVariable, bind_arith<Arith::Add>},
    {"DMUL", "RM RP RZ", Pipe::Fp64, kVariable, bind_arith<Arith::Mul>},
    {"DFMA", "RM RP RZ", Pipe::Fp64, kVariable, bind_arith<Arith::Fma>},
    {"DSETP", "LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU MIN MAX AND OR XOR", Pipe::Fp64, kVariable,
     bind_dsetp},
};

}  // namespace

const Family& double_precision_family() {
  static constexpr Family family{"double_precision", kOps};
  return family;
}

}  // namespace warpath
