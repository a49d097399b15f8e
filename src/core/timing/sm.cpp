#include "timing/sm.hpp"

#include <algorithm>

namespace warpath {

TimedSm::TimedSm(const SmContext& context, u32 id, u32 side, GpcShare share)
    : context_(context),
      params_(*context.params),
      id_(id),
      parts_(params_.sub_partitions),
      warps_(params_.max_warps),
      instructions_(params_, context.code_lines,
                    context.paired ? params_.prefetch_shared_interval : params_.prefetch_interval, side),
      constant_blocks_(params_, *context.constants, side),
      constant_port_(params_, share),
      immediate_constants_(params_.sub_partitions,
                           ConstantCache(params_.imc_lines, params_.imc_lines, params_.imc_latency, 0, 0)),
      indexed_constants_(params_.imc_lines, params_.idc_ways, params_.idc_latency, params_.idc_miss_latency,
                         params_.idc_interval),
      l1_(context.l1_bytes, params_.l1_ways),
      lsu_queue_(params_.lsu_credits),
      store_queues_(params_.sub_partitions),
      stores_(params_) {
  for (SubPartition& part : parts_) {
    part.mio = CreditQueue(params_.mio_credits);
    part.lg = CreditQueue(params_.lg_credits);
  }
}

void TimedSm::work_for(Worker* worker, SmCounters& counters, TimelineShare* timeline) {
  counters_ = &counters;
  timeline_ = timeline;
  if (worker == worker_) return;
  worker_ = worker;
  for (Resident& resident : resident_) {
    if (resident.cta == nullptr) continue;
    for (Warp& warp : resident.cta->warps) warp.worker = worker;
  }
}

void TimedSm::start(Arrival arrival) {
  u32 index = 0;
  while (index < resident_.size() && resident_[index].busy) ++index;
  if (index == resident_.size()) resident_.emplace_back();
  Resident& resident = resident_[index];
  resident.busy = true;
  resident.cta = std::move(arrival.cta);
  resident.stream = arrival.stream;
  resident.warps.clear();
  const bool executes = resident.cta != nullptr;
  if (executes) resident.cta->sm = id_;
  const std::size_t warps = executes ? resident.cta->warps.size() : resident.stream->warps().size();
  if (!executes) resident.missing = resident.stream->meetings();
  resident.running = static_cast<u32>(warps);
  resident.started = resident.finish = arrival.at;
  constant_blocks_.begin(arrival.at);
  ++residents_;
  // Warp w goes to sub-partition (first + w) mod 4; the first is the emptiest, so that one-warp CTAs spread.
  u32 first = 0;
  for (u32 p = 1; p < params_.sub_partitions; ++p) {
    if (__builtin_popcount(parts_[p].occupied) < __builtin_popcount(parts_[first].occupied)) first = p;
  }
  for (u32 id = 0; id < warps; ++id) seat(index, id, (first + id) % params_.sub_partitions, arrival.at);
  ++next_age_;
}

// Gives warp `id` of a resident CTA a slot of sub-partition `p`, or of the next one that is not full.
void TimedSm::seat(u32 index, u32 id, u32 p, Cycle at) {
  Resident& resident = resident_[index];
  const u32 slots = params_.max_warps / params_.sub_partitions;
  const u32 full = (1u << slots) - 1;
  for (u32 tried = 1; tried < params_.sub_partitions && parts_[p].occupied == full; ++tried)
    p = (p + 1) % params_.sub_partitions;
  SubPartition& part = parts_[p];
  const u32 slot = lowest_lane(~part.occupied);
  const u16 number = static_cast<u16>(p * slots + slot);
  TimedWarp& warp = warps_[number];
  warp = TimedWarp{};
  warp.id = static_cast<u16>(id);
  if (resident.cta != nullptr) {
    warp.warp = &resident.cta->warps[id];
    warp.pc = warp.warp->pc;
  } else {
    warp.script = resident.stream->warp(id).steps().data();
    warp.pc = warp.script->pc;
  }
  warp.part = static_cast<u8>(p);
  warp.slot = static_cast<u8>(slot);
  warp.cta = static_cast<u16>(index);
  warp.live = true;
  warp.started = at + u64{id} * params_.warp_launch_interval;
  warp.issued = warp.started - 1;
  resident.warps.push_back(number);
  part.occupied |= 1u << slot;
  part.live |= 1u << slot;
  part.stays &= ~(1u << slot);
  part.warp[slot] = number;
  part.age[slot] = next_age_;
  warp.waits.begin(warp.started);
  ready_stage(warp, warp.started, false);
}

Cycle TimedSm::next() const {
  Cycle soonest = kNever;
  for (const SubPartition& part : parts_) soonest = std::min(soonest, part.next);
  for (const Request& request : requests_) soonest = std::min(soonest, request.time);
  soonest = std::min(soonest, store_queues_.first());
  if (!stores_.empty()) soonest = std::min(soonest, stores_.next() / 256);
  if (!constants_.empty()) soonest = std::min(soonest, constants_.back().at);
  return soonest;
}

void TimedSm::run(std::vector<Reply>& replies, Cycle from, Cycle until) {
  constant_port_.forget(from);
  data_stage_.forget(from);
  for (SubPartition& part : parts_) part.data_port.forget(from);
  for (const Reply& reply : replies) take_reply(reply);
  replies.clear();
  for (Arrival& arrival : arrivals) start(std::move(arrival));
  arrivals.clear();
  for (SubPartition& part : parts_) part.next = std::max(part.next, from);
  while (true) {
    Cycle now = kNever;
    for (const SubPartition& part : parts_) now = std::min(now, part.next);
    const Cycle constant = constants_.empty() ? kNever : constants_.back().at;
    if (std::min(now, constant) >= until) return;
    if (constant <= now) {
      take_constant();
      continue;
    }
    for (SubPartition& part : parts_) {
      if (part.next == now) step(part, now);
    }
  }
}

// What the instruction does: executed, or read from the stream.
void TimedSm::perform(TimedWarp& warp, const TimedOp& op, Cycle now) {
  CtaStream* stream = resident_[warp.cta].stream;
  if (warp.warp == nullptr) {
    warp.parts = (warp.script->flags & Step::kParts) != 0;
    warp.deeper = (warp.script->flags & Step::kDeeper) != 0;
    if (op.touches) stream->warp(warp.id).read(warp.script->payload, touch_);
    return;
  }
  Warp& state = *warp.warp;
  state.cta->clock = now;
  worker_->left = worker_->slice;
  worker_->access.mask = 0;
  if (warp.ahead != 0) {
    state.active = warp.ahead;
    state.pc = warp.pc;
  }
  const u32 before = state.active;
  try {
    execute(state, context_.code, worker_->counts.data());
    if (warp.ahead != 0) state.active = 0;  // its lanes are at the barrier, for all others
  } catch (Fault& fault) {
    fault.cta = state.cta->index;
    fault.warp = state.id;
    throw;
  }
  if (stream != nullptr) stream->warp(warp.id).add(warp.pc);
  warp.parts = op.kind == TimedKind::Branch && state.active != 0 && state.active != before &&
               (state.active & ~before) == 0;
  warp.deeper = warp.parts && (before | state.exited) != kFullMask;
  if (stream != nullptr && warp.parts)
    stream->warp(warp.id).last().flags |= warp.deeper ? Step::kParts | Step::kDeeper : Step::kParts;
  if (!op.touches) return;
  if (timeline_ != nullptr && op.kind == TimedKind::Memory && worker_->access.mask != 0)
    timeline_->request(id_, warp.pc, now, worker_->access);
  describe(worker_->access, op, context_.local_bytes, touch_);
  if (stream != nullptr) stream->warp(warp.id).touched(touch_);
}

void TimedSm::issue(SubPartition& part, u32 slot, Cycle now) {
  TimedWarp& warp = warps_[part.warp[slot]];
  const u32 pc = warp.pc;
  const TimedOp& op = context_.ops[pc];
  account(part, slot, warp, now, pc);
  warp.issued = now;
  occupy(part, op, part.warp[slot], now);
  perform(warp, op, now);
  switch (op.kind) {
    case TimedKind::Unit:
      answer(warp, op.write_sb, now + op.latency, false);
      break;
    case TimedKind::Special:
    case TimedKind::Constant:
    case TimedKind::Shuffle:
      special(part, warp, op, now);
      break;
    case TimedKind::Memory:
      memory(part, warp, op, pc, now);
      break;
    case TimedKind::CommitCopies:
      commit_copies(warp, op, now);
      break;
    default:
      break;
  }
  after(warp, op, pc, now);
}

// Where the warp stands once an instruction has issued.
void TimedSm::after(TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now) {
  SubPartition& part = parts_[warp.part];
  part.wake[warp.slot] = kNever;
  part.seen &= ~(1u << warp.slot);
  part.stays = op.yield ? part.stays & ~(1u << warp.slot) : part.stays | 1u << warp.slot;
  warp.waits.begin(now + 1);
  const u32 stall = std::max<u32>(op.stall, op.yield ? 2 : 1);
  // At stall 1 it is the port that holds the warp.
  warp.waits.add(Stall::Wait, now + stall + (stall == 1 ? 0 : op.again));
  Cycle at = now + 1;
  if (op.kind == TimedKind::Barrier) {
    at = barrier_unit_.take(now * 256, u64{params_.barrier_interval} * 256) / 256 + params_.barrier_latency;
  }
  const u64 sleeps = op.kind == TimedKind::Sleep ? sleep_ns(warp, pc) : 0;
  const Flow next = warp.warp != nullptr ? flow(warp, op, at) : scripted_flow(warp, at);
  const bool follows = warp.pc == pc + 1;
  switch (next) {
    case Flow::Exits:
      return exit_warp(warp, pc, now);
    case Flow::Blocks:
      warp.blocked = Blocked::Group;
      return;
    case Flow::Passes:
      warp.released = at;
      return ready_stage(warp, now, follows);
    case Flow::Goes:
      break;
  }
  if (op.kind == TimedKind::Branch || !follows)
    warp.waits.add(Stall::BranchResolving, now + resolution(warp, op, follows));
  if (op.kind == TimedKind::Branch && warp.parts) part_lanes(part, now);
  if (op.kind == TimedKind::Fence) {
    if (warp.acks != 0) {
      warp.blocked = Blocked::Fence;
      return;
    }
    warp.waits.add(Stall::Membar, std::max(now, warp.done_time) + params_.membar_latency);
  }
  if (sleeps != 0) warp.waits.add(Stall::Sleeping, now + sleeps * params_.sm_clock_khz / 1000000);
  ready_stage(warp, follows ? now : warp.waits.last, follows);
}

// The next instruction's bytes.
void TimedSm::fetch_stage(TimedWarp& warp, Cycle from, bool follows) {
  const u32 line = warp.pc >> kLineShift;
  if (line == warp.line && follows) return;
  const bool sequential = follows && warp.line != ~0u;
  warp.line = line;
  warp.waits.add(Stall::NoInstruction,
                 instructions_.fetch(warp.part, line, from, sequential, *context_.home));
}

void TimedSm::ready_stage(TimedWarp& warp, Cycle fetch_from, bool follows) {
  fetch_stage(warp, fetch_from, follows);
  if (context_.ops[warp.pc].held) {
    if (warp.ahead != 0) {
      warp.blocked = Blocked::Group;
      return;
    }
    warp.waits.add(Stall::Barrier, warp.released);
  }
  scoreboard_stage(warp);
}

// Its operands: scoreboards, then the constant cache.
void TimedSm::scoreboard_stage(TimedWarp& warp) {
  const TimedOp& op = context_.ops[warp.pc];
  u32 mask = op.wait_mask;
  if (op.kind == TimedKind::Depbar && op.depbar_sb < kScoreboards) {
    if (warp.scoreboard_open[op.depbar_sb] > op.depbar_count) mask |= 1u << op.depbar_sb;
    if (op.depbar_count == 0 || warp.copies_done != 0) mask |= 1u << op.depbar_sb;
  }
  Cycle ready = 0;
  bool is_long = false;
  for (u32 rest = mask; rest != 0; rest &= rest - 1) {
    const u32 sb = lowest_lane(rest);
    const bool partly = op.kind == TimedKind::Depbar && sb == op.depbar_sb && op.depbar_count != 0;
    if (warp.scoreboard_open[sb] > (partly ? op.depbar_count : 0)) {
      warp.blocked = Blocked::Scoreboard;
      return;
    }
    if ((partly && warp.copies_done == 0) || warp.scoreboard_time[sb] <= ready) continue;
    ready = warp.scoreboard_time[sb];
    is_long = warp.scoreboard_long[sb];
  }
  warp.waits.add(is_long ? Stall::LongScoreboard : Stall::ShortScoreboard, ready);
  if (op.const_line != kNoLine && op.kind != TimedKind::Constant) {
    const Cycle wanted = warp.waits.last;
    warp.waits.add(Stall::ImcMiss, immediate_constants_[warp.part].access(op.const_line, wanted,
                                                                          constant_blocks_, constant_port_));
    if (warp.waits.last != wanted) issue_again(warp);
  }
  warp.blocked = Blocked::No;
  parts_[warp.part].wake_at(warp.slot, warp.waits.last, op.issue);
}

// The instruction had been issued: it is fetched and issued once more.
void TimedSm::issue_again(TimedWarp& warp) {
  warp.waits.add(Stall::NoInstruction, warp.waits.last + params_.imc_refetch);
  warp.waits.add(Stall::Wait, warp.waits.last + params_.imc_again);
}

void TimedSm::exit_warp(TimedWarp& warp, u32 pc, Cycle now) {
  parts_[warp.part].live &= ~(1u << warp.slot);
  warp.exit_pc = std::min(pc + 1, context_.code_lines * kInstrPerLine - 1);
  warp.waits.add(Stall::BranchResolving, std::max(warp.waits.last, now) + params_.exit_resolve);
  warp.blocked = Blocked::Draining;
  if (!owed(warp)) end_warp(warp);
}

// Whether something is on its way that the warp's slot must stay for: stores, or loads that nobody waited
// for.
bool TimedSm::owed(const TimedWarp& warp) {
  return warp.acks != 0 || std::any_of(std::begin(warp.scoreboard_open), std::end(warp.scoreboard_open),
                                       [](u16 open) { return open != 0; });
}

void TimedSm::end_warp(TimedWarp& warp) {
  warp.waits.add(Stall::Drain, std::max(warp.waits.last + params_.exit_drain, warp.ack_time));
  const u32 pc = std::min(warp.exit_pc, static_cast<u32>(counters_->stalls.size()) - 1);
  const Cycle cursor = spend_waits(warp, pc);
  warp.live = false;
  parts_[warp.part].occupied &= ~(1u << warp.slot);
  warp.blocked = Blocked::No;
  counters_->warp_cycles += cursor - warp.started;
  if (timeline_ != nullptr) timeline_->resident(warp.started, cursor);
  Resident& resident = resident_[warp.cta];
  resident.finish = std::max(resident.finish, cursor);
  if (--resident.running != 0) return;
  spans.emplace_back(resident.started, resident.finish);
  if (timeline_ != nullptr) timeline_->cta(resident.cta->index, id_, resident.started, resident.finish);
  departures.push_back({resident.finish, static_cast<u16>(id_), std::move(resident.cta)});
  resident.busy = false;
  --residents_;
}

u64 TimedSm::active_cycles() const {
  auto sorted = spans;
  std::sort(sorted.begin(), sorted.end());
  u64 total = 0;
  Cycle covered = 0;
  for (const auto& [from, to] : sorted) {
    if (to <= covered) continue;
    total += to - std::max(from, covered);
    covered = to;
  }
  return total;
}

}  // namespace warpath
