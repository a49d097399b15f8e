// System calls: functions that device code calls by an address the driver reserved (vprintf, malloc, ...).
#pragma once

#include <string>

#include "exec/state.hpp"
#include "ops/instr.hpp"

namespace warpath {

// Performs the call named `name` for the lanes of `mask`: arguments from R4 on, result in R4 (R4, R5). Faults when the
// name is not known or the function ends the grid.
void system_call(Warp& warp, const Instr& in, u32 mask, const std::string& name);

}  // namespace warpath
