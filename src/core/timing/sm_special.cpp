// What else goes through the MIO queue, constants at an index, and groups of asynchronous copies.
#include <algorithm>

#include "timing/sm.hpp"

namespace warpath {

// An LDC goes to its cache when its turn comes, behind what others asked for before.
void TimedSm::load_constant(SubPartition& part, TimedWarp& warp, const TimedOp& op, Cycle now) {
  PendingConstant load{
      .latency = op.latency, .warp = static_cast<u16>(&warp - warps_.data()), .scoreboard = op.write_sb};
  if (op.touches && touch_.where == Touch::Where::Constant) {
    load.count = static_cast<u8>(touch_.lines.count);
    for (u32 i = 0; i < load.count; ++i) load.lines[i] = static_cast<u16>(touch_.lines.lines[i].line);
  } else if (op.const_line != kNoLine) {
    load.count = 1;
    load.lines[0] = op.const_line;
  }
  if (op.touches) {
    const u32 cost = std::max<u32>(load.count, 1) * params_.misc_interval;
    load.at = std::max(enqueue(part, op, part.constants, cost, now),
                       misc_unit_.take(now * 256, u64{cost} * 256) / 256 - cost);
  } else {
    load.at = enqueue(part, op, misc_unit_, params_.misc_interval, now);
  }
  ++warp.scoreboard_open[op.write_sb];
  answer(warp, op.read_sb, left_ + params_.source_release, false);
  const auto place = std::lower_bound(constants_.begin(), constants_.end(), load.at,
                                      [](const PendingConstant& other, Cycle at) { return other.at > at; });
  constants_.insert(place, load);
}

// A word after another. The unit is held until the last line that is not there has been asked for.
void TimedSm::take_constant() {
  const PendingConstant load = constants_.back();
  constants_.pop_back();
  TimedWarp& warp = warps_[load.warp];
  SubPartition& part = parts_[warp.part];
  Cycle at = std::max(load.at, part.constants_held), last = at;
  for (u32 i = 0; i < load.count; ++i) {
    if (i != 0) at += params_.constant_pass_latency;
    last = std::max(last, indexed_constants_.access(load.lines[i], at, constant_blocks_, constant_port_));
  }
  part.constants_held = std::max(part.constants_held, indexed_constants_.asked());
  part.constants.free_256 = std::max(part.constants.free_256, part.constants_held * 256);
  --warp.scoreboard_open[load.scoreboard];
  answer(warp, load.scoreboard, last + load.latency, false);
  go_on(warp, last + load.latency);
}

// Something that the warp may have waited for is known to be there at `answered`.
void TimedSm::go_on(TimedWarp& warp, Cycle answered) {
  // The slot stays taken until the answer is there, also of one that nobody waits for.
  warp.ack_time = std::max(warp.ack_time, answered);
  if (warp.blocked == Blocked::Scoreboard) return scoreboard_stage(warp);
  if (warp.blocked == Blocked::Draining && !owed(warp)) end_warp(warp);
}

// How many different values the MATCH.ANY that is issuing has found.
u32 TimedSm::match_groups(const TimedWarp& warp) {
  if (warp.warp == nullptr) return warp.script->payload;
  const Warp& state = *warp.warp;
  const u32* masks = state.read_row(context_.code[warp.pc].operands[0].reg);
  u32 groups = 0;
  for_lanes(state.active, [&](u32 lane) { groups += masks[lane] != 0 && lowest_lane(masks[lane]) == lane; });
  CtaStream* stream = resident_[warp.cta].stream;
  if (stream != nullptr) stream->warp(warp.id).last().payload = groups;
  return groups;
}

void TimedSm::special(SubPartition& part, TimedWarp& warp, const TimedOp& op, Cycle now) {
  if (op.kind == TimedKind::Constant) return load_constant(part, warp, op, now);
  const u32 groups = op.groups ? match_groups(warp) : 0;
  const Cycle start =
      op.kind == TimedKind::Shuffle ? enqueue(part, op, lsu_unit_, params_.lsu_interval, now)
      : op.groups ? enqueue(part, op, part.matches, (groups * params_.match_interval_256 + 255) / 256, now)
      : op.reads_special ? enqueue(part, op, part.special_registers, params_.special_interval, now)
                         : enqueue(part, op, misc_unit_, params_.misc_interval, now);
  const u64 more = u64{std::max(groups, 1u) - 1} * params_.match_latency_256 / 256;
  const Cycle answered = start + op.latency + more;
  answer(warp, op.write_sb, answered, false);
  answer(warp, op.read_sb, left_ + params_.source_release, false);
  warp.ack_time = std::max(warp.ack_time, answered);
}

// LDGDEPBAR: its scoreboard counts the copies that came before as one.
void TimedSm::commit_copies(TimedWarp& warp, const TimedOp& op, Cycle now) {
  if (warp.copies.empty() || warp.copies.back().closed) warp.copies.emplace_back();
  CopyGroup& group = warp.copies.back();
  group.scoreboard = op.write_sb;
  group.closed = true;
  group.ready = std::max(group.ready, now + 1);
  ++warp.scoreboard_open[op.write_sb];
  retire_copies(warp);
}

void TimedSm::retire_copies(TimedWarp& warp) {
  std::size_t gone = 0;
  for (; gone < warp.copies.size(); ++gone) {
    const CopyGroup& group = warp.copies[gone];
    if (!group.closed || group.open != 0) break;
    --warp.scoreboard_open[group.scoreboard];
    answer(warp, group.scoreboard, group.ready, true);
  }
  warp.copies.erase(warp.copies.begin(), warp.copies.begin() + static_cast<std::ptrdiff_t>(gone));
  warp.copies_done += static_cast<u32>(gone);
}

}  // namespace warpath
