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
  InstructionCache(const TimingParams& params, u32 lines);

  // When sub-partition `part` can decode from `line`, wanted at `now`; `follows`: the line before was running.
  Cycle fetch(u32 part, u32 line, Cycle now, bool follows, const CodeHome& home);
  u64 requests() const { return requests_; }

 private:
  Cycle line_ready(u32 line, Cycle now, const CodeHome& home);
  void insert(u32 line);

  const TimingParams* params_;
  std::vector<Cycle> ready_;               // by program line: kNever when absent
  std::vector<u32> resident_;              // lines in order of arrival, for eviction
  std::size_t oldest_ = 0;
  std::vector<std::vector<u32>> l0_;       // by sub-partition: lines held
  std::array<u32, 4> l0_next_{};
  Cycle stream_free_ = 0;                  // when the stream from beyond can deliver its next line
  u64 requests_ = 0;
};

// A small cache of constant lines; a miss makes the line there `latency` later.
class ConstantCache {
 public:
  ConstantCache(u32 lines, u32 latency) : latency_(latency), lines_(lines), tags_(lines, 0xffff), ready_(lines, 0) {}

  Cycle access(u16 line, Cycle now) {
    for (std::size_t i = 0; i < lines_; ++i) {
      if (tags_[i] == line) return std::max(now, ready_[i]);
    }
    tags_[next_] = line;
    ready_[next_] = now + latency_;
    const Cycle ready = ready_[next_];
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
