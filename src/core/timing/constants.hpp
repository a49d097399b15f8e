// Constant caches of an SM, and what is behind them: a level that the SMs of a GPC share, then L2 and DRAM.
#pragma once

#include <utility>
#include <vector>

#include "exec/state.hpp"
#include "timing/decode.hpp"
#include "timing/params.hpp"
#include "timing/resource.hpp"

namespace warpath {

// Constants are known by bank and 64-byte line; the level behind an SM's caches brings blocks of them.
inline constexpr u32 kConstLinesPerBlock = 4;

// Where the banks of the running program are, and whether an earlier launch left them in L2.
struct ConstantHome {
  struct Bank {
    bool warm = false;
    bool late = false;     // a launch's own: not near when its first CTA begins
    std::vector<u8> side;  // by block: the L2 partition it is in
  };
  Bank banks[kConstBanks];
};

// Who shares the GPC's level with an SM: all SMs of a launch run the same code, so they ask for the same
// lines at about the same time, each for its own caches.
struct GpcShare {
  u32 sms = 1;   // that take part in the launch
  u32 rank = 0;  // the SM's place among them
};

// The way to that level and back: an SM has its share of it.
class ConstantPort {
 public:
  ConstantPort(const TimingParams& params, GpcShare share)
      : interval_(std::max(share.sms * params.constant_line_256 / 256, 1u)),
        others_(share.rank * params.constant_line_256 / 256) {}

  // When a line that is asked for at `at` is served.
  Cycle take(Cycle at) {
    const Cycle done = calendar_.book(at, interval_);
    return std::max(at, less(done, interval_)) + others_;
  }
  void forget(Cycle now) { calendar_.forget(now); }

 private:
  u32 interval_, others_;
  Calendar calendar_;
};

// When the GPC's level has a block. Bank 0 is on its way when a launch begins; blocks of the other banks come
// from L2 or DRAM when they are first asked for.
class ConstantBlocks {
 public:
  ConstantBlocks(const TimingParams& params, const ConstantHome& home, u32 side)
      : params_(params), home_(home), side_(side) {}

  // The SM's first CTA begins.
  void begin(Cycle now) { begun_ = std::min(begun_, now); }

  Cycle access(u16 line, Cycle now) {
    const ConstantHome::Bank& bank = home_.banks[line >> kConstBankShift];
    const u32 index = line % (1u << kConstBankShift) / kConstLinesPerBlock;
    if (index >= bank.side.size()) return now;
    const u32 way = bank.side[index] == side_ ? 0 : params_.l2_fabric_latency;
    if (line >> kConstBankShift == 0)
      return bank.late ? std::max(now, begun_ + params_.constant_launch_latency + way) : now;
    const u16 block = line / kConstLinesPerBlock;
    for (const auto& [known, ready] : blocks_) {
      if (known == block) return std::max(now, ready);
    }
    const u32 latency = bank.warm ? params_.constant_l2_latency : params_.constant_dram_latency + way;
    blocks_.emplace_back(block, now + latency);
    return now + latency;
  }

 private:
  const TimingParams& params_;
  const ConstantHome& home_;
  u32 side_;
  Cycle begun_ = kNever;
  std::vector<std::pair<u16, Cycle>> blocks_;
};

// A small set-associative cache of constant lines. A miss brings the line `latency` after the block behind
// has it and at least `miss_latency` after it was asked for. As many misses are under way as make one line
// every `interval` cycles; 0: any number.
class ConstantCache {
 public:
  ConstantCache(u32 lines, u32 ways, u32 latency, u32 miss_latency, u32 interval)
      : ways_(ways),
        sets_(lines / ways),
        latency_(latency),
        miss_latency_(miss_latency),
        interval_(interval),
        under_way_(interval != 0 ? std::max(miss_latency / interval, 1u) : 0, 0),
        next_(sets_, 0),
        tags_(lines, 0xffff),
        ready_(lines, 0) {}

  Cycle access(u16 line, Cycle now, ConstantBlocks& behind, ConstantPort& port) {
    const std::size_t set = line % sets_, first = set * ways_;
    for (std::size_t i = first; i < first + ways_; ++i) {
      if (tags_[i] == line) return std::max(now, ready_[i]);
    }
    const std::size_t own = first + next_[set];
    next_[set] = (next_[set] + 1) % ways_;
    asked_ = port.take(wait_for_others(now));
    tags_[own] = line;
    return ready_[own] = std::max(behind.access(line, asked_) + latency_, asked_ + miss_latency_);
  }
  // When the last line that was not there was asked for.
  Cycle asked() const { return asked_; }

 private:
  // When the oldest of the misses under way makes room for another.
  Cycle wait_for_others(Cycle now) {
    if (interval_ == 0) return now;
    Cycle& oldest = under_way_[misses_++ % under_way_.size()];
    now = std::max(now, oldest);
    oldest = now + under_way_.size() * interval_;
    return now;
  }

  std::size_t ways_, sets_;
  u32 latency_, miss_latency_, interval_;
  std::vector<Cycle> under_way_;  // when each ends
  u64 misses_ = 0;
  Cycle asked_ = 0;
  std::vector<std::size_t> next_;  // by set: the way that goes next
  std::vector<u16> tags_;
  std::vector<Cycle> ready_;
};

// An LDC on its way to the cache of indexed constants.
struct PendingConstant {
  Cycle at = 0;
  u32 latency = 0;  // from its last line to the register
  u16 warp = 0;
  u8 scoreboard = 0;
  u8 count = 0;  // of `lines`
  u16 lines[kLanes] = {};
};

}  // namespace warpath
