// One resident CTA: its warps, shared memory and named barriers.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "exec/state.hpp"
#include "types.hpp"

namespace warpath {

struct GridSpec;
struct Worker;

inline constexpr int kCtaBarriers = 16;

enum class BarrierMode : u8 { Sync, Arrive, ReducePopc, ReduceAnd, ReduceOr };

// A named barrier of the CTA between two completions.
struct CtaBarrier {
  u32 waiting = 0;   // lanes blocked in it
  u32 arrived = 0;   // threads of BAR.ARV, counted by whole warps
  u32 expected = 0;  // threads that complete it; 0 = every living thread of the CTA
  u32 votes = 0;     // threads that came with the predicate set
  bool all = true;   // AND over the votes
  BarrierMode mode = BarrierMode::Sync;
};

// Bytes that are zero until they are written. Most kernels never touch the stack that is set aside for them,
// so these are pages that the host makes up as they are touched.
class ZeroPages {
 public:
  explicit ZeroPages(std::size_t size);
  ~ZeroPages();
  ZeroPages(const ZeroPages&) = delete;
  ZeroPages& operator=(const ZeroPages&) = delete;
  u8* data() const { return bytes_; }
  std::size_t size() const { return size_; }
  void clear();

 private:
  std::size_t size_;
  u8* bytes_ = nullptr;
};

struct Cta {
  u64 index = 0;   // linear block number
  u32 id[3] = {};  // blockIdx
  u32 sm = 0;      // where the block distributor put it
  u32 slot = 0;    // which of the SM's residents it is
  u32 live = 0;    // threads that have not exited
  u64 clock = 0;   // slice units this CTA has run for: the functional mode's notion of time
  std::vector<Warp> warps;
  std::size_t row_count;
  std::unique_ptr<Row[]> rows;  // register files of all warps; cleared by start()
  std::vector<u8> shared;
  ZeroPages local;              // local memory of all warps
  bool shared_written = false;  // since start(): what is untouched needs no clearing for the next block
  bool local_written = false;
  std::array<CtaBarrier, kCtaBarriers> barriers;

  // Shapes the storage for a grid; start() then makes it block `block` on any worker.
  Cta(const GridSpec& spec, u32 rows_per_warp);
  // A copy stands on storage of its own.
  Cta(const Cta& other);
  Cta& operator=(const Cta&) = delete;
  void start(const GridSpec& spec, u64 block, Worker& worker, const ConstBank* banks);
};

// The lanes of `mask` reach barrier `id`. `expected` is a thread count or 0 for the whole CTA; `votes` are
// the lanes whose predicate is set. Lanes of every mode but Arrive block until the barrier completes.
void barrier_arrive(Warp& warp, u32 mask, u32 id, u32 expected, BarrierMode mode, u32 votes);
// Threads have exited: barriers that waited only for them complete.
void barrier_recheck(Cta& cta);

}  // namespace warpath
