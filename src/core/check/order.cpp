#include "check/order.hpp"

#include <algorithm>

namespace warpath {
namespace {

constexpr std::size_t kMostPublished = 1 << 18;  // of words that are stored to without a fence

// Whether a release among the first `n` at `point`, or one that those had seen, covers the stamp.
bool covers(const SyncPoint& point, u32 n, const Stamp& stamp, Releases which,
            std::unordered_map<const SyncPoint*, u32>& visited) {
  u32& done = visited[&point];
  const u32 from = done;
  if (from >= n) return false;
  done = n;
  for (u32 i = from; i < n; ++i) {
    const SyncPoint::Release& release = point.releases[i];
    if (which == Releases::Fenced && !release.fenced) continue;
    if (release.cta == stamp.cta && release.clock[stamp.thread / kLanes] >= stamp.epoch) return true;
  }
  for (u32 i = from; i < n; ++i) {
    if (which == Releases::Fenced && !point.releases[i].fenced) continue;
    for (const auto& [next, seen] : point.releases[i].seen) {
      if (covers(*next, seen, stamp, which, visited)) return true;
    }
  }
  return false;
}

void join(std::vector<u32>& into, const std::vector<u32>& from) {
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

void merge_seen(Seen& into, const Seen& from) {
  for (const auto& [point, n] : from) {
    const auto known =
        std::find_if(into.begin(), into.end(), [&](const auto& entry) { return entry.first == point; });
    if (known == into.end()) {
      into.emplace_back(point, n);
    } else {
      known->second = std::max(known->second, n);
    }
  }
}

void CtaOrder::start(u32 warps_of_cta) {
  warps.assign(warps_of_cta, {});
  for (u32 w = 0; w < warps_of_cta; ++w) {
    warps[w].known.assign(warps_of_cta, 0);
    warps[w].fence_known.assign(warps_of_cta, 0);
    warps[w].known[w] = 1;
  }
}

void CtaOrder::meet(const std::vector<u32>& participants) {
  WarpClock all;
  all.known.assign(warps.size(), 0);
  all.fence_known.assign(warps.size(), 0);
  for (u32 w : participants) {
    join(all.known, warps[w].known);
    merge_seen(all.seen, warps[w].seen);
    if (!warps[w].fenced) continue;
    all.fenced = true;
    join(all.fence_known, warps[w].fence_known);
    merge_seen(all.fence_seen, warps[w].fence_seen);
  }
  for (u32 w : participants) {
    warps[w] = all;
    sync(w);
  }
}

void CtaOrder::fence(u32 warp) {
  WarpClock& clock = warps[warp];
  clock.fenced = true;
  clock.fence_known = clock.known;
  clock.fence_seen = clock.seen;
  ++clock.known[warp];
}

bool is_seen(const Stamp& before, const WarpClock& now, Releases which) {
  std::unordered_map<const SyncPoint*, u32> visited;
  for (const auto& [point, n] : now.seen) {
    if (covers(*point, n, before, which, visited)) return true;
  }
  return false;
}

void SyncPoints::clear() { points_.clear(); }

void SyncPoints::acquire(u64 address, WarpClock& clock) const {
  const auto found = points_.find(address);
  if (found == points_.end()) return;
  const SyncPoint& point = *found->second;
  merge_seen(clock.seen, {{&point, static_cast<u32>(point.releases.size())}});
}

void SyncPoints::release(u64 address, u32 cta, const WarpClock& clock) {
  add(address, {cta, true, clock.fence_known, clock.fence_seen});
}

void SyncPoints::publish(u64 address, u32 cta, const WarpClock& clock) {
  if (points_.size() < kMostPublished) add(address, {cta, false, clock.known, clock.seen});
}

void SyncPoints::add(u64 address, SyncPoint::Release release) {
  auto& point = points_[address];
  if (point == nullptr) point = std::make_unique<SyncPoint>();
  auto& releases = point->releases;
  const bool again = !releases.empty() && releases.back().cta == release.cta &&
                     releases.back().fenced == release.fenced && releases.back().clock == release.clock;
  if (!again) releases.push_back(std::move(release));
}

}  // namespace warpath
