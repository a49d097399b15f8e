// binary32 comparison and selection: FSETP, FSET, FSEL, FMNMX, FMNMX3, FCHK.
#include "ops/floating.hpp"

namespace warpath {

u32 float_comparison(const InstrText& text) {
  static constexpr u32 sets[] = {kLess,
                                 kEqual,
                                 kLess | kEqual,
                                 kGreater,
                                 kLess | kGreater,
                                 kGreater | kEqual,
                                 kLess | kEqual | kGreater,
                                 kUnordered,
                                 kLess | kUnordered,
                                 kEqual | kUnordered,
                                 kLess | kEqual | kUnordered,
                                 kGreater | kUnordered,
                                 kLess | kGreater | kUnordered,
                                 kGreater | kEqual | kUnordered};
  const int which = choose(
      text, {"LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU", "GEU"}, -1);
  return which < 0 ? 0 : sets[which];
}

namespace {

// Flags: comparison set in bits 3:0, boolean operation in 5:4, then
constexpr u32 kFtz = 0x40, kAsFloat = 0x80;

// Lanes where the comparison `set` holds. Each relation is one vector compare.
inline u32 compare_lanes(const Warp& warp, const Instr& in) {
  Row sa, sb;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32 set = in.flags & 15;
  const u32 on_less = set & kLess ? ~0u : 0, on_equal = set & kEqual ? ~0u : 0;
  const u32 on_greater = set & kGreater ? ~0u : 0, on_unordered = set & kUnordered ? ~0u : 0;
  Row hit;
  const auto compare = [&](auto read) {
    for (int i = 0; i < kLanes; ++i) {
      const float x = as_float(read(a[i]));
      const float y = as_float(read(b[i]));
      const u32 less = x < y ? on_less : 0;
      const u32 equal = x == y ? on_equal : 0;
      const u32 greater = x > y ? on_greater : 0;
      const u32 unordered = __builtin_isunordered(x, y) ? on_unordered : 0;
      hit.v[i] = less | equal | greater | unordered;
    }
  };
  if (in.flags & kFtz) {
    compare([](u32 bits) { return flush32(bits); });
  } else {
    compare([](u32 bits) { return bits; });
  }
  return top_bits(hit.v);
}

void exec_fsetp(Warp& warp, const Instr& in, u32 mask) {
  write_setp(warp, in, static_cast<BoolOp>((in.flags >> 4) & 3), compare_lanes(warp, in), mask);
}

void exec_fset(Warp& warp, const Instr& in, u32 mask) {
  const BoolOp op = static_cast<BoolOp>((in.flags >> 4) & 3);
  const u32 hit = join(op, compare_lanes(warp, in), pred_mask(warp, slot(in, kPredIn)));
  const u32 yes = in.flags & kAsFloat ? 0x3f800000u : 0xffffffffu;
  each_lane(warp, in.operands[0], mask, [=](int i) { return (hit >> i) & 1 ? yes : 0; });
}

void exec_fsel(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32 take_a = pred_mask(warp, slot(in, kPredIn));
  const bool ftz = in.flags & kFtz;
  each_lane(warp, in.operands[0], mask, [=](int i) {
    const u32 word = (take_a >> i) & 1 ? a[i] : b[i];
    return ftz ? flush32(word) : word;
  });
}

constexpr u32 kPropagateNan = 1, kFlush = 2;

// Binary32 order as signed integers, with -0 below +0.
inline i32 order_key(u32 bits) {
  return static_cast<i32>(bits) < 0 ? static_cast<i32>(bits ^ 0x7fffffffu) : static_cast<i32>(bits);
}

// mask ? yes : no with a mask of all ones or zero, which vectorises where nested conditions do not.
inline u32 pick(u32 mask, u32 yes, u32 no) { return (yes & mask) | (no & ~mask); }

template <u32 Flags>
inline u32 float_min_max(u32 a, u32 b, u32 want_min) {
  const u32 x = Flags & kFlush ? flush32(a) : a;
  const u32 y = Flags & kFlush ? flush32(b) : b;
  const u32 nan_x = is_nan32(x) ? ~0u : 0, nan_y = is_nan32(y) ? ~0u : 0;
  const u32 x_first = order_key(x) < order_key(y) ? ~0u : 0;
  const u32 ordered = pick(x_first ^ want_min, y, x);
  if (Flags & kPropagateNan) return pick(nan_x | nan_y, kNan32, ordered);
  const u32 value = pick(nan_x | nan_y, pick(nan_x, y, x), ordered);
  return pick(nan_x & nan_y, kNan32, value);
}

inline u32 lane_mask(u32 lanes, int lane) { return 0u - ((lanes >> lane) & 1); }

template <u32 Flags>
void exec_fmnmx(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  each_lane(warp, in.operands[0], mask,
            [=](int i) { return float_min_max<Flags>(a[i], b[i], lane_mask(want_min, i)); });
}

// XORSIGN: the magnitude is chosen from the operands as written (|a|, |b|), the sign is the product of their
// signs before |..|.
template <u32 Flags>
void exec_fmnmx_xorsign(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sa_raw, sb_raw;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32* raw_a = raw32(warp, slot(in, kA), sa_raw);
  const u32* raw_b = raw32(warp, slot(in, kB), sb_raw);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  each_lane(warp, in.operands[0], mask, [=](int i) {
    const u32 value = float_min_max<Flags>(a[i], b[i], lane_mask(want_min, i));
    const u32 sign = (raw_a[i] ^ raw_b[i]) & 0x80000000u;
    return is_nan32(value) ? kNan32 : (value & 0x7fffffffu) | sign;
  });
}

template <u32 Flags>
void exec_fmnmx3(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32* c = float32(warp, slot(in, kC), sc);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  each_lane(warp, in.operands[0], mask, [=](int i) {
    const u32 smaller = lane_mask(want_min, i);
    return float_min_max<Flags>(float_min_max<Flags>(a[i], b[i], smaller), c[i], smaller);
  });
}

// FCHK: true where a / b needs the careful path: an operand or the quotient is special or near the ends of
// the exponent range, so that the reciprocal or a residual could leave the normal range.
bool needs_careful_division(u32 a, u32 b) {
  const int exponent_a = static_cast<int>((a >> 23) & 0xff);
  const int exponent_b = static_cast<int>((b >> 23) & 0xff);
  if (exponent_a == 0xff || exponent_b == 0xff || exponent_b == 0) return true;
  if (exponent_b >= 0xfd) return true;  // the reciprocal is denormal
  const int quotient = exponent_a - exponent_b;
  return exponent_a <= 24 || quotient >= 126 || quotient <= -125;
}

void exec_fchk(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  write_pred(warp, slot(in, kPredOut), lanes_where([=](int i) { return needs_careful_division(a[i], b[i]); }),
             mask);
}

std::string bind_comparison(const InstrText& text, Instr& out, ExecFn exec) {
  const u32 set = float_comparison(text);
  if (set == 0) return refuse_modifiers(text);
  out.flags = set | static_cast<u32>(bool_op(text)) << 4 | (text.has("FTZ") ? kFtz : 0) |
              (text.has("BF") ? kAsFloat : 0);
  out.exec = exec;
  return "";
}

u32 min_max_flags(const InstrText& text) {
  return (text.has("NAN") ? kPropagateNan : 0) | (text.has("FTZ") ? kFlush : 0);
}

}  // namespace

std::string bind_fsetp(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"ooabp"}) < 0) return refuse_operands(text);
  return bind_comparison(text, out, exec_fsetp);
}

