// Throughput limits as arithmetic: when a shared resource can take the next piece of work.
#pragma once

#include <algorithm>
#include <vector>

#include "types.hpp"

namespace warpath {

using Cycle = u64;
inline constexpr Cycle kNever = ~Cycle{0};

// `x` less `y`, not below zero.
constexpr u64 less(u64 x, u64 y) { return x > y ? x - y : 0; }

// Work arrives about in order of time: one after another. Times in 256ths of a cycle.
struct Server {
  u64 free_256 = 0;

  // Takes `cost_256` of work that arrives at `at_256`; returns when it is done.
  u64 take(u64 at_256, u64 cost_256) {
    free_256 = std::max(free_256, at_256) + cost_256;
    return free_256;
  }
};

// Work is booked out of order of time: a ring of short spans, each with a capacity. Times in cycles; work in
// units of which a fixed number fits into a cycle.
class Calendar {
 public:
  static constexpr u32 kSpanBits = 5;  // 32 cycles
  static constexpr u32 kSpans = 128;

  explicit Calendar(u32 per_cycle = 1) : per_span_(std::max(per_cycle, 1u) << kSpanBits), used_(kSpans, 0) {}

  // Books `work` at `at` or later; returns when the last of it is done.
  Cycle book(Cycle at, u32 work) {
    u64 span = std::max(at >> kSpanBits, first_);
    while (true) {
      if (span >= first_ + kSpans) advance(span - kSpans + 1);
      u32& used = used_[span % kSpans];
      const u32 part = std::min(per_span_ - used, work);
      used += part;
      work -= part;
      if (work == 0) return std::max(at, (span << kSpanBits) + (u64{used} << kSpanBits) / per_span_);
      ++span;
    }
  }

  // Nothing will be booked before `now` any more.
  void forget(Cycle now) {
    if ((now >> kSpanBits) > first_) advance(now >> kSpanBits);
  }

 private:
  void advance(u64 first) {
    const u64 steps = std::min<u64>(first - first_, kSpans);
    for (u64 i = 0; i < steps; ++i) used_[(first_ + i) % kSpans] = 0;
    first_ = first;
  }

  u32 per_span_;
  u64 first_ = 0;
  std::vector<u32> used_;
};

}  // namespace warpath
