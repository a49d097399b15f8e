// Rounding and number formats: host rounding direction, canonical NaNs, and exact rounding to narrow formats.
#pragma once

#ifdef __SSE2__
#include <immintrin.h>
#else
#include <cfenv>
#endif

#include "ops/lanes.hpp"

namespace warpath {

enum class Round : u32 { Nearest, Down, Up, Zero };  // RN RM RP RZ

inline Round rounding(const InstrText& text) {
  return static_cast<Round>(choose(text, {"RM", "RP", "RZ"}, -1) + 1);
}

// The NaN that arithmetic returns, in each format; binary64 arithmetic returns it for invalid operations and
// passes payloads of NaN operands on (measured on an H200).
inline constexpr u32 kNan32 = 0x7fffffffu;
inline constexpr u64 kNan64 = 0xfff8000000000000ull;
inline constexpr u64 kQuiet64 = 0x0008000000000000ull;
inline constexpr u32 kNan16 = 0x7fffu;

// Sets the host's rounding direction for a scope. Arithmetic under it must read its inputs from memory and
// store its results to memory through pointers that escape, in a function that is not inlined: the barriers
// order memory, not registers.
class HostRounding {
 public:
  explicit HostRounding(Round mode) : saved_(get()) {
    set(with(saved_, mode));
    asm volatile("" ::: "memory");
  }
  ~HostRounding() {
    asm volatile("" ::: "memory");
    set(saved_);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
#ifdef __SSE2__
  static u32 get() { return _mm_getcsr(); }
  static void set(u32 state) { _mm_setcsr(state); }
  static u32 with(u32 state, Round mode) {
    return (state & ~static_cast<u32>(_MM_ROUND_MASK)) | static_cast<u32>(mode)
                                                             << 13;  // same numbers as Round
  }
#else
  static u32 get() { return static_cast<u32>(std::fegetround()); }
  static void set(u32 state) { std::fesetround(static_cast<int>(state)); }
  static u32 with(u32, Round mode) {
    static constexpr int directions[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    return static_cast<u32>(directions[static_cast<u32>(mode)]);
  }
#endif
  u32 saved_;
};

// Denormals to zero of the same sign.
inline u32 flush32(u32 bits) { return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }
inline bool is_nan32(u32 bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
inline bool is_nan64(u64 bits) { return (bits & 0x7fffffffffffffffull) > 0x7ff0000000000000ull; }

// A NaN operand passes its sign and payload on, quieted; of several, b goes before c before a. (An addition
// is a times one plus b, so there the second operand goes first.)
inline u64 nan_result64(u64 a, u64 b, u64 c) {
  const u64 source = is_nan64(b) ? b : is_nan64(c) ? c : a;
  return is_nan64(source) ? source | kQuiet64 : kNan64;
}

// Clamps to [0, 1]; NaN and -0 give +0.
inline u32 saturate32(u32 bits) {
  const bool positive = bits - 1 < 0x7f800000u;  // 0 < value <= inf
  const u32 capped = bits < 0x3f800000u ? bits : 0x3f800000u;
  return positive ? capped : 0;
}

// A binary floating-point format narrower than binary64.
struct Format {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;
};
inline constexpr Format kBinary32{8, 23, true};
inline constexpr Format kBinary16{5, 10, true};
inline constexpr Format kBfloat16{8, 7, true};
inline constexpr Format kTf32{8, 10, true};
inline constexpr Format kE4m3{4, 3, false};
inline constexpr Format kE5m2{5, 2, true};

// `value` rounded to `format` as that format's bits (NaN excluded). Correct in every direction when `value`
// is exact or was rounded to odd with at least two bits more than the format.
u32 round_to(const Format& format, double value, Round mode);

// A binary64 NaN in a narrower format: its sign, the top of its payload, and the quiet bit.
u32 narrow_nan(const Format& format, u64 nan);

// a + b and a * b + c rounded to odd in binary64: exact, or the neighbour whose last bit is set. Rounding
// that once more to a narrower format is as good as rounding the exact result.
double add_to_odd(double a, double b);
double fma_to_odd(double a, double b, double c);

// binary16 and bfloat16 bits to binary32 bits; exact.
inline u32 half_to_float(u32 half) {
  const u32 sign = (half & 0x8000u) << 16;
  const u32 magnitude = half & 0x7fffu;
  const u32 normal = (magnitude << 13) + (112u << 23) + (magnitude >= 0x7c00u ? 112u << 23 : 0);
  const u32 denormal = as_bits(static_cast<float>(static_cast<i32>(magnitude)) * 0x1p-24f);
  return sign | (magnitude < 0x400u ? denormal : normal);
}
inline u32 bfloat_to_float(u32 half) { return half << 16; }

}  // namespace warpath
