// Fused dot products as the tensor pipe forms them: exact products, one alignment, truncation.
#include "ops/tensor_model.hpp"

#include <algorithm>
#include <cmath>

#include "ops/rounding.hpp"

namespace warpath {
namespace {

struct Layout {
  int exponent_bits;
  int fraction_bits;
};

constexpr Layout kLayouts[] = {{5, 10}, {8, 7}, {8, 10}, {4, 3}, {5, 2}};

// Term of a sum: significand * 2^exponent with the weight of its leading position.
struct Term {
  i64 significand;
  int exponent;
  int top;
};

// The part of a term at or above 2^lowest, truncated toward zero.
i64 align(const Term& term, int lowest) {
  const int shift = term.exponent - lowest;
  if (shift >= 0) return term.significand << std::min(shift, 62);
  if (-shift >= 63) return 0;
  const i64 magnitude = (term.significand < 0 ? -term.significand : term.significand) >> -shift;
  return term.significand < 0 ? -magnitude : magnitude;
}

Term unpack_binary32(u32 bits) {
  const int field = static_cast<int>((bits >> 23) & 0xff);
  const i64 fraction = bits & 0x7fffff;
  const i64 magnitude = field == 0 ? fraction : fraction | 0x800000;
  const int top = std::max(field, 1) - 127;
  return {bits >> 31 ? -magnitude : magnitude, top - 23, top};
}

// sum * 2^lowest truncated to binary32; beyond its range, infinity.
u32 truncate(i64 sum, int lowest) {
  const double value = std::ldexp(static_cast<double>(sum), lowest);
  if (std::fabs(value) >= 0x1p128) return sum < 0 ? 0xff800000u : 0x7f800000u;
  return round_to(kBinary32, value, Round::Zero);
}

}  // namespace

TensorValue unpack_tensor(TensorFormat format, u32 bits) {
  const Layout layout = kLayouts[static_cast<u32>(format)];
  const u32 word = format == TensorFormat::Tf32 ? bits >> 13 : bits;
  const u32 mask = (1u << layout.exponent_bits) - 1;
  const u32 field = (word >> layout.fraction_bits) & mask;
  const u32 fraction = word & ((1u << layout.fraction_bits) - 1);
  const bool negative = (word >> (layout.exponent_bits + layout.fraction_bits)) & 1;
  TensorValue value;
  value.top = static_cast<i16>(std::max<int>(static_cast<int>(field), 1) - (1 << (layout.exponent_bits - 1)) + 1);
  value.exponent = static_cast<i16>(value.top - layout.fraction_bits);
  const i32 magnitude = static_cast<i32>(field == 0 ? fraction : fraction | 1u << layout.fraction_bits);
  value.significand = negative ? -magnitude : magnitude;
  if (format == TensorFormat::E4m3) {
    value.nan = (word & 0x7f) == 0x7f;
  } else if (field == mask) {
    value.nan = fraction != 0;
    value.infinite = fraction == 0;
  }
  return value;
}

u32 fused_dot(const TensorValue* a, const TensorValue* b, int count, u32 c, TensorSum sum) {
  bool nan = is_nan32(c);
  bool plus = c == 0x7f800000u, minus = c == 0xff800000u;
  for (int k = 0; k < count; ++k) {
    const bool infinite = a[k].infinite || b[k].infinite;
    const bool zero = a[k].significand == 0 || b[k].significand == 0;
    nan |= a[k].nan || b[k].nan || (infinite && zero);
    const bool negative = (a[k].significand < 0) != (b[k].significand < 0);
    plus |= infinite && !negative;
    minus |= infinite && negative;
  }
  if (nan || (plus && minus)) return kNan32;
  if (plus || minus) return plus ? 0x7f800000u : 0xff800000u;

  u32 total = c;
  for (int first = 0; first < count; first += sum.step) {
    const int last = std::min(count, first + sum.step);
    const Term addend = unpack_binary32(total);
    int top = addend.significand != 0 ? addend.top : -1000;
    for (int k = first; k < last; ++k) {
      if (a[k].significand != 0 && b[k].significand != 0) top = std::max(top, a[k].top + b[k].top);
    }
    if (top == -1000) continue;  // nothing but zeros
    const int lowest = top - sum.fraction_bits;
    i64 exact = addend.significand != 0 ? align(addend, lowest) : 0;
    for (int k = first; k < last; ++k) {
      const i64 product = static_cast<i64>(a[k].significand) * b[k].significand;
      if (product != 0) exact += align({product, a[k].exponent + b[k].exponent, 0}, lowest);
    }
    total = truncate(exact, lowest);
  }
  return total;
}

}  // namespace warpath
