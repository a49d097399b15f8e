// Stores and reductions of an SM: their turn, what they join, what ncu counts as a hit, and whom they hold
// up.
#include <algorithm>

#include "timing/sm.hpp"

namespace warpath {

// Lines of stores that nothing can join any more at `now_256` are on their way, and found by later stores.
void TimedSm::let_go(u64 now_256) {
  stores_.settle(now_256, [&](const HeldLine& held) {
    ++gone_;
    const Cycle sent = held.sent / 256;
    send(sent + params_.l1_miss_latency, held.share, RequestKind::Write, held.token, false);
    requests_.back().bytes = static_cast<u8>(std::min<u32>(held.bytes, kLineBytes));
    store_port_.free_256 = std::max(store_port_.free_256, held.sent + u64{params_.l1_miss_latency} * 256);
    L1Line* line = l1_.find(held.share.line);
    if (line == nullptr) return;
    line->stored_from = sent + (held.pressed_out ? params_.store_late_visible : params_.store_visible);
  });
}

// When the way out is free, as seen from the buffer.
u64 TimedSm::store_port() const { return less(store_port_.free_256, u64{params_.l1_miss_latency} * 256); }

void TimedSm::schedule_stores() { stores_.schedule(store_port()); }

// The oldest held line leaves; what comes after it waits until it has. When it has.
u64 TimedSm::make_room(u64 now_256) {
  stores_.make_room(now_256);
  schedule_stores();
  const u64 room = std::max(now_256, stores_.next());
  let_go(room);
  stores_.wait_until(room);
  lsu_unit_.free_256 = std::max(lsu_unit_.free_256, room);
  return room;
}

// Whether a store that joins no other finds its line: some time after the last store to it was sent.
bool TimedSm::store_hits(const LineShare& share, Cycle at) {
  L1Line* line = l1_.find(share.line);
  const bool hit = line != nullptr && at >= line->stored_from;
  if (line == nullptr) line = l1_.replace(share.line);
  if (line != nullptr) line->stored_from = kNever;
  return hit;
}

// Sectors of local memory are valid as soon as they are written. Whether they had been before.
bool TimedSm::write_local(const LineShare& share) {
  L1Line* line = l1_.find(share.line);
  if (line == nullptr) line = l1_.replace(share.line);
  if (line == nullptr) return false;
  const bool valid = (share.sectors & ~line->valid) == 0;
  line->valid |= static_cast<u8>(share.sectors & ~line->pending);
  return valid;
}

// A store waits for its turn; the warp is owed something until it has had it.
void TimedSm::queue_store(TimedWarp& warp, L1Counts& counts, Cycle at) {
  const Coalesced& lines = touch_.lines;
  const u32 bytes = u32{touch_.width} * touch_.lanes / std::max(lines.count, 1u);
  u64 cost = 0;
  for (u32 i = 0; i < lines.count; ++i) {
    const LineShare& share = lines.lines[i];
    cost += stores_.cost(share.sectors, bytes);
    if (touch_.local && write_local(share))
      counts.sector_hits += static_cast<u32>(__builtin_popcount(share.sectors));
  }
  stored_ += lines.count;
  store_queues_.push(warp.part, {at,
                                 static_cast<u16>(&warp - warps_.data()),
                                 touch_.local,
                                 bytes,
                                 cost,
                                 {lines.lines.begin(), lines.lines.begin() + lines.count}});
  warp.ack_time = std::max(warp.ack_time, at + std::max(lines.count, 1u) - 1 + params_.l1_miss_latency);
  ++warp.acks;
}

// Stores whose turn comes before `until`: the sub-partitions' one after another.
void TimedSm::take_stores(Cycle until) {
  while (true) {
    const Cycle first = store_queues_.first();
    if (first == kNever) return;
    const u64 turn = std::max(first * 256, stores_.free());
    if (turn >= until * 256) return;
    take_store(store_queues_.pop(turn / 256), turn);
  }
}

// Stores go through to L2; L1 keeps what it holds up to date.
void TimedSm::take_store(const PendingStore& store, u64 turn) {
  TimedWarp& warp = warps_[store.warp];
  L1Counts& counts = counters_->l1[static_cast<u32>(L1Op::GlobalStore)];
  let_go(turn);
  stores_.take(turn, static_cast<u32>(store.lines.size()));
  u64 at = turn;  // a line that had to wait for room is looked up when there is some
  for (u32 i = 0; i < store.lines.size(); ++i) {
    const LineShare& share = store.lines[i];
    const bool joins = stores_.join(share, store.bytes, i);
    if (!joins && stores_.full()) at = make_room(turn);
    if (!store.local && (joins || store_hits(share, at / 256)))
      counts.sector_hits += static_cast<u32>(__builtin_popcount(share.sectors));
    if (joins) {
      ++gone_;
      continue;
    }
    stores_.add(share, store.bytes, i, kStoreToken | store.warp);
    ++warp.acks;
  }
  schedule_stores();
  acknowledge(warp);
}

// Reductions go through to L2, which alone knows the results.
void TimedSm::reduce_lines(TimedWarp& warp, const TimedOp& op, Cycle at) {
  const u64 bytes = u64{touch_.width} * touch_.lanes / std::max(touch_.lines.count, 1u);
  take_stores(at);
  let_go(kNever);
  for (u32 i = 0; i < touch_.lines.count; ++i) {
    const LineShare& share = touch_.lines.lines[i];
    if (L1Line* line = l1_.find(share.line)) line->valid &= static_cast<u8>(~share.sectors);
    const Cycle out =
        store_port_.take((at + i + params_.l1_miss_latency) * 256, stores_.cost(share.sectors, bytes)) / 256;
    send(out, share, RequestKind::Reduce, kStoreToken | static_cast<u32>(&warp - warps_.data()), op.floating);
    requests_.back().bytes = static_cast<u8>(std::min<u64>(bytes, kLineBytes));
    warp.ack_time = std::max(warp.ack_time, at + i + params_.l1_miss_latency);
    ++warp.acks;
  }
  hold_back(store_port_);
}

// One thing less that the warp's exit or fence waits for.
void TimedSm::acknowledge(TimedWarp& warp) {
  if (--warp.acks != 0) return;
  if (warp.blocked == Blocked::Draining && !owed(warp)) return end_warp(warp);
  if (warp.blocked != Blocked::Fence) return;
  warp.blocked = Blocked::No;
  warp.waits.add(Stall::Membar, std::max(warp.issued, warp.done_time) + params_.membar_latency);
  ready_stage(warp, warp.issued, true);
}

}  // namespace warpath
