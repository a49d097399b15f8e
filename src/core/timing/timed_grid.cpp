#include "timing/timed_grid.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "timing/crew.hpp"

namespace warpath {
namespace {

constexpr u64 kOverrun = 4;  // times as many warp instructions as wanted: recording stops there

}  // namespace

TimedGrid::TimedGrid(Grid& grid, MemorySystem& memory, u64 l1_bytes, u64 code_id, u64 record, bool timeline)
    : grid_(&grid),
      program_(grid.program()),
      record_(record),
      sms_count_(grid.spec().sms),
      order_(memory.floorplan().order(grid.blocks(), std::min(grid.spec().sms, memory.params().sms),
                                      memory.first_gpc())),
      memory_(memory),
      params_(memory.params()),
      ops_(decode_timing(grid.program(), memory.params())),
      distributor_(memory.params(), grid.blocks(), order_, grid.spec().blocks_per_sm),
      replies_(memory.params().sms),
      buckets_(memory.params().quantum + 1) {
  const GridSpec& spec = grid.spec();
  if (spec.sms > params_.sms)
    throw std::invalid_argument("the grid has more SMs than the memory system serves");
  if (record != 0) {
    recorded_ = std::make_shared<Stream>();
    recorded_->program = &grid.program();
    recorded_->before = std::make_shared<const MemorySystem>(memory);
    recorded_->blocks = grid.blocks();
    recorded_->blocks_per_sm = spec.blocks_per_sm;
    recorded_->local_bytes = spec.local_bytes;
    recorded_->l1_bytes = l1_bytes;
    recorded_->code_id = code_id;
    recorded_->banks = spec.banks;
    recorded_->entry = spec.entry;
  }
  context_.paired = grid.blocks() * 2 > params_.sms;
  set_up(spec.banks, spec.entry, spec.local_bytes, l1_bytes, code_id);
  if (!timeline) return;
  timeline_ = std::make_unique<Timeline>(program_.size(), order_.front());
  timeline_->memory.dram_bytes.add(0, memory.counts().dram_read_bytes);  // the code and the launch's own data
}

TimedGrid::TimedGrid(const Stream& stream, MemorySystem& memory, const Idealised& idealised,
                     u32 blocks_per_sm)
    : grid_(nullptr),
      script_(&stream),
      program_(*stream.program),
      sms_count_(memory.params().sms),
      order_(memory.floorplan().order(stream.ctas.size(), memory.params().sms, memory.first_gpc())),
      memory_(memory),
      params_(memory.params()),
      ops_(decode_timing(*stream.program, memory.params())),
      distributor_(memory.params(), stream.ctas.size(), order_, blocks_per_sm),
      replies_(memory.params().sms),
      buckets_(memory.params().quantum + 1) {
  for (TimedOp& op : ops_) {
    if (!idealised.stalls) break;
    op.stall = 1;
    op.yield = false;
  }
  context_.pack_lanes = idealised.sectors;
  context_.spread_banks = idealised.banks;
  context_.paired = stream.blocks * 2 > params_.sms;
  set_up(stream.banks, stream.entry, stream.local_bytes, stream.l1_bytes, stream.code_id);
}

TimedGrid::~TimedGrid() {
  if (grid_ != nullptr) grid_->forget_ctas();
}

void TimedGrid::set_up(const std::vector<std::pair<u64, u64>>& banks, u32 entry, u32 local_bytes,
                       u64 l1_bytes, u64 code_id) {
  context_.params = &params_;
  context_.code = program_.instructions();
  context_.ops = ops_.data();
  context_.home = &memory_.code();
  context_.constants = &memory_.constants();
  context_.code_lines = (program_.size() + kInstrPerLine - 1) / kInstrPerLine;
  context_.local_bytes = local_bytes;
  context_.local_base = u64{1} << 56;  // beyond every address a program can form
  context_.l1_bytes = l1_bytes;
  memory_.begin_launch();
  memory_.use_code(code_id, context_.code_lines);
  memory_.use_constants(banks, entry / kInstrPerLine);
}

void TimedGrid::begin(u32 threads) {
  const u32 workers = grid_ != nullptr ? grid_->make_workers(threads) : 1;
  if (begun_) return;
  begun_ = true;
  for (u32 i = 0; i < workers; ++i) {
    if (grid_ != nullptr) {
      grid_->worker(i).observe = true;
      grid_->worker(i).memory_counts.clear();
    }
    counters_.push_back(std::make_unique<SmCounters>(program_.size() + 1));
    if (timeline_ != nullptr) timeline_->add_share();
  }
  faults_.resize(sms_count_);
  sms_.resize(sms_count_);
  exchange(0);
}

// SMs come into being with their first CTA.
TimedSm& TimedGrid::sm(u32 number) {
  if (sms_[number] == nullptr) {
    sms_[number] = std::make_unique<TimedSm>(context_, number, memory_.near(number), share_of(number));
  }
  return *sms_[number];
}

GpcShare TimedGrid::share_of(u32 number) const {
  const Floorplan& plan = memory_.floorplan();
  GpcShare share{.sms = 0};
  for (u32 sm : order_) {
    if (sm == number) share.rank = share.sms;
    if (plan.gpc(sm) == plan.gpc(number)) ++share.sms;
  }
  return share;
}

u64 TimedGrid::executed() const {
  u64 total = 0;
  for (const auto& counters : counters_) total += counters->issued;
  return total;
}

Cycle TimedGrid::next_time() const {
  Cycle soonest = kNever;
  for (const auto& sm : sms_) {
    if (sm != nullptr) soonest = std::min(soonest, sm->arrivals.empty() ? sm->next() : now_);
  }
  for (const auto& replies : replies_) soonest = replies.empty() ? soonest : std::min(soonest, now_);
  return std::min(soonest, distributor_.next());
}

GridState TimedGrid::step(u64 budget, u32 threads) {
  if (grid_ != nullptr && grid_->fault()) return GridState::Faulted;
  begin(threads);
  const u64 target = executed() + budget;
  Crew crew(static_cast<u32>(counters_.size()), sms_count_,
            [this](u32 sm, u32 thread) { run_sm(sm, thread); });
  try {
    while (!distributor_.done()) {
      if (executed() >= target || now_ >= pause_) {
        pause_ = kNever;
        return GridState::Running;
      }
      const Cycle next = next_time();
      if (next == kNever) raise_hang();
      now_ = std::max(now_, next / params_.quantum * params_.quantum);
      const Cycle until = now_ + params_.quantum;
      crew.run();
      for (auto& fault : faults_) {
        if (fault) throw std::move(*fault);
      }
      exchange(until);
      now_ = until;
    }
  } catch (Fault& fault) {
    if (grid_ == nullptr) throw;
    grid_->fail(std::move(fault));
    return GridState::Faulted;
  }
  memory_.code_is_warm();
  memory_.end_launch(length());
  return GridState::Done;
}

// The grid is complete when its CTAs have left and their stores are done.
Cycle TimedGrid::length() const {
  return std::max(distributor_.last_completion(), memory_.last_write()) + params_.back_end;
}

// One SM's part of the quantum; its faults are kept, so that the others' do not depend on who runs what.
void TimedGrid::run_sm(u32 number, u32 thread) {
  if (sms_[number] == nullptr) return;
  TimedSm& own = *sms_[number];
  Worker* worker = grid_ != nullptr ? &grid_->worker(thread) : nullptr;
  own.work_for(worker, *counters_[thread], timeline_ != nullptr ? &timeline_->share(thread) : nullptr);
  try {
    for (Arrival& arrival : own.arrivals) {
      if (grid_ == nullptr) break;
      if (arrival.cta == nullptr) arrival.cta = grid_->make_cta();
      grid_->start_cta(*arrival.cta, arrival.block, *worker);
    }
    own.run(replies_[number], now_, now_ + params_.quantum);
  } catch (Fault& fault) {
    faults_[number] = std::move(fault);
  }
}

// What left the SMs in this quantum, in order of (time, SM, issue): requests to memory, CTAs to the
// distributor.
void TimedGrid::exchange(Cycle until) {
  batch_.clear();
  departures_.clear();
  for (auto& sm : sms_) {
    if (sm == nullptr) continue;
    sm->collect(until, batch_);
    for (Departure& departure : sm->departures) departures_.push_back(std::move(departure));
    sm->departures.clear();
  }
  // Counting sort by time: stable, so SMs and issue order stay as collected.
  const Cycle from = less(until, params_.quantum);
  std::fill(buckets_.begin(), buckets_.end(), 0);
  auto bucket = [&](const Request& request) {
    return request.time <= from ? 0 : static_cast<u32>(request.time - from);
  };
  for (const Request& request : batch_) ++buckets_[bucket(request)];
  u32 sum = 0;
  for (u32& size : buckets_) sum += std::exchange(size, sum);
  sorted_.resize(batch_.size());
  for (const Request& request : batch_) sorted_[buckets_[bucket(request)]++] = request;
  memory_.serve(sorted_, replies_, timeline_ != nullptr ? &timeline_->memory : nullptr);
  memory_.forget(from);

  std::stable_sort(departures_.begin(), departures_.end(),
                   [](const Departure& a, const Departure& b) { return a.time < b.time; });
  for (Departure& departure : departures_) {
    distributor_.complete(departure.sm, departure.time);
    if (departure.cta != nullptr) spare_.push_back(std::move(departure.cta));
  }
  assignments_.clear();
  limit_recording();
  distributor_.assign(until + params_.quantum, assignments_);
  if (!assignments_.empty()) memory_.last_cta_on(assignments_.back().sm);
  for (const Assignment& assignment : assignments_)
    sm(assignment.sm).arrivals.push_back(arrival(assignment, until));
}

// The CTAs of the first wave are all recorded, and can be long.
void TimedGrid::limit_recording() {
  if (record_ == 0 || executed() <= record_ * kOverrun) return;
  record_ = 0;
  bool running = false;
  for (const auto& sm : sms_) running |= sm != nullptr && sm->stop_recording();
  if (running) recorded_->stop();
}

// Where a CTA's instructions come from, and whether they are kept: recorded CTAs are the first ones.
Arrival TimedGrid::arrival(const Assignment& assignment, Cycle earliest) {
  const Cycle at = std::max(assignment.at, earliest);
  if (script_ != nullptr) return {at, assignment.block, nullptr, script_->ctas[assignment.block].get()};
  std::unique_ptr<Cta> cta;  // none yet: whoever runs the SM makes it
  if (!spare_.empty()) {
    cta = std::move(spare_.back());
    spare_.pop_back();
  }
  CtaStream* stream = nullptr;
  if (recorded_ != nullptr && recorded_->ctas.size() == assignment.block && executed() < record_) {
    recorded_->ctas.push_back(std::make_unique<CtaStream>(grid_->warps_per_cta()));
    stream = recorded_->ctas.back().get();
  }
  return {at, assignment.block, std::move(cta), stream};
}

void TimedGrid::raise_hang() const {
  Fault fault;
  fault.kind = FaultKind::Hang;
  fault.index = grid_ != nullptr ? grid_->spec().entry : 0;
  for (const auto& sm : sms_) {
    if (sm != nullptr && sm->blocked_at(fault)) break;
  }
  fault.message = "every thread of the block waits and none can be released";
  throw fault;
}

TimedResult TimedGrid::result() const {
  TimedResult out;
  out.front_cycles = params_.front_end;
  out.drain_cycles = params_.back_end;
  out.cycles = length();
  out.sm = SmCounters(program_.size() + 1);
  for (const auto& counters : counters_) out.sm.add(*counters);
  for (const auto& sm : sms_) {
    out.sm_active.push_back(sm != nullptr ? sm->active_cycles() : 0);
    out.active_cycles += out.sm_active.back();
    if (sm != nullptr) out.instruction_fetches += sm->instruction_fetches();
  }
  out.memory = memory_.counts();
  return out;
}

std::optional<TimelineResult> TimedGrid::timeline() const {
  if (timeline_ == nullptr) return std::nullopt;
  return timeline_->result(length());
}

}  // namespace warpath
