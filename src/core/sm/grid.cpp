#include "sm/grid.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "check/checker.hpp"
#include "exec/run.hpp"

namespace warpath {
namespace {

constexpr i64 kWarpSlice = 4096;         // instructions a warp runs before the next warp of its CTA
constexpr u64 kCtaSlice = u64{1} << 24;  // instructions after which even a CTA that never polls is set aside
constexpr u32 kMaxThreads = 1024;        // threads per CTA

// Keeps the note of the lowest CTA for each instruction, and how many there were.
void merge_note(std::map<u32, Note>& notes, const Note& note) {
  const auto [entry, fresh] = notes.emplace(note.index, note);
  if (fresh) return;
  const u64 count = entry->second.count + note.count;
  if (note.cta < entry->second.cta) entry->second = note;
  entry->second.count = count;
}

u64 volume(const u32 (&shape)[3]) { return u64{shape[0]} * shape[1] * shape[2]; }

}  // namespace

Grid::Grid(Memory& memory, const Program& program, GridSpec spec)
    : memory_(memory), program_(program), spec_(std::move(spec)) {
  blocks_ = volume(spec_.grid);
  const u64 threads = volume(spec_.block);
  if (blocks_ == 0 || threads == 0 || threads > kMaxThreads) {
    throw std::invalid_argument("grid and block must not be empty, and a block holds at most 1024 threads");
  }
  if (spec_.sms == 0 || spec_.blocks_per_sm == 0) throw std::invalid_argument("no SM can hold a block");
  if (spec_.entry >= program.size()) throw std::invalid_argument("the entry lies outside the program");
  if (spec_.banks.size() > kConstBanks) throw std::invalid_argument("more than 32 constant banks");
  if (spec_.local_bytes % 16 != 0) throw std::invalid_argument("local memory must be a multiple of 16 bytes");
  for (std::size_t i = 0; i < spec_.banks.size(); ++i) {
    const auto [address, size] = spec_.banks[i];
    if (size != 0) banks_[i] = {memory.checked(address, size), static_cast<u32>(size)};
  }
  rows_per_warp_ = kFirstRow + std::max(spec_.registers, program.registers());
  const u32 warps = static_cast<u32>((threads + kLanes - 1) / kLanes);
  thread_ids_.resize(std::size_t{warps} * 3);
  for (u32 thread = 0; thread < warps * kLanes; ++thread) {
    Row* ids = &thread_ids_[std::size_t{thread} / kLanes * 3];
    ids[0].v[thread % kLanes] = thread % spec_.block[0];
    ids[1].v[thread % kLanes] = thread / spec_.block[0] % spec_.block[1];
    ids[2].v[thread % kLanes] = thread / spec_.block[0] / spec_.block[1];
  }
}

void Grid::make_runners(u32 threads) {
  if (threads == 0) threads = std::max(std::thread::hardware_concurrency(), 1u);
  const bool one = program_.order_visible() || spec_.checker != nullptr;
  const u64 useful = one ? 1 : std::min<u64>(threads, blocks_);
  if (spec_.checker != nullptr) spec_.checker->begin(*this);
  for (u64 i = 0; i < useful; ++i) {
    auto runner = std::make_unique<Runner>();
    Worker& worker = runner->worker;
    worker.grid = this;
    worker.memory = &memory_;
    worker.counts.resize(program_.size() + 1);
    if (spec_.count) worker.memory_counts.resize(program_.size() + 1);
    worker.keep_footprints = spec_.count;
    worker.slots.resize(program_.size() + 1);
    worker.checker = spec_.checker;
    worker.observe = spec_.count || (spec_.checker != nullptr && spec_.checker->looks_at_accesses());
    worker.alone = useful == 1;
    runners_.push_back(std::move(runner));
  }
}

u32 Grid::make_workers(u32 threads) {
  if (runners_.empty()) make_runners(threads);
  for (auto& runner : runners_)
    std::fill(runner->worker.slots.begin(), runner->worker.slots.end(), AccessSlot{});
  return static_cast<u32>(runners_.size());
}

GridState Grid::step(u64 budget, u32 threads) {
  if (fault_) return GridState::Faulted;
  if (runners_.empty()) make_runners(threads);
  // Allocations may have changed since the last call.
  for (auto& runner : runners_)
    std::fill(runner->worker.slots.begin(), runner->worker.slots.end(), AccessSlot{});
  const u64 share = std::max<u64>(budget / runners_.size(), 1);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < runners_.size(); ++i)
    others.emplace_back([this, i, share] { run(*runners_[i], share); });
  run(*runners_[0], share);
  for (std::thread& other : others) other.join();
  for (const auto& runner : runners_) {
    if (runner->fault && (!fault_ || runner->fault->cta < fault_->cta)) fault_ = runner->fault;
  }
  if (fault_) return GridState::Faulted;
  bool busy = next_block_ < blocks_;
  for (const auto& runner : runners_) busy |= runner->current != nullptr || !runner->resident.empty();
  return busy ? GridState::Running : GridState::Done;
}

