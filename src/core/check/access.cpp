// The checks of memory accesses: order (races) and initialisation.
#include <algorithm>
#include <cstring>

#include "check/checker.hpp"
#include "exec/operand.hpp"
#include "memory/memory.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

constexpr u32 kCompared = 4;  // bytes of an overwrite that are compared

bool is_same_warp(const Stamp& a, const Stamp& b) {
  return a.cta == b.cta && a.thread / kLanes == b.thread / kLanes;
}

// Lanes whose neighbours on both sides have the same address.
template <class Word>
u32 between_equals(const Word* address, u32 mask) {
  u32 as_next = 0;  // lanes with the address of the one above
  for (u32 lane = 0; lane + 1 < kLanes; ++lane)
    as_next |= address[lane] == address[lane + 1] ? 1u << lane : 0u;
  as_next &= mask & (mask >> 1);
  return as_next & (as_next << 1);
}

// `mark`, which is of lane 0, as of `lane`.
void keep(Mark& place, const Mark& mark, u32 lane) {
  place = mark;
  place.stamp.thread = mark.stamp.thread + lane;
}

bool is_same_moment(const Mark& a, const Mark& b) {
  const u32 different = (a.stamp.cta ^ b.stamp.cta) | (a.stamp.epoch ^ b.stamp.epoch) |
                        ((a.stamp.thread ^ b.stamp.thread) / kLanes) | ((a.index ^ b.index) & kStrong);
  return different == 0;
}

}  // namespace

template <class Address>
void Checker::access(const Instr& in, Space space, u32 mask, u32 bytes, AccessKind kind,
                     const Address& address) {
  if (space == Space::Local) return;
  CtaState& state = state_of(*warp_->cta);
  const bool races = (tools_ & kCheckRaces) != 0, initialized_too = (tools_ & kCheckInitialized) != 0;
  const bool strong = strong_[in.index], shared = space == Space::Shared;
  const bool heap = !shared && watches_heap();
  const u32 warp = warp_->id, alignment = std::min(bytes, 8u) - 1;
  Mark now;  // of lane 0: it stays as it is for all lanes, since reading what was just changed would wait
  now.stamp = {static_cast<u32>(state.block), warp * kLanes, state.order.warps[warp].known[warp]};
  now.index = in.index | (strong ? kStrong : 0);
  // Of neighbours that read one address, the first and the last speak for those between.
  const u32 visited = kind == AccessKind::Read ? mask & ~between_equals(address.v, mask) : mask;
  for_lanes(visited, [&](u32 lane) {
    const LaneAccess one{in, space, lane, bytes, kind, address.v[lane]};
    if ((one.address & alignment) != 0) return;  // faults
    if (shared && !state.written.inside(static_cast<u32>(one.address), bytes)) return;
    if (heap && heap_.is_outside(one.address, bytes)) return heap_access(one);
    if (races) race(state, one, now);
    if (initialized_too) initialized(state, one);
  });
}
template void Checker::access(const Instr&, Space, u32, u32, AccessKind, const Row&);
template void Checker::access(const Instr&, Space, u32, u32, AccessKind, const Row64&);

void Checker::heap_access(const LaneAccess& access) {
  const HeapBlock* near = heap_.nearest(access.address);
  const bool freed = near != nullptr && near->freed && access.address - near->base < near->size;
  add(freed ? FindingKind::HeapUseAfterFree : FindingKind::HeapOutOfBounds, Space::Global,
      site(access.in, access.lane, access.kind), {}, access.address, access.bytes, 0);
}

void Checker::initialized(CtaState& state, const LaneAccess& access) {
  const bool shared = access.space == Space::Shared;
  const u32 offset = static_cast<u32>(access.address);
  if (access.kind != AccessKind::Write && (shared ? state.written.missing(offset, access.bytes)
                                                  : written_.missing(access.address, access.bytes))) {
    add(FindingKind::UninitializedRead, access.space, site(access.in, access.lane, access.kind), {},
        access.address, access.bytes, 0);
  }
  if (access.kind == AccessKind::Read) return;
  if (shared) {
    state.written.mark(offset, access.bytes);
  } else {
    written_.mark(access.address, access.bytes);
  }
}

// Keeps the reads that a later write may race with: those that nothing orders before this one, of two warps
// if possible.
inline void Checker::remember_read(const WarpClock& clock, Cell& cell, const Mark& now, u32 lane) {
  for (Mark& read : cell.reads) {
    const bool past = !read.stamp.set() || is_ordered(read.stamp, now.stamp.cta, warp_->id, lane, clock);
    if (past) return keep(read, now, lane);
  }
  keep(cell.reads[is_same_warp(cell.reads[0].stamp, now.stamp) ? 0 : 1], now, lane);
}

