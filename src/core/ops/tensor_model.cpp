// Fused dot products as the tensor pipe forms them: exact products, one alignment, truncation.
#include "ops/tensor_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/rounding.hpp"

namespace warpath {
namespace {

constexpr i32 kNothing = -10000;  // exponent of a zero

struct Layout {
  int exponent_bits;
  int fraction_bits;
  int dropped;  // unused low bits of the word
};

constexpr Layout kLayouts[] = {{5, 10, 0}, {8, 7, 0}, {8, 10, 13}, {4, 3, 0}, {5, 2, 0}};

Layout layout_of(TensorFormat format) { return kLayouts[static_cast<u32>(format)]; }

enum class Kind { Finite, Infinite, Nan };

struct Unpacked {
  i32 significand;
  i32 top;
  Kind kind;
};

Unpacked unpack(TensorFormat format, u32 bits) {
  const Layout layout = layout_of(format);
  const u32 word = bits >> layout.dropped;
  const u32 mask = (1u << layout.exponent_bits) - 1;
  const u32 field = (word >> layout.fraction_bits) & mask;
  const u32 fraction = word & ((1u << layout.fraction_bits) - 1);
  const bool negative = (word >> (layout.exponent_bits + layout.fraction_bits)) & 1;
  const i32 magnitude = static_cast<i32>(field == 0 ? fraction : fraction | 1u << layout.fraction_bits);
  const i32 bias = (1 << (layout.exponent_bits - 1)) - 1;
  Unpacked value{negative ? -magnitude : magnitude, std::max<i32>(static_cast<i32>(field), 1) - bias,
                 Kind::Finite};
  if (magnitude == 0) value.top = kNothing;
  if (format == TensorFormat::E4m3) {
    if ((word & 0x7f) == 0x7f) value.kind = Kind::Nan;
  } else if (field == mask) {
    value.kind = fraction != 0 ? Kind::Nan : Kind::Infinite;
  }
  return value;
}

// An element some of whose inputs are infinite or NaN, or binary32 0 and false when none is.
bool special_element(const FloatTile& tile, TensorFormat a, TensorFormat b, int i, int j, int k,
                     u32& result) {
  bool nan = is_nan32(tile.c[i][j]);
  bool plus = tile.c[i][j] == 0x7f800000u, minus = tile.c[i][j] == 0xff800000u;
  for (int p = 0; p < k; ++p) {
    const Unpacked x = unpack(a, tile.a_bits[i][p]);
    const Unpacked y = unpack(b, tile.b_bits[p][j]);
    const bool infinite = x.kind == Kind::Infinite || y.kind == Kind::Infinite;
    nan |=
        x.kind == Kind::Nan || y.kind == Kind::Nan || (infinite && (x.top == kNothing || y.top == kNothing));
    const bool negative = (x.significand < 0) != (y.significand < 0);
    plus |= infinite && !negative;
    minus |= infinite && negative;
  }
  result = nan || (plus && minus) ? kNan32 : plus ? 0x7f800000u : 0xff800000u;
  return nan || plus || minus;
}

// sum * 2^lowest truncated to binary32; beyond its range, infinity. Sums have at most 40 bits, exponents at
// most 300.
u32 truncate(i64 sum, i32 lowest) {
  const double scale = as_double(static_cast<u64>(1023 + lowest) << 52);
  const double value = static_cast<double>(sum) * scale;
  const double magnitude = std::fabs(value);
  if (magnitude >= 0x1p128) return sum < 0 ? 0xff800000u : 0x7f800000u;
  if (magnitude < 0x1p-126) return round_to(kBinary32, value, Round::Zero);
  const u64 dropped = (1ull << 29) - 1;  // binary64 has 29 fraction bits more
  return as_bits(static_cast<float>(as_double(as_bits(value) & ~dropped)));
}

// One value for each of the eight columns.
using Columns = i32 __attribute__((vector_size(4 * kTileN)));

inline Columns load(const i32* values) {
  Columns out;
  std::memcpy(&out, values, sizeof out);
  return out;
}

inline Columns larger(Columns a, Columns b) { return a > b ? a : b; }

// The sums so far of one row, as integers.
struct Addends {
  Columns significand;
  Columns top;
};

Addends unpack_sums(const u32* sums) {
  Columns bits;
  std::memcpy(&bits, sums, sizeof bits);
  const Columns field = (bits >> 23) & 0xff;
  const Columns fraction = bits & 0x7fffff;
  const Columns magnitude = field == 0 ? fraction : fraction | 0x800000;
  const Columns top = larger(field, Columns{} + 1) - 127;
  return {bits < 0 ? -magnitude : magnitude, magnitude == 0 ? Columns{} + kNothing : top};
}

// The part of terms at or above the kept bits, truncated toward zero: `up` scales the unit at the largest
// exponent, `down` is how far below it the terms are.
inline Columns align(Columns significand, i32 up, Columns down) {
  const Columns magnitude = (significand < 0 ? -significand : significand) << up;
  const Columns kept = magnitude >> (down > 31 ? Columns{} + 31 : down);
  return significand < 0 ? -kept : kept;
}

// One fused step of one row of D: products first..last-1 on top of `sums`.
void fuse(const FloatTile& tile, int i, int first, int last, int product_fraction, int fraction_bits,
          u32* sums) {
  const Addends addends = unpack_sums(sums);
  Columns top = addends.top;
  for (int p = first; p < last; ++p) top = larger(top, load(tile.b_top[p]) + tile.a_top[i][p]);
  const Columns start = align(addends.significand, fraction_bits - 23, top - addends.top);
  i64 exact[kTileN];
  for (int j = 0; j < kTileN; ++j) exact[j] = start[j];
  // Eight terms of at most 28 bits fit a word.
  for (int group = first; group < last; group += 8) {
    Columns part{};
    for (int p = group; p < std::min(group + 8, last); ++p) {
      const Columns product = load(tile.b[p]) * tile.a[i][p];
      part += align(product, fraction_bits - product_fraction, top - load(tile.b_top[p]) - tile.a_top[i][p]);
    }
    for (int j = 0; j < kTileN; ++j) exact[j] += part[j];
  }
  for (int j = 0; j < kTileN; ++j) {
    if (top[j] > kNothing / 2) sums[j] = exact[j] == 0 ? 0 : truncate(exact[j], top[j] - fraction_bits);
  }
}

}  // namespace

void unpack_tile(FloatTile& tile, TensorFormat a, TensorFormat b, int m, int k) {
  for (int i = 0; i < m; ++i) {
    tile.special_a[i] = 0;
    for (int p = 0; p < k; ++p) {
      const Unpacked x = unpack(a, tile.a_bits[i][p]);
      tile.a[i][p] = x.significand;
      tile.a_top[i][p] = x.top;
      tile.special_a[i] |= x.kind != Kind::Finite;
    }
  }
  for (int j = 0; j < kTileN; ++j) tile.special_b[j] = 0;
  for (int p = 0; p < k; ++p) {
    for (int j = 0; j < kTileN; ++j) {
      const Unpacked y = unpack(b, tile.b_bits[p][j]);
      tile.b[p][j] = y.significand;
      tile.b_top[p][j] = y.top;
      tile.special_b[j] |= y.kind != Kind::Finite;
    }
  }
}

void multiply_tile(FloatTile& tile, TensorFormat a, TensorFormat b, int m, int k, TensorSum sum) {
  const int product_fraction = layout_of(a).fraction_bits + layout_of(b).fraction_bits;
  for (int i = 0; i < m; ++i) {
    u32 sums[kTileN];
    std::copy(tile.c[i], tile.c[i] + kTileN, sums);
    for (int first = 0; first < k; first += sum.step) {
      fuse(tile, i, first, std::min(k, first + sum.step), product_fraction, sum.fraction_bits, sums);
    }
    for (int j = 0; j < kTileN; ++j) {
      const bool special =
          tile.special_a[i] | tile.special_b[j] | ((tile.c[i][j] & 0x7f800000u) == 0x7f800000u);
      u32 value = 0;
      tile.d[i][j] = special && special_element(tile, a, b, i, j, k, value) ? value : sums[j];
    }
  }
}

}  // namespace warpath
