// The checks of barriers and of the masks of *_sync functions.
#include <numeric>

#include "check/checker.hpp"
#include "exec/operand.hpp"
#include "ops/barrier.hpp"
#include "sm/grid.hpp"

namespace warpath {

// Which of these ended lanes went by instruction `index`. A thread that leaves early, ahead of it in the
// code, is none of those who have to come: since sm_70 barriers and masks mean the threads that have not
// exited.
u32 Checker::passed_by(const CtaState& state, u32 warp, u32 lanes, u32 index) {
  u32 passed = 0;
  for_lanes(lanes, [&](u32 lane) { passed |= state.exits[warp].v[lane] > index ? 1u << lane : 0u; });
  return passed;
}

void Checker::arrive(CtaState& state, const Instr& in, u32 mask) {
  const bool waits = static_cast<BarrierMode>(in.aux) != BarrierMode::Arrive;
  each_barrier(*warp_, in, mask,
               [&](u32 lanes, u32 id, u32 expected) { arrive_at(state, in, id, lanes, expected, waits); });
}

void Checker::arrive_at(CtaState& state, const Instr& in, u32 id, u32 lanes, u32 expected, bool waits) {
  Meeting& meeting = state.meetings[id];
  const std::size_t warps = warp_->cta->warps.size();
  const Site here = site(in, lowest_lane(lanes));
  const bool check = (tools_ & kCheckSync) != 0;
  if (!meeting.open) {
    meeting = {};
    meeting.open = true;
    meeting.lanes.assign(warps, 0);
    meeting.waits.assign(warps, 0);
    meeting.first = here;
    meeting.expected = expected;
    if (check && expected % kLanes != 0)
      add(FindingKind::BarrierCount, Space::Shared, here, here, id, expected, lanes);
  } else if (check && expected != meeting.expected) {
    add(FindingKind::BarrierCount, Space::Shared, here, meeting.first, id, expected, lanes);
  } else if (check && expected == 0 && in.index != meeting.first.index && !collective_[in.index] &&
             !collective_[meeting.first.index]) {
    add(FindingKind::DivergentBarrier, Space::Shared, here, meeting.first, id, 0, lanes);
  }
  meeting.lanes[warp_->id] |= lanes;
  if (waits) {
    meeting.waits[warp_->id] |= lanes;
    return;
  }
  WarpClock& clock = state.order.warps[warp_->id];
  if (meeting.brought.known.empty()) meeting.brought.known.assign(warps, 0);
  for (std::size_t w = 0; w < warps; ++w)
    meeting.brought.known[w] = std::max(meeting.brought.known[w], clock.known[w]);
  merge_seen(meeting.brought.seen, clock.seen);
  ++clock.known[warp_->id];
}

void Checker::after_barriers(CtaState& state) {
  for (u32 id = 0; id < kCtaBarriers; ++id) {
    const CtaBarrier& barrier = warp_->cta->barriers[id];
    if (state.meetings[id].open && barrier.waiting == 0 && barrier.arrived == 0) completed(state, id);
  }
}

void Checker::completed(CtaState& state, u32 id) {
  Meeting& meeting = state.meetings[id];
  meeting.open = false;
  std::vector<u32> participants;
  for (const Warp& warp : warp_->cta->warps) {
    if (meeting.waits[warp.id] != 0) participants.push_back(warp.id);
    const u32 missing =
        passed_by(state, warp.id, launched(warp) & ~meeting.lanes[warp.id], meeting.first.index);
    if (meeting.expected != 0 || missing == 0 || (tools_ & kCheckSync) == 0) continue;
    Site gone = meeting.first;
    gone.warp = warp.id;
    gone.lane = lowest_lane(missing);
    add(FindingKind::BarrierExited, Space::Shared, gone, meeting.first, id, 0, missing);
  }
  if (participants.empty()) return;
  if (!meeting.brought.known.empty()) {
    WarpClock& clock = state.order.warps[participants.front()];
    for (std::size_t w = 0; w < clock.known.size(); ++w)
      clock.known[w] = std::max(clock.known[w], meeting.brought.known[w]);
    merge_seen(clock.seen, meeting.brought.seen);
  }
  state.order.meet(participants);
}

// The mask that each lane gives, or null when the code does not say where it is.
const u32* Checker::mask_of(const Instr& in, Row& scratch) const {
  const u32 reg = mask_register_[in.index];
  if (reg != 0) return warp_->read_row(static_cast<u16>(reg - 1));
  return in.op->mnemonic == "WARPSYNC" && in.operand_count != 0 ? raw32(*warp_, in.operands[0], scratch)
                                                                : nullptr;
}

void Checker::warp_mask(const CtaState& state, const Instr& in, u32 mask) {
  if ((tools_ & kCheckSync) == 0) return;
  Row scratch;
  const u32* named = mask_of(in, scratch);
  if (named == nullptr) return;
  const u32 gone = passed_by(state, warp_->id, launched(*warp_) & warp_->exited, in.index);
  for_lanes(mask, [&](u32 lane) {
    const Site here = site(in, lane);
    if (((named[lane] >> lane) & 1) == 0)
      add(FindingKind::MaskWithoutCaller, Space::Shared, here, here, 0, 0, named[lane]);
    if ((named[lane] & gone) != 0)
      add(FindingKind::MaskExited, Space::Shared, here, here, 0, 0, named[lane] & gone);
  });
}

// Lanes have ended that others wait for by name.
void Checker::after_exit(CtaState& state, const Instr& in, u32 gone) {
  for_lanes(gone, [&](u32 lane) { state.exits[warp_->id].v[lane] = in.index; });
  if ((tools_ & kCheckSync) == 0) return;
  for_lanes(warp_->at_warpsync, [&](u32 lane) {
    const u32 index = warp_->lane_pc[lane] - 1;  // a waiting lane's pc is behind the instruction it waits in
    const u32 missing = passed_by(state, warp_->id, warp_->sync_mask[lane] & gone, index);
    if (missing == 0) return;
    const Site here{warp_->cta->index, warp_->id, lane, index, AccessKind::None};
    add(FindingKind::MaskExited, Space::Shared, here, here, 0, 0, missing);
  });
}

}  // namespace warpath
