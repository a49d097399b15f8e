// A streaming multiprocessor over time: four sub-partitions, the memory pipeline they share, and resident
// CTAs.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "exec/run.hpp"
#include "sm/cta.hpp"
#include "timing/constants.hpp"
#include "timing/counters.hpp"
#include "timing/decode.hpp"
#include "timing/fetch.hpp"
#include "timing/l1.hpp"
#include "timing/store_buffer.hpp"
#include "timing/stream.hpp"
#include "timing/sub_partition.hpp"
#include "timing/timeline.hpp"
#include "timing/traffic.hpp"
#include "timing/warp.hpp"

namespace warpath {

// What all SMs of a launch share and none changes.
struct SmContext {
  const TimingParams* params = nullptr;
  const Instr* code = nullptr;
  const TimedOp* ops = nullptr;
  const CodeHome* home = nullptr;
  const ConstantHome* constants = nullptr;
  u32 code_lines = 0;
  u64 local_base = 0;   // where local memory stands in the address space of the caches
  u32 local_bytes = 0;  // per thread
  bool paired = false;  // CTAs for more than half of the SMs: both of a TPC are at work
  u64 l1_bytes = 0;     // what the carve-out leaves
  bool pack_lanes = false, spread_banks = false;  // what-if: every access as if it were well laid out
};

// A CTA on its way to the SM; its first warp starts at `at`. Either `cta` executes, and `stream` (null:
// nobody asks) takes down what, or `stream` says what was executed.
struct Arrival {
  Cycle at;
  u64 block;
  std::unique_ptr<Cta> cta;
  CtaStream* stream;
};

// A CTA has left the SM.
struct Departure {
  Cycle time;
  u16 sm;
  std::unique_ptr<Cta> cta;
};

inline constexpr u32 kStoreToken = 1u << 31;  // of a request of a store; the rest of the token is the warp

class TimedSm {
 public:
  // `side`: the L2 partition that is near.
  TimedSm(const SmContext& context, u32 id, u32 side, GpcShare share);

  // Who runs it from now on: a host thread's worker (null while replaying) and counters, and who is told what
  // happens, or null.
  void work_for(Worker* worker, SmCounters& counters, TimelineShare* timeline);

  // Takes the answers of the memory system and the arrivals, then does everything up to `until`, exclusive.
  // Throws Fault.
  void run(std::vector<Reply>& replies, Cycle from, Cycle until);
  // When something can happen next without an answer from outside.
  Cycle next() const;
  // Moves requests that leave the SM before `until` to `out`.
  void collect(Cycle until, std::vector<Request>& out);

  std::vector<Arrival> arrivals;
  std::vector<Departure> departures;
  std::vector<std::pair<Cycle, Cycle>> spans;  // when CTAs were resident
  // What its CTAs execute from now on is not taken down; whether any of it was.
  bool stop_recording();
  // Points `fault` at a warp that waits for others; false when the SM has none.
  bool blocked_at(Fault& fault) const;
  u64 active_cycles() const;
  u64 instruction_fetches() const { return instructions_.requests(); }

 private:
  struct Resident {
    bool busy = false;
    std::unique_ptr<Cta> cta;
    CtaStream* stream = nullptr;
    std::vector<u32> missing;  // while replaying: by meeting, how many have not arrived
    std::vector<u16> warps;
    u32 running = 0;
    Cycle started = 0, finish = 0;
  };
  static constexpr u32 kNoGroup = ~0u;
  struct Load {  // a memory instruction waiting for lines
    u16 warp = 0;
    u8 scoreboard = kNoScoreboard;
    u16 waiting = 0;
    Cycle ready = 0;
    u16 passes = 1;        // through the banks of L1's data
    u32 group = kNoGroup;  // of asynchronous copies
  };
  struct Miss {
    u32 line = kNoMiss;  // index in L1, or none
    u8 sectors = 0;
    i32 waiters = -1;  // list in waiters_
  };
  struct Waiter {
    u32 load;
    i32 next;
  };

  // How a warp goes on after an instruction.
  enum class Flow : u8 { Goes, Passes, Blocks, Exits };

  // sm.cpp: issue
  void start(Arrival arrival);
  void seat(u32 index, u32 id, u32 p, Cycle at);
  void step(SubPartition& part, Cycle now);
  void issue(SubPartition& part, u32 slot, Cycle now);
  void after(TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now);
  void fetch_stage(TimedWarp& warp, Cycle from, bool follows);
  void ready_stage(TimedWarp& warp, Cycle fetch_from, bool follows);
  void scoreboard_stage(TimedWarp& warp);
  void issue_again(TimedWarp& warp);
  void perform(TimedWarp& warp, const TimedOp& op, Cycle now);
  void wake(TimedWarp& other, Cycle at);
  void exit_warp(TimedWarp& warp, u32 pc, Cycle now);
  static bool owed(const TimedWarp& warp);
  void end_warp(TimedWarp& warp);

