// Stand-in for the unit's tables: each value is computed in binary64 and rounded once, which is inside the error
// bounds NVIDIA documents for the approximate functions, but not bit for bit what the hardware returns.
#include "ops/mufu_model.hpp"

#include <cmath>

#include "ops/rounding.hpp"

namespace warpath {
namespace {

u32 finish(double value) {
  return std::isnan(value) ? kNan32 : flush32(round_to(kBinary32, value, Round::Nearest));
}

double input(u32 x) { return as_float(flush32(x)); }

// Sine of an angle in turns, exact reduction first.
double sine_of_turns(double turns) {
  if (!std::isfinite(turns)) return std::nan("");
  const double reduced = turns - std::nearbyint(turns);
  return std::sin(reduced * 6.283185307179586476925);
}

double cosine_of_turns(double turns) {
  if (!std::isfinite(turns)) return std::nan("");
  const double reduced = turns - std::nearbyint(turns);
  return std::cos(reduced * 6.283185307179586476925);
}

// A binary64 from its upper word, denormals as zeros.
double from_high_word(u32 high) {
  const bool denormal = (high & 0x7ff00000u) == 0;
  return as_double(static_cast<u64>(denormal ? high & 0x80000000u : high) << 32);
}

u32 to_high_word(double value) {
  if (std::isnan(value)) return kNan32;
  const u32 high = static_cast<u32>(as_bits(value) >> 32);
  return (high & 0x7ff00000u) == 0 ? high & 0x80000000u : high;
}

}  // namespace

u32 mufu_rcp(u32 x) { return finish(1.0 / input(x)); }
u32 mufu_rsq(u32 x) {
  const double value = input(x);
  return finish(value == 0 ? 1.0 / value : 1.0 / std::sqrt(value));
}
u32 mufu_sqrt(u32 x) { return finish(std::sqrt(input(x))); }
u32 mufu_ex2(u32 x) { return finish(std::exp2(input(x))); }
u32 mufu_lg2(u32 x) { return finish(std::log2(input(x))); }
u32 mufu_sin(u32 x) { return finish(sine_of_turns(input(x))); }
u32 mufu_cos(u32 x) { return finish(cosine_of_turns(input(x))); }
u32 mufu_tanh(u32 x) { return finish(std::tanh(static_cast<double>(as_float(x)))); }
u32 mufu_rcp64h(u32 high) { return to_high_word(1.0 / from_high_word(high)); }
u32 mufu_rsq64h(u32 high) {
  const double value = from_high_word(high);
  return to_high_word(value == 0 ? 1.0 / value : 1.0 / std::sqrt(value));
}

}  // namespace warpath
