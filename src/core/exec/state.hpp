// Architectural state of a running grid: warps, CTAs and what they share. State only; behaviour is in exec/ and sm/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/instr.hpp"
#include "types.hpp"

namespace warpath {

class Memory;    // memory/memory.hpp
class Program;   // exec/program.hpp
struct Cta;
struct Worker;

// Rows of the register file before R0: RZ reads row 0, which stays zero; writes to RZ land in row 1.
inline constexpr u32 kZeroRow = 0;
inline constexpr u32 kTrashRow = 1;
inline constexpr u32 kFirstRow = 2;

enum class LaneState : u8 { Ready, AtConvergence, AtWarpSync, AtCtaBarrier, Exited };

struct Warp {
  Row* rows = nullptr;             // register file: kFirstRow + registers rows
  u32 pred[8] = {0, 0, 0, 0, 0, 0, 0, kFullMask};    // lane masks of P0..P6; [7] is PT
  u32 upred[8] = {0, 0, 0, 0, 0, 0, 0, kFullMask};   // 0 or all ones
  u32 ureg[256] = {};              // UR0..; [255] is URZ and stays zero
  u32 pc = 0;                      // instruction index of the running group
  u32 active = 0;                  // lanes of the running group
  u32 exited = 0;                  // lanes that are gone (includes lanes never launched)
  u32 lane_pc[kLanes] = {};        // where a lane outside the running group continues
  u32 convergence[16] = {};        // B0..B15: participating lanes
  LaneState lane_state[kLanes] = {};
  u8 lane_wait[kLanes] = {};       // which convergence barrier / CTA barrier the lane waits at
  u32 sync_mask[kLanes] = {};      // mask given to WARPSYNC
  u32 id = 0;                      // warp number in its CTA
  Cta* cta = nullptr;
  Worker* worker = nullptr;        // the host thread running it: counters, scratch

  const u32* read_row(u16 reg) const { return rows[reg == kRZ ? kZeroRow : kFirstRow + reg].v; }
  u32* write_row(u16 reg) { return rows[reg == kRZ ? kTrashRow : kFirstRow + reg].v; }
};

}  // namespace warpath
