// Small checks that bind functions share.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ops/decl.hpp"

namespace warpath {

// Are the operands exactly of these kinds?
inline bool has_shape(const InstrText& text, std::initializer_list<OperandKind> kinds) {
  if (text.operands.size() != kinds.size()) return false;
  std::size_t i = 0;
  for (OperandKind kind : kinds) {
    if (text.operands[i++].kind != kind) return false;
  }
  return true;
}

}  // namespace warpath