// Takes the next CTA to run: a fresh one while there is room (whoever polls may wait for it), else the one
// that was set aside first.
bool Grid::next_cta(Runner& runner) {
  const u64 room = std::max<u64>(u64{spec_.sms} * spec_.blocks_per_sm / runners_.size(), 1);
  if (runner.resident.size() < room) {
    const u64 block = next_block_.fetch_add(1);
    if (block < blocks_ && block < fault_block_) {
      if (runner.spare.empty()) {
        runner.current = std::make_unique<Cta>(spec_, rows_per_warp_);
      } else {
        runner.current = std::move(runner.spare.back());
        runner.spare.pop_back();
      }
      runner.current->start(spec_, block, runner.worker, banks_);
      return true;
    }
    next_block_.store(blocks_);
  }
  if (runner.resident.empty()) return false;
  runner.current = std::move(runner.resident.front());
  runner.resident.pop_front();
  return true;
}

void Grid::run(Runner& runner, u64 budget) {
  u64 executed = 0;
  u64 at_start = 0;  // value of `executed` when the current CTA got its turn
  try {
    while (executed < budget) {
      if (runner.current == nullptr) {
        if (!next_cta(runner)) return;
        at_start = executed;
      }
      Cta& cta = *runner.current;
      const Round round = run_round(runner, cta, executed);
      if (round == Round::Finished) {
        runner.spare.push_back(std::move(runner.current));
      } else if (round == Round::Polling || executed - at_start > kCtaSlice) {
        runner.resident.push_back(std::move(runner.current));
      }
      const u64 limit = fault_block_;
      if (limit != ~u64{0} && (runner.current == nullptr || runner.current->index > limit)) return;
    }
  } catch (Fault& fault) {
    record_fault(runner, std::move(fault));
  }
}

// Every warp of the CTA runs one slice.
Grid::Round Grid::run_round(Runner& runner, Cta& cta, u64& executed) {
  Worker& worker = runner.worker;
  const Instr* code = program_.instructions();
  bool useful = false;
  u64 ran = 0;
  for (Warp& warp : cta.warps) {
    if (warp.exited == kFullMask) continue;
    worker.slice = worker.left = kWarpSlice;
    worker.polls = 0;
    u64 count = 0;
    try {
      count = worker.checker == nullptr ? run_warp(worker, warp, code)
                                        : run_warp_checked(*worker.checker, worker, warp, code);
    } catch (Fault& fault) {
      fault.warp = warp.id;
      fault.cta = cta.index;
      throw;
    }
    cta.clock += static_cast<u64>(worker.slice - worker.left);
    worker.slice = worker.left = 0;
    ran += count;
    useful |= count != 0 && worker.polls == 0;
  }
  executed += ran;
  if (cta.live == 0) return Round::Finished;
  if (ran == 0) raise_hang(cta);
  return useful ? Round::Working : Round::Polling;
}

