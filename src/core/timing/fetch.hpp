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
};

class InstructionCache {
 public:
  // `turn`: cycles that the SM waits for others that want the same lines from beyond at the same time.
  InstructionCache(const TimingParams& params, u32 lines, u32 turn);

  // When sub-partition `part` can decode from `line`, wanted at `now`; `follows`: the line before was
  // running.
  Cycle fetch(u32 part, u32 line, Cycle now, bool follows, const CodeHome& home);
  u64 requests() const { return requests_; }

 private:
  Cycle line_ready(u32 line, Cycle now, const CodeHome& home);
  void insert(u32 line);

  const TimingParams* params_;
  u32 turn_;
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

// A small cache of constant lines; a miss brings the line `latency` after the block behind has it.
class ConstantCache {
 public:
  ConstantCache(u32 lines, u32 latency)
      : latency_(latency), lines_(lines), tags_(lines, 0xffff), ready_(lines, 0) {}

  Cycle access(u16 line, Cycle now, ConstantBlocks& behind) {
    for (std::size_t i = 0; i < lines_; ++i) {
      if (tags_[i] == line) return std::max(now, ready_[i]);
    }
    tags_[next_] = line;
    const Cycle ready = ready_[next_] = behind.access(line, now) + latency_;
    next_ = (next_ + 1) % lines_;
    return ready;
  }

 private:
  u32 latency_;
  std::size_t lines_;
  std::size_t next_ = 0;
  std::vector<u16> tags_;
  std::vector<Cycle> ready_;
};

}  // namespace warpath
