// Where SMs are: which GPC each belongs to, which half of L2 is near, and which of them CTAs go to first.
#pragma once

#include <vector>

#include "timing/params.hpp"

namespace warpath {

// SMs are numbered in the order in which a grid that fills the GPU takes them. TPCs are two SMs; the first
// GPCs have the fewest.
class Floorplan {
 public:
  explicit Floorplan(const TimingParams& params);

  u32 gpc(u32 sm) const { return gpc_[sm]; }
  // The L2 partition that the SMs of `gpc` reach first.
  u32 partition(u32 gpc) const { return (partitions_ >> gpc & 1) % partition_count_; }
  // The SMs of the first `sms` that a grid of `blocks` CTAs uses, in the order of its CTAs: the `lead_sms`,
  // then GPC after GPC from `first_gpc` on. A grid that leaves SMs free takes as many of each GPC, and of
  // each TPC one before any is used twice.
  std::vector<u32> order(u64 blocks, u32 sms, u32 first_gpc) const;

 private:
  std::vector<u32> gpc_;
  u32 gpcs_, lead_, partitions_, partition_count_;
};

}  // namespace warpath
