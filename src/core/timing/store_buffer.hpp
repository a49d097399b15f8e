// Between an SM's stores and the network: lines leave while no store comes in, or when there is no room for
// more, and go together with later stores to the same lines until then.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include "timing/coalesce.hpp"
#include "timing/params.hpp"
#include "timing/resource.hpp"

namespace warpath {

// A store that has not come to its turn.
struct PendingStore {
  Cycle at = 0;
  u16 warp = 0;
  bool local = false;
  u32 bytes = 0;  // of each line
  u64 cost = 0;   // how long the way out is taken by all of it
  std::vector<LineShare> lines;
};

// Stores of the sub-partitions, which take turns.
class StoreQueues {
 public:
  explicit StoreQueues(u32 parts) : queues_(parts) {}

  void push(u32 part, PendingStore store) {
    lines_ += static_cast<u32>(store.lines.size());
    cost_ += store.cost;
    queues_[part].push_back(std::move(store));
  }
  u32 lines() const { return lines_; }  // of all of them
  u64 cost() const { return cost_; }

  // When the first of them has come.
  Cycle first() const {
    Cycle soonest = kNever;
    for (const auto& queue : queues_) soonest = queue.empty() ? soonest : std::min(soonest, queue.front().at);
    return soonest;
  }

  // The next sub-partition's store among those that have come by `now`.
  PendingStore pop(Cycle now) {
    do {
      turn_ = (turn_ + 1) % queues_.size();
    } while (queues_[turn_].empty() || queues_[turn_].front().at > now);
    PendingStore store = std::move(queues_[turn_].front());
    queues_[turn_].pop_front();
    lines_ -= static_cast<u32>(store.lines.size());
    cost_ -= store.cost;
    return store;
  }

 private:
  std::vector<std::deque<PendingStore>> queues_;
  std::size_t turn_ = 0;
  u32 lines_ = 0;
  u64 cost_ = 0;
};

// Times in 256ths of a cycle.
struct HeldLine {
  LineShare share;
  u32 bytes = 0;
  u32 token = 0;             // of the request that it becomes
  u64 ready = 0;             // when it can leave: some idle time after the store that touched it last
  u64 gone = 0;              // until then others can join it
  u64 start = 0;             // when it begins to leave
  u64 sent = 0;              // when its last byte is out
  bool pressed_out = false;  // it left to make room
};

class StoreBuffer {
 public:
  explicit StoreBuffer(const TimingParams& params)
      : line_(params.store_line_256),
        hold_(params.store_hold_256),
        sector_(params.store_sector_256),
        partial_(params.store_partial_256),
        most_(params.store_lines) {}

  // How long the way out is taken by `bytes` of a line.
  u64 cost(u8 mask, u64 bytes) const {
    const u32 sectors = static_cast<u32>(__builtin_popcount(mask));
    return u64{sectors} * sector_ + (bytes < u64{sectors} * kSectorBytes ? partial_ : 0);
  }

  u64 free() const { return free_; }
  // When what is held will have gone through a port that is free at `port`, and `waiting` behind it.
  u64 out_by(u64 port, const StoreQueues& waiting) const {
    u64 out = port + waiting.cost();
    for (const HeldLine& line : held_) out += cost(line.share.sectors, line.bytes);
    return out;
  }
  // When what waits will have come in: all but what there is room for has gone out by then.
  u64 in_by(u64 port, const StoreQueues& waiting) const {
    const u64 in = free_ + u64{waiting.lines()} * line_;
    const u64 lines = held_.size() + waiting.lines();
    if (lines <= most_) return in;
    return std::max(in, port + (out_by(port, waiting) - port) * (lines - most_) / lines);
  }

  // It comes in from `now` on. Lines that are held wait for as long.
  void take(u64 now, u32 lines) {
    const u64 busy = lines > 1 ? u64{lines} * line_ : 256;
    free_ = now + busy;
    for (HeldLine& held : held_) held.ready += busy;
  }

  // A line of the store whose turn it is, its `number`th. Whether it goes with one that is held.
  bool join(const LineShare& share, u32 bytes, u32 number) {
    const auto held = std::find_if(held_.begin(), held_.end(),
                                   [&](const HeldLine& line) { return line.share.line == share.line; });
    if (held == held_.end()) return false;
    held->share.sectors |= share.sectors;
    held->bytes += bytes;
    held->ready = free_ + hold_ + u64{number} * 256;
    return true;
  }

  void add(const LineShare& share, u32 bytes, u32 number, u32 token) {
    held_.push_back({share, bytes, token, free_ + hold_ + u64{number} * 256});
  }

  bool full() const { return held_.size() == most_; }
  // The first line makes room for another, as soon as the port takes it.
  void make_room(u64 now) {
    held_.front().ready = std::min(held_.front().ready, now);
    held_.front().pressed_out = true;
  }
  void wait_until(u64 time) { free_ = std::max(free_, time); }

  // Lines leave one after another through a port that is free at `port`; a few wait in front of it and cannot
  // be joined: a line joins them when the first of them begins to leave.
  void schedule(u64 port) {
    std::array<u64, kWaiting> begun = begun_;
    std::size_t turn = turn_;
    for (HeldLine& line : held_) {
      line.start = std::max(port, line.ready);
      line.gone = std::max(line.ready, begun[turn]);
      line.sent = port = line.start + cost(line.share.sectors, line.bytes);
      begun[turn] = line.start;
      turn = (turn + 1) % kWaiting;
    }
  }

  // Gives `out` the lines that nothing can join any more at `now`; those are the first ones.
  template <typename Out>
  void settle(u64 now, Out out) {
    std::size_t count = 0;
    for (; count < held_.size() && held_[count].gone <= now; ++count) {
      begun_[turn_] = held_[count].start;
      turn_ = (turn_ + 1) % kWaiting;
      out(held_[count]);
    }
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  bool empty() const { return held_.empty(); }
  // When the first of its lines has to be settled.
  u64 next() const { return held_.front().gone; }

 private:
  static constexpr std::size_t kWaiting = 4;

  u32 line_, hold_, sector_, partial_, most_;
  u64 free_ = 0;
  std::array<u64, kWaiting> begun_{};  // when the last lines that left began to
  std::size_t turn_ = 0;
  std::vector<HeldLine> held_;  // in the order in which they leave
};

}  // namespace warpath
