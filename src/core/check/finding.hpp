// What the checks report: two accesses or arrivals that do not go together, or one that is wrong by itself.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "exec/fault.hpp"
#include "exec/worker.hpp"
#include "types.hpp"

namespace warpath {

enum class FindingKind : u8 {
  RaceReadAfterWrite,
  RaceWriteAfterRead,
  RaceWriteAfterWrite,
  UninitializedRead,
  ConstantOutOfRange,
  HeapOutOfBounds,  // in the device heap, but in no block that malloc() handed out
  HeapUseAfterFree,
  DivergentBarrier,   // threads of one warp or block meet at different barrier instructions
  BarrierCount,       // thread counts that do not agree or are no whole warps
  BarrierExited,      // a barrier that only ended because threads it was to wait for had ended
  MaskWithoutCaller,  // *_sync called by a thread that its mask does not name
  MaskExited,         // *_sync whose mask names threads that ended without calling it
};

const char* finding_name(FindingKind kind);

// A spot in the run of a grid.
struct Site {
  u64 cta = 0;
  u32 warp = 0;
  u32 lane = 0;
  u32 index = 0;
  AccessKind access = AccessKind::None;
};

struct Finding {
  FindingKind kind = FindingKind::RaceReadAfterWrite;
  Space space = Space::Global;
  Site site;   // the access at which it was noticed
  Site other;  // the earlier one, for findings about two
  u64 address = 0;
  u32 size = 0;
  u64 count = 0;                        // how often
  u32 mask = 0;                         // lanes concerned, for findings about a warp
  std::set<std::pair<u32, u32>> warps;  // pairs of warps (the smaller first), of one block
};

// Findings by what a person would call the same one: kind and the two instructions.
class Findings {
 public:
  void add(Finding finding);
  std::vector<Finding> all() const;
  void clear() { found_.clear(); }

 private:
  std::map<std::tuple<FindingKind, Space, u32, u32>, Finding> found_;
};

}  // namespace warpath
