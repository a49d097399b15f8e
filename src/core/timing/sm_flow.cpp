// Which warps wait for which: barriers and groups of lanes, as they execute, and as a stream says they met;
// and how long a branch takes.
#include <algorithm>
#include <utility>

#include "timing/sm.hpp"

namespace warpath {

// How the warp goes on after what it has just executed; barriers release others at `at`.
TimedSm::Flow TimedSm::flow(TimedWarp& warp, const TimedOp& op, Cycle at) {
  Warp& state = *warp.warp;
  if (warp.ahead != 0) {
    ++warp.pc;
    return Flow::Goes;
  }
  CtaStream* stream = resident_[warp.cta].stream;
  Flow result = Flow::Goes;
  const bool barrier = op.kind == TimedKind::Barrier;
  bool released = false;
  if (barrier || op.kind == TimedKind::Exit) {
    released = release_groups(resident_[warp.cta], at);
    if (barrier && state.active == 0 && select_group(state)) result = Flow::Passes;
    if (stream != nullptr && (released || result == Flow::Passes)) {
      if (!released) stream->open_meeting();
      stream->join(warp.id, result == Flow::Passes);
    } else if (stream != nullptr && barrier && state.active != 0) {
      stream->passed_by(warp.id);
    }
  }
  if (result == Flow::Goes && state.active == 0 && !select_group(state)) {
    result = state.exited == kFullMask ? Flow::Exits : Flow::Blocks;
    if (stream != nullptr && result == Flow::Exits) stream->warp(warp.id).last().flags |= Step::kExits;
    // One that has let others go is taken down as having met them: it stays.
    if (barrier && !released && result == Flow::Blocks && goes_ahead(warp)) return Flow::Goes;
  }
  warp.pc = state.pc;
  return result;
}

// Warps of the CTA whose lanes were let go by a barrier; false when there are none.
bool TimedSm::release_groups(Resident& resident, Cycle at) {
  bool any = false;
  for (u16 number : resident.warps) {
    TimedWarp& other = warps_[number];
    if (!other.live || !waits(other) || !select_group(*other.warp)) continue;
    if (resident.stream != nullptr) {
      if (!any) resident.stream->open_meeting();
      resident.stream->join(other.id, true);
    }
    any = true;
    if (other.ahead != 0) other.warp->pc = other.pc;
    other.pc = other.warp->pc;
    wake(other, at);
  }
  return any;
}

void TimedSm::wake(TimedWarp& other, Cycle at) {
  other.ahead = 0;
  if (other.blocked != Blocked::Group) {
    other.released = at;
    return;
  }
  other.blocked = Blocked::No;
  other.waits.add(Stall::Barrier, at);
  ready_stage(other, at, true);
}

// Whether a warp that has come to a barrier goes on with what is behind it: arithmetic does not wait, and all
// of its lanes are here.
bool TimedSm::goes_ahead(TimedWarp& warp) {
  const Warp& state = *warp.warp;
  if ((state.at_barrier | state.exited) != kFullMask) return false;
  bool here = true;
  for_lanes(state.at_barrier, [&](u32 lane) { here &= state.lane_pc[lane] == warp.pc + 1; });
  if (!here) return false;
  warp.ahead = state.at_barrier;
  ++warp.pc;
  CtaStream* stream = resident_[warp.cta].stream;
  if (stream != nullptr) stream->warp(warp.id).goes_ahead();
  return true;
}

// As flow(), from the stream. A step can belong to two meetings: it let others go, and was itself let go
// later.
TimedSm::Flow TimedSm::scripted_flow(TimedWarp& warp, Cycle at) {
  Resident& resident = resident_[warp.cta];
  Step wait = *warp.script++;
  if ((wait.flags & Step::kArrives) != 0) arrive(resident, wait.payload, at);
  while ((wait.flags & Step::kExits) == 0 && (warp.script->flags & Step::kMore) != 0) {
    wait = *warp.script++;
    arrive(resident, wait.payload, at);
  }
  if ((wait.flags & Step::kExits) != 0) return Flow::Exits;
  warp.pc = warp.script->pc;
  if ((wait.flags & Step::kWaits) == 0) return Flow::Goes;
  if (resident.missing[wait.payload] == 0) return Flow::Passes;
  warp.meeting = wait.payload;
  if ((wait.flags & Step::kAhead) == 0) return Flow::Blocks;
  warp.ahead = kFullMask;
  return Flow::Goes;
}

// One more is at the meeting; the last lets everybody go.
void TimedSm::arrive(Resident& resident, u32 meeting, Cycle at) {
  if (--resident.missing[meeting] != 0) return;
  for (u16 number : resident.warps) {
    TimedWarp& other = warps_[number];
    if (other.live && waits(other) && other.meeting == meeting) wake(other, at);
  }
}

// How long the NANOSLEEP at `pc` asks for.
u64 TimedSm::sleep_ns(const TimedWarp& warp, u32 pc) {
  if (warp.warp == nullptr) return warp.script->payload;
  const Operand& time = context_.code[pc].operands[0];
  const u64 ns =
      time.kind == OperandKind::Reg ? warp.warp->read_row(time.reg)[0] : static_cast<u64>(time.value);
  CtaStream* stream = resident_[warp.cta].stream;
  if (stream != nullptr) stream->warp(warp.id).last().payload = static_cast<u32>(ns);
  return ns;
}

bool TimedSm::stop_recording() {
  bool any = false;
  for (Arrival& arrival : arrivals) any |= std::exchange(arrival.stream, nullptr) != nullptr;
  for (Resident& resident : resident_)
    any |= std::exchange(resident.stream, nullptr) != nullptr && resident.busy;
  return any;
}

bool TimedSm::blocked_at(Fault& fault) const {
  for (const TimedWarp& warp : warps_) {
    if (!warp.live || warp.blocked != Blocked::Group || warp.warp == nullptr) continue;
    const Warp& state = *warp.warp;
    const u32 waiting = ~state.exited;
    fault.lane = lowest_lane(waiting);
    fault.index = std::max(state.lane_pc[fault.lane], 1u) - 1;
    fault.cta = state.cta->index;
    fault.warp = state.id;
    return true;
  }
  return false;
}

// The branch unit is busy with lanes that part for longer.
void TimedSm::part_lanes(SubPartition& part, Cycle now) {
  const u32 branch = static_cast<u32>(IssueClass::Branch);
  u64& free = part.unit_free[params_.classes[branch].server];
  free = std::max(free, now) + params_.divergence_interval;
  part.hold_class(branch, now, free);
}

// Cycles until the warp knows where a branch leads. Lanes that part cost more than a jump; BSYNC costs where
// the warp goes on behind it, not where it turns to lanes that are late.
Cycle TimedSm::resolution(const TimedWarp& warp, const TimedOp& op, bool follows) const {
  if (op.reconverges) return follows ? params_.reconvergence : 0;
  const u32 passed = warp.deeper ? params_.divergence_deeper : params_.divergence_passed;
  if (follows) return warp.parts ? op.stall + passed : 0;
  const u32 redirect = op.far_jump ? params_.call_redirect : params_.branch_redirect;
  return redirect + (warp.parts ? params_.divergence_taken : 0);
}

}  // namespace warpath
