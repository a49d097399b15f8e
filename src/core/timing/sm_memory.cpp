// The SM's memory pipeline: MIO queue, shared memory, L1, and the way out to L2.
#include <algorithm>

#include "timing/sm.hpp"

namespace warpath {
namespace {

constexpr Cycle kJoinCycles = 4;  // for how long another read can join the last one

L1Op op_of(const Touch& touch, const TimedOp& op) {
  if (touch.local) return touch.write ? L1Op::LocalStore : L1Op::LocalLoad;
  if (touch.atomic) return op.reduces ? L1Op::GlobalReduce : L1Op::GlobalAtomic;
  return touch.write ? L1Op::GlobalStore : L1Op::GlobalLoad;
}

}  // namespace

// Puts an instruction into its queue: through the sub-partition's port with its late operands, then to the
// unit that all sub-partitions share. Returns when the unit starts on it; its place in the queue is taken
// until `behind` at least.
Cycle TimedSm::enqueue(SubPartition& part, const TimedOp& op, Server& unit, u32 cost, Cycle now,
                       Cycle behind) {
  const bool idle = op.touches && touch_.where == Touch::Where::Nowhere;  // no lane has operands
  const u32 operands = idle ? 0 : op.late_operands;
  const u64 port =
      std::max<u64>(u64{params_.mio_interval} * 256, u64{operands} * params_.operand_interval_256);
  const bool lg = op.issue == IssueClass::Lg;
  const u64 there =
      std::max(part.mio_port.take((now + params_.mio_latency) * 256, port), lg ? 0 : part.mio_head * 256);
  const Cycle start = unit.take(there, u64{cost} * 256) / 256 - cost;
  Cycle leaves = start;
  if (&unit == &lsu_unit_) {
    counters_->lsu_cycles += cost;
    // In front of the LSU there is a second, deeper queue, for all sub-partitions.
    const Cycle leaves_unit = std::max(start, behind);
    leaves = std::min(leaves_unit, std::max(there / 256, lsu_queue_.oldest()));
    lsu_queue_.push(leaves_unit);
  }
  if (!lg) part.mio_head = leaves;
  left_ = leaves;
  const u32 c = static_cast<u32>(op.issue);
  part.hold_class(c, now, (lg ? part.lg : part.mio).push(leaves));
  return start;
}

// An answer whose time is known.
void TimedSm::answer(TimedWarp& warp, u8 scoreboard, Cycle at, bool is_long) {
  if (at <= warp.scoreboard_time[scoreboard]) return;
  warp.scoreboard_time[scoreboard] = at;
  warp.scoreboard_long[scoreboard] = is_long;
}

void TimedSm::memory(SubPartition& part, TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now) {
  if (context_.pack_lanes) pack_lanes(touch_, warp.id);
  if (context_.spread_banks) spread_banks(touch_);
  if (touch_.where == Touch::Where::Shared) return shared_access(part, warp, op, pc, now);
  if (touch_.where == Touch::Where::Cached) return cached_access(part, warp, op, pc, now);
  // No lane took part: the instruction passes through the queue all the same.
  const Cycle start = enqueue(part, op, lsu_unit_, params_.lsu_interval, now);
  answer(warp, op.write_sb, start + params_.source_release, op.answers_long);
  answer(warp, op.read_sb, left_ + params_.source_release, op.answers_long);
}

void TimedSm::shared_access(SubPartition& part, TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now) {
  const SharedOp kind = touch_.atomic ? SharedOp::Atomic : touch_.write ? SharedOp::Store : SharedOp::Load;
  SharedCounts& counts = counters_->shared[static_cast<u32>(kind)];
  ++counts.requests;
  counts.wavefronts += touch_.wavefronts;
  counts.conflicts += touch_.conflicts;
  MemoryInstrCount& own = counters_->memory[pc];
  ++own.requests;
  own.wavefronts += touch_.wavefronts;
  own.conflicts += touch_.conflicts;
  const u32 cost = std::max<u32>(touch_.wavefronts, 1) * params_.lsu_interval;
  const Cycle start = enqueue(part, op, lsu_unit_, cost, now);
  const u32 latency = touch_.atomic ? params_.shared_atomic_latency : params_.shared_latency;
  // A sub-partition takes half a pass a cycle.
  const u32 passes = cost * params_.data_interval;
  const Cycle data = std::max(part.data_port.book(start, passes), start + passes);
  answer(warp, op.write_sb, std::max(start + cost, data) - 1 + latency, false);
  answer(warp, op.read_sb, left_ + params_.source_release, false);
}

// The first line of the warp's own local memory.
u64 TimedSm::local_line(const TimedWarp& warp) const {
  const u64 number = u64{id_} * params_.max_warps + static_cast<u64>(&warp - warps_.data());
  return (context_.local_base + number * context_.local_bytes * kLanes) / kLineBytes;
}

void TimedSm::cached_access(SubPartition& part, TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now) {
  Coalesced& lines = touch_.lines;
  if (touch_.local) {
    const u64 base = local_line(warp);
    for (u32 i = 0; i < lines.count; ++i) lines.lines[i].line += base;
  }
  L1Counts& counts = counters_->l1[static_cast<u32>(op_of(touch_, op))];
  counts.requests += touch_.pieces;
  counts.sectors += lines.sectors;
  counts.lines += lines.count;
  counters_->excess_sectors += distinct_sectors(touch_) - least_sectors(touch_);
  MemoryInstrCount& own = counters_->memory[pc];
  ++own.requests;
  own.sectors += lines.sectors;
  own.lines += lines.count;
  u32 wavefronts = tag_wavefronts(lines);
  for (u32 i = 0; touch_.atomic && i < lines.count; ++i)
    wavefronts = std::max<u32>(wavefronts, lines.lines[i].passes);
  counts.wavefronts += wavefronts;
  // Loads are held up by their tags here, by their data and by lines that L1 lacks further on; what is
  // written goes by line by line.
  const bool goes_out = touch_.write || touch_.atomic;
  const u32 cost = std::max(goes_out ? lines.count : wavefronts, touch_.width * u32(kLanes) / kLineBytes) *
                   params_.lsu_interval;
  // What comes behind stores waits for them.
  const u64 port = std::max(store_port(), now * 256);
  const u64 behind = stores_.in_by(port, store_queues_);
  stores_out_ = stores_.out_by(port, store_queues_);
  if (!goes_out) lsu_unit_.free_256 = std::max(lsu_unit_.free_256, behind);
  const Cycle start =
      enqueue(part, op, lsu_unit_, cost, now, touch_.write && !touch_.atomic ? behind / 256 : 0);
  answer(warp, op.read_sb, left_ + params_.source_release, op.answers_long);
  if (op.reduces) {
    reduce_lines(warp, op, start);
  } else if (touch_.write) {
    queue_store(warp, counts, start);
  } else {
    load_lines(warp, op, counts, start);
  }
}

void TimedSm::send(Cycle at, const LineShare& share, RequestKind kind, u32 token, bool floating) {
  requests_.push_back({.time = at,
                       .line = share.line,
                       .token = token,
                       .sm = static_cast<u16>(id_),
                       .sectors = share.sectors,
                       .kind = kind,
                       .passes = share.passes,
                       .sector_passes = share.sector_passes,
                       .floating = floating});
}

// A read of other sectors of the line that the last read wants goes with that.
u32 TimedSm::join_request(u64 line, u32 place, u8 sectors, Cycle leaves) {
  if (requests_.empty()) return kNoMiss;
  Request& last = requests_.back();
  if (last.line != line || last.kind != RequestKind::Read || last.time + kJoinCycles < leaves) return kNoMiss;
  if (misses_[last.token].line != place) return kNoMiss;
  last.sectors |= sectors;
  misses_[last.token].sectors |= sectors;
  return last.token;
}

u32 TimedSm::new_miss(u32 line, u8 sectors) {
  u32 index;
  if (free_misses_.empty()) {
    index = static_cast<u32>(misses_.size());
    misses_.emplace_back();
  } else {
    index = free_misses_.back();
    free_misses_.pop_back();
  }
  misses_[index] = {line, sectors, -1};
  ++open_misses_;
  return index;
}

void TimedSm::wait_for(u32 miss, u32 load) {
  i32 node = free_waiters_;
  if (node < 0) {
    node = static_cast<i32>(waiters_.size());
    waiters_.emplace_back();
  } else {
    free_waiters_ = waiters_[node].next;
  }
  waiters_[node] = {load, misses_[miss].waiters};
  misses_[miss].waiters = node;
  ++loads_[load].waiting;
}

void TimedSm::load_lines(TimedWarp& warp, const TimedOp& op, L1Counts& counts, Cycle at) {
  u32 number;
  if (free_loads_.empty()) {
    number = static_cast<u32>(loads_.size());
    loads_.emplace_back();
  } else {
    number = free_loads_.back();
    free_loads_.pop_back();
  }
  loads_[number] = {static_cast<u16>(&warp - warps_.data()),
                    op.write_sb,
                    0,
                    at + params_.l1_latency,
                    touch_.atomic ? u16{1} : std::max<u16>(touch_.wavefronts, 1),
                    kNoGroup};
  if (op.copies) {
    if (warp.copies.empty() || warp.copies.back().closed) warp.copies.emplace_back();
    ++warp.copies.back().open;
    loads_[number].group = warp.copies_done + static_cast<u32>(warp.copies.size()) - 1;
  }
  const bool local = touch_.local;
  // Nor does it overtake them on the way out.
  const Cycle behind = stores_out_ / 256 + params_.l1_miss_latency;
  const RequestKind kind = touch_.atomic ? RequestKind::Atomic : RequestKind::Read;
  for (u32 i = 0; i < touch_.lines.count; ++i) {
    const LineShare& share = touch_.lines.lines[i];
    u8 missing = share.sectors;
    L1Line* line = op.bypass && !local ? nullptr : l1_.find(share.line);
    if (line != nullptr) {
      const u8 here = share.sectors & line->valid, coming = share.sectors & line->pending;
      counts.sector_hits += static_cast<u32>(__builtin_popcount(here | coming));
      missing = share.sectors & static_cast<u8>(~(here | coming));
      if (here != 0) loads_[number].ready = std::max(loads_[number].ready, line->ready + 1);
      u32 last = kNoMiss;
      for_lanes(coming, [&](u32 sector) {
        if (line->miss[sector] != last) wait_for(line->miss[sector], number);
        last = line->miss[sector];
      });
    }
    if (missing == 0) continue;
    if (line == nullptr && !(op.bypass && !local)) line = l1_.replace(share.line);
    const Cycle turn = std::max(at + params_.l1_miss_latency, miss_port_.free_256 / 256 + 1);
    const Cycle leaves = std::max(turn, behind);
    const u32 merged = line != nullptr ? join_request(share.line, l1_.index(line), missing, leaves) : kNoMiss;
    const u32 miss =
        merged != kNoMiss ? merged : new_miss(line != nullptr ? l1_.index(line) : kNoMiss, missing);
    if (line != nullptr) {
      line->pending |= missing;
      for_lanes(missing, [&](u32 sector) { line->miss[sector] = miss; });
    }
    wait_for(miss, number);
    if (merged != kNoMiss) continue;
    miss_port_.take((turn - 1) * 256, u64{params_.miss_interval_256});
    LineShare wanted = share;
    wanted.sectors = missing;
    send(leaves, wanted, kind, miss, op.floating);
    requests_.back().behind = stored_;
  }
  hold_back(miss_port_);
  ++warp.scoreboard_open[op.write_sb];
  if (loads_[number].waiting == 0) {
    finish_load(loads_[number]);
    free_loads_.push_back(number);
  }
}

// A way out that is taken for long holds up whatever comes next.
void TimedSm::hold_back(const Server& way_out) {
  const u64 buffer = u64{params_.store_buffer_cycles} * 256;
  if (way_out.free_256 > buffer) lsu_unit_.free_256 = std::max(lsu_unit_.free_256, way_out.free_256 - buffer);
}

void TimedSm::finish_load(Load& load) {
  TimedWarp& warp = warps_[load.warp];
  --warp.scoreboard_open[load.scoreboard];
  const Cycle there = load.ready;
  load.ready = std::max(data_stage_.book(there, load.passes), there + load.passes - 1);
  if (load.group == kNoGroup) {  // what LDGSTS brings goes on to shared memory
    const u32 cycles = load.passes * params_.data_interval;
    const Cycle in = parts_[warp.part].data_port.book(there, cycles);
    load.ready = std::max({load.ready, in, there + cycles - params_.data_interval});
  }
  answer(warp, load.scoreboard, load.ready, true);
  if (load.group != kNoGroup) {
    CopyGroup& group = warp.copies[load.group - warp.copies_done];
    --group.open;
    group.ready = std::max(group.ready, load.ready);
    retire_copies(warp);
  }
  go_on(warp, load.ready);
}

void TimedSm::take_reply(const Reply& reply) {
  if ((reply.token & kStoreToken) != 0) {
    TimedWarp& warp = warps_[reply.token & ~kStoreToken];
    warp.ack_time = std::max(warp.ack_time, reply.time);
    warp.done_time = std::max(warp.done_time, reply.done);
    // The network took it late: what comes after it waits.
    store_port_.free_256 = std::max(store_port_.free_256, reply.time * 256);
    hold_back(store_port_);
    return acknowledge(warp);
  }
  Miss& miss = misses_[reply.token];
  if (miss.line != kNoMiss) {
    L1Line& line = l1_.at(miss.line);
    line.valid |= miss.sectors;
    line.pending &= static_cast<u8>(~miss.sectors);
    line.ready = std::max(line.ready, reply.time);
  }
  for (i32 node = miss.waiters; node >= 0;) {
    const i32 next = waiters_[node].next;
    Load& load = loads_[waiters_[node].load];
    load.ready = std::max(load.ready, reply.time);
    if (--load.waiting == 0) {
      finish_load(load);
      free_loads_.push_back(waiters_[node].load);
    }
    waiters_[node].next = free_waiters_;
    free_waiters_ = node;
    node = next;
  }
  --open_misses_;
  free_misses_.push_back(reply.token);
}

// The network may have held back stores that a read must not overtake: when it can leave.
Cycle TimedSm::out_behind(const Request& read) const {
  if (read.behind <= gone_) return read.time;
  const u64 port = store_port(), backlog = stores_.out_by(port, store_queues_) - port;
  const u64 before = backlog * (read.behind - gone_) / (stored_ - gone_);
  return std::max(read.time, (port + before) / 256 + params_.l1_miss_latency);
}

void TimedSm::collect(Cycle until, std::vector<Request>& out) {
  take_stores(until);
  let_go(until * 256);
  std::size_t kept = 0;
  for (Request& request : requests_) {
    if (request.time < until) request.time = out_behind(request);
    if (request.time < until) {
      out.push_back(request);
    } else {
      requests_[kept++] = request;
    }
  }
  requests_.resize(kept);
}

}  // namespace warpath
