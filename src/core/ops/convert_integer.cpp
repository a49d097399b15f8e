// Conversions between floats and integers, and saturating integer narrowing: F2I, I2F, I2FP, I2I, I2IP, F2IP.
#include <algorithm>
#include <cmath>

#include "ops/convert.hpp"

namespace warpath {
namespace {

struct IntType {
  int bits;
  bool is_signed;
};

constexpr IntType kIntTypes[] = {{8, false},  {8, true},  {16, false}, {16, true},
                                 {32, false}, {32, true}, {64, false}, {64, true}};

// Index in kIntTypes of the integer type among the modifiers; S32 when there is none.
int int_type(const InstrText& text) {
  return choose(text, {"U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64"}, 5);
}

// F2I flags: integer type, float type, rounding, then
constexpr u32 kFlush = 1u << 8, kNanToZero = 1u << 9;

// An integral value clamped to the type. NaN gives 0, or (without .NTZ) the type's top bit.
u64 clamp_to_int(double value, IntType type, bool nan_to_zero) {
  if (std::isnan(value)) return nan_to_zero ? 0 : 1ull << (type.bits - 1);
  const double limit = std::ldexp(1.0, type.is_signed ? type.bits - 1 : type.bits);
  if (type.is_signed) {
    if (value >= limit) return (1ull << (type.bits - 1)) - 1;
    return static_cast<u64>(value < -limit ? static_cast<i64>(-limit) : static_cast<i64>(value));
  }
  if (value <= 0) return 0;
  return value >= limit ? (type.bits == 64 ? ~0ull : (1ull << type.bits) - 1) : static_cast<u64>(value);
}

void exec_f2i(Warp& warp, const Instr& in, u32 mask) {
  const IntType type = kIntTypes[in.flags & 7];
  const FloatType source = static_cast<FloatType>((in.flags >> 3) & 3);
  const Round mode = static_cast<Round>((in.flags >> 5) & 3);
  Row64 values;
  read_floats(warp, slot(in, kA), source, in.flags & kFlush, values);
  for (int i = 0; i < kLanes; ++i) {
    values.v[i] = clamp_to_int(round_to_integer(as_double(values.v[i]), mode), type, in.flags & kNanToZero);
  }
  if (type.bits == 64) {
    each_lane64(warp, in.operands[0], mask, [&](int i) { return values.v[i]; });
  } else {
    each_lane(warp, in.operands[0], mask, [&](int i) { return static_cast<u32>(values.v[i]); });
  }
}

// The common form, binary32 to S32, vectorised.
template <Round Mode>
void exec_f2i_s32(Warp& warp, const Instr& in, u32 mask) {
  Row sa;
  const u32* a = float32(warp, slot(in, kA), sa);
  const bool flush = in.flags & kFlush;
  const u32 on_nan = in.flags & kNanToZero ? 0 : 0x80000000u;
  each_lane(warp, in.operands[0], mask, [=](int i) {
    const float x = as_float(flush ? flush32(a[i]) : a[i]);
    const float rounded = Mode == Round::Nearest ? __builtin_rintf(x)
                          : Mode == Round::Down  ? __builtin_floorf(x)
                          : Mode == Round::Up    ? __builtin_ceilf(x)
                                                 : __builtin_truncf(x);
    const bool high = rounded >= 0x1p31f;
    const bool low = rounded < -0x1p31f;
    const bool nan = rounded != rounded;
    const float inside = high | low | nan ? 0.0f : rounded;
    const u32 value = static_cast<u32>(static_cast<i32>(inside));
    const u32 clamped = high ? 0x7fffffffu : low ? 0x80000000u : value;
    return nan ? on_nan : clamped;
  });
}

// --- I2F ------------------------------------------------------------------------------------------------
// A sub-word of the source ("R3.B1") widened to the type.
u32 sub_word(u32 word, const Operand& op, IntType type) {
  const u32 shift = op.part >= 1 && op.part <= 4 ? 8u * (op.part - 1u) : op.part == 6 ? 16u : 0u;
  const u32 bits = word >> shift;
  switch (type.bits) {
    case 8:
      return type.is_signed ? static_cast<u32>(static_cast<i8>(bits)) : bits & 0xff;
    case 16:
      return type.is_signed ? static_cast<u32>(static_cast<i16>(bits)) : bits & 0xffff;
    default:
      return bits;
  }
}

// Sign and magnitude as a binary64 rounded to odd: good for one more rounding to any narrower format.
double int_to_odd(u64 magnitude, bool negative) {
  const int zeros = magnitude == 0 ? 64 : __builtin_clzll(magnitude);
  const int shift = std::max(0, 11 - zeros);
  const u64 lost = magnitude & ((1ull << shift) - 1);
  const double kept = static_cast<double>((magnitude >> shift) | (lost != 0 ? 1 : 0));
  const double value = std::ldexp(kept, shift);
  return negative ? -value : value;
}

// Integer sources as 64-bit two's complement.
void read_ints(const Warp& warp, const Operand& op, IntType type, Row64& out) {
  if (type.bits == 64) {
    int64(warp, op, out);
    return;
  }
  Row scratch;
  const u32* row = int32(warp, op, scratch);
  for (int i = 0; i < kLanes; ++i) {
    const u32 word = sub_word(row[i], op, type);
    out.v[i] = type.is_signed ? static_cast<u64>(static_cast<i64>(static_cast<i32>(word))) : word;
  }
}

// One row to binary64 under the host's rounding; not inlined, see HostRounding.
template <class T>
[[gnu::noinline]] void ints_to_doubles(const Row64& values, Row64& out) {
  for (int i = 0; i < kLanes; ++i) out.v[i] = as_bits(static_cast<double>(static_cast<T>(values.v[i])));
}

void exec_i2f(Warp& warp, const Instr& in, u32 mask) {
  const IntType type = kIntTypes[in.flags & 7];
  const FloatType target = static_cast<FloatType>((in.flags >> 3) & 3);
  const Round mode = static_cast<Round>((in.flags >> 5) & 3);
  Row64 values, converted;
  read_ints(warp, slot(in, kA), type, values);
  if (target == FloatType::F64) {
    const HostRounding scope(mode);
    if (type.is_signed) {
      ints_to_doubles<i64>(values, converted);
    } else {
      ints_to_doubles<u64>(values, converted);
    }
  } else {
    for (int i = 0; i < kLanes; ++i) {
      const bool negative = type.is_signed && static_cast<i64>(values.v[i]) < 0;
      converted.v[i] = as_bits(int_to_odd(negative ? 0 - values.v[i] : values.v[i], negative));
    }
  }
  write_floats(warp, in.operands[0], target, converted, mode, false, Payload::Drop, mask);
}

// The common form, a 32-bit word to binary32; one row under the host's rounding.
template <class T>
[[gnu::noinline]] void words_to_floats(const u32* values, u32* out) {
  for (int i = 0; i < kLanes; ++i) out[i] = as_bits(static_cast<float>(static_cast<T>(values[i])));
}

template <class T>
void exec_i2f_word(Warp& warp, const Instr& in, u32 mask) {
  Row sa, result;
  const u32* a = int32(warp, slot(in, kA), sa);
  const Round mode = static_cast<Round>((in.flags >> 5) & 3);
  if (mode == Round::Nearest) {
    words_to_floats<T>(a, result.v);
  } else {
    const HostRounding scope(mode);
    words_to_floats<T>(a, result.v);
  }
  store32(warp, in.operands[0], result.v, mask);
}

// --- saturating narrowing ---------------------------------------------------------------------------------
u32 saturate_to(i64 value, IntType type) {
  const i64 low = type.is_signed ? -(1ll << (type.bits - 1)) : 0;
  const i64 high = type.is_signed ? (1ll << (type.bits - 1)) - 1 : (1ll << type.bits) - 1;
  return static_cast<u32>(std::clamp(value, low, high));
}

IntType packed_type(u32 flags) { return {static_cast<int>(flags & 63), (flags & 64) != 0}; }

void exec_i2i(Warp& warp, const Instr& in, u32 mask) {
  Row sa;
  const u32* a = int32(warp, slot(in, kA), sa);
  const IntType type = packed_type(in.flags);
  each_lane(warp, in.operands[0], mask, [=](int i) { return saturate_to(static_cast<i32>(a[i]), type); });
}

// {c, a, b}: both sources narrowed, b lowest, and the low bits of c above them.
u32 pack_fields(u32 a, u32 b, u32 c, int bits) {
  const u32 field = (1u << bits) - 1;
  const u32 above = 2 * bits >= 32 ? 0 : c << (2 * bits);
  return above | (a & field) << bits | (b & field);
}

void exec_i2ip(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const IntType type = packed_type(in.flags);
  each_lane(warp, in.operands[0], mask, [=](int i) {
    return pack_fields(saturate_to(static_cast<i32>(a[i]), type), saturate_to(static_cast<i32>(b[i]), type),
                       c[i], type.bits);
  });
}

void exec_f2ip(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const Round mode = static_cast<Round>(in.flags);
  const auto narrow = [=](u32 bits) {
    return static_cast<u32>(clamp_to_int(round_to_integer(as_float(bits), mode), {8, false}, true));
  };
  each_lane(warp, in.operands[0], mask,
            [=](int i) { return pack_fields(narrow(a[i]), narrow(b[i]), c[i], 8); });
}

// The narrow type of I2I and I2IP: its width in the low bits, its sign in bit 6.
bool narrow_type(const InstrText& text, u32& flags) {
  const int which = choose(text, {"U2", "S2", "U4", "S4", "U8", "S8", "U16", "S16"}, -1);
  if (which < 0 || !text.has("S32") || !text.has("SAT")) return false;
  flags = (2u << (which / 2)) | (which % 2 ? 64u : 0u);
  return true;
}

}  // namespace

std::string bind_f2i(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  const int type = int_type(text);
  const FloatType source = source_float_type(text);
  const Round mode = integer_rounding(text);
  out.flags = static_cast<u32>(type) | static_cast<u32>(source) << 3 | static_cast<u32>(mode) << 5 |
              (text.has("FTZ") ? kFlush : 0) | (text.has("NTZ") ? kNanToZero : 0);
  static constexpr ExecFn to_s32[] = {exec_f2i_s32<Round::Nearest>, exec_f2i_s32<Round::Down>,
                                      exec_f2i_s32<Round::Up>, exec_f2i_s32<Round::Zero>};
  out.exec = type == 5 && source == FloatType::F32 ? to_s32[static_cast<u32>(mode)] : exec_f2i;
  return "";
}

std::string bind_i2f(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  const int type = int_type(text);
  const FloatType target = source_float_type(text);
  out.flags = static_cast<u32>(type) | static_cast<u32>(target) << 3 | static_cast<u32>(rounding(text)) << 5;
  const bool words = (type == 4 || type == 5) && target == FloatType::F32 && slot(out, kA).part == 0;
  out.exec = !words ? exec_i2f : type == 5 ? exec_i2f_word<i32> : exec_i2f_word<u32>;
  return "";
}

std::string bind_i2i(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  if (!narrow_type(text, out.flags)) return refuse_modifiers(text);
  out.exec = exec_i2i;
  return "";
}

std::string bind_i2ip(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  if (!narrow_type(text, out.flags)) return refuse_modifiers(text);
  out.exec = exec_i2ip;
  return "";
}

std::string bind_f2ip(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  if (!text.has("U8") || !text.has("F32") || !text.has("NTZ")) return refuse_modifiers(text);
  out.flags = static_cast<u32>(integer_rounding(text));
  out.exec = exec_f2ip;
  return "";
}

}  // namespace warpath
