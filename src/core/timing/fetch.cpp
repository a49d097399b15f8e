#include "timing/fetch.hpp"

#include <algorithm>

namespace warpath {

InstructionCache::InstructionCache(const TimingParams& params, u32 lines, u32 interval, u32 side)
    : params_(&params),
      interval_(interval),
      side_(side),
      ready_(lines + 1, kNever),
      l0_(params.sub_partitions, std::vector<u32>(params.l0i_lines, ~0u)) {}

void InstructionCache::insert(u32 line) {
  if (resident_.size() < params_->l1i_lines) {
    resident_.push_back(line);
    return;
  }
  ready_[resident_[oldest_]] = kNever;
  resident_[oldest_] = line;
  oldest_ = (oldest_ + 1) % resident_.size();
}

// Has `line` and those after it on their way, each a fixed interval after the one before.
void InstructionCache::ask_for(u32 line, Cycle now, const CodeHome& home) {
  for (u32 ahead = 0; ahead <= params_->prefetch_lines; ++ahead) {
    const u32 next = line + ahead;
    if (next + 1 >= ready_.size()) return;
    if (ready_[next] != kNever) continue;
    if (ahead == 0) ++requests_;
    const Cycle way = home.side[next] == side_ ? 0 : params_->l2_fabric_latency;
    const Cycle latency = home.warm[next] != 0 ? params_->l2i_latency : params_->dram_i_latency + way;
    ready_[next] = std::max(now + latency, stream_free_);
    stream_free_ = ready_[next] + interval_;
    insert(next);
  }
}

Cycle InstructionCache::fetch(u32 part, u32 line, Cycle now, bool follows, const CodeHome& home) {
  std::vector<u32>& held = l0_[part];
  const bool here = std::find(held.begin(), held.end(), line) != held.end();
  if (here && ready_[line] != kNever) return std::max(now, ready_[line]);
  if (!here) {
    held[l0_next_[part]] = line;
    l0_next_[part] = (l0_next_[part] + 1) % static_cast<u32>(held.size());
  }
  ask_for(line, now, home);
  const Cycle ready = std::max(now, ready_[line]);
  // The line after a running one was asked for ahead of time; a jump waits for the SM's cache.
  return follows ? ready : ready + params_->l1i_latency;
}

}  // namespace warpath
