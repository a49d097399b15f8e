// Instruction and constant caches of an SM, as the times at which their lines are there.
#pragma once

#include <array>
#include <vector>

#include "timing/params.hpp"
#include "timing/resource.hpp"

namespace warpath {

inline constexpr u32 kInstrPerLine = 8;  // 128-byte lines
inline constexpr u32 kLineShift = 3;

// Lines of the running program that some level beyond the SM holds: kept between launches, shared by all SMs.
struct CodeHome {
  std::vector<u8> warm;  // by line: already in the level behind the SMs' caches
  std::vector<u8> side;  // by line: the L2 partition it is in
};

class InstructionCache {
 public:
  // `turn`: cycles that the SM waits for others that want the same lines from beyond at the same time.
  // `interval`: cycles from one line of a stream to the next. `side`: the L2 partition that is near.
  InstructionCache(const TimingParams& params, u32 lines, u32 turn, u32 interval, u32 side);

  // When sub-partition `part` can decode from `line`, wanted at `now`; `follows`: the line before was
  // running.
  Cycle fetch(u32 part, u32 line, Cycle now, bool follows, const CodeHome& home);
  u64 requests() const { return requests_; }

 private:
  void ask_for(u32 line, Cycle now, const CodeHome& home);
  void insert(u32 line);

  const TimingParams* params_;
  u32 turn_, interval_, side_;
  std::vector<Cycle> ready_;   // by program line: kNever when absent
  std::vector<u32> resident_;  // lines in order of arrival, for eviction
  std::size_t oldest_ = 0;
  std::vector<std::vector<u32>> l0_;  // by sub-partition: lines held
  std::array<u32, 4> l0_next_{};
  Cycle stream_free_ = 0;  // when the stream from beyond can deliver its next line
  u64 requests_ = 0;
};

// Which blocks of constants the level behind an SM's constant caches has brought, and when each is there. The
// first touch of a block goes out to L2; every SM of a launch asks for the same one at about the same time,
// so each waits for those before it.
class ConstantBlocks {
 public:
  explicit ConstantBlocks(u32 latency) : latency_(latency) {}

  Cycle access(u16 line, Cycle now) {
    const u16 block = line / kLinesPerBlock;
    for (const auto& [known, ready] : blocks_) {
      if (known == block) return std::max(now, ready);
    }
    blocks_.emplace_back(block, now + latency_);
    return now + latency_;
  }

 private:
  static constexpr u16 kLinesPerBlock = 16;
  u32 latency_;
  std::vector<std::pair<u16, Cycle>> blocks_;
};

// A small set-associative cache of constant lines. A miss brings the line `latency` after the block behind
// has it and at least `miss_latency` after it was asked for, through a port that takes `interval` cycles a
// line.
class ConstantCache {
 public:
  ConstantCache(u32 lines, u32 ways, u32 latency, u32 miss_latency)
      : ways_(ways),
        sets_(lines / ways),
        latency_(latency),
        miss_latency_(miss_latency),
        next_(sets_, 0),
        tags_(lines, 0xffff),
        ready_(lines, 0) {}

  Cycle access(u16 line, Cycle now, ConstantBlocks& behind, Calendar& port, u32 interval) {
    const std::size_t set = line % sets_, first = set * ways_;
    for (std::size_t i = first; i < first + ways_; ++i) {
      if (tags_[i] == line) return std::max(now, ready_[i]);
    }
    const std::size_t own = first + next_[set];
    next_[set] = (next_[set] + 1) % ways_;
    const Cycle taken = interval != 0 ? port.book(now, interval) : now;
    const Cycle asked = std::max(now, taken - std::min<Cycle>(taken, interval));
    tags_[own] = line;
    return ready_[own] = std::max(behind.access(line, asked) + latency_, asked + miss_latency_);
  }

 private:
  std::size_t ways_, sets_;
  u32 latency_, miss_latency_;
  std::vector<std::size_t> next_;  // by set: the way that goes next
  std::vector<u16> tags_;
  std::vector<Cycle> ready_;
};

}  // namespace warpath
