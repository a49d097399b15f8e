// Exact rounding to narrow formats by integer arithmetic, independent of the host's rounding direction.
#include "ops/rounding.hpp"

#include <cmath>

namespace warpath {
namespace {

// `value` shifted right by `shift` (1..63), rounded; `negative` matters for the directed modes.
u64 shift_rounded(u64 value, int shift, bool negative, Round mode) {
  const u64 kept = value >> shift;
  const u64 lost = value & ((1ull << shift) - 1);
  const u64 half = 1ull << (shift - 1);
  bool up = false;
  switch (mode) {
    case Round::Nearest:
      up = lost > half || (lost == half && (kept & 1));
      break;
    case Round::Down:
      up = lost != 0 && negative;
      break;
    case Round::Up:
      up = lost != 0 && !negative;
      break;
    case Round::Zero:
      break;
  }
  return kept + (up ? 1 : 0);
}

// Moves a nearest-rounded sum to the odd neighbour on the side of its error.
double to_odd(double sum, double error) {
  u64 bits = as_bits(sum);
  if (error == 0 || (bits & 1) || !std::isfinite(sum)) return sum;
  const bool away = (error > 0) == (sum > 0);
  bits += away ? 1 : ~0ull;
  return as_double(bits);
}

}  // namespace

u32 round_to(const Format& format, double value, Round mode) {
  const u64 bits = as_bits(value);
  const bool negative = bits >> 63;
  const u32 sign = static_cast<u32>(negative) << (format.exponent_bits + format.fraction_bits);
  const u32 top_exponent = (1u << format.exponent_bits) - 1;
  const u32 infinity = top_exponent << format.fraction_bits;
  // Largest finite value: all ones below infinity, or (no infinity) below the single NaN.
  const u32 largest = format.has_infinity ? infinity - 1 : infinity + (1u << format.fraction_bits) - 2;
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const u64 fraction = bits & 0xfffffffffffffull;
  if (exponent == 0x7ff) return sign | (format.has_infinity ? infinity : largest + 1);
  if (exponent == 0 && fraction == 0) return sign;

  const u64 significand = exponent == 0 ? fraction : fraction | 1ull << 52;
  const int unbiased = (exponent == 0 ? 1 : exponent) - 1023;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  int target = unbiased + bias;  // biased exponent in the narrow format
  int shift = 52 - format.fraction_bits;
  if (target < 1) {
    shift += 1 - target;
    target = 1;
  }
  const u64 rounded =
      shift > 62 ? shift_rounded(1, 2, negative, mode) : shift_rounded(significand, shift, negative, mode);
  // A significand without its top bit is a denormal: exponent field 0. One that overflowed moves up by carry.
  const u64 field = (static_cast<u64>(target - 1) << format.fraction_bits) + rounded;
  if (field > largest) {
    const bool to_largest =
        mode == Round::Zero || (mode == Round::Down && !negative) || (mode == Round::Up && negative);
    if (to_largest) return sign | largest;
    return sign | (format.has_infinity ? infinity : largest + 1);
  }
  return sign | static_cast<u32>(field);
}

u32 narrow_nan(const Format& format, u64 nan) {
  const u32 exponent = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  const u32 payload =
      static_cast<u32>((nan | kQuiet64) >> (52 - format.fraction_bits)) & ((1u << format.fraction_bits) - 1);
  return static_cast<u32>(nan >> 63) << (format.exponent_bits + format.fraction_bits) | exponent | payload;
}

double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  return to_odd(sum, error);
}

double fma_to_odd(double a, double b, double c) {
  // Callers' factors have at most 24 significant bits each, so the product is exact.
  return add_to_odd(a * b, c);
}

}  // namespace warpath
