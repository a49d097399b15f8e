#include "timing/floorplan.hpp"

#include <algorithm>
#include <numeric>

#include "timing/resource.hpp"

namespace warpath {

Floorplan::Floorplan(const TimingParams& params)
    : gpcs_(params.gpcs),
      lead_(params.lead_sms),
      partitions_(params.gpc_partitions),
      partition_count_(params.l2_partitions) {
  const u32 tpcs = (params.sms + 1) / 2, large = tpcs % gpcs_;
  for (u32 gpc = 0; gpc < gpcs_; ++gpc) {
    const u32 own = tpcs / gpcs_ + (gpc >= gpcs_ - large ? 1 : 0);
    gpc_.insert(gpc_.end(), std::size_t{own} * 2, gpc);
  }
}

std::vector<u32> Floorplan::order(u64 blocks, u32 sms, u32 first_gpc) const {
  const u32 lead = static_cast<u32>(std::min<u64>({lead_, sms, std::max<u64>(blocks, 1)}));
  const bool all = blocks >= sms;
  std::vector<u32> found(lead);
  std::iota(found.begin(), found.end(), 0u);
  std::vector<std::vector<u32>> free(gpcs_);  // by GPC, in the order in which they are taken
  for (u32 second = 0; second < 2; ++second) {
    for (u32 sm = lead; sm < sms; ++sm) {
      if (all ? second == 0 : sm % 2 == second) free[gpc_[sm]].push_back(sm);
    }
  }
  std::vector<std::size_t> taken(gpcs_);
  u64 rest = less(std::min<u64>(blocks, sms), lead);
  for (u32 turn = 0; rest != 0; ++turn) {
    const u32 gpc = (first_gpc + turn) % gpcs_;
    if (taken[gpc] == free[gpc].size()) continue;
    ++taken[gpc];
    --rest;
  }
  for (u32 turn = 0; turn < gpcs_; ++turn) {
    const u32 gpc = (first_gpc + turn) % gpcs_;
    found.insert(found.end(), free[gpc].begin(), free[gpc].begin() + static_cast<std::ptrdiff_t>(taken[gpc]));
  }
  return found;
}

}  // namespace warpath
