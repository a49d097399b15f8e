// The multi-function unit, bit for bit: quadratic interpolation in a table of segments, with the squarer's
// low columns left out. Structure after Oberman and Siu (2005); tables and constants fitted to whole binades
// recorded on an H200 (tests/device/record.py --sweep), where every result agrees.
#include "ops/mufu_model.hpp"

#include <bit>

#include "ops/rounding.hpp"

namespace warpath {
namespace {

// constant * 2^step + linear * x + quadratic * square(x), in units of 2^-17 of the result's last place.
struct Segment {
  i64 constant;
  i32 linear;
  i32 quadratic;
};

#include "ops/mufu_tables.inc"

// A function's table: bits of x inside a segment, and how its constants are scaled (a rounding bias is part
// of them).
struct Table {
  const Segment* segments;
  int bits;
  int step;
  i64 bias;
};

constexpr Table kRcpTable{kRcp, 16, 15, 8092};
constexpr Table kRsqTable{kRsq, 17, 15, 32767};
constexpr Table kSqrtTable{kSqrt, 17, 15, 32767};
constexpr Table kEx2Table{kEx2, 17, 15, 24456};
constexpr Table kLg2Table{kLg2, 17, 14, 3348};
constexpr Table kSinTable{kSin, 17, 15, 0};
constexpr Table kTanhTable{kTanh, 17, 15, 0};

// Binades of the hyperbolic tangent's argument, from 2^-8: their first segment, and the low bits left out.
// The result is in units of 2^-19 of the last argument bit that counts.
struct TanhBinade {
  u32 first;
  i32 dropped;
};
constexpr TanhBinade kTanhBinades[] = {{0, 6},  {1, 6},  {2, 6},  {3, 5},  {5, 5}, {7, 4},
                                       {11, 4}, {15, 4}, {19, 3}, {27, 2}, {43, 3}};
constexpr i32 kTanhLeast = -8, kTanhMost = 2;
constexpr i32 kTanhBelow = 19;

constexpr int kBelow = 17;  // fraction bits of a value below the last place
constexpr u32 kFraction = 0x7fffff;
constexpr u32 kInfinity = 0x7f800000;

// The top of x * x: with x = high * 2^low + rest and eight bits in `high`, rest * rest is not formed and each
// row of high * rest is cut below the unit of the result.
constexpr i32 square(u32 x, int bits) {
  const int low = bits - 8;
  const u32 high = x >> low, rest = x & ((1u << low) - 1);
  u32 sum = high * high >> 1;
  for (int i = 1; i < 8; ++i) sum += (high >> i & 1) * (rest >> (low - i));
  return static_cast<i32>(sum);
}

// Value at `position`, whose upper bits pick the segment.
i64 interpolate(const Table& table, u32 position) {
  const Segment& s = table.segments[position >> table.bits];
  const u32 x = position & ((1u << table.bits) - 1);
  return (s.constant << table.step) + table.bias + i64{s.linear} * x +
         i64{s.quadratic} * square(x, table.bits);
}

// Binary32 of significand * 2^(exponent - 23), significand in [2^23, 2^24]; flushed and saturated to
// infinity.
u32 assemble(u32 sign, i32 exponent, u32 significand) {
  if (significand >> 24) {
    significand >>= 1;
    ++exponent;
  }
  const i32 field = exponent + 127;
  if (field >= 255) return sign | kInfinity;
  if (field <= 0) return sign;
  return sign | static_cast<u32>(field) << 23 | (significand & kFraction);
}

// Binary32 of magnitude * 2^unit, truncated.
u32 normalise(u32 sign, u64 magnitude, i32 unit) {
  if (magnitude == 0) return sign;
  const i32 top = 63 - std::countl_zero(magnitude);
  const u64 significand = top >= 23 ? magnitude >> (top - 23) : magnitude << (23 - top);
  return assemble(sign, top + unit, static_cast<u32>(significand));
}

struct Parts {
  u32 sign;   // in place
  i32 field;  // biased exponent
  u32 fraction;
  bool nan;
};

Parts split(u32 x) {
  const i32 field = static_cast<i32>((x >> 23) & 255);
  return {x & 0x80000000u, field, x & kFraction, field == 255 && (x & kFraction) != 0};
}

// |x| in units of 2^-23 * 2^-scale, truncated; the caller has excluded what does not fit.
u64 fixed(const Parts& p, i32 scale) {
  if (p.field == 0) return 0;
  const i32 shift = p.field - 127 + scale;
  const u64 significand = p.fraction | 0x800000u;
  if (shift >= 0) return significand << shift;
  return -shift > 24 ? 0 : significand >> -shift;
}

// Significand (2^23..2^24) of a function tabulated over [1, 4): exponent parity picks the half.
u32 root_significand(const Table& table, u32 parity, u32 fraction) {
  return static_cast<u32>(interpolate(table, parity << 23 | fraction) >> kBelow);
}

u32 rsq_significand(u32 parity, u32 fraction) {
  return parity == 0 && fraction == 0 ? 1u << 24 : root_significand(kRsqTable, parity, fraction);
}

u32 rcp_significand(u32 fraction) { return static_cast<u32>(interpolate(kRcpTable, fraction) >> kBelow); }

// sin(2 pi x), or with quarter = 1 cos(2 pi x).
u32 sine(u32 x, u32 quarter) {
  const Parts p = split(x);
  if (p.field == 255) return kNan32;
  const u64 turns = p.field - 127 > 28 ? 0 : fixed(p, 2);  // quarter turns; beyond, the fraction is zero
  const u32 quadrant = (static_cast<u32>(turns >> 23) + quarter) & 3;
  const u32 fraction = static_cast<u32>(turns) & kFraction;
  const u32 sign = (quadrant & 2 ? 0x80000000u : 0) ^ (quarter ? 0 : p.sign);
  const u32 position = quadrant & 1 ? ~fraction & kFraction : fraction;
  return normalise(sign, static_cast<u64>(interpolate(kSinTable, position)), -23 - kBelow);
}

// Upper word of a binary64 from a sign, exponent and 24-bit significand.
u32 high_word(u32 sign, i32 exponent, u32 significand) {
  if (significand >> 24) {
    significand >>= 1;
    ++exponent;
  }
  if (exponent + 1023 <= 0) return sign;
  return sign | static_cast<u32>(exponent + 1023) << 20 | ((significand >> 3) & 0xfffff);
}

}  // namespace

u32 mufu_rcp(u32 x) {
  const Parts p = split(x);
  if (p.nan) return kNan32;
  if (p.field == 255) return p.sign;
  if (p.field == 0) return p.sign | kInfinity;
  return assemble(p.sign, 126 - p.field, rcp_significand(p.fraction));
}

u32 mufu_rsq(u32 x) {
  const Parts p = split(x);
  if (p.field == 0) return p.sign | kInfinity;
  if (p.nan || p.sign) return kNan32;
  if (p.field == 255) return 0;
  const u32 parity = (p.field & 1) ^ 1;
  const i32 half = (p.field - 127 - static_cast<i32>(parity)) / 2;
  return assemble(0, -1 - half, rsq_significand(parity, p.fraction));
}

u32 mufu_sqrt(u32 x) {
  const Parts p = split(x);
  if (p.field == 0) return p.sign;
  if (p.nan || p.sign) return kNan32;
  if (p.field == 255) return kInfinity;
  const u32 parity = (p.field & 1) ^ 1;
  const i32 half = (p.field - 127 - static_cast<i32>(parity)) / 2;
  return assemble(0, half, root_significand(kSqrtTable, parity, p.fraction));
}

u32 mufu_ex2(u32 x) {
  const Parts p = split(x);
  if (p.nan) return kNan32;
  if (p.field >= 127 + 9) return p.sign ? 0 : kInfinity;
  i64 exponent = static_cast<i64>(fixed(p, 0));
  // a negative argument is the complement of its magnitude, unless that is whole
  if (p.sign) exponent = (exponent & kFraction) != 0 ? ~exponent : -exponent;
  const i64 value = interpolate(kEx2Table, static_cast<u32>(exponent) & kFraction) >> kBelow;
  return assemble(0, static_cast<i32>(exponent >> 23), static_cast<u32>(value));
}

u32 mufu_lg2(u32 x) {
  const Parts p = split(x);
  if (p.field == 0) return 0x80000000u | kInfinity;
  if (p.nan || p.sign) return kNan32;
  if (p.field == 255) return kInfinity;
  if (p.field == 127 && p.fraction == 0) return 0;
  // sum of exponent and table value with 36 fraction bits; a negative one is complemented
  const i64 sum = (i64{p.field - 127} << 36) + (interpolate(kLg2Table, p.fraction) >> 4);
  return sum < 0 ? normalise(0x80000000u, static_cast<u64>(~sum), -36)
                 : normalise(0, static_cast<u64>(sum), -36);
}

u32 mufu_sin(u32 x) { return sine(x, 0); }
u32 mufu_cos(u32 x) { return sine(x, 1); }

u32 mufu_tanh(u32 x) {
  const Parts p = split(x);
  if (p.nan) return kNan32;
  const i32 exponent = p.field - 127;
  if (exponent < kTanhLeast) return x;  // the argument itself, denormals too
  if (exponent > kTanhMost) return p.sign | 0x3f800000;
  const TanhBinade& binade = kTanhBinades[exponent - kTanhLeast];
  const u32 position = (binade.first << kTanhTable.bits) + (p.fraction >> binade.dropped);
  return normalise(p.sign, static_cast<u64>(interpolate(kTanhTable, position)),
                   exponent - 23 + binade.dropped - kTanhBelow);
}

u32 mufu_rcp64h(u32 high) {
  const u32 sign = high & 0x80000000u;
  const i32 field = static_cast<i32>((high >> 20) & 0x7ff);
  const u32 fraction = high & 0xfffff;
  if (field == 0x7ff) return fraction != 0 ? kNan32 : sign;
  if (field == 0) return sign | 0x7ff00000u;
  return high_word(sign, 1022 - field, rcp_significand(fraction << 3));
}

u32 mufu_rsq64h(u32 high) {
  const u32 sign = high & 0x80000000u;
  const i32 field = static_cast<i32>((high >> 20) & 0x7ff);
  const u32 fraction = high & 0xfffff;
  if (field == 0) return sign | 0x7ff00000u;
  if (sign || (field == 0x7ff && fraction != 0)) return kNan32;
  if (field == 0x7ff) return 0;
  const u32 parity = (field & 1) ^ 1;
  const i32 half = (field - 1023 - static_cast<i32>(parity)) / 2;
  return high_word(0, -1 - half, rsq_significand(parity, fraction << 3));
}

}  // namespace warpath
