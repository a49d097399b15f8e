#include "check/hang_probe.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "exec/run.hpp"

namespace warpath {
namespace {

constexpr u32 kLook = 20000;        // instructions that a spinning warp is looked at for
constexpr u32 kTry = 20000;         // instructions that a group is run on for
constexpr u64 kComparedTrips = 64;  // trips of which the registers are compared
constexpr std::size_t kMostPolls = 4096;
constexpr std::size_t kMostWarps = 256;  // that are looked at
constexpr u32 kMostAlike = 8;            // of them at one place
constexpr u32 kMostWriters = 4;          // kept for a word
constexpr u32 kUnstartedRounds = 4;

bool is_spinning(const GroupState& group) { return group.state[0] == 'r'; }

u64 load(const u8* from, u32 size) {
  u64 value = 0;
  if (from != nullptr) std::memcpy(&value, from, std::min<u32>(size, sizeof value));
  return value;
}

// What a copy of the CTA takes, in instructions that could be tried meanwhile.
i64 cost(const Cta& cta) {
  constexpr std::size_t kBytesPerInstruction = 256;
  const std::size_t bytes = cta.row_count * sizeof(Row) + cta.shared.size() + cta.local.size();
  return static_cast<i64>(bytes / kBytesPerInstruction);
}

}  // namespace

HangProbe::HangProbe(Grid& grid) : grid_(grid), memory_(grid.memory()) {
  worker_.grid = &grid;
  worker_.memory = &memory_;
  worker_.counts.resize(grid.program().size() + 1);
  worker_.slots.resize(grid.program().size() + 1);
  worker_.observe = true;
  worker_.probe = this;
}

void HangProbe::run() {
  groups_ = grid_.groups();
  std::map<u32, u32> alike;  // by place
  for (const Cta* cta : grid_.residents()) {
    for (const Warp& warp : cta->warps) {
      if ((warp.active | warp.ready) == 0) continue;
      const u32 place = warp.active != 0 ? warp.pc : warp.lane_pc[lowest_lane(warp.ready)];
      if (++alike[place] <= kMostAlike) spin(*cta, warp);
    }
  }
  // Who holds what these wait for may wait for something else.
  for (std::size_t next = 0; next < spins_.size(); ++next) {
    const std::vector<Poll> polls = spins_[next].polls;
    for (const Poll& poll : polls) want(poll.word);
  }
  if (wanted_.empty()) return;
  looking_ = false;
  budget_ = kBudget;
  run_unstarted();
  auto group = groups_.begin();
  for (const Cta* cta : grid_.residents()) {
    for (; group != groups_.end() && group->cta == cta->index; ++group) {
      if (budget_ > 0) go_on(*cta, *group);
    }
  }
}

// ---- which words are polled ----

// The copy's warp `id`, run by this probe.
Warp& HangProbe::adopt(Cta& cta, u32 id) {
  for (Warp& warp : cta.warps) warp.worker = &worker_;
  warp_ = &cta.warps[id];
  worker_.slice = worker_.left = std::numeric_limits<i64>::max() / 2;
  return *warp_;
}

void HangProbe::spin(const Cta& original, const Warp& of) {
  if ((of.active | of.ready) == 0 || seen_.size() >= kMostWarps || budget_ <= 0) return;
  if (!seen_.emplace(original.index, of.id).second) return;
  Cta cta(original);
  budget_ -= cost(cta);
  Warp& warp = adopt(cta, of.id);
  const Instr* code = grid_.program().instructions();
  looking_ = true;
  polls_.clear();
  trips_.clear();
  ran_.clear();
  try {
    for (u32 n = 0; n < kLook && (warp.active != 0 || select_group(warp)); ++n) {
      const u32 at = warp.pc, lanes = warp.active;
      ran_[at] |= lanes;
      execute(warp, code, worker_.counts.data());
      if (warp.active == lanes && warp.pc <= at) note_trip(warp, warp.pc);
    }
  } catch (const Fault&) {
  }
  put_back();
  collect(of, original);
}

void HangProbe::note_trip(const Warp& warp, u32 head) {
  Trip& trip = trips_[head];
  const std::size_t registers = grid_.program().registers();
  ++trip.count;
  if (trip.count > kComparedTrips) return;
  const bool first = trip.lanes != warp.active;
  const Row* rows = warp.rows + kFirstRow;
  for (std::size_t reg = 0; !first && reg < registers; ++reg) {
    bool same = true;
    for_lanes(warp.active, [&](u32 lane) { same &= rows[reg].v[lane] == trip.rows[reg].v[lane]; });
    if (same) continue;
    trip.constant = false;
    if (std::find(trip.changes.begin(), trip.changes.end(), reg) == trip.changes.end())
      trip.changes.push_back(static_cast<u16>(reg));
  }
  for (std::size_t p = 0; !first && p < trip.pred.size(); ++p)
    trip.constant &= ((trip.pred[p] ^ warp.pred[p]) & warp.active) == 0;
  trip.lanes = warp.active;
  trip.rows.assign(rows, rows + registers);
  std::copy_n(warp.pred, trip.pred.size(), trip.pred.begin());
}

// What the lanes of each group of the warp ran and read.
void HangProbe::collect(const Warp& of, const Cta& cta) {
  for (const GroupState& group : groups_) {
    if (group.cta != cta.index || group.warp != of.id || !is_spinning(group)) continue;
    Spin spin;
    spin.group = group;
    for (const auto& [head, trip] : trips_) {
      if ((trip.lanes & group.mask) == 0 || trip.count <= spin.trips) continue;
      spin.trips = trip.count;
      spin.constant = trip.constant;
      spin.changes = trip.changes;
    }
    if (spin.trips < 2) continue;  // it goes on
    for (const auto& [index, lanes] : ran_) {
      if ((lanes & group.mask) != 0) spin.loop.push_back(index);
    }
    for (const auto& [key, poll] : polls_) {
      if ((poll.lanes & group.mask) != 0 && poll.looks > 1) spin.polls.push_back(poll);
    }
    spins_.push_back(std::move(spin));
  }
}

void HangProbe::looked(const Instr& in, u32 lane, u32 bytes, const Word& word) {
  if (polls_.size() >= kMostPolls) return;
  Poll& poll = polls_[{in.index, word}];
  const bool again = (poll.lanes >> lane) & 1;
  poll.word = word;
  poll.index = in.index;
  poll.size = bytes;
  poll.lanes |= 1u << lane;
  poll.looks += again || poll.looks == 0 ? 1 : 0;
  const bool shared = word.home != Swap::kGlobal;
  poll.value =
      load(shared ? warp_->cta->shared.data() + word.address : memory_.mapped(word.address, bytes), bytes);
}

template <class Address>
void HangProbe::access(const Instr& in, Space space, u32 mask, u32 bytes, AccessKind kind,
                       const Address& address) {
  if (space != Space::Global && space != Space::Shared) return;
  const bool shared = space == Space::Shared;
  for_lanes(mask, [&](u32 lane) {
    const u64 at = address.v[lane];
    if (shared ? at + bytes > warp_->cta->shared.size() : memory_.mapped(at, bytes) == nullptr) return;
    const Word word{shared ? warp_->cta->index : Swap::kGlobal, at};
    if (looking_ && kind != AccessKind::Write) looked(in, lane, bytes, word);
    if (!looking_ && kind != AccessKind::Read) would_write(in, lane, word);
    if (!shared && kind != AccessKind::Read) {
      const u8* host = memory_.mapped(at, bytes);
      undo_.push_back({at, {host, host + bytes}});
    }
  });
}
template void HangProbe::access(const Instr&, Space, u32, u32, AccessKind, const Row&);
template void HangProbe::access(const Instr&, Space, u32, u32, AccessKind, const Row64&);

void HangProbe::put_back() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo)
    std::memcpy(memory_.mapped(undo->address, undo->bytes.size()), undo->bytes.data(), undo->bytes.size());
  undo_.clear();
}