std::string bind_fset(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dabp"}) < 0) return refuse_operands(text);
  return bind_comparison(text, out, exec_fset);
}

std::string bind_fsel(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dabp"}) < 0) return refuse_operands(text);
  out.flags = text.has("FTZ") ? kFtz : 0;
  out.exec = exec_fsel;
  return "";
}

std::string bind_fmnmx(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dabp"}) < 0) return refuse_operands(text);
  static constexpr ExecFn plain[] = {exec_fmnmx<0>, exec_fmnmx<1>, exec_fmnmx<2>, exec_fmnmx<3>};
  static constexpr ExecFn signs[] = {exec_fmnmx_xorsign<0>, exec_fmnmx_xorsign<1>, exec_fmnmx_xorsign<2>,
                                     exec_fmnmx_xorsign<3>};
  out.exec = text.has("XORSIGN") ? signs[min_max_flags(text)] : plain[min_max_flags(text)];
  return "";
}

std::string bind_fmnmx3(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dabcp"}) < 0) return refuse_operands(text);
  static constexpr ExecFn table[] = {exec_fmnmx3<0>, exec_fmnmx3<1>, exec_fmnmx3<2>, exec_fmnmx3<3>};
  out.exec = table[min_max_flags(text)];
  return "";
}

std::string bind_fchk(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"oab"}) < 0) return refuse_operands(text);
  out.exec = exec_fchk;
  return "";
}

}  // namespace warpath
