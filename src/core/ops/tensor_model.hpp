// Numerics of the tensor pipe for float formats: one tile of D = A * B + C.
#pragma once

#include "types.hpp"

namespace warpath {

enum class TensorFormat : u32 { F16, Bf16, Tf32, E4m3, E5m2 };

inline constexpr int kTileM = 16, kTileN = 8, kTileK = 32;

// Operands of a tile as integers: value = significand * 2^(top - fraction bits of the format), where 2^top is
// the weight of a normal number's first bit, so that denormals are not normalised. Zeros have a `top` far
// below all others.
struct FloatTile {
  i32 a[kTileM][kTileK];
  i32 a_top[kTileM][kTileK];
  i32 b[kTileK][kTileN];  // columns side by side, for vector loops
  i32 b_top[kTileK][kTileN];
  u32 special_a[kTileM];  // does a row of A, or a column of B, hold an infinity or a NaN?
  u32 special_b[kTileN];
  u32 a_bits[kTileM][kTileK];  // as they came
  u32 b_bits[kTileK][kTileN];
  u32 c[kTileM][kTileN];  // binary32
  u32 d[kTileM][kTileN];  // binary32
};

// How the pipe sums: products per fused step, and fraction bits kept below the largest exponent.
struct TensorSum {
  int step;
  int fraction_bits;
};

// Fills significands, exponents and special marks from the bits, for `m` rows and `k` products.
void unpack_tile(FloatTile& tile, TensorFormat a, TensorFormat b, int m, int k);

// d = a * b + c. Each step aligns its products and the sum so far to the largest exponent among them, drops
// what lies below, adds, and truncates to binary32.
void multiply_tile(FloatTile& tile, TensorFormat a, TensorFormat b, int m, int k, TensorSum sum);

}  // namespace warpath