// ---- who wrote them, and who would ----

// Its holder is looked at, too.
void HangProbe::want(const Word& word) {
  if (!wanted_.emplace(word, 0).second) return;
  const Swap* swap = grid_.last_swap(word.home, word.address);
  if (swap == nullptr) return;
  writers_.push_back({word, swap->cta, swap->warp, swap->lane, swap->index, swap->value, true, true});
  for (const Cta* cta : grid_.residents()) {
    if (cta->index == swap->cta) spin(*cta, cta->warps[swap->warp]);
  }
}

void HangProbe::would_write(const Instr& in, u32 lane, const Word& word) {
  const auto wanted = wanted_.find(word);
  if (wanted == wanted_.end() || wanted->second >= kMostWriters) return;
  const u64 cta = warp_->cta->index;
  for (const Writer& known : writers_) {
    if (!known.swapped && known.word == word && known.cta == cta && known.warp == warp_->id) return;
  }
  // Who waits for a word and then changes it is not the one to wait for.
  for (const Spin& spin : spins_) {
    if (spin.group.cta != cta || spin.group.warp != warp_->id) continue;
    for (const Poll& poll : spin.polls) {
      if (poll.word == word && ((poll.lanes >> lane) & 1) != 0) return;
    }
  }
  ++wanted->second;
  writers_.push_back({word, cta, warp_->id, lane, in.index, 0, false, started_});
}

