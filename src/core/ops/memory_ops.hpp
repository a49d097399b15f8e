// Parts of the memory family that live in their own files.
#pragma once

#include "ops/decl.hpp"

namespace warpath {

inline constexpr u32 kTransposed = 1u << 2;

std::string bind_ldc(const InstrText& text, Instr& out);
std::string bind_ldcu(const InstrText& text, Instr& out);

}  // namespace warpath
