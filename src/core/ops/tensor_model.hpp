// Numerics of the tensor pipe: one element of D = A * B + C.
#pragma once

#include "types.hpp"

namespace warpath {

// An operand value as significand * 2^exponent. `exponent` is the field's, so that denormals are not normalised.
struct TensorValue {
  i32 significand = 0;
  i16 exponent = 0;  // of the last bit of the significand
  i16 top = 0;       // of the leading position of the format (2^top is the weight of a normal's first bit)
  bool nan = false;
  bool infinite = false;  // sign in `significand`
};

enum class TensorFormat : u32 { F16, Bf16, Tf32, E4m3, E5m2 };
TensorValue unpack_tensor(TensorFormat format, u32 bits);

// How a generation sums: products per fused step, and fraction bits kept below the largest exponent.
struct TensorSum {
  int step;
  int fraction_bits;
};

// sum(a[k] * b[k]) + c, `count` products, as binary32 bits; each step aligns to its largest exponent, drops what
// lies below, and truncates the sum.
u32 fused_dot(const TensorValue* a, const TensorValue* b, int count, u32 c, TensorSum sum);

}  // namespace warpath
