// From the lanes of one access to lines, sectors and shared-memory passes.
#pragma once

#include <array>

#include "exec/worker.hpp"
#include "timing/traffic.hpp"

namespace warpath {

struct LineShare {
  u64 line = 0;          // address / 128
  u8 sectors = 0;        // mask of 32-byte sectors touched
  u8 passes = 1;         // the most lanes on one 32-bit word: what serialises an atomic
  u8 sector_passes = 0;  // atomics: over its sectors, the most lanes on one word of each
};

struct Coalesced {
  u32 count = 0;
  u32 sectors = 0;
  std::array<LineShare, 4 * kLanes> lines;
};

// Lines in the order in which lanes name them. `base` is added to every address.
void coalesce(const Access& access, u64 base, Coalesced& out);
// Cycles of the tag stage: lines in the same one of its four banks come one after another.
u32 tag_wavefronts(const Coalesced& lines);
// For atomics: the passes of each line, and the sectors of all of them.
void count_passes(const Access& access, u64 base, Coalesced& out);

struct SharedPasses {
  u32 wavefronts = 0;
  u32 conflicts = 0;  // beyond the fewest that the width needs
};
// `merges`: lanes of an atomic on one word count as one (POPC.INC).
SharedPasses shared_passes(const Access& access, bool merges);

}  // namespace warpath
