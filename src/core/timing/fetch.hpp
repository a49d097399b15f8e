// The instruction caches of an SM, as the times at which their lines are there.
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
  // `interval`: cycles from one line of a stream to the next. `side`: the L2 partition that is near.
  InstructionCache(const TimingParams& params, u32 lines, u32 interval, u32 side);

  // When sub-partition `part` can decode from `line`, wanted at `now`; `follows`: the line before was
  // running.
  Cycle fetch(u32 part, u32 line, Cycle now, bool follows, const CodeHome& home);
  u64 requests() const { return requests_; }

 private:
  void ask_for(u32 line, Cycle now, const CodeHome& home);
  void insert(u32 line);

  const TimingParams* params_;
  u32 interval_, side_;
  std::vector<Cycle> ready_;   // by program line: kNever when absent
  std::vector<u32> resident_;  // lines in order of arrival, for eviction
  std::size_t oldest_ = 0;
  std::vector<std::vector<u32>> l0_;  // by sub-partition: lines held
  std::array<u32, 4> l0_next_{};
  Cycle stream_free_ = 0;  // when the stream from beyond can deliver its next line
  u64 requests_ = 0;
};

}  // namespace warpath
