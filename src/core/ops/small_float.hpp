// binary16 and bfloat16 as bit patterns, to and from binary32, rounding to nearest even. NaN becomes 0x7fff.
#pragma once

#include <bit>
#include <cmath>

#include "types.hpp"

namespace warpath {

inline float half_to_float(u16 half) {
  const u32 sign = static_cast<u32>(half & 0x8000u) << 16;
  const u32 exponent = (half >> 10) & 31u;
  const u32 fraction = half & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float tiny = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<u32>(tiny) | sign);
}

inline u16 float_to_half(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  const u32 sign = (bits >> 16) & 0x8000u;
  const u32 magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<u16>(sign | 0x7c00u);  // rounds to 2^16 or more
  if (magnitude < 0x38800000u) {
    // Subnormal: the fraction in units of 2^-24, rounded by the addition.
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
    return static_cast<u16>(sign | static_cast<u32>(std::nearbyint(scaled)));
  }
  const u32 rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<u16>(sign | ((rounded - 0x38000000u) >> 13));
}

inline float bfloat_to_float(u16 value) { return std::bit_cast<float>(static_cast<u32>(value) << 16); }

inline u16 float_to_bfloat(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace warpath