void Grid::raise_hang(const Cta& cta) {
  std::vector<GroupState> waiting;
  collect_groups(cta, waiting);
  Fault fault{};
  fault.kind = FaultKind::Hang;
  fault.index = waiting.front().index;
  fault.lane = lowest_lane(waiting.front().mask);
  fault.cta = cta.index;
  fault.warp = waiting.front().warp;
  fault.message = "every thread of the block waits and none can be released";
  throw fault;
}

void Grid::record_fault(Runner& runner, Fault fault) {
  u64 limit = fault_block_;
  while (fault.cta < limit && !fault_block_.compare_exchange_weak(limit, fault.cta)) {
  }
  runner.fault = std::move(fault);
}

void Grid::note(const Note& note, Worker& worker) {
  for (auto& runner : runners_) {
    if (&runner->worker != &worker) continue;
    merge_note(runner->notes, note);
  }
}

std::vector<Note> Grid::notes() const {
  std::map<u32, Note> merged;
  for (const auto& runner : runners_) {
    for (const auto& [index, note] : runner->notes) {
      merge_note(merged, note);
    }
  }
  std::vector<Note> all;
  for (const auto& [index, note] : merged) all.push_back(note);
  return all;
}

std::vector<InstrCount> Grid::counts() const {
  std::vector<InstrCount> sum(program_.size());
  for (const auto& runner : runners_) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i].executed += runner->worker.counts[i].executed;
      sum[i].threads += runner->worker.counts[i].threads;
      sum[i].threads_on += runner->worker.counts[i].threads_on;
      sum[i].words += runner->worker.counts[i].words;
    }
  }
  return sum;
}

Footprint Grid::footprint(Footprint Worker::* kind) const {
  Footprint all;
  for (const auto& runner : runners_) all.merge(runner->worker.*kind);
  return all;
}

std::vector<MemoryCount> Grid::memory_counts() const {
  std::vector<MemoryCount> sum(spec_.count ? program_.size() : 0);
  for (const auto& runner : runners_) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const MemoryCount& own = runner->worker.memory_counts[i];
      sum[i].requests += own.requests;
      sum[i].sectors += own.sectors;
      sum[i].lines += own.lines;
      sum[i].wavefronts += own.wavefronts;
      sum[i].conflicts += own.conflicts;
    }
  }
  return sum;
}

void Grid::collect_groups(const Cta& cta, std::vector<GroupState>& out) const {
  for (const Warp& warp : cta.warps) {
    if (warp.active != 0) out.push_back({cta.index, warp.id, warp.active, warp.pc, "running"});
    const std::pair<u32, const char*> waits[] = {{warp.ready, "ready"},
                                                 {warp.at_convergence, "convergence"},
                                                 {warp.at_warpsync, "warpsync"},
                                                 {warp.at_barrier, "barrier"}};
    for (const auto& [mask, state] : waits) {
      for (u32 rest = mask; rest != 0;) {
        const u32 pc = warp.lane_pc[lowest_lane(rest)];
        u32 group = 0;
        for_lanes(rest, [&](u32 lane) { group |= warp.lane_pc[lane] == pc ? 1u << lane : 0u; });
        rest &= ~group;
        // A blocked lane's pc is behind the instruction it waits in.
        const bool blocked = mask != warp.ready;
        out.push_back({cta.index, warp.id, group, blocked && pc > 0 ? pc - 1 : pc, state});
      }
    }
  }
}

std::vector<GroupState> Grid::groups() const {
  std::vector<GroupState> all;
  for (const auto& runner : runners_) {
    if (runner->current) collect_groups(*runner->current, all);
    for (const auto& cta : runner->resident) collect_groups(*cta, all);
  }
  for (const Cta* cta : timed_ctas_) {
    if (cta->live != 0) collect_groups(*cta, all);
  }
  return all;
}

}  // namespace warpath
