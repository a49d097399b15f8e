// Special registers: S2R, S2UR, CS2R, CS2UR.
#pragma once

#include "ops/decl.hpp"

namespace warpath {

std::string bind_s2r(const InstrText& text, Instr& out);
std::string bind_s2ur(const InstrText& text, Instr& out);
std::string bind_cs2r(const InstrText& text, Instr& out);
std::string bind_cs2ur(const InstrText& text, Instr& out);

}  // namespace warpath
