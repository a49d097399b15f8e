// What one memory instruction of a warp touched: all that the clock needs to know of it. Worked out from the
// lanes when the instruction executes, and kept in recorded streams.
#pragma once

#include "timing/coalesce.hpp"
#include "timing/decode.hpp"

namespace warpath {

struct Touch {
  enum class Where : u8 { Nowhere, Shared, Cached, Constant };
  Where where = Where::Nowhere;
  bool local = false;  // lines count from the start of the warp's own local memory
  bool write = false;
  bool atomic = false;
  u8 width = 4;   // bytes per lane in one piece
  u8 pieces = 1;  // local memory: words of a lane, which lie in different lines
  u8 lanes = 0;
  u16 wavefronts = 0;  // passes through the banks of the data store, shared memory's or L1's
  u16 conflicts = 0;   // beyond the fewest that the width needs
  Coalesced lines;  // global and local memory; for constants the 64-byte line of each word, one after another
};

// `local_bytes`: of a thread. Rewrites the addresses of local accesses.
void describe(Access& access, const TimedOp& op, u32 local_bytes, Touch& out);

// Sectors that are touched; those of an atomic's further passes, which `lines.sectors` counts again, once.
u32 distinct_sectors(const Touch& touch);
// Sectors that the lanes would fill side by side.
u32 least_sectors(const Touch& touch);
// As `touch` would be if its lanes lay side by side: the same bytes in as few sectors as they fill. `turn`
// chooses which of the lines stay, so that warps which share lines keep different ones.
void pack_lanes(Touch& touch, u32 turn);
// As it would be if no two words lay in one bank.
void spread_banks(Touch& touch);

}  // namespace warpath
