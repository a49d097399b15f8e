// A launch over time: SMs run side by side for a quantum shorter than any latency between them, then
// everything that passes between them is put in order. Results do not depend on the number of host threads.
#pragma once

#include <memory>
#include <vector>

#include "sm/grid.hpp"
#include "timing/distributor.hpp"
#include "timing/memory_system.hpp"
#include "timing/sm.hpp"

namespace warpath {

struct TimedResult {
  u64 cycles = 0;         // of the whole launch, as gpc__cycles_elapsed.max counts them
  u64 front_cycles = 0;   // until the first CTA is sent
  u64 drain_cycles = 0;   // from the last completion to the end
  u64 active_cycles = 0;  // sum over SMs
  u64 instruction_fetches = 0;
  SmCounters sm;
  MemoryCounts memory;
  std::vector<u64> sm_active;  // by SM
};

class TimedGrid {
 public:
  // `l1_bytes`: what the carve-out leaves for L1. The grid must not have been stepped.
  TimedGrid(Grid& grid, MemorySystem& memory, u64 l1_bytes, u64 code_id);
  TimedGrid(const TimedGrid&) = delete;
  TimedGrid& operator=(const TimedGrid&) = delete;
  ~TimedGrid() { grid_.forget_ctas(); }

  // Runs about `budget` warp instructions; as Grid::step.
  GridState step(u64 budget, u32 threads);
  TimedResult result() const;
  Cycle now() const { return now_; }
  // The next step() ends at `cycle` at the latest.
  void pause_at(Cycle cycle) { pause_ = cycle; }

 private:
  class Crew;
  void begin(u32 threads);
  TimedSm& sm(u32 number);
  void run_share(u32 thread, Cycle until);
  void exchange(Cycle until);
  Cycle next_time() const;
  u64 executed() const;
  void fail(Fault fault) { grid_.fail(std::move(fault)); }
  [[noreturn]] void raise_hang() const;

  Grid& grid_;
  MemorySystem& memory_;
  const TimingParams& params_;
  std::vector<TimedOp> ops_;
  SmContext context_;
  Distributor distributor_;
  std::vector<std::unique_ptr<SmCounters>> counters_;  // by host thread
  std::vector<std::optional<Fault>> faults_;           // by host thread
  std::vector<std::unique_ptr<TimedSm>> sms_;          // null until the first CTA comes
  std::vector<std::vector<Reply>> replies_;
  std::vector<std::unique_ptr<Cta>> spare_;
  std::vector<Request> batch_, sorted_;
  std::vector<u32> buckets_;
  std::vector<Departure> departures_;
  std::vector<Assignment> assignments_;
  Cycle now_ = 0;
  Cycle pause_ = kNever;
  bool begun_ = false;
};

}  // namespace warpath
