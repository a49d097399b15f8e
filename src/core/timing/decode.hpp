// What the clock needs to know of an instruction, worked out once per program.
#pragma once

#include <vector>

#include "exec/program.hpp"
#include "timing/params.hpp"

namespace warpath {

enum class TimedKind : u8 {
  Fixed,     // results by stall count alone
  Unit,      // a unit of the sub-partition that answers through a scoreboard: XU, FP64, tensor
  Special,   // special registers, through the MIO queue
  Constant,  // LDC: indexed constants, through the MIO queue
  Shuffle,
  Memory,   // loads, stores, atomics: what it touched is known once it has executed
  Barrier,  // BAR and what reads it
  Branch,
  Exit,
  Fence,
  Depbar,
  CommitCopies,  // LDGDEPBAR: closes a group of asynchronous copies
  Sleep,
};

inline constexpr u16 kNoLine = 0xffff;
inline constexpr u32 kConstLineBits = 6;    // constant caches hold 64-byte lines
inline constexpr u32 kConstBankShift = 10;  // a bank has so many bits of them

// The line of a constant, of all banks.
constexpr u16 const_line(u32 bank, u64 offset) {
  return static_cast<u16>(u64{bank} << kConstBankShift | offset >> kConstLineBits);
}

struct TimedOp {
  TimedKind kind = TimedKind::Fixed;
  IssueClass issue = IssueClass::Free;
  u8 stall = 0;
  u8 again = 0;  // cycles from its first to its last pass through the unit, which the stall count starts from
  bool yield = false;
  u8 wait_mask = 0;
  u8 write_sb = 7;
  u8 read_sb = 7;
  u8 reuse = 0;
  u8 sources[3] = {255, 255, 255};  // registers read by the operand slots A, B, C
  u8 late_operands = 0;             // registers read after issue: addresses and data of memory instructions
  bool is_load = false;
  bool reads_special = false;  // S2R, S2UR
  bool groups = false;         // MATCH.ANY: takes as long as it finds different values
  bool reduces = false;        // an atomic that returns nothing
  bool far_jump = false;       // calls, returns and jumps through a register
  bool reconverges = false;    // BSYNC
  bool floating = false;       // an atomic on floating-point numbers
  bool merges = false;         // an atomic that counts lanes: those on one word are one
  bool bypass = false;         // not served by L1
  bool touches = false;        // what it touched is known once it has executed: memory, constants at an index
  bool copies = false;        // LDGSTS: its data goes on to shared memory; CommitCopies says who waits for it
  bool held = true;           // by a barrier before it that is not complete
  bool answers_long = false;  // its scoreboard wait is a long one
  u16 const_line = kNoLine;   // bank and line of its constant operand
  u16 latency = 0;            // issue to answer of Unit, Special and the like
  u8 depbar_sb = 7;
  u8 depbar_count = 0;
};

// Whether the instruction at `index` has a Touch: TimedOp::touches.
bool touches_memory(const Program& program, u32 index);
std::vector<TimedOp> decode_timing(const Program& program, const TimingParams& params);

}  // namespace warpath
