// The multi-function unit's values, one function per operation. Inputs and outputs are bits; denormal
// binary32 inputs and results are flushed to zeros of the same sign.
#pragma once

#include "types.hpp"

namespace warpath {

u32 mufu_rcp(u32 x);
u32 mufu_rsq(u32 x);
u32 mufu_sqrt(u32 x);
u32 mufu_ex2(u32 x);
u32 mufu_lg2(u32 x);
u32 mufu_sin(u32 x);  // of an angle in turns: sin(2 pi x)
u32 mufu_cos(u32 x);
u32 mufu_tanh(u32 x);
u32 mufu_rcp64h(u32 high);  // upper word of 1 / x from the upper word of a binary64
u32 mufu_rsq64h(u32 high);

}  // namespace warpath
