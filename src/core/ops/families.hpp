// Every family of opcodes, one per file of this folder. ops/table.cpp lists them in a fixed order.
#pragma once

#include "ops/decl.hpp"

namespace warpath {

const Family& integer_family();
const Family& floating_family();
const Family& double_precision_family();
const Family& half_family();
const Family& convert_family();
const Family& uniform_family();
const Family& mufu_family();
const Family& predicate_family();
const Family& tensor_family();
const Family& memory_family();
const Family& atomic_family();
const Family& warp_family();
const Family& control_family();

}  // namespace warpath
