#include "timing/fetch.hpp"

#include <algorithm>

namespace warpath {

InstructionCache::InstructionCache(const TimingParams& params, u32 lines, u32 turn)
    : params_(&params),
      turn_(turn),
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

// The SM's cache; a miss starts a stream of lines from beyond, each a fixed interval after the one before.
Cycle InstructionCache::line_ready(u32 line, Cycle now, const CodeHome& home) {
  if (ready_[line] != kNever) return std::max(now, ready_[line]);
  ++requests_;
  Cycle at = 0;
  for (u32 ahead = 0; ahead <= params_->prefetch_lines; ++ahead) {
    const u32 next = line + ahead;
    if (next + 1 >= ready_.size() || ready_[next] != kNever) break;
    const Cycle latency = home.warm[next] != 0 ? params_->l2i_latency : params_->dram_i_latency + turn_;
    at = std::max(std::max(now + latency, at + params_->prefetch_interval), stream_free_);
    ready_[next] = at;
    insert(next);
  }
  stream_free_ = at == 0 ? stream_free_ : at + params_->prefetch_interval;
  return std::max(now, ready_[line]);
}

Cycle InstructionCache::fetch(u32 part, u32 line, Cycle now, bool follows, const CodeHome& home) {
  std::vector<u32>& held = l0_[part];
  const bool here = std::find(held.begin(), held.end(), line) != held.end();
  if (here && ready_[line] != kNever) return std::max(now, ready_[line]);
  if (!here) {
    held[l0_next_[part]] = line;
    l0_next_[part] = (l0_next_[part] + 1) % static_cast<u32>(held.size());
  }
  const Cycle ready = line_ready(line, now, home);
  // The line after a running one was asked for ahead of time; a jump waits for the SM's cache.
  if (follows) {
    const u32 next = line + 1;
    if (next + 1 < ready_.size()) line_ready(next, now, home);
    return ready;
  }
  return ready + params_->l1i_latency;
}

}  // namespace warpath
