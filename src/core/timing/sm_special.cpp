// What else goes through the MIO queue, constants at an index, and groups of asynchronous copies.
#include <algorithm>

#include "timing/sm.hpp"

namespace warpath {

// LDC at an index: a word after another. The unit is held until the last line that is not there has been
// asked for.
void TimedSm::indexed_constant(SubPartition& part, TimedWarp& warp, const TimedOp& op, Cycle now) {
  const bool some = touch_.where == Touch::Where::Constant;
  const u32 passes = some ? touch_.lines.count : 1;
  const u32 cost = passes * params_.misc_interval;
  const Cycle start = std::max(enqueue(part, op, part.constants, cost, now),
                               misc_unit_.take(now * 256, u64{cost} * 256) / 256 - cost);
  const u32 interval = context_.paired ? params_.idc_shared_interval : params_.idc_interval;
  Cycle at = start, last = start;
  for (u32 i = 0; some && i < passes; ++i) {
    if (i != 0) at += params_.constant_pass_latency;
    const Cycle there = indexed_constants_.access(static_cast<u16>(touch_.lines.lines[i].line), at,
                                                  constant_blocks_, constant_port_, interval);
    last = std::max(last, there);
  }
  if (last > at + params_.idc_miss_latency)
    part.constants.free_256 = std::max(part.constants.free_256, (last - params_.idc_miss_latency) * 256);
  answer(warp, op.write_sb, last + op.latency, false);
  answer(warp, op.read_sb, start + params_.source_release, false);
}

void TimedSm::special(SubPartition& part, TimedWarp& warp, const TimedOp& op, Cycle now) {
  if (op.kind == TimedKind::Constant && op.touches) return indexed_constant(part, warp, op, now);
  const Cycle start = op.kind == TimedKind::Shuffle ? enqueue(part, op, lsu_unit_, params_.lsu_interval, now)
                      : op.reads_special
                          ? enqueue(part, op, part.special_registers, params_.special_interval, now)
                          : enqueue(part, op, misc_unit_, params_.misc_interval, now);
  Cycle from = start;
  if (op.kind == TimedKind::Constant && op.const_line != kNoLine)
    from = indexed_constants_.access(op.const_line, start, constant_blocks_, constant_port_, 0);
  answer(warp, op.write_sb, from + op.latency, false);
  answer(warp, op.read_sb, start + params_.source_release, false);
  // The slot stays taken until the answer is there, also of one that nobody waits for.
  warp.ack_time = std::max(warp.ack_time, from + op.latency);
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
