// Bind functions of the predicate ops, shared with the uniform datapath.
#pragma once

#include "ops/decl.hpp"

namespace warpath {

std::string bind_plop3(const InstrText& text, Instr& out);
std::string bind_p2r(const InstrText& text, Instr& out);
std::string bind_r2p(const InstrText& text, Instr& out);

}  // namespace warpath
