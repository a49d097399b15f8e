// Who last took a word by compare-and-swap or exchange: what locks are made of.
#pragma once

#include <vector>

#include "types.hpp"

namespace warpath {

struct Swap {
  u64 address = 0;
  u64 home = kEmpty;  // the CTA for an offset in shared memory, kGlobal for an address in global memory
  u64 value = 0;      // what was stored
  u64 cta = 0;
  u32 warp = 0;
  u32 lane = 0;
  u32 index = 0;

  static constexpr u64 kGlobal = ~u64{0};
  static constexpr u64 kEmpty = ~u64{0} - 1;
};

// The latest by address: a table of fixed size in which a newer word takes the place of an older one, so that
// programs that swap everywhere (hash tables) pay no more than a store.
class LastSwaps {
 public:
  void note(const Swap& swap) {
    if (table_.empty()) table_.resize(kSlots);
    table_[slot(swap.home, swap.address)] = swap;
  }
  const Swap* find(u64 home, u64 address) const {
    if (table_.empty()) return nullptr;
    const Swap& swap = table_[slot(home, address)];
    return swap.home == home && swap.address == address ? &swap : nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 4096;
  static std::size_t slot(u64 home, u64 address) {
    return ((address >> 2) ^ home * 0x9e3779b97f4a7c15u) % kSlots;
  }
  std::vector<Swap> table_;
};

}  // namespace warpath
