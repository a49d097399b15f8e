// Architectural state of a running grid: warps, CTAs and what they share. State only; behaviour is in exec/
// and sm/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/instr.hpp"
#include "types.hpp"

namespace warpath {

class Memory;   // memory/memory.hpp
class Program;  // exec/program.hpp
struct Cta;     // sm/cta.hpp
struct Worker;  // exec/worker.hpp

// Rows of the register file before R0: RZ reads row 0, which stays zero; writes to RZ land in row 1.
inline constexpr u32 kZeroRow = 0;
inline constexpr u32 kTrashRow = 1;
inline constexpr u32 kFirstRow = 2;

// A constant bank of the running grid as seen by the host; `size` bytes are readable.
struct ConstBank {
  const u8* data = nullptr;
  u32 size = 0;
};
inline constexpr int kConstBanks = 32;
inline constexpr int kConvergenceBarriers = 16;

// A warp runs one group of lanes at a time: `active`, all at `pc`. The other lanes are in exactly one of the
// masks ready, at_convergence, at_warpsync, at_barrier and exited, and continue at lane_pc.
struct Warp {
  Row* rows = nullptr;                              // register file: kFirstRow + registers rows
  u32 pred[8] = {0, 0, 0, 0, 0, 0, 0, kFullMask};   // lane masks of P0..P6; [7] is PT
  u32 upred[8] = {0, 0, 0, 0, 0, 0, 0, kFullMask};  // 0 or all ones
  u32 pc = 0;                                       // instruction index of the running group
  u32 active = 0;                                   // lanes of the running group
  u32 exited = 0;                                   // lanes that are gone (includes lanes never launched)
  u32 ready = 0;                                    // lanes outside the running group that could run
  u32 at_convergence = 0;                           // lanes waiting in BSYNC
  u32 soft = 0;               // lanes of at_convergence that need not be waited for when a group gives way
  u32 at_warpsync = 0;        // lanes waiting in WARPSYNC
  u32 at_barrier = 0;         // lanes waiting in BAR
  u32 exclusive = 0;          // lanes of at_warpsync that must go on as a group of their own
  u32 id = 0;                 // warp number in its CTA
  u32 trips = 0;              // backward branches taken since another group of the warp last ran
  u32 barrier_count = 0;      // B2R.RESULT: how many threads of the last BAR.RED had the predicate set
  bool barrier_vote = false;  // B2R.RESULT: AND or OR of the last BAR.RED
  const ConstBank* banks = nullptr;
  Cta* cta = nullptr;
  Worker* worker = nullptr;  // the host thread running it: counters, scratch
  u8* local =
      nullptr;  // local memory of the 32 lanes, word-interleaved: word w of lane l at (w * 32 + l) * 4
  u32 lane_pc[kLanes] = {};
  u8 lane_wait[kLanes] = {};   // which convergence barrier a lane of at_convergence waits at
  u32 barrier_lanes[16] = {};  // lanes of at_barrier by CTA barrier
  u32 sync_mask[kLanes] = {};  // mask given to WARPSYNC
  // B0..B15, per lane: the lanes that BSSY was executed with. Per lane, since two groups may use one name at
  // once.
  Row convergence[kConvergenceBarriers] = {};
  Row rpc[2] =
      {};  // Rpc.LO and Rpc.HI: the return-address register, which compilers also use to park a value
  u32 ureg[256] = {};  // UR0..; [255] is URZ and stays zero

  // Lanes of `mask` stop here and continue at `pc`.
  void park(u32 mask) {
    for (int lane = 0; lane < kLanes; ++lane) lane_pc[lane] = (mask >> lane) & 1 ? pc : lane_pc[lane];
    active &= ~mask;
  }

  const u32* read_row(u16 reg) const { return rows[reg == kRZ ? kZeroRow : kFirstRow + reg].v; }
  u32* write_row(u16 reg) { return rows[reg == kRZ ? kTrashRow : kFirstRow + reg].v; }
};

}  // namespace warpath
