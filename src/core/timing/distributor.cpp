#include "timing/distributor.hpp"

namespace warpath {

Distributor::Distributor(const TimingParams& params, u64 blocks, const std::vector<u32>& sms,
                         u32 blocks_per_sm)
    : params_(params), blocks_(blocks) {
  // One CTA on every SM before any gets its second.
  for (u32 round = 0; round < blocks_per_sm && order_ < blocks; ++round) {
    for (std::size_t i = 0; i < sms.size() && order_ < blocks; ++i)
      free_.push({params.front_end, order_++, sms[i]});
  }
  last_ = params.front_end;
}

void Distributor::complete(u32 sm, Cycle time) {
  const u64 at = (time + params_.complete_latency) * 256;
  last_ = completions_.take(at, params_.complete_interval_256) / 256;
  ++completed_;
  if (!all_sent()) free_.push({last_, order_++, sm});
}

void Distributor::assign(Cycle until, std::vector<Assignment>& out) {
  while (!all_sent() && !free_.empty() && free_.top().at < until) {
    const Slot slot = free_.top();
    free_.pop();
    const Cycle sent = launches_.take(slot.at * 256, params_.launch_interval_256) / 256;
    out.push_back({next_++, slot.sm, sent + params_.dispatch_latency});
  }
}

}  // namespace warpath
