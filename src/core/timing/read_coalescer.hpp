// In front of L2: reads of the SMs of a GPC that want the same sectors go to L2 once.
#pragma once

#include <vector>

#include "timing/l2_tags.hpp"
#include "timing/params.hpp"
#include "timing/resource.hpp"
#include "timing/traffic.hpp"

namespace warpath {

class ReadCoalescer {
 public:
  explicit ReadCoalescer(const TimingParams& params)
      : cycles_(params.merging_cycles),
        most_(params.merging_reads),
        depth_(params.merging_depth),
        reads_(std::size_t{params.gpcs} * kEntries),
        sent_(params.gpcs) {}

  // When the read that this one can go with is answered; kNever when there is none.
  Cycle join(u32 gpc, const Request& request) {
    Read& read = entry(gpc, request.line);
    const bool same = read.line == request.line && read.sectors == request.sectors;
    if (!same || request.time >= read.until || read.joined == most_ || sent_[gpc] >= read.number + depth_)
      return kNever;
    ++read.joined;
    return read.ready;
  }

  // A read goes to L2, which is busy with it for `busy` cycles; it is answered at `ready`.
  void sent(u32 gpc, const Request& request, Cycle busy, Cycle ready) {
    entry(gpc, request.line) = {request.line, request.sectors, 1, sent_[gpc]++, request.time + cycles_ + busy,
                                ready};
  }

 private:
  static constexpr u32 kEntries = 1024;  // of a GPC; more than reads can be under way
  struct Read {
    u64 line = ~u64{0};
    u8 sectors = 0;
    u32 joined = 0;  // reads that it answers
    u64 number = 0;  // how many the GPC had sent before
    Cycle until = 0, ready = 0;
  };

  Read& entry(u32 gpc, u64 line) { return reads_[std::size_t{gpc} * kEntries + mix(line) % kEntries]; }

  u32 cycles_, most_, depth_;
  std::vector<Read> reads_;  // by GPC and line, direct-mapped
  std::vector<u64> sent_;    // by GPC
};

}  // namespace warpath
