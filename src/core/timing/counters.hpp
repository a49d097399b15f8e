// What one host thread counts while it runs SMs; sums do not depend on how SMs were dealt out.
#pragma once

#include <array>
#include <vector>

#include "timing/params.hpp"
#include "timing/stall.hpp"
#include "timing/traffic.hpp"

namespace warpath {

struct SmCounters {
  std::vector<std::array<u64, kStalls>> stalls;  // by instruction
  std::vector<MemoryInstrCount> memory;          // by instruction
  std::array<L1Counts, kL1Ops> l1{};
  std::array<SharedCounts, kSharedOps> shared{};
  u64 warp_cycles = 0;
  u64 issued = 0;
  std::array<u64, kServers> unit_cycles{};  // how long the units of the sub-partitions were taken
  u64 lsu_cycles = 0;
  u64 excess_sectors = 0;  // beyond the fewest that the lanes would fill

  explicit SmCounters(std::size_t instructions = 0) : stalls(instructions), memory(instructions) {}

  void add(const SmCounters& other) {
    for (std::size_t i = 0; i < stalls.size(); ++i) {
      for (std::size_t s = 0; s < kStalls; ++s) stalls[i][s] += other.stalls[i][s];
      memory[i].requests += other.memory[i].requests;
      memory[i].sectors += other.memory[i].sectors;
      memory[i].lines += other.memory[i].lines;
      memory[i].wavefronts += other.memory[i].wavefronts;
      memory[i].conflicts += other.memory[i].conflicts;
    }
    for (u32 i = 0; i < kL1Ops; ++i) {
      l1[i].requests += other.l1[i].requests;
      l1[i].sectors += other.l1[i].sectors;
      l1[i].sector_hits += other.l1[i].sector_hits;
      l1[i].wavefronts += other.l1[i].wavefronts;
      l1[i].lines += other.l1[i].lines;
    }
    for (u32 i = 0; i < kSharedOps; ++i) {
      shared[i].requests += other.shared[i].requests;
      shared[i].wavefronts += other.shared[i].wavefronts;
      shared[i].conflicts += other.shared[i].conflicts;
    }
    warp_cycles += other.warp_cycles;
    issued += other.issued;
    for (u32 i = 0; i < kServers; ++i) unit_cycles[i] += other.unit_cycles[i];
    lsu_cycles += other.lsu_cycles;
    excess_sectors += other.excess_sectors;
  }
};

}  // namespace warpath
