// A launch over time: SMs run side by side for a quantum shorter than any latency between them, then
// everything that passes between them is put in order. Results do not depend on the number of host threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sm/grid.hpp"
#include "timing/distributor.hpp"
#include "timing/memory_system.hpp"
#include "timing/sm.hpp"
#include "timing/stream.hpp"
#include "timing/timeline.hpp"

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

// Effects that no parameter can take away.
struct Idealised {
  bool stalls = false;   // stall counts of the control words are one
  bool banks = false;    // no two words of a shared access in one bank
  bool sectors = false;  // lanes of a global access side by side
};

class TimedGrid {
 public:
  // `l1_bytes`: what the carve-out leaves for L1. The grid must not have been stepped. The streams of its
  // first CTAs, about `record` warp instructions and never many times that, are kept, and if `timeline`, what
  // happened when.
  TimedGrid(Grid& grid, MemorySystem& memory, u64 l1_bytes, u64 code_id, u64 record, bool timeline);
  // Replays a stream on `memory`, which is as the stream says it was before; executes nothing.
  TimedGrid(const Stream& stream, MemorySystem& memory, const Idealised& idealised, u32 blocks_per_sm);
  TimedGrid(const TimedGrid&) = delete;
  TimedGrid& operator=(const TimedGrid&) = delete;
  ~TimedGrid();

  // Runs about `budget` warp instructions; as Grid::step.
  GridState step(u64 budget, u32 threads);
  TimedResult result() const;
  // What was recorded; null when nothing was asked for.
  std::shared_ptr<Stream> stream() const { return recorded_; }
  // What happened when, up to now; nothing unless asked for at the start.
  std::optional<TimelineResult> timeline() const;
  Cycle now() const { return now_; }
  // The next step() ends at `cycle` at the latest.
  void pause_at(Cycle cycle) { pause_ = cycle; }

 private:
  void set_up(const std::vector<std::pair<u64, u64>>& banks, u32 entry, u32 local_bytes, u64 l1_bytes,
              u64 code_id);
  void begin(u32 threads);
  TimedSm& sm(u32 number);
  GpcShare share_of(u32 number) const;
  void run_sm(u32 number, u32 thread);
  Cycle length() const;
  void exchange(Cycle until);
  Cycle next_time() const;
  u64 executed() const;
  void limit_recording();
  Arrival arrival(const Assignment& assignment, Cycle earliest);
  [[noreturn]] void raise_hang() const;

  Grid* grid_;                        // null while replaying
  std::shared_ptr<Stream> recorded_;  // being written
  const Stream* script_ = nullptr;    // being replayed
  const Program& program_;
  u64 record_ = 0;  // warp instructions to keep
  u32 sms_count_;
  std::vector<u32> order_;  // of the SMs that get CTAs
  MemorySystem& memory_;
  const TimingParams& params_;
  std::vector<TimedOp> ops_;
  SmContext context_;
  Distributor distributor_;
  std::vector<std::unique_ptr<SmCounters>> counters_;  // by host thread
  std::unique_ptr<Timeline> timeline_;                 // null: nobody asked
  std::vector<std::optional<Fault>> faults_;           // by SM
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
