// What happened when inside one launch: time bins, when each CTA was where, every stretch of the warps of one
// SM, and the first addresses of each memory instruction. Collected only when somebody asked for it.
#pragma once

#include <memory>
#include <vector>

#include "exec/worker.hpp"
#include "timing/resource.hpp"
#include "timing/stall.hpp"

namespace warpath {

// An amount over time in bins of a power of two cycles, which widen as time goes on. What ends up in a bin
// does not depend on the order in which it came.
class Bins {
 public:
  static constexpr u32 kFirstBits = 6;  // 64 cycles
  static constexpr std::size_t kMost = 512;

  void add(Cycle at, u64 amount) {
    if ((at >> bits_) >= kMost) widen(at);
    const std::size_t bin = at >> bits_;
    if (bin >= values_.size()) values_.resize(bin + 1);
    values_[bin] += amount;
  }
  // One for every cycle from `from` up to `to`, exclusive.
  void add_span(Cycle from, Cycle to);
  void add(const Bins& other);
  // Makes bins of 2^bits cycles, where they are narrower, that end with `last`; what came later counts there.
  void fit(u32 bits, Cycle last);

  u32 bits() const { return bits_; }
  const std::vector<u64>& values() const { return values_; }

 private:
  void widen(Cycle at);
  void coarsen();

  u32 bits_ = kFirstBits;
  std::vector<u64> values_;
};

struct CtaSpan {
  u64 block;
  u64 sm;
  Cycle start, end;
};

// A warp of the watched SM was in one state at one instruction.
struct Stretch {
  u64 block;
  u64 warp;
  u64 part;
  u64 index;  // of the instruction
  u64 state;  // Stall
  Cycle start, end;
};

// An instruction's first request: by time, then by SM.
struct Sample {
  Cycle at = kNever;
  u32 sm = 0;
  std::array<i64, kLanes> address{};  // -1: the lane took no part
};

// The SM whose warps are watched; one host thread at a time runs it.
struct WatchedSm {
  static constexpr std::size_t kMostStretches = 20'000;

  u32 number = 0;
  std::vector<Stretch> stretches;
  u64 dropped = 0;

  void add(const Stretch& stretch) {
    if (stretches.size() < kMostStretches) {
      stretches.push_back(stretch);
    } else {
      ++dropped;
    }
  }
};

// What one host thread sees of the SMs it runs.
class TimelineShare {
 public:
  TimelineShare(std::size_t instructions, WatchedSm& watched) : samples_(instructions), watched_(watched) {}

  void issued(Cycle at) { issued_.add(at, 1); }
  void resident(Cycle from, Cycle to) { warp_cycles_.add_span(from, to); }
  void cta(u64 block, u32 sm, Cycle start, Cycle end) { ctas_.push_back({block, sm, start, end}); }
  void stretch(u32 sm, const Stretch& stretch) {
    if (sm == watched_.number) watched_.add(stretch);
  }
  void request(u32 sm, u32 index, Cycle at, const Access& access);

 private:
  friend class Timeline;
  Bins issued_, warp_cycles_;
  std::vector<CtaSpan> ctas_;
  std::vector<Sample> samples_;  // by instruction
  WatchedSm& watched_;
};

// What the memory system sees.
struct MemoryTimeline {
  Bins dram_bytes, l2_sectors;
};

struct TimelineResult {
  u32 bits = 0;  // bins are 2^bits cycles wide
  u32 watched_sm = 0;
  std::vector<u64> warp_cycles, issued, dram_bytes, l2_sectors;  // by bin, all of one length
  std::vector<CtaSpan> ctas;                                     // by block
  std::vector<Stretch> stretches;  // of the watched SM, in the order in which they ended
  u64 dropped = 0;                 // stretches beyond those
  std::vector<Sample> samples;     // by instruction
};

class Timeline {
 public:
  Timeline(std::size_t instructions, u32 watched_sm) : instructions_(instructions) {
    watched_.number = watched_sm;
  }

  // For one more host thread.
  TimelineShare& add_share() {
    shares_.push_back(std::make_unique<TimelineShare>(instructions_, watched_));
    return *shares_.back();
  }
  TimelineShare& share(std::size_t number) { return *shares_[number]; }
  // `cycles`: length of the launch. The same for any number of shares.
  TimelineResult result(Cycle cycles) const;

  MemoryTimeline memory;

 private:
  std::size_t instructions_;
  WatchedSm watched_;
  std::vector<std::unique_ptr<TimelineShare>> shares_;
};

}  // namespace warpath