inline void Checker::visit_cell(const WarpClock& clock, const LaneAccess& access, Cell& cell, const Mark& now,
                                bool& reported) {
  const auto collides = [&](const Mark& before) {
    if (!before.stamp.set() || (before.index & now.index & kStrong) != 0 || reported) return false;
    return !is_ordered(before.stamp, now.stamp.cta, warp_->id, access.lane, clock);
  };
  const bool writes = access.kind != AccessKind::Read;
  if (collides(cell.write)) {
    if (access.kind == AccessKind::Write) {
      overwrite(access, cell.write);
    } else {
      const Site here = site(access.in, access.lane, access.kind);
      add(FindingKind::RaceReadAfterWrite, access.space, here, site_of(cell.write, AccessKind::Write),
          access.address, access.bytes, 0);
    }
    reported = true;
  }
  if (!writes) return remember_read(clock, cell, now, access.lane);
  for (Mark& read : cell.reads) {
    if (!collides(read) || is_seen(read.stamp, clock, Releases::All)) continue;
    add(FindingKind::RaceWriteAfterRead, access.space, site(access.in, access.lane, access.kind),
        site_of(read, AccessKind::Read), access.address, access.bytes, 0);
    reported = true;
  }
  keep(cell.write, now, access.lane);
  cell.reads[0] = cell.reads[1] = {};
}

void Checker::race(CtaState& state, const LaneAccess& access, const Mark& now) {
  u32 offset = static_cast<u32>(access.address);
  CellBlock* cells = access.space == Space::Shared ? &state.cells : cells_.find(access.address, offset);
  if (cells == nullptr) return;
  if ((now.index & kStrong) != 0) synchronize(state, access);
  const WarpClock& clock = state.order.warps[warp_->id];
  bool reported = false;
  cells->visit(offset, access.bytes, [&](Cell& cell) {
    // A warp that has read the word in this epoch has been compared with its last write already.
    const bool again = access.kind == AccessKind::Read &&
                       (is_same_moment(cell.reads[0], now) || is_same_moment(cell.reads[1], now)) &&
                       !is_same_warp(cell.write.stamp, now.stamp);
    if (!again) visit_cell(clock, access, cell, now, reported);
  });
}

Site Checker::site_of(const Mark& mark, AccessKind kind) const {
  const u32 index = mark.index & ~kStrong;
  const std::string_view name = grid_->program().instructions()[index].op->mnemonic;
  if (name.starts_with("ATOM") || name.starts_with("RED")) kind = AccessKind::Atomic;
  return {mark.stamp.cta, mark.stamp.thread / kLanes, mark.stamp.thread % kLanes, index, kind};
}

void Checker::synchronize(CtaState& state, const LaneAccess& access) {
  SyncPoints& points = access.space == Space::Shared ? state.points : points_;
  WarpClock& clock = state.order.warps[warp_->id];
  // An arrival at an mbarrier is seen in the high word, which holds the phase.
  const bool arrival = access.in.op->mnemonic == "ATOMS" && access.in.operand_count == 2 && access.bytes == 8;
  const u64 point = access.address + (arrival ? 4 : 0);
  if (access.kind != AccessKind::Write && !points.empty()) points.acquire(point, clock);
  if (access.kind != AccessKind::Read && clock.fenced) {
    points.release(point, static_cast<u32>(state.block), clock);
  }
  if (access.kind == AccessKind::Write) {
    points.publish(point, static_cast<u32>(state.block), clock);
  }
}

void Checker::overwrite(const LaneAccess& access, const Mark& before) {
  Overwrite pending;
  const Site here = site(access.in, access.lane, access.kind), other = site_of(before, AccessKind::Write);
  if (other.index == here.index && other.warp == here.warp && other.cta == here.cta) {
    if (same_store(access.in, access.lane, other.lane)) return;
    return add(FindingKind::RaceWriteAfterWrite, access.space, here, other, access.address, access.bytes, 0);
  }
  pending.finding.kind = FindingKind::RaceWriteAfterWrite;
  pending.finding.space = access.space;
  pending.finding.site = here;
  pending.finding.other = other;
  pending.finding.address = access.address;
  pending.finding.size = access.bytes;
  pending.size = std::min(access.bytes, kCompared);
  pending.place = access.space == Space::Shared ? warp_->cta->shared.data() + access.address
                                                : memory_.mapped(access.address, access.bytes);
  if (pending.place == nullptr) return;
  std::memcpy(pending.before.data(), pending.place, pending.size);
  overwrites_.push_back(pending);
}

// Whether two lanes of a store write the same value.
bool Checker::same_store(const Instr& in, u32 lane, u32 other) const {
  const Operand& source = in.operands[1];
  if (source.kind != OperandKind::Reg || source.reg == kRZ) return source.kind != OperandKind::Mem;
  const u32* row = warp_->read_row(source.reg);
  return row[lane] == row[other];
}

void Checker::settle_overwrites() {
  for (const Overwrite& pending : overwrites_) {
    if (std::memcmp(pending.before.data(), pending.place, pending.size) != 0) findings_.add(pending.finding);
  }
  overwrites_.clear();
}

}  // namespace warpath
