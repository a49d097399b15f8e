// A launch in the core: the block distributor, resident CTAs, and the functional scheduler over host threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "exec/fault.hpp"
#include "exec/program.hpp"
#include "exec/worker.hpp"
#include "memory/memory.hpp"
#include "sm/cta.hpp"

namespace warpath {

struct GridSpec {
  u32 grid[3] = {1, 1, 1};
  u32 block[3] = {1, 1, 1};
  u32 entry = 0;            // instruction index
  u32 registers = 0;        // per thread
  u32 shared_bytes = 0;     // addressable from offset 0 of the CTA's window, reserved part included
  u32 shared_reserved = 0;  // further bytes that only SR_SMEMSZ counts
  u32 local_bytes = 0;      // per thread, the part below 0x1000000 that is backed
  std::vector<std::pair<u64, u64>> banks;  // (address, size) of c[i]; size 0 = absent
  u64 shared_window = 0;                   // generic addresses of shared memory start here
  u64 local_window = 0;
  u32 sms = 1;
  u32 blocks_per_sm = 1;
  u32 warps_per_sm = 64;       // what %nwarpid says
  bool count = false;          // also count sectors, lines and wavefronts
  Checker* checker = nullptr;  // watches every instruction, on one host thread
};

// An access inside a mapped page but outside every live allocation: hardware lets it pass.
struct Note {
  u64 cta = 0;
  u32 warp = 0;
  u32 lane = 0;
  u32 index = 0;
  u64 address = 0;
  u32 size = 0;
  AccessKind access = AccessKind::None;
  u64 count = 1;  // lanes at this instruction
};

// Where the lanes of one warp are, for hang reports.
struct GroupState {
  u64 cta = 0;
  u32 warp = 0;
  u32 mask = 0;
  u32 index = 0;
  const char* state = "";  // running, ready, convergence, warpsync, barrier
};

enum class GridState : u8 { Running, Done, Faulted };

class Grid {
 public:
  // Throws std::invalid_argument when the shape is unusable and AccessError when a constant bank is not
  // mapped.
  Grid(Memory& memory, const Program& program, GridSpec spec);

  // Runs about `budget` warp instructions on up to `threads` host threads (0: as many as the
  // machine has; the first call fixes their number).
  GridState step(u64 budget, u32 threads);
  // Lets `checker` watch; before the first step.
  void watch(Checker& checker) { spec_.checker = &checker; }

  const GridSpec& spec() const { return spec_; }
  const Program& program() const { return program_; }
  Memory& memory() { return memory_; }
  u64 blocks() const { return blocks_; }
  // CTAs that have been given to an SM so far.
  u64 started() const { return std::min(next_block_ + timed_started_, blocks_); }
  const std::optional<Fault>& fault() const { return fault_; }
  std::vector<InstrCount> counts() const;
  std::vector<MemoryCount> memory_counts() const;
  // Global memory that was touched, when counting: `kind` is &Worker::loaded or &Worker::stored.
  Footprint footprint(Footprint Worker::* kind) const;
  std::vector<Note> notes() const;
  std::vector<GroupState> groups() const;

  // Thread coordinates of warp `id`, one row per axis.
  const Row* thread_ids(u32 id) const { return &thread_ids_[std::size_t{id} * 3]; }
  void note(const Note& note, Worker& worker);

  // For a timing model, which schedules warps itself: workers to run them with (fewer than `threads` when
  // CTAs must not run side by side), and the CTAs.
  u32 make_workers(u32 threads);
  Worker& worker(u32 number) { return runners_[number]->worker; }
  std::unique_ptr<Cta> make_cta() {
    auto cta = std::make_unique<Cta>(spec_, rows_per_warp_);
    timed_ctas_.push_back(cta.get());
    return cta;
  }
  void start_cta(Cta& cta, u64 block, Worker& worker) {
    ++timed_started_;
    cta.start(spec_, block, worker, banks_);
  }
  // The CTAs made are about to go: groups() no longer looks at them.
  void forget_ctas() { timed_ctas_.clear(); }
  // The grid stops with `fault`.
  void fail(Fault fault) { fault_ = std::move(fault); }

 private:
  // A host thread's share of the grid: what it has resident and may continue.
  struct Runner {
    Worker worker;
    std::unique_ptr<Cta> current;
    std::deque<std::unique_ptr<Cta>> resident;  // set aside because they only polled
    std::vector<std::unique_ptr<Cta>> spare;    // storage to reuse
    std::map<u32, Note> notes;
    std::optional<Fault> fault;
  };
  enum class Round : u8 { Working, Polling, Finished };

  void make_runners(u32 threads);
  void run(Runner& runner, u64 budget);
  bool next_cta(Runner& runner);
  Round run_round(Runner& runner, Cta& cta, u64& executed);
  [[noreturn]] void raise_hang(const Cta& cta);
  void record_fault(Runner& runner, Fault fault);
  void collect_groups(const Cta& cta, std::vector<GroupState>& out) const;

  Memory& memory_;
  const Program& program_;
  GridSpec spec_;
  u64 blocks_ = 0;
  u32 rows_per_warp_ = 0;
  ConstBank banks_[kConstBanks];
  std::vector<Row> thread_ids_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<const Cta*> timed_ctas_;  // whose storage a timing model owns
  std::atomic<u64> timed_started_{0};
  std::atomic<u64> next_block_{0};
  std::atomic<u64> fault_block_{~u64{0}};  // CTAs behind the first faulting one are dropped
  std::optional<Fault> fault_;
};

}  // namespace warpath