  // sm_issue.cpp: what an issue costs
  void account(SubPartition& part, u32 slot, TimedWarp& warp, Cycle now, u32 pc);
  void spend(const TimedWarp& warp, u32 pc, Stall why, Cycle from, Cycle to);
  Cycle spend_waits(const TimedWarp& warp, u32 pc);
  void occupy(SubPartition& part, const TimedOp& op, u16 warp, Cycle now);
  void collect_registers(SubPartition& part, const TimedOp& op, u16 warp, Cycle now);

  // sm_flow.cpp: who waits for whom, executed and replayed; branches
  Flow flow(TimedWarp& warp, const TimedOp& op, Cycle at);
  bool release_groups(Resident& resident, Cycle at);
  Flow scripted_flow(TimedWarp& warp, Cycle at);
  void part_lanes(SubPartition& part, Cycle now);
  Cycle resolution(const TimedWarp& warp, const TimedOp& op, bool follows) const;
  void arrive(Resident& resident, u32 meeting, Cycle at);
  static bool waits(const TimedWarp& warp) { return warp.blocked == Blocked::Group || warp.ahead != 0; }
  bool goes_ahead(TimedWarp& warp);
  u64 sleep_ns(const TimedWarp& warp, u32 pc);
  u32 match_groups(const TimedWarp& warp);

  // sm_memory.cpp, sm_special.cpp: what goes through the MIO queue
  Cycle enqueue(SubPartition& part, const TimedOp& op, Server& unit, u32 cost, Cycle now, Cycle behind = 0);
  void answer(TimedWarp& warp, u8 scoreboard, Cycle at, bool is_long);
  void load_constant(SubPartition& part, TimedWarp& warp, const TimedOp& op, Cycle now);
  void take_constant();
  void go_on(TimedWarp& warp, Cycle answered);
  void special(SubPartition& part, TimedWarp& warp, const TimedOp& op, Cycle now);
  void memory(SubPartition& part, TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now);
  void shared_access(SubPartition& part, TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now);
  void cached_access(SubPartition& part, TimedWarp& warp, const TimedOp& op, u32 pc, Cycle now);
  void load_lines(TimedWarp& warp, const TimedOp& op, L1Counts& counts, Cycle at);
  void queue_store(TimedWarp& warp, L1Counts& counts, Cycle at);
  void take_stores(Cycle until);
  void take_store(const PendingStore& store, u64 turn);
  void acknowledge(TimedWarp& warp);
  void reduce_lines(TimedWarp& warp, const TimedOp& op, Cycle at);
  void let_go(u64 now_256);
  u64 make_room(u64 now_256);
  u64 store_port() const;
  void schedule_stores();
  void send(Cycle at, const LineShare& share, RequestKind kind, u32 token, bool floating);
  u32 join_request(u64 line, u32 place, u8 sectors, Cycle leaves);
  bool store_hits(const LineShare& share, Cycle at);
  bool write_local(const LineShare& share);
  void hold_back(const Server& way_out);
  Cycle out_behind(const Request& read) const;
  u32 new_miss(u32 line, u8 sectors);
  void wait_for(u32 miss, u32 load);
  void take_reply(const Reply& reply);
  void finish_load(Load& load);
  void commit_copies(TimedWarp& warp, const TimedOp& op, Cycle now);
  void retire_copies(TimedWarp& warp);
  u64 local_line(const TimedWarp& warp) const;

  const SmContext& context_;
  const TimingParams& params_;
  u32 id_;
  Worker* worker_ = nullptr;
  SmCounters* counters_ = nullptr;
  TimelineShare* timeline_ = nullptr;
  std::vector<SubPartition> parts_;
  std::vector<TimedWarp> warps_;
  std::vector<Resident> resident_;
  u32 residents_ = 0;
  u32 next_age_ = 0;
  InstructionCache instructions_;
  ConstantBlocks constant_blocks_;
  ConstantPort constant_port_;
  std::vector<ConstantCache> immediate_constants_;  // by sub-partition
  ConstantCache indexed_constants_;
  std::vector<PendingConstant> constants_;  // the one that comes next is the last
  L1Cache l1_;
  CreditQueue lsu_queue_;
  StoreQueues store_queues_;
  StoreBuffer stores_;
  u64 stored_ = 0, gone_ = 0;  // lines: of all stores so far, and those that have left or joined others
  // Of the instruction that is issuing: when it leaves its queue, its sources read by then; and when all
  // stores before it will have gone out, in 256ths.
  Cycle left_ = 0;
  u64 stores_out_ = 0;
  Server misc_unit_, lsu_unit_, store_port_, miss_port_, barrier_unit_;
  Calendar data_stage_;  // L1's data, read once a load has all of it
  std::vector<Load> loads_;
  std::vector<u32> free_loads_;
  std::vector<Miss> misses_;
  std::vector<u32> free_misses_;
  std::vector<Waiter> waiters_;
  i32 free_waiters_ = -1;
  u32 open_misses_ = 0;
  std::vector<Request> requests_;
  Touch touch_;  // of the instruction that is issuing
};

}  // namespace warpath
