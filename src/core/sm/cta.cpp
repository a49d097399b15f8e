#include "sm/cta.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "sm/grid.hpp"

namespace warpath {
namespace {

// Threads counted at a barrier that names its thread count: hardware counts warps, so the missing lanes of a
// warp whose living lanes are all here count as well.
u32 counted_threads(const Cta& cta, u32 id) {
  u32 threads = cta.barriers[id].arrived;
  for (const Warp& warp : cta.warps) {
    const u32 here = static_cast<u32>(__builtin_popcount(warp.barrier_lanes[id]));
    if (here == 0) continue;
    const u32 gone = static_cast<u32>(__builtin_popcount(warp.exited));
    threads += here + gone == kLanes ? kLanes : here;
  }
  return threads;
}

void release(Cta& cta, u32 id) {
  CtaBarrier& barrier = cta.barriers[id];
  for (Warp& warp : cta.warps) {
    const u32 here = warp.barrier_lanes[id];
    if (here == 0) continue;
    warp.barrier_lanes[id] = 0;
    warp.at_barrier &= ~here;
    warp.ready |= here;
    warp.barrier_count = barrier.votes;
    warp.barrier_vote = barrier.mode == BarrierMode::ReduceOr ? barrier.votes != 0 : barrier.all;
  }
  barrier = CtaBarrier{};
}

void complete_if_full(Cta& cta, u32 id) {
  const CtaBarrier& barrier = cta.barriers[id];
  const u32 here = barrier.waiting + barrier.arrived;
  if (here == 0) return;
  const bool full = barrier.expected == 0 ? here >= cta.live : counted_threads(cta, id) >= barrier.expected;
  if (full) release(cta, id);
}

std::size_t warps_of(const GridSpec& spec) {
  return (std::size_t{spec.block[0]} * spec.block[1] * spec.block[2] + kLanes - 1) / kLanes;
}

}  // namespace

ZeroPages::ZeroPages(std::size_t size) : size_(size) {
  if (size == 0) return;
  void* pages =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  bytes_ = static_cast<u8*>(pages);
}

ZeroPages::~ZeroPages() {
  if (bytes_ != nullptr) munmap(bytes_, size_);
}

void ZeroPages::clear() {
  if (bytes_ != nullptr) madvise(bytes_, size_, MADV_DONTNEED);
}

Cta::Cta(const GridSpec& spec, u32 rows_per_warp)
    : warps(warps_of(spec)),
      row_count(warps.size() * rows_per_warp),
      rows(std::make_unique_for_overwrite<Row[]>(row_count)),
      local(warps.size() * spec.local_bytes * kLanes) {
  const u32 count = static_cast<u32>(warps.size());
  shared.resize(spec.shared_bytes);
  for (u32 w = 0; w < count; ++w) {
    warps[w].id = w;
    warps[w].rows = rows.get() + std::size_t{w} * rows_per_warp;
    warps[w].local = local.data() + std::size_t{w} * spec.local_bytes * kLanes;
  }
}

Cta::Cta(const Cta& other)
    : index(other.index),
      id{other.id[0], other.id[1], other.id[2]},
      sm(other.sm),
      slot(other.slot),
      live(other.live),
      clock(other.clock),
      warps(other.warps),
      row_count(other.row_count),
      rows(std::make_unique_for_overwrite<Row[]>(row_count)),
      shared(other.shared),
      local(other.local.size()),
      shared_written(other.shared_written),
      local_written(other.local_written),
      barriers(other.barriers) {
  std::copy_n(other.rows.get(), row_count, rows.get());
  if (local_written) std::copy_n(other.local.data(), local.size(), local.data());
  for (Warp& warp : warps) {
    warp.rows = rows.get() + (warp.rows - other.rows.get());
    warp.local = local.data() + (warp.local - other.local.data());
    warp.cta = this;
  }
}

void Cta::start(const GridSpec& spec, u64 block, Worker& worker, const ConstBank* banks) {
  index = block;
  id[0] = static_cast<u32>(block % spec.grid[0]);
  id[1] = static_cast<u32>(block / spec.grid[0] % spec.grid[1]);
  id[2] = static_cast<u32>(block / spec.grid[0] / spec.grid[1]);
  sm = static_cast<u32>(block % spec.sms);
  slot = static_cast<u32>(block / spec.sms % spec.blocks_per_sm);
  live = spec.block[0] * spec.block[1] * spec.block[2];
  clock = 0;
  barriers.fill(CtaBarrier{});
  // Hardware leaves what was there; zero is the same on every run.
  std::memset(rows.get(), 0, row_count * sizeof(Row));
  if (shared_written) std::fill(shared.begin(), shared.end(), u8{0});
  if (local_written) local.clear();
  shared_written = local_written = false;
  u32 threads = live;
  for (Warp& warp : warps) {
    const u32 lanes = std::min<u32>(threads, kLanes);
    threads -= lanes;
    warp.pc = spec.entry;
    warp.active = lanes == kLanes ? kFullMask : (1u << lanes) - 1;
    warp.exited = ~warp.active;
    warp.ready = warp.at_convergence = warp.at_warpsync = warp.at_barrier = warp.exclusive = warp.soft = 0;
    warp.trips = 0;
    std::fill_n(warp.barrier_lanes, kCtaBarriers, 0u);
    warp.cta = this;
    warp.worker = &worker;
    warp.banks = banks;
    std::fill_n(warp.pred, 7, 0u);
    std::fill_n(warp.upred, 7, 0u);
    std::memset(warp.ureg, 0, sizeof warp.ureg);
  }
}

void barrier_arrive(Warp& warp, u32 mask, u32 id, u32 expected, BarrierMode mode, u32 votes) {
  Cta& cta = *warp.cta;
  CtaBarrier& barrier = cta.barriers[id];
  if (expected != 0) barrier.expected = expected;
  const u32 lanes = static_cast<u32>(__builtin_popcount(mask));
  if (mode == BarrierMode::Arrive) {
    barrier.arrived += (mask | warp.exited) == kFullMask ? kLanes : lanes;
  } else {
    barrier.waiting += lanes;
    barrier.mode = mode;
    barrier.votes += static_cast<u32>(__builtin_popcount(votes & mask));
    barrier.all = barrier.all && (votes & mask) == mask;
    warp.park(mask);
    warp.barrier_lanes[id] |= mask;
    warp.at_barrier |= mask;
  }
  complete_if_full(cta, id);
}

void barrier_recheck(Cta& cta) {
  for (u32 id = 0; id < kCtaBarriers; ++id) complete_if_full(cta, id);
}

}  // namespace warpath
