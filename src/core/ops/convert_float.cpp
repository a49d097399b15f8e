// Conversions between float formats: F2F, FRND, and the packing ones, F2FP.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/convert.hpp"
#include "ops/half.hpp"

namespace warpath {
namespace {

const Format& format_of(FloatType type) {
  switch (type) {
    case FloatType::F16:
      return kBinary16;
    case FloatType::Bf16:
      return kBfloat16;
    default:
      return kBinary32;
  }
}

bool parse_float_type(const std::string& name, FloatType& type) {
  if (name == "F32")
    type = FloatType::F32;
  else if (name == "F64")
    type = FloatType::F64;
  else if (name == "F16")
    type = FloatType::F16;
  else if (name == "BF16")
    type = FloatType::Bf16;
  else
    return false;
  return true;
}

bool upper_half(const Operand& op) { return op.part == 6 || op.half == 2; }

// The bits of a half operand, sign modifiers applied.
u32 half_bits(u32 word, const Operand& op) {
  u32 half = upper_half(op) ? word >> 16 : word & 0xffff;
  if (op.abs) half &= 0x7fff;
  return op.neg ? half ^ 0x8000 : half;
}

// F2F flags: destination and source type, rounding, FTZ.
constexpr u32 kFlush = 1u << 8;
u32 pack(FloatType dst, FloatType src, Round mode, bool flush) {
  return static_cast<u32>(dst) | static_cast<u32>(src) << 2 | static_cast<u32>(mode) << 4 |
         (flush ? kFlush : 0);
}
FloatType dst_type(u32 flags) { return static_cast<FloatType>(flags & 3); }
FloatType src_type(u32 flags) { return static_cast<FloatType>((flags >> 2) & 3); }
Round mode_of(u32 flags) { return static_cast<Round>((flags >> 4) & 3); }

Payload payload_of(u32 flags) {
  return dst_type(flags) == FloatType::F64 || src_type(flags) == FloatType::F64 ? Payload::Keep
                                                                                : Payload::Drop;
}

void exec_f2f(Warp& warp, const Instr& in, u32 mask) {
  Row64 values;
  read_floats(warp, slot(in, kA), src_type(in.flags), in.flags & kFlush, values);
  write_floats(warp, in.operands[0], dst_type(in.flags), values, mode_of(in.flags), in.flags & kFlush,
               payload_of(in.flags), mask);
}

void exec_frnd(Warp& warp, const Instr& in, u32 mask) {
  Row64 values;
  read_floats(warp, slot(in, kA), src_type(in.flags), in.flags & kFlush, values);
  for (int i = 0; i < kLanes; ++i)
    values.v[i] = as_bits(round_to_integer(as_double(values.v[i]), mode_of(in.flags)));
  write_floats(warp, in.operands[0], dst_type(in.flags), values, Round::Nearest, in.flags & kFlush,
               payload_of(in.flags), mask);
}

// --- F2FP ---------------------------------------------------------------------------------------------
struct PackForm {
  const Format* format;
  u32 nan;
  bool relu, satfinite;
  Round mode;
};

u32 convert_packed(const PackForm& form, u32 bits) {
  if (is_nan32(bits)) return form.nan;
  if (form.relu && (bits >> 31)) return 0;
  const u32 result = round_to(*form.format, as_float(bits), form.mode);
  if (!form.satfinite) return result;
  const u32 sign_bit = 1u << (form.format->exponent_bits + form.format->fraction_bits);
  const u32 infinity = ((1u << form.format->exponent_bits) - 1) << form.format->fraction_bits;
  const u32 largest = form.format->has_infinity ? infinity - 1 : (sign_bit - 1) - 1;
  return (result & sign_bit) | std::min(result & (sign_bit - 1), largest);
}

enum class Target : u32 { F16, Bf16, Tf32, E4m3, E5m2 };
constexpr u32 kRelu = 1u << 8, kSatfinite = 1u << 9;

PackForm pack_form(u32 flags) {
  static constexpr const Format* formats[] = {&kBinary16, &kBfloat16, &kTf32, &kE4m3, &kE5m2};
  static constexpr u32 nans[] = {kNan16, kNan16, kNan32 >> 13, 0x7f, 0x7f};
  const u32 target = flags & 7;
  return {formats[target], nans[target], (flags & kRelu) != 0, (flags & kSatfinite) != 0,
          static_cast<Round>((flags >> 4) & 3)};
}

// Two binary32 sources: a goes to the upper part of the result, b to the lower, each `Bits` wide.
template <int Bits>
void exec_pack_ab(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, result;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const PackForm form = pack_form(in.flags);
  for (int i = 0; i < kLanes; ++i)
    result.v[i] = convert_packed(form, a[i]) << Bits | convert_packed(form, b[i]);
  store32(warp, in.operands[0], result.v, mask);
}

// The common forms, two values rounded to nearest halves.
template <auto Narrow>
void exec_pack_nearest(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  each_lane(warp, in.operands[0], mask, [=](int i) { return Narrow(a[i]) << 16 | Narrow(b[i]); });
}

// One source; the result is the low half (or, for TF32, the word with its low 13 bits zero).
void exec_pack_b(Warp& warp, const Instr& in, u32 mask) {
  Row sa, result;
  const u32* a = float32(warp, slot(in, kA), sa);
  const PackForm form = pack_form(in.flags);
  const bool tf32 = static_cast<Target>(in.flags & 7) == Target::Tf32;
  for (int i = 0; i < kLanes; ++i) {
    const u32 bits = convert_packed(form, a[i]);
    result.v[i] = tf32 ? bits << 13 : bits;
  }
  store32(warp, in.operands[0], result.v, mask);
}

// Two binary16 halves to two 8-bit floats.
void exec_pack_halves(Warp& warp, const Instr& in, u32 mask) {
  Row sa, result;
  const u32* a = raw32(warp, slot(in, kA), sa);
  const PackForm form = pack_form(in.flags);
  for (int i = 0; i < kLanes; ++i) {
    result.v[i] = convert_packed(form, half_to_float(a[i] >> 16)) << 8 |
                  convert_packed(form, half_to_float(a[i] & 0xffff));
  }
  store32(warp, in.operands[0], result.v, mask);
}

// Binary16 bits of an 8-bit float; both formats are subsets of binary16.
u32 small_to_half(u32 byte, bool e5m2) {
  if (e5m2) return (byte & 0x7f) > 0x7c ? kNan16 : byte << 8;
  const u32 sign = (byte & 0x80) << 8;
  const u32 magnitude = byte & 0x7f;
  if (magnitude == 0x7f) return kNan16;
  const double value = magnitude < 8 ? magnitude * 0x1p-9
                                     : std::ldexp(static_cast<double>(8 + (magnitude & 7)),
                                                  static_cast<int>(magnitude >> 3) - 10);
  return sign | round_to(kBinary16, value, Round::Nearest);
}

void exec_unpack(Warp& warp, const Instr& in, u32 mask) {
  Row sa, result;
  const u32* a = raw32(warp, slot(in, kA), sa);
  const bool e5m2 = static_cast<Target>(in.flags & 7) == Target::E5m2;
  const u32 shift = upper_half(slot(in, kA)) ? 16 : 0;
  const auto convert = [&](u32 byte) {
    const u32 half = small_to_half(byte, e5m2);
    return (in.flags & kRelu) && (half & 0x8000) && half != kNan16 ? 0 : half;
  };
  for (int i = 0; i < kLanes; ++i)
    result.v[i] = convert((a[i] >> (shift + 8)) & 0xff) << 16 | convert((a[i] >> shift) & 0xff);
  store32(warp, in.operands[0], result.v, mask);
}

}  // namespace

void read_floats(const Warp& warp, const Operand& op, FloatType type, bool flush, Row64& out) {
  if (type == FloatType::F64) {
    float64(warp, op, out);
    for (int i = 0; i < kLanes; ++i) out.v[i] |= is_nan64(out.v[i]) ? kQuiet64 : 0;
    return;
  }
  Row scratch;
  const auto widen = [flush](u32 bits) {
    const u32 flushed = is_nan32(bits) ? kNan32 : flush32(bits);
    return as_bits(static_cast<double>(as_float(flush ? flushed : bits)));
  };
  if (type == FloatType::F32) {
    const u32* row = float32(warp, op, scratch);
    for (int i = 0; i < kLanes; ++i) out.v[i] = widen(row[i]);
    return;
  }
  const u32* row = raw32(warp, op, scratch);
  for (int i = 0; i < kLanes; ++i) {
    const u32 half = half_bits(row[i], op);
    out.v[i] = widen(type == FloatType::F16 ? half_to_float(half) : bfloat_to_float(half));
  }
}

void write_floats(Warp& warp, const Operand& dst, FloatType type, const Row64& values, Round mode, bool flush,
                  Payload payload, u32 mask) {
  if (type == FloatType::F64) {
    each_lane64(warp, dst, mask, [&](int i) { return values.v[i]; });
    return;
  }
  if (type == FloatType::F32 && mode == Round::Nearest) {
    const bool keep = payload == Payload::Keep;
    each_lane(warp, dst, mask, [&](int i) {
      const float narrow = static_cast<float>(as_double(values.v[i]));
      const u32 bits = narrow != narrow && !keep ? kNan32 : as_bits(narrow);
      return flush ? flush32(bits) : bits;
    });
    return;
  }
  Row result;
  const Format& format = format_of(type);
  const u32 canonical = type == FloatType::F32 ? kNan32 : kNan16;
  for (int i = 0; i < kLanes; ++i) {
    const u64 value = values.v[i];
    const u32 nan = payload == Payload::Keep ? narrow_nan(format, value) : canonical;
    const u32 bits = is_nan64(value) ? nan : round_to(format, as_double(value), mode);
    result.v[i] = flush && type == FloatType::F32 ? flush32(bits) : bits;
  }
  store32(warp, dst, result.v, mask);
}

Round integer_rounding(const InstrText& text) {
  return static_cast<Round>(choose(text, {"FLOOR", "CEIL", "TRUNC"}, -1) + 1);
}

double round_to_integer(double value, Round mode) {
  switch (mode) {
    case Round::Nearest:
      return __builtin_rint(value);
    case Round::Down:
      return __builtin_floor(value);
    case Round::Up:
      return __builtin_ceil(value);
    default:
      return __builtin_trunc(value);
  }
}

FloatType source_float_type(const InstrText& text) {
  FloatType type = FloatType::F32;
  for (const std::string& name : text.modifiers) parse_float_type(name, type);
  return type;
}

std::string bind_f2f(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  std::vector<FloatType> types;
  for (const std::string& name : text.modifiers) {
    FloatType type;
    if (parse_float_type(name, type)) types.push_back(type);
  }
  if (types.size() != 2) return refuse_modifiers(text);
  out.flags = pack(types[0], types[1], rounding(text), text.has("FTZ"));
  out.exec = exec_f2f;
  return "";
}

std::string bind_frnd(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  const Round mode = integer_rounding(text);
  const FloatType type = source_float_type(text);
  out.flags = pack(type, type, mode, text.has("FTZ"));
  out.exec = exec_frnd;
  return "";
}

std::string bind_f2fp(const InstrText& text, Instr& out) {
  // The target is the first format named; without one it is binary16.
  const Target target = static_cast<Target>(text.has("E4M3")   ? 3
                                            : text.has("E5M2") ? 4
                                            : text.has("TF32") ? 2
                                            : text.has("BF16") ? 1
                                                               : 0);
  out.flags = static_cast<u32>(target) | static_cast<u32>(rounding(text)) << 4 |
              (text.has("RELU") ? kRelu : 0) | (text.has("SATFINITE") ? kSatfinite : 0);
  const bool small = target == Target::E4m3 || target == Target::E5m2;
  if (text.has("UNPACK_B")) {
    if (!small || match_float_slots(text, out, {"da"}) < 0) return refuse_operands(text);
    out.exec = exec_unpack;
    return "";
  }
  if (text.has("PACK_AB") && !small) {
    if (match_float_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
    const bool plain = rounding(text) == Round::Nearest && !text.has("RELU") && !text.has("SATFINITE");
    const ExecFn nearest =
        target == Target::Bf16 ? exec_pack_nearest<float_to_bfloat> : exec_pack_nearest<float_to_half>;
    out.exec = plain ? nearest : exec_pack_ab<16>;
    return "";
  }
  if (text.has("PACK_B") && target == Target::Tf32) {
    if (match_float_slots(text, out, {"da"}) < 0) return refuse_operands(text);
    out.exec = exec_pack_b;
    return "";
  }
  // The merging forms are seen with RZ only: nothing to merge.
  if (text.has("PACK_AB_MERGE_C") && small) {
    if (match_float_slots(text, out, {"dabc"}) < 0 || !is_zero_register(slot(out, kC)))
      return refuse_operands(text);
    out.exec = exec_pack_ab<8>;
    return "";
  }
  if (text.has("UNPACK_B_MERGE_C") || text.has("MERGE_C")) {
    if (match_float_slots(text, out, {"dab"}) < 0 || !is_zero_register(slot(out, kB)))
      return refuse_operands(text);
    out.exec = small ? exec_pack_halves : exec_pack_b;
    return "";
  }
  return refuse_modifiers(text);
}

}  // namespace warpath