void HangProbe::go_on(const Cta& cta, const GroupState& group) {
  if (!is_spinning(group))
    return run_free(cta, group, cta.warps[group.warp].lane_pc[lowest_lane(group.mask)]);
  for (const Spin& spin : spins_) {
    if (spin.group.cta != group.cta || spin.group.warp != group.warp || spin.group.mask != group.mask)
      continue;
    for (u32 pc : exits(spin)) run_free(cta, group, pc);
  }
}

// Where the loop can be left.
std::vector<u32> HangProbe::exits(const Spin& spin) const {
  const auto inside = [&](u32 index) {
    return std::binary_search(spin.loop.begin(), spin.loop.end(), index);
  };
  std::vector<u32> out;
  for (u32 index : spin.loop) {
    const Instr& in = grid_.program().instructions()[index];
    if (in.op == nullptr || in.op->mnemonic != "BRA") continue;
    for (u32 next : {index + 1, in.target}) {
      if (!inside(next) && next < grid_.program().size()) out.push_back(next);
    }
  }
  return out;
}

// Runs on what there is of the warp; a group that waits goes on all the same. False when it has ended.
bool HangProbe::advance(Warp& warp) {
  if (warp.active == 0 && !select_group(warp)) {
    warp.ready = warp.at_barrier | warp.at_warpsync | warp.at_convergence;
    warp.at_barrier = warp.at_warpsync = warp.at_convergence = warp.soft = warp.exclusive = 0;
    std::fill_n(warp.barrier_lanes, kCtaBarriers, 0u);
    if (!select_group(warp)) return false;
  }
  execute(warp, grid_.program().instructions(), worker_.counts.data());
  --budget_;
  return true;
}

// The group alone, from `pc` on: the other lanes of its warp are as good as gone, and nobody else of the CTA
// is waited for.
void HangProbe::run_free(const Cta& original, const GroupState& group, u32 pc) {
  Cta cta(original);
  budget_ -= cost(cta);
  cta.live = static_cast<u32>(__builtin_popcount(group.mask));
  cta.barriers.fill(CtaBarrier{});
  Warp& warp = adopt(cta, group.warp);
  warp.exited = ~group.mask;
  warp.ready = warp.at_convergence = warp.at_warpsync = warp.at_barrier = warp.soft = warp.exclusive = 0;
  warp.active = group.mask;
  warp.pc = pc;
  try {
    for (u32 n = 0; n < kTry && advance(warp); ++n) {
    }
  } catch (const Fault&) {
  }
  put_back();
}

// The first CTA that no SM has had room for.
void HangProbe::run_unstarted() {
  if (grid_.started() >= grid_.blocks()) return;
  Cta cta = grid_.separate_cta(grid_.started(), worker_);
  started_ = false;
  try {
    for (u32 round = 0; round < kUnstartedRounds; ++round) {
      for (Warp& warp : cta.warps) {
        adopt(cta, warp.id);
        for (u32 n = 0; n < kTry && (warp.active != 0 || select_group(warp)); ++n)
          execute(warp, grid_.program().instructions(), worker_.counts.data());
      }
    }
  } catch (const Fault&) {
  }
  started_ = true;
  put_back();
}

}  // namespace warpath
