// System calls: functions that device code calls and that no cubin contains (vprintf, malloc, ...). The
// driver gives each a slot in memory that describes itself; a call to such an address is carried out here.
//
//   +0x00  16 bytes  kCallMark
//   +0x10  48 bytes  name, zero-padded
//   +0x40   8 bytes  address of the buffer that the function works on (0: none)
//   +0x48   8 bytes  its size
//
// Output buffer (vprintf, __assertfail): u64 bytes written, this header included; u64 records dropped; then
// records on 8 bytes each: u32 size with this header, u32 kind, and for kind 1 (assert) u64 message, file,
// function, u32 line, block xyz, thread xyz; for kind 2 text.
#pragma once

#include <optional>
#include <string>

#include "exec/state.hpp"
#include "ops/instr.hpp"

namespace warpath {

class Memory;

struct SystemCall {
  std::string name;
  u64 buffer = 0;
  u64 size = 0;
};

// The slot at `address`, if there is one.
std::optional<SystemCall> find_system_call(const Memory& memory, u64 address);

// Performs the call for the lanes of `mask`: arguments from R4 on, result in R4 (R4, R5). Faults when the
// name is not known or the function ends the grid.
void perform(const SystemCall& call, Warp& warp, const Instr& in, u32 mask);

}  // namespace warpath
