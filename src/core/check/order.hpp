// Happens-before between the threads of a grid.
//
// A thread's clock is its warp's: the warp counts its synchronisations (an epoch each) and knows, for every
// warp of its CTA, the last epoch that it has synchronised with. Between CTAs order comes from
// synchronisation points alone: words that were written by an atomic or strong store after a fence, and read
// by an atomic or strong load. Masks of less than a warp count as the whole warp, and a strong read acquires
// with or without a fence: what is reported is a race, not every race is.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "types.hpp"

namespace warpath {

// A thread at a moment.
struct Stamp {
  u32 cta = kNobody;
  u32 thread = 0;  // warp * 32 + lane
  u32 epoch = 0;
  static constexpr u32 kNobody = ~0u;
  bool set() const { return cta != kNobody; }
};

struct SyncPoint;

// How far a warp has seen into each synchronisation point: the first `n` releases there.
using Seen = std::vector<std::pair<const SyncPoint*, u32>>;
void merge_seen(Seen& into, const Seen& from);

struct SyncPoint {
  struct Release {
    u32 cta;
    bool fenced;  // a store without a fence before it orders only reads ahead of writes that depend on it
    std::vector<u32> clock;  // by warp of that CTA
    Seen seen;               // what the releasing warp had seen itself
  };
  std::vector<Release> releases;
};

struct WarpClock {
  std::vector<u32> known;  // by warp of the CTA; [own] is the current epoch
  u32 synced = 1;          // the epoch that began when the lanes of the warp last synchronised
  Seen seen;
  bool fenced = false;
  std::vector<u32> fence_known;  // `known` and `seen` at the last fence
  Seen fence_seen;
};

// The clocks of one CTA.
struct CtaOrder {
  std::vector<WarpClock> warps;

  void start(u32 warps_of_cta);
  // The warps meet: each knows afterwards what any of them knew, and begins a new epoch.
  void meet(const std::vector<u32>& participants);
  // The lanes of a warp synchronise.
  void sync(u32 warp) { warps[warp].synced = ++warps[warp].known[warp]; }
  // What the warp did until now is what its next atomic or strong stores release.
  void fence(u32 warp);
};

// Which releases count: those after a fence, or all. What a thread had read when it made a strong store is
// read for good, fence or not, so a write that waits for that store comes after the read.
enum class Releases : u8 { Fenced, All };

// Whether the synchronisation points that `now` has seen order `before` ahead of it.
bool is_seen(const Stamp& before, const WarpClock& now, Releases which);

// Whether what happened at `before` is ordered before what warp `warp`, lane `lane` of CTA `cta` does now.
inline bool is_ordered(const Stamp& before, u32 cta, u32 warp, u32 lane, const WarpClock& now) {
  if (before.cta == cta) {
    const u32 other = before.thread / kLanes;
    if (other != warp ? before.epoch <= now.known[other]
                      : before.thread % kLanes == lane || before.epoch < now.synced) {
      return true;
    }
  }
  return !now.seen.empty() && is_seen(before, now, Releases::Fenced);
}

// Synchronisation points by address; `acquire` and `release` of one warp.
class SyncPoints {
 public:
  void clear();
  bool empty() const { return points_.empty(); }
  void acquire(u64 address, WarpClock& clock) const;
  void release(u64 address, u32 cta, const WarpClock& clock);
  // A strong store without a fence.
  void publish(u64 address, u32 cta, const WarpClock& clock);

 private:
  void add(u64 address, SyncPoint::Release release);

  std::unordered_map<u64, std::unique_ptr<SyncPoint>> points_;
};

}  // namespace warpath
