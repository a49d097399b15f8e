// Everything behind the SMs that a model GPU keeps between launches: crossbar, L2 with its dirty lines, DRAM.
#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "timing/constants.hpp"
#include "timing/fetch.hpp"
#include "timing/floorplan.hpp"
#include "timing/l2_tags.hpp"
#include "timing/params.hpp"
#include "timing/read_coalescer.hpp"
#include "timing/resource.hpp"
#include "timing/timeline.hpp"
#include "timing/traffic.hpp"

namespace warpath {

struct MemoryCounts {
  u64 dram_read_bytes = 0, dram_write_bytes = 0;
  u64 slice_read_cycles = 0, slice_write_cycles = 0;  // in 256ths: how long slices were taken
  u64 reply_bytes = 0;                                // what went back to the SMs
  u64 l2_sectors = 0;  // every sector looked up, the fabric between partitions included
  u64 read_sectors = 0, read_hits = 0, read_misses = 0, write_sectors = 0, write_hits = 0, other_sectors = 0,
      other_hits = 0;
  u64 read_requests = 0, write_requests = 0, reduce_requests = 0, atomic_requests = 0, cas_requests = 0;
};

class MemorySystem {
 public:
  explicit MemorySystem(const TimingParams& params);
  // The contents of `other` under other parameters. Throws std::invalid_argument when there are any and L2 is
  // not the same.
  MemorySystem(const MemorySystem& other, const TimingParams& params);

  const TimingParams& params() const { return params_; }
  const Floorplan& floorplan() const { return floorplan_; }
  // The L2 partition that the SM reaches first.
  u32 near(u32 sm) const { return floorplan_.partition(floorplan_.gpc(sm)); }
  // The GPC that the next launch starts with: the one after that which got the last CTA before.
  u32 first_gpc() const { return first_gpc_; }
  void last_cta_on(u32 sm) {
    if (sm >= params_.lead_sms) first_gpc_ = (floorplan_.gpc(sm) + 1) % params_.gpcs;
  }
  // Throws away all contents: what ncu does before each pass with --cache-control all.
  void flush();
  // Leaves every line in its home partition alone, and clean: what ncu's saving and putting back of memory
  // does.
  void put_back();
  // A copy engine wrote `size` bytes at `va` between launches: they are in L2 now, and not yet in DRAM.
  void copied(u64 va, u64 size);
  // Time starts again at 0: ports and queues are empty, contents stay.
  void begin_launch();
  void end_launch(Cycle length);

  // Handles requests in the order given (time, SM, issue) and appends each one's reply to `replies[sm]`.
  // `timeline`, when there is one, is told what was done when.
  void serve(std::span<const Request> requests, std::vector<std::vector<Reply>>& replies,
             MemoryTimeline* timeline = nullptr);

  // When the last store of the launch is done.
  Cycle last_write() const { return last_write_; }
  const MemoryCounts& counts() const { return counts_; }
  void add_dram_read(u64 bytes) { counts_.dram_read_bytes += bytes; }
  CodeHome& code() { return code_; }
  // The program at `va` runs. Another one, or the same after a flush, is not near the SMs.
  void use_code(u64 va, u32 lines);
  void code_is_warm();
  const ConstantHome& constants() const { return constants_; }
  // The launch, whose code begins in `entry_line`, reads constants from `banks` (address, size). What an
  // earlier one read is in L2.
  void use_constants(const std::vector<std::pair<u64, u64>>& banks, u32 entry_line);
  // No request before `now` will come any more.
  void forget(Cycle now);

 private:
  struct Place {
    u32 partition, slice, channel;
  };
  // A slice reads, and beside that writes: stores, atomics, and what comes from DRAM or the other partition.
  struct Slice {
    Calendar reads, writes;
  };
  struct StoreWindow {
    std::vector<Cycle> done;  // of the last stores of an SM, a ring
    u32 next = 0;
  };
  struct Channel {
    Calendar bus;
    u32 writes = 0;         // accesses gathered for the next batch
    std::vector<u64> rows;  // by bank: the row that is open
  };

  // What a slice's atomic unit did last.
  struct LastAtomic {
    u64 line = ~u64{0};
    u8 sectors = 0;  // those that floating-point numbers were added to
  };

  void set_distances();
  Place place_of(u64 line) const;
  Cycle serve_read(const Request& request, const Place& home, Cycle at, u32 near);
  Cycle serve_reply(const Request& request, const Place& home, Cycle arrives, u32 gpc, u32 near, u64 way);
  Cycle write(const Request& request, const L2Tags::Line* line, u32 slice, Cycle at);
  u32 atomic_cost(const Request& request, u32 slice);
  Cycle serve_write(const Request& request, const Place& home, Cycle at, u32 near);
  Cycle read_home(u64 address, u8 sectors, const Place& home, Cycle at, u8& hit);
  Cycle read_far(const Request& request, const Place& home, Cycle at, u32 near, u8& hit);
  void renew_copies(const Request& request, const Place& home, u32 near, Cycle at);
  Cycle fill(u32 slice, Cycle at, u8 sectors);
  u8 pieces(u8 sectors) const;
  Cycle fetch_from_dram(u64 line, u8 sectors, L2Tags::Line& target, const Place& home, Cycle at);
  Cycle store_credit(const Request& request, Cycle done);
  void prefetch(const Request& request) const;
  L2Tags::Line* allocate(u32 partition, u64 line, Cycle at);
  void write_back(u64 line, u8 sectors, Cycle at);
  Cycle book_read(u32 slice, Cycle at, u32 sectors);
  Cycle book_write(u32 slice, Cycle at, u32 cost_256);
  u32 row_cost(Channel& channel, u64 line) const;
  Cycle dram_access(u32 channel, u64 line, Cycle at, u32 accesses);
  void count_l2(Cycle at, u32 sectors);
  Cycle refreshed(u32 channel, Cycle at) const;

  TimingParams params_;
  Floorplan floorplan_;
  ReadCoalescer coalescer_;
  u32 dirty_limit_ = 0;  // dirty lines in a set before the oldest is written back
  std::vector<L2Tags> partitions_;
  std::vector<Slice> slices_;
  std::vector<Calendar> fabric_;          // by partition: what is written to it from the other one
  std::vector<LastAtomic> last_atomics_;  // by slice
  std::vector<Channel> channels_;
  std::vector<Calendar> reply_ports_;  // by SM
  std::vector<Calendar> gpc_ports_;
  std::vector<Cycle>
      behind_stores_;  // by SM: when L2 has taken what it stored, which its reads do not overtake
  std::vector<StoreWindow> store_windows_;  // by SM
  Cycle last_write_ = 0;
  std::vector<u8> distances_;  // by SM and slice, cycles each way
  MemoryCounts counts_;
  MemoryTimeline* timeline_ = nullptr;  // of the requests being served
  CodeHome code_;
  ConstantHome constants_;
  bool own_late_ = true;       // the next launch's own constants are not near
  std::set<u64> known_banks_;  // addresses of those that launches since the last flush read
  u64 code_id_ = 0;
  u32 first_gpc_ = 0;
  bool empty_ = true;  // L2 holds nothing: nothing has run or been copied since it was emptied
  u64 base_ = 0;       // cycles of the launches before this one
};

}  // namespace warpath
