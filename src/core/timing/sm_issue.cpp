// Which warp issues, and what that costs: why it waited, the registers that are read and the unit that is
// taken.
#include <algorithm>

#include "timing/sm.hpp"

namespace warpath {
namespace {

constexpr Stall throttle_reason(IssueClass c) {
  switch (c) {
    case IssueClass::Xu:  // behind the MIO queue
    case IssueClass::Mio:
      return Stall::MioThrottle;
    case IssueClass::Lg:
      return Stall::LgThrottle;
    case IssueClass::Tex:
      return Stall::TexThrottle;
    default:
      return Stall::MathPipeThrottle;
  }
}

// Whether the warp in `slot`, if any, has just issued what does not yield.
bool keeps(const SubPartition& part, u32 slot, Cycle now, u32 window) {
  return ((part.stays >> slot) & 1) != 0 && now - part.issued[slot] <= window;
}

// Whether `slot` goes before `than` when neither issued last: older CTAs first, or younger, of one CTA those
// that have just issued what does not yield, and of equals the one that has waited longest.
bool goes_before(const SubPartition& part, u32 slot, u32 than, Cycle now, const TimingParams& params) {
  if (part.age[slot] != part.age[than])
    return (part.age[slot] > part.age[than]) == (params.youngest_first != 0);
  const bool own = keeps(part, slot, now, params.greedy_window);
  const bool other = keeps(part, than, now, params.greedy_window);
  return own != other ? own : part.issued[slot] < part.issued[than];
}

}  // namespace

// One cycle of a sub-partition: the first of the warps that can issue does.
void TimedSm::step(SubPartition& part, Cycle now) {
  if (now < part.port_free) {
    part.next = part.port_free;
    return;
  }
  const u32 keep = keeps(part, part.last, now, params_.greedy_window) ? part.last : kMaxSlots;
  u32 chosen = kMaxSlots;
  u32 ready = 0;
  Cycle later = kNever;
  for (u32 rest = part.live; rest != 0; rest &= rest - 1) {
    const u32 slot = lowest_lane(rest);
    const Cycle wake = part.wake[slot];
    if (wake > now) {
      later = std::min(later, wake);
      continue;
    }
    const u32 c = part.issue[slot];
    if (((part.seen >> slot) & 1) == 0) {
      part.seen |= 1u << slot;
      part.busy_at[slot] = part.busy_until(c, wake);
      part.port_at[slot] = part.port_until(wake);
    }
    if (part.class_free[c] > now) {
      later = std::min(later, part.class_free[c]);
      continue;
    }
    ++ready;
    if (slot == keep || chosen == kMaxSlots ||
        (chosen != keep && goes_before(part, slot, chosen, now, params_)))
      chosen = slot;
  }
  if (chosen == kMaxSlots) {
    part.next = later;
    return;
  }
  part.next = ready > 1 ? now + 1 : later;
  part.issued[chosen] = now;
  part.last = chosen;
  issue(part, chosen, now);
  part.next = std::max(part.next, part.port_free);
}

// The warp was in state `why` at instruction `pc` from `from` up to `to`, exclusive.
void TimedSm::spend(const TimedWarp& warp, u32 pc, Stall why, Cycle from, Cycle to) {
  if (to <= from) return;
  counters_->stalls[pc][static_cast<u32>(why)] += to - from;
  if (timeline_ == nullptr) return;
  const Warp& state = *warp.warp;
  timeline_->stretch(id_, {state.cta->index, state.id, warp.part, pc, static_cast<u64>(why), from, to});
}

// Since it last issued, one reason after another; returns when the last of them ended.
Cycle TimedSm::spend_waits(const TimedWarp& warp, u32 pc) {
  Cycle cursor = warp.issued + 1;
  for (u32 i = 0; i < warp.waits.count; ++i) {
    spend(warp, pc, warp.waits.reason[i], cursor, warp.waits.end[i]);
    cursor = std::max(cursor, warp.waits.end[i]);
  }
  return cursor;
}

void TimedSm::account(SubPartition& part, u32 slot, TimedWarp& warp, Cycle now, u32 pc) {
  const Cycle cursor = spend_waits(warp, pc);
  const u32 c = part.issue[slot];
  if (now > cursor) {
    const Cycle held = cursor + std::min(part.port_until(now) - part.port_at[slot], now - cursor);
    const u64 throttled = std::min(part.busy_until(c, now) - part.busy_at[slot], now - held);
    spend(warp, pc, Stall::DispatchStall, cursor, held);
    spend(warp, pc, throttle_reason(static_cast<IssueClass>(c)), held, held + throttled);
    spend(warp, pc, Stall::NotSelected, held + throttled, now);
  }
  spend(warp, pc, Stall::Selected, now, now + 1);
  ++counters_->issued;
  if (timeline_ != nullptr) timeline_->issued(now);
}

// Fetches the operands: the registers of one bank come one after another, those the reuse cache holds are
// there. Banks that fall behind hold back what would issue next.
void TimedSm::collect_registers(SubPartition& part, const TimedOp& op, u16 warp, Cycle now) {
  const u32 read = 256 / params_.register_reads;
  u64 last = 0;
  for (u32 slot = 0; slot < 3; ++slot) {
    const u8 reg = op.sources[slot];
    if (reg == 255) continue;
    const bool held = part.reuse_register[slot] == reg && part.reuse_warp[slot] == warp;
    const bool keep = ((op.reuse >> slot) & 1) != 0;
    if (keep) {
      part.reuse_register[slot] = reg;
      part.reuse_warp[slot] = warp;
    } else if (!held || part.reuse_warp[slot] == warp) {
      part.reuse_register[slot] = 255;
    }
    const bool twice = (slot > 0 && reg == op.sources[0]) || (slot > 1 && reg == op.sources[1]);
    if (!held && !twice)
      last = std::max(last, part.banks[reg % params_.register_banks].take(now * 256, read));
  }
  const Cycle behind = (last + 255) / 256;
  part.hold_port(now, less(behind, params_.register_ahead));
}

void TimedSm::occupy(SubPartition& part, const TimedOp& op, u16 warp, Cycle now) {
  if (op.issue == IssueClass::Free || op.issue == IssueClass::Mio || op.issue == IssueClass::Lg) return;
  const ClassParams& own = params_.classes[static_cast<u32>(op.issue)];
  const u32 unit = part.unit_free[own.server] <= now ? own.server : own.other;
  part.unit_free[unit] = std::max(now, part.unit_free[unit]) + own.interval;
  counters_->unit_cycles[unit] += own.interval;
  if (own.both) {
    part.unit_free[own.other] = part.unit_free[unit];
    counters_->unit_cycles[own.other] += own.interval;
  }
  for (u32 rest = own.rivals; rest != 0; rest &= rest - 1) {
    const u32 c = lowest_lane(rest);
    const ClassParams& other = params_.classes[c];
    const Cycle first = part.unit_free[other.server], second = part.unit_free[other.other];
    const Cycle free = other.both ? std::max(first, second) : std::min(first, second);
    // What goes to the XU can wait in front of it.
    part.hold_class(c, now, c == static_cast<u32>(IssueClass::Xu) ? less(free, params_.xu_ahead) : free);
  }
  if (op.again != 0) part.hold_port(now, now + 1 + op.again);
  if (op.kind != TimedKind::Fixed && op.kind != TimedKind::Unit) return;
  collect_registers(part, op, warp, now);
}

}  // namespace warpath
