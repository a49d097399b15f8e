// The compute work distributor: which CTA goes to which SM when, and when the grid is complete.
#pragma once

#include <queue>
#include <vector>

#include "timing/params.hpp"
#include "timing/resource.hpp"

namespace warpath {

struct Assignment {
  u64 block;
  u32 sm;
  Cycle at;  // when its first warp starts
};

class Distributor {
 public:
  // `sms`: those that get CTAs, in the order in which they do.
  Distributor(const TimingParams& params, u64 blocks, const std::vector<u32>& sms, u32 blocks_per_sm);

  // A CTA left `sm` at `time`. Calls must come in order of time.
  void complete(u32 sm, Cycle time);
  // CTAs that can be sent out with what is known up to `until`.
  void assign(Cycle until, std::vector<Assignment>& out);
  bool all_sent() const { return next_ == blocks_; }
  bool done() const { return completed_ == blocks_; }
  // When something can be sent next; kNever when nothing can without a completion.
  Cycle next() const { return all_sent() || free_.empty() ? kNever : free_.top().at; }
  Cycle last_completion() const { return last_; }

 private:
  struct Slot {
    Cycle at;
    u64 order;
    u32 sm;
    bool operator>(const Slot& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  const TimingParams& params_;
  u64 blocks_, next_ = 0, completed_ = 0, order_ = 0;
  Server launches_, completions_;
  Cycle last_ = 0;
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> free_;
};

}  // namespace warpath
