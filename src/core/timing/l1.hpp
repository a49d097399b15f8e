// The L1 data cache of an SM: 128-byte lines of four sectors, misses merged per sector.
#pragma once

#include <algorithm>
#include <vector>

#include "timing/traffic.hpp"

namespace warpath {

inline constexpr u32 kNoMiss = ~0u;

struct L1Line {
  u64 tag = ~u64{0};
  u32 stamp = 0;
  u8 valid = 0;                    // sectors whose arrival time is known (`ready`, maybe ahead)
  u8 pending = 0;                  // sectors asked for, arrival not known yet
  u32 miss[kSectorsPerLine] = {};  // the miss that brings each pending sector
  Cycle ready = 0;                 // when the last of the valid sectors is there
  Cycle stored_from = 0;           // when stores find the line, after the last store to it
};

class L1Cache {
 public:
  L1Cache(u64 bytes, u32 ways)
      : ways_(ways), sets_(std::max<u64>(bytes / kLineBytes / ways, 1)), lines_(sets_ * ways) {}

  // The line holding `address` / 128, or null.
  L1Line* find(u64 tag) {
    L1Line* set = set_of(tag);
    for (u32 way = 0; way < ways_; ++way) {
      if (set[way].tag == tag) {
        set[way].stamp = ++clock_;
        return &set[way];
      }
    }
    return nullptr;
  }

  // Gives `tag` the oldest line without pending sectors; null when every line of the set waits for data.
  L1Line* replace(u64 tag) {
    L1Line* set = set_of(tag);
    L1Line* victim = nullptr;
    for (u32 way = 0; way < ways_; ++way) {
      if (set[way].pending != 0) continue;
      if (victim == nullptr || set[way].stamp < victim->stamp) victim = &set[way];
    }
    if (victim == nullptr) return nullptr;
    *victim = L1Line{};
    victim->tag = tag;
    victim->stamp = ++clock_;
    return victim;
  }

  u32 index(const L1Line* line) const { return static_cast<u32>(line - lines_.data()); }
  L1Line& at(u32 index) { return lines_[index]; }

 private:
  L1Line* set_of(u64 tag) {
    const u64 mixed = tag ^ (tag >> 7) ^ (tag >> 15);
    return &lines_[mixed % sets_ * ways_];
  }

  u32 ways_;
  u64 sets_;
  u32 clock_ = 0;
  std::vector<L1Line> lines_;
};

}  // namespace warpath
