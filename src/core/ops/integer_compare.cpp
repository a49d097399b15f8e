// Comparisons and selections by order: ISETP, IMNMX, VIMNMX, VIMNMX3, VIADDMNMX, IABS.
#include <limits>
#include <type_traits>

#include "ops/integer.hpp"
#include "ops/lanes.hpp"

namespace warpath {
namespace {

enum class Compare : int { Lt, Eq, Le, Gt, Ne, Ge, False, True };

template <Compare Test, class T>
bool holds(T a, T b) {
  switch (Test) {
    case Compare::Lt:
      return a < b;
    case Compare::Eq:
      return a == b;
    case Compare::Le:
      return a <= b;
    case Compare::Gt:
      return a > b;
    case Compare::Ne:
      return a != b;
    case Compare::Ge:
      return a >= b;
    case Compare::False:
      return false;
    default:
      return true;
  }
}

// Upper words that decide a 64-bit comparison by themselves.
template <Compare Test, class T>
bool holds_apart(T a, T b) {
  constexpr bool greater = Test == Compare::Gt || Test == Compare::Ge;
  constexpr bool less = Test == Compare::Lt || Test == Compare::Le;
  return greater ? a > b : less ? a < b : Test == Compare::Ne && a != b;
}

template <Compare Test, class T>
void exec_isetp(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 condition =
      lanes_where([=](int i) { return holds<Test>(static_cast<T>(a[i]), static_cast<T>(b[i])); });
  write_setp(warp, in, static_cast<BoolOp>(in.flags), condition, mask);
}

template <Compare Test, class T>
void exec_isetp_extended(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 apart =
      lanes_where([=](int i) { return holds_apart<Test>(static_cast<T>(a[i]), static_cast<T>(b[i])); });
  const u32 tied = lanes_where([=](int i) { return a[i] == b[i]; });
  const u32 condition = apart | (tied & pred_mask(warp, slot(in, kPredIn2)));  // ties: the lower words decide
  write_setp(warp, in, static_cast<BoolOp>(in.flags), condition, mask);
}

template <Compare Test, class T>
void exec_isetp64(Warp& warp, const Instr& in, u32 mask) {
  Row64 a, b;
  int64(warp, slot(in, kA), a);
  int64(warp, slot(in, kB), b);
  const u32 condition =
      lanes_where([&](int i) { return holds<Test>(static_cast<T>(a.v[i]), static_cast<T>(b.v[i])); });
  write_setp(warp, in, static_cast<BoolOp>(in.flags), condition, mask);
}

enum class Width { Word, Extended, Double };

template <Compare Test>
ExecFn pick_isetp(Width width, bool is_signed) {
  switch (width) {
    case Width::Word:
      return is_signed ? exec_isetp<Test, i32> : exec_isetp<Test, u32>;
    case Width::Extended:
      return is_signed ? exec_isetp_extended<Test, i32> : exec_isetp_extended<Test, u32>;
    default:
      return is_signed ? exec_isetp64<Test, i64> : exec_isetp64<Test, u64>;
  }
}

ExecFn pick_isetp(Compare test, Width width, bool is_signed) {
  switch (test) {
    case Compare::Lt:
      return pick_isetp<Compare::Lt>(width, is_signed);
    case Compare::Eq:
      return pick_isetp<Compare::Eq>(width, is_signed);
    case Compare::Le:
      return pick_isetp<Compare::Le>(width, is_signed);
    case Compare::Gt:
      return pick_isetp<Compare::Gt>(width, is_signed);
    case Compare::Ne:
      return pick_isetp<Compare::Ne>(width, is_signed);
    case Compare::Ge:
      return pick_isetp<Compare::Ge>(width, is_signed);
    case Compare::False:
      return pick_isetp<Compare::False>(width, is_signed);
    default:
      return pick_isetp<Compare::True>(width, is_signed);
  }
}

// Element types of the minimum and maximum ops: whole words, two halves, four bytes.
template <class T, int Count>
struct Lane {
  static constexpr int kBits = 32 / Count;
  static T get(u32 word, int k) { return static_cast<T>(Count == 1 ? word : word >> (kBits * k)); }
  static u32 put(T value, int k) {
    const u32 field = static_cast<u32>(static_cast<std::make_unsigned_t<T>>(value));
    return Count == 1 ? field : field << (kBits * k);
  }
};

using Word = Lane<i32, 1>;
using UWord = Lane<u32, 1>;
using Half = Lane<i16, 2>;
using UHalf = Lane<u16, 2>;
using Byte = Lane<i8, 4>;
using UByte = Lane<u8, 4>;

template <class T>
T pick_min_max(T a, T b, bool want_min) {
  const T smaller = a < b ? a : b;
  const T larger = a < b ? b : a;
  return want_min ? smaller : larger;
}

template <class T, int Count>
u32 min_max(Lane<T, Count>, u32 a, u32 b, bool want_min, bool relu) {
  const T floor = relu ? T{0} : std::numeric_limits<T>::min();
  u32 word = 0;
  for (int k = 0; k < Count; ++k) {
    const T best = pick_min_max(Lane<T, Count>::get(a, k), Lane<T, Count>::get(b, k), want_min);
    word |= Lane<T, Count>::put(best < floor ? floor : best, k);
  }
  return word;
}

template <class T, int Count>
u32 add_elements(Lane<T, Count>, u32 a, u32 b) {
  u32 word = 0;
  for (int k = 0; k < Count; ++k) {
    const auto sum = static_cast<T>(Lane<T, Count>::get(a, k) + Lane<T, Count>::get(b, k));
    word |= Lane<T, Count>::put(sum, k);
  }
  return word;
}

constexpr u32 kRelu = 1;

template <class L>
void exec_min_max(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  const Operand& dst = in.operands[0];
  if (in.flags & kRelu) {
    each_lane(warp, dst, mask, [=](int i) { return min_max(L{}, a[i], b[i], (want_min >> i) & 1, true); });
  } else if (want_min == kFullMask) {
    each_lane(warp, dst, mask, [=](int i) { return min_max(L{}, a[i], b[i], true, false); });
  } else if (want_min == 0) {
    each_lane(warp, dst, mask, [=](int i) { return min_max(L{}, a[i], b[i], false, false); });
  } else {
    each_lane(warp, dst, mask, [=](int i) { return min_max(L{}, a[i], b[i], (want_min >> i) & 1, false); });
  }
}

// Two predicates of a packed minimum or maximum: was the first source taken, for the lower and the upper
// half.
template <class L>
void exec_min_max_halves(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  const auto first_taken = [&](int k) {
    return lanes_where([&](int i) {
      const auto x = L::get(a[i], k);
      const auto y = L::get(b[i], k);
      return (want_min >> i) & 1 ? x <= y : x >= y;
    });
  };
  const u32 upper = first_taken(1);
  const u32 lower = first_taken(0);
  exec_min_max<L>(warp, in, mask);
  write_pred(warp, slot(in, kPredOut), lower, mask);
  write_pred(warp, slot(in, kPredOut2), upper, mask);
}

template <class T>
void exec_min_max64(Warp& warp, const Instr& in, u32 mask) {
  Row64 a, b;
  int64(warp, slot(in, kA), a);
  int64(warp, slot(in, kB), b);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  const Operand& dst = in.operands[2];  // after the two predicates of this form
  each_lane64(warp, dst, mask, [&](int i) {
    const T best = pick_min_max(static_cast<T>(a.v[i]), static_cast<T>(b.v[i]), (want_min >> i) & 1);
    return static_cast<u64>(best);
  });
}

template <class L>
void exec_min_max3(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  const bool relu = in.flags & kRelu;
  each_lane(warp, in.operands[0], mask, [=](int i) {
    const bool smaller = (want_min >> i) & 1;
    return min_max(L{}, min_max(L{}, a[i], b[i], smaller, false), c[i], smaller, relu);
  });
}

template <class L>
void exec_add_min_max(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const u32 want_min = pred_mask(warp, slot(in, kPredIn));
  const bool relu = in.flags & kRelu;
  each_lane(warp, in.operands[0], mask, [=](int i) {
    return min_max(L{}, add_elements(L{}, a[i], b[i]), c[i], (want_min >> i) & 1, relu);
  });
}

// Which element type the modifiers name; without one the words are signed.
int element_type(const InstrText& text) {
  return choose(text, {"S32", "U32", "S16x2", "U16x2", "S8x4", "U8x4"}, 0);
}

u32 absolute(u32 a) { return static_cast<i32>(a) < 0 ? 0u - a : a; }

bool writes_predicates(const Instr& out) {
  return slot(out, kPredOut).reg != kPT || slot(out, kPredOut2).reg != kPT;
}

}  // namespace

std::string bind_isetp(const InstrText& text, Instr& out) {
  const bool extended = text.has("EX");
  if (match_slots(text, out, {extended ? "ooabpp" : "ooabp"}) < 0) return refuse_operands(text);
  const int test = choose(text, {"LT", "EQ", "LE", "GT", "NE", "GE", "F", "T"}, -1);
  if (test < 0) return refuse_modifiers(text);
  const bool wide = text.has("U64") || text.has("S64");
  if (wide && extended) return refuse_modifiers(text);
  const bool is_signed = !text.has("U32") && !text.has("U64");
  out.flags = static_cast<u32>(bool_op(text));
  out.exec = pick_isetp(static_cast<Compare>(test),
                        wide       ? Width::Double
                        : extended ? Width::Extended
                                   : Width::Word,
                        is_signed);
  return "";
}

std::string bind_imnmx(const InstrText& text, Instr& out) {
  if (text.has("S64") || text.has("U64")) {
    if (match_slots(text, out, {"oodabpp"}) < 0) return refuse_operands(text);
    const Operand& last = slot(out, kPredIn2);
    if (writes_predicates(out) || last.reg != kPT || !last.inv) return refuse_operands(text);
    out.exec = text.has("S64") ? exec_min_max64<i64> : exec_min_max64<u64>;
    return "";
  }
  if (match_slots(text, out, {"dabp", "dooabp"}) < 0) return refuse_operands(text);
  out.flags = text.has("RELU") ? kRelu : 0;
  const int type = element_type(text);
  if (writes_predicates(out)) {
    if ((type != 2 && type != 3) || out.flags != 0) return refuse_operands(text);
    out.exec = type == 2 ? exec_min_max_halves<Half> : exec_min_max_halves<UHalf>;
    return "";
  }
  static constexpr ExecFn table[] = {exec_min_max<Word>,  exec_min_max<UWord>, exec_min_max<Half>,
                                     exec_min_max<UHalf>, exec_min_max<Byte>,  exec_min_max<UByte>};
  out.exec = table[type];
  return "";
}

std::string bind_vimnmx3(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabcp"}) < 0) return refuse_operands(text);
  out.flags = text.has("RELU") ? kRelu : 0;
  static constexpr ExecFn table[] = {exec_min_max3<Word>,  exec_min_max3<UWord>, exec_min_max3<Half>,
                                     exec_min_max3<UHalf>, exec_min_max3<Byte>,  exec_min_max3<UByte>};
  out.exec = table[element_type(text)];
  return "";
}

std::string bind_viaddmnmx(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabcp"}) < 0) return refuse_operands(text);
  const int type = element_type(text);
  // '-' on packed halves means something per half; only whole words are seen with it.
  if (type >= 2 && (slot(out, kA).neg || slot(out, kB).neg || slot(out, kC).neg))
    return refuse_operands(text);
  out.flags = text.has("RELU") ? kRelu : 0;
  static constexpr ExecFn table[] = {exec_add_min_max<Word>, exec_add_min_max<UWord>,
                                     exec_add_min_max<Half>, exec_add_min_max<UHalf>,
                                     exec_add_min_max<Byte>, exec_add_min_max<UByte>};
  out.exec = table[type];
  return "";
}

std::string bind_iabs(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  out.exec = exec_int1<absolute>;
  return "";
}

}  // namespace warpath
