// What one host thread carries while it runs warps: counters, caches and the optional record of the last
// access.
#pragma once

#include <vector>

#include "exec/footprint.hpp"
#include "exec/state.hpp"
#include "ops/instr.hpp"
#include "types.hpp"

namespace warpath {

class Checker;  // check/checker.hpp
class Grid;

struct InstrCount {
  u64 executed = 0;    // warp instructions
  u64 threads = 0;     // lanes of the running group
  u64 threads_on = 0;  // lanes whose guard was true
  u64 words = 0;       // atomics, when counting: distinct words, summed over requests
};

struct MemoryCount {
  u64 requests = 0;
  u64 sectors = 0;     // 32 B, global and local
  u64 lines = 0;       // 128 B, global and local
  u64 wavefronts = 0;  // shared memory passes
  u64 conflicts = 0;   // passes beyond the fewest that the access width needs
};

enum class Space : u8 { Global, Shared, Local, Generic, Constant };

// The last memory instruction of a warp, lane by lane. A generic access reports the space it resolved to per
// lane.
struct Access {
  Space space = Space::Global;
  u8 width = 0;  // bytes per lane
  bool write = false;
  bool atomic = false;
  u32 mask = 0;              // 0: the last instruction made no access
  u64 address[kLanes] = {};  // shared and local: offset in the window
};

// Where an instruction's last access landed: addresses lo .. lo + limit are inside one live allocation.
struct AccessSlot {
  i64 lo = 0;
  i64 limit = -1;
  u8* host = nullptr;  // host address of lo
};

struct Worker {
  Grid* grid = nullptr;
  Memory* memory = nullptr;
  std::vector<InstrCount> counts;          // by instruction index
  std::vector<MemoryCount> memory_counts;  // empty unless counting was asked for
  Footprint loaded, stored;  // global memory that was touched, when keep_footprints; atomics do both
  bool keep_footprints = false;
  std::vector<AccessSlot> slots;  // by instruction index
  Access access;
  Checker* checker = nullptr;  // who watches; null: nobody
  bool observe = false;        // fill `access` (and count) at every memory instruction
  bool alone = true;           // no other host thread runs this grid: atomics need no locked operations
  i64 slice = 0;               // length of the running slice
  i64 left = 0;                // instructions until the running slice ends
  u64 polls = 0;               // accesses of the kind spin loops make, in this slice
};

// An access that spin loops are made of uses up the slice faster, so that whoever it waits for runs soon.
inline constexpr i64 kPollCost = 64;
inline void charge_poll(Worker& worker) {
  worker.left -= kPollCost;
  ++worker.polls;
}

}  // namespace warpath
