#include "timing/memory_system.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace warpath {
namespace {

u32 count(u8 mask) { return static_cast<u32>(__builtin_popcount(mask)); }

constexpr u32 kOne = 256;  // units of work in a cycle
// Bits of a page's number that decide its side: 0, 1 and 3 measured, as 2 and 4 that do not; the rest
// assumed.
constexpr u64 kSideBits = ~u64{0x14};

}  // namespace

MemorySystem::MemorySystem(const TimingParams& params)
    : params_(params), floorplan_(params), coalescer_(params) {
  for (u32 i = 0; i < params.l2_partitions; ++i)
    partitions_.emplace_back(u64{params.l2_bytes} * params.l2_usable_percent / 100 / params.l2_partitions,
                             params.l2_ways, params.l2_partition_bits);
  dirty_limit_ = (params.l2_ways * params.l2_dirty_percent + 50) / 100;
  set_distances();
  begin_launch();
}

MemorySystem::MemorySystem(const MemorySystem& other, const TimingParams& params) : MemorySystem(params) {
  first_gpc_ = other.first_gpc_;
  code_ = other.code_;
  code_id_ = other.code_id_;
  known_banks_ = other.known_banks_;
  own_late_ = other.own_late_;
  empty_ = other.empty_;
  if (empty_) return;
  const TimingParams& own = other.params_;
  if (params.l2_partitions != own.l2_partitions || params.l2_bytes != own.l2_bytes ||
      params.l2_ways != own.l2_ways || params.l2_slices != own.l2_slices || params.sms != own.sms)
    throw std::invalid_argument("what is in L2 cannot be carried over to an L2 of another size");
  partitions_ = other.partitions_;
  base_ = other.base_;
}

void MemorySystem::set_distances() {
  distances_.resize(std::size_t{params_.sms} * params_.l2_slices);
  for (std::size_t i = 0; i < distances_.size(); ++i) {
    distances_[i] = static_cast<u8>(mix(i * 2 + 1) % (params_.distance_spread / 2 + 1));
  }
}

void MemorySystem::flush() {
  for (L2Tags& tags : partitions_) tags.clear();
  code_id_ = 0;
  code_.warm.clear();
  known_banks_.clear();
  own_late_ = true;
  empty_ = true;
}

void MemorySystem::put_back() {
  own_late_ = true;
  for (u32 partition = 0; partition < partitions_.size(); ++partition) {
    partitions_[partition].drop([&](u64 line) { return place_of(line).partition != partition; });
    partitions_[partition].clean_all();
  }
}

void MemorySystem::copied(u64 va, u64 size) {
  if (size == 0) return;
  empty_ = false;
  const u64 kept = std::min(size, u64{params_.l2_bytes} * 2);  // what comes later pushes out what came before
  const u64 first = (va + size - kept) / kSectorBytes, last = (va + size - 1) / kSectorBytes;
  constexpr u64 kSectorsInLine = kLineBytes / kSectorBytes;
  for (u64 address = first / kSectorsInLine; address <= last / kSectorsInLine; ++address) {
    const u64 begin = std::max(first, address * kSectorsInLine) % kSectorsInLine;
    const u64 end = std::min(last, address * kSectorsInLine + kSectorsInLine - 1) % kSectorsInLine;
    const u8 sectors = static_cast<u8>((2u << end) - (1u << begin));
    const u32 home = place_of(address).partition;
    for (u32 partition = 0; partition < partitions_.size(); ++partition) {
      L2Tags::Line* line = partitions_[partition].find(address);
      L2Tags::Victim victim;
      if (partition != home) {
        if (line != nullptr) line->valid &= static_cast<u8>(~sectors);
        continue;
      }
      if (line == nullptr) line = partitions_[partition].replace(address, victim);
      line->valid |= sectors;
      partitions_[partition].soil(*line, sectors);
      // Written back while the copy goes on, as under a kernel's stores.
      while (partitions_[partition].clean_oldest(address, dirty_limit_, victim)) {
      }
    }
  }
}

void MemorySystem::use_code(u64 va, u32 lines) {
  if (va == code_id_ && code_.warm.size() == lines + 1) return;
  // The launch prefetches the code: it is in L2 by the time the first CTA asks for it.
  code_id_ = va;
  code_.warm.assign(lines + 1, 0);
  code_.side.resize(lines + 1);
  for (u32 line = 0; line <= lines; ++line)
    code_.side[line] = static_cast<u8>(place_of(va / kLineBytes + line).partition);
  counts_.dram_read_bytes += params_.launch_bytes + (u64{lines} * kLineBytes + 255) / 256 * 256;
}

void MemorySystem::code_is_warm() { std::fill(code_.warm.begin(), code_.warm.end(), u8{1}); }

void MemorySystem::use_constants(const std::vector<std::pair<u64, u64>>& banks, u32 entry_line) {
  constexpr u64 kBlockBytes = u64{kConstLinesPerBlock} << kConstLineBits;
  for (std::size_t i = 0; i < banks.size(); ++i) {
    const auto& [address, size] = banks[i];
    ConstantHome::Bank& bank = constants_.banks[i];
    bank.warm = !known_banks_.insert(address).second;
    bank.late = own_late_;
    bank.side.resize((size + kBlockBytes - 1) / kBlockBytes);
    for (std::size_t block = 0; block < bank.side.size(); ++block) {
      const u64 line = (address + block * kBlockBytes) / kLineBytes;
      // A launch's own constants come from where its code does: found by how long both take.
      bank.side[block] = i == 0 ? code_.side[entry_line] : static_cast<u8>(place_of(line).partition);
    }
  }
}

void MemorySystem::end_launch(Cycle length) {
  own_late_ = false;
  base_ += length;
  empty_ = false;
}

void MemorySystem::begin_launch() {
  slices_.assign(params_.l2_slices, Slice{Calendar(kOne), Calendar(kOne)});
  fabric_.assign(params_.l2_partitions, Calendar(params_.l2_fabric_write_bytes));
  last_atomics_.assign(params_.l2_slices, LastAtomic{});
  channels_.assign(params_.dram_channels,
                   Channel{Calendar(kOne), 0, std::vector<u64>(std::max(params_.dram_banks, 1u), ~u64{0})});
  store_windows_.assign(params_.sms, StoreWindow{std::vector<Cycle>(std::max(params_.store_credits, 1u)), 0});
  last_write_ = 0;
  behind_stores_.assign(params_.sms, 0);
  reply_ports_.assign(params_.sms, Calendar(params_.reply_port_bytes));
  coalescer_ = ReadCoalescer(params_);
  gpc_ports_.assign(params_.gpcs, Calendar(params_.gpc_port_bytes));
  counts_ = MemoryCounts{};
}

MemorySystem::Place MemorySystem::place_of(u64 line) const {
  // Of two neighbouring pages one is in each partition; which one changes with some bits of the address.
  // Every run of as many granules of a partition as it has slices goes to all of them, each run from another
  // on.
  const u32 page_bits = params_.l2_partition_bits - 7, granule_bits = params_.l2_granule_bits - 7;
  const u64 page = line >> page_bits;
  const u32 partition = static_cast<u32>(__builtin_popcountll(page & kSideBits)) % params_.l2_partitions;
  const u64 in_page = line & ((u64{1} << page_bits) - 1);
  const u64 granule = (page / params_.l2_partitions << page_bits | in_page) >> granule_bits;
  const u32 per_partition = params_.l2_slices / params_.l2_partitions;
  const u32 slice =
      partition * per_partition + static_cast<u32>((granule + mix(granule / per_partition)) % per_partition);
  return {partition, slice, static_cast<u32>(u64{slice} * params_.dram_channels / params_.l2_slices)};
}

Cycle MemorySystem::refreshed(u32 channel, Cycle at) const {
  if (params_.dram_refresh_percent == 0) return at;
  const u64 length = params_.dram_refresh_cycles;
  const u64 interval = length * 100 / params_.dram_refresh_percent;
  const u64 phase = (at + mix(channel + 1) % interval) % interval;
  return phase < length ? at + length - phase : at;
}

Cycle MemorySystem::book_read(u32 slice, Cycle at, u32 sectors) {
  const u32 cost_256 = params_.l2_read_256 + sectors * params_.l2_sector_256;
  counts_.slice_read_cycles += cost_256;
  return slices_[slice].reads.book(at, cost_256);
}

Cycle MemorySystem::book_write(u32 slice, Cycle at, u32 cost_256) {
  counts_.slice_write_cycles += cost_256;
  return slices_[slice].writes.book(at, cost_256);
}

// What it costs to open another row of a bank.
u32 MemorySystem::row_cost(Channel& channel, u64 line) const {
  const u64 row = line * kLineBytes / params_.dram_channels >> params_.dram_row_bits;
  u64& open = channel.rows[mix(row) % channel.rows.size()];
  return std::exchange(open, row) == row ? 0 : params_.dram_row_256;
}

Cycle MemorySystem::dram_access(u32 channel, u64 line, Cycle at, u32 accesses) {
  const u32 work = accesses * params_.dram_access_256 + row_cost(channels_[channel], line);
  const Cycle from = refreshed(channel, at);
  const Cycle done = channels_[channel].bus.book(from, work);
  // Requests that wait are served out of turn, by the rows that are open: some sooner, others as much later.
  const u64 wait = less(done - from, work / 256);
  const u64 spread = std::min<u64>(wait * params_.dram_reorder_percent / 100, params_.dram_reorder_cycles);
  return done - spread + spread * (mix(line * 5 + 2) % 256) / 128;
}

void MemorySystem::count_l2(Cycle at, u32 sectors) {
  counts_.l2_sectors += sectors;
  if (timeline_ != nullptr) timeline_->l2_sectors.add(at, sectors);
}

// Writes are gathered and go out in batches, each paying for turning the bus around twice.
void MemorySystem::write_back(u64 line, u8 sectors, Cycle at) {
  const u32 channel = place_of(line).channel;
  const u32 bytes = count(sectors) * kSectorBytes;
  counts_.dram_write_bytes += bytes;
  if (timeline_ != nullptr) timeline_->dram_bytes.add(at, bytes);
  Channel& own = channels_[channel];
  own.writes += (bytes + params_.dram_access_bytes - 1) / params_.dram_access_bytes;
  if (own.writes < params_.dram_write_batch) return;
  own.bus.book(refreshed(channel, at), params_.dram_turnaround_256 + own.writes * params_.dram_write_256);
  own.writes = 0;
}

L2Tags::Line* MemorySystem::allocate(u32 partition, u64 line, Cycle at) {
  L2Tags::Victim victim;
  L2Tags::Line* fresh = partitions_[partition].replace(line, victim);
  if (victim.dirty != 0) write_back(victim.line, victim.dirty, at);
  return fresh;
}

// The sectors that DRAM moves together with `sectors`.
u8 MemorySystem::pieces(u8 sectors) const {
  const u32 per_access = params_.dram_access_bytes / kSectorBytes;
  u8 found = 0;
  for (u32 first = 0; first < kSectorsPerLine; first += per_access) {
    const u8 piece = static_cast<u8>(((1u << per_access) - 1) << first);
    if ((sectors & piece) != 0) found |= piece;
  }
  return found;
}

// Brings the missing sectors of `line` into `target`; DRAM moves them in larger pieces.
Cycle MemorySystem::fetch_from_dram(u64 line, u8 sectors, L2Tags::Line& target, const Place& home, Cycle at) {
  const u8 lacking = sectors & static_cast<u8>(~target.valid);
  if (lacking == 0) return at;
  const u8 moves = pieces(lacking);
  const u32 accesses = count(moves) * kSectorBytes / params_.dram_access_bytes;
  const u8 wanted = moves & static_cast<u8>(~target.valid);
  counts_.dram_read_bytes += count(wanted) * kSectorBytes;
  target.valid |= wanted;
  const u64 jitter = mix(line * 3 + 1) % (params_.dram_spread + 1);
  const Cycle moved = dram_access(home.channel, line, at, accesses);
  if (timeline_ != nullptr) timeline_->dram_bytes.add(moved, count(wanted) * kSectorBytes);
  return moved + params_.dram_latency + jitter;
}

// What comes in takes its turn at the slice's data before it goes on.
Cycle MemorySystem::fill(u32 slice, Cycle at, u8 sectors) {
  return book_write(slice, at, count(sectors) * params_.l2_fill_256);
}

// At the line's home slice: from L2 or DRAM. `hit` are the sectors that were there or on their way.
Cycle MemorySystem::read_home(u64 address, u8 sectors, const Place& home, Cycle at, u8& hit) {
  const Cycle done = book_read(home.slice, at, count(sectors));
  L2Tags::Line* line = partitions_[home.partition].find(address);
  hit = line != nullptr ? line->valid & sectors : 0;
  count_l2(at, count(sectors));
  if (hit == sectors) return std::max(done, less(line->ready, base_));
  if (line == nullptr) line = allocate(home.partition, address, done);
  const Cycle ready =
      fill(home.slice, fetch_from_dram(address, sectors, *line, home, done), static_cast<u8>(sectors & ~hit));
  line->ready = base_ + ready;
  return ready;
}

// Each partition keeps copies of what its SMs read from the other one, in pieces as DRAM moves them. What it
// has not got is a miss, whether or not the other one has it.
Cycle MemorySystem::read_far(const Request& request, const Place& home, Cycle at, u32 near, u8& hit) {
  const u32 per_partition = params_.l2_slices / params_.l2_partitions;
  const u32 slice = near * per_partition + home.slice % per_partition;
  const Cycle there = book_read(slice, at, count(request.sectors));
  count_l2(at, count(request.sectors));
  L2Tags::Line* copy = partitions_[near].find(request.line);
  hit = copy != nullptr ? copy->valid & request.sectors : 0;
  if (hit == request.sectors) return std::max(there, less(copy->ready, base_));
  const u8 moves = pieces(request.sectors & static_cast<u8>(~hit));
  u8 at_home = 0;
  const Cycle sent = read_home(request.line, moves, home, there + params_.l2_fabric_latency / 2, at_home);
  const Cycle done = fill(slice, sent + params_.l2_fabric_latency / 2, moves);
  if (copy == nullptr) copy = allocate(near, request.line, done);
  copy->valid |= moves;
  copy->ready = base_ + done;
  return done;
}

Cycle MemorySystem::serve_read(const Request& request, const Place& home, Cycle at, u32 near) {
  u8 hit = 0;
  const Cycle done = near == home.partition ? read_home(request.line, request.sectors, home, at, hit)
                                            : read_far(request, home, at, near, hit);
  ++counts_.read_requests;
  counts_.read_sectors += count(request.sectors);
  counts_.read_hits += count(hit);
  counts_.read_misses += count(pieces(request.sectors & static_cast<u8>(~hit)));
  return done;
}

// Sectors written in part are read, merged and written back, for their error-correcting code; a line that is
// still being merged when its turn comes takes longer.
Cycle MemorySystem::write(const Request& request, const L2Tags::Line* line, u32 slice, Cycle at) {
  const u32 sectors = count(request.sectors);
  const u32 whole = sectors * params_.l2_write_sector_256;
  if (request.bytes >= sectors * kSectorBytes) return book_write(slice, at, whole);
  const Cycle done = book_write(slice, at, whole + params_.l2_partial_256);
  const bool again = line != nullptr && line->patched + params_.l2_merge_cycles > base_ + done;
  return again ? book_write(slice, done, params_.l2_merging_256) : done;
}

// A sector after another; lanes on one word one after another, which takes longer for floating-point sums, as
// it does when the last atomic was on the same sector. The line that was worked on last is at hand.
u32 MemorySystem::atomic_cost(const Request& request, u32 slice) {
  LastAtomic& last = last_atomics_[slice];
  const bool again = last.line == request.line;
  const u32 sectors = count(request.sectors);
  const u32 pass = request.floating ? params_.atomic_float_256 : params_.atomic_pass_256;
  u32 cost = again ? params_.atomic_again_256 : params_.atomic_base_256;
  if (again && (request.sectors & last.sectors) != 0)
    cost += static_cast<u32>(less(pass, params_.atomic_pass_256));
  cost += (sectors - 1) * params_.atomic_sector_256;
  cost += (std::max<u32>(request.sector_passes, sectors) - sectors) * pass;
  if (!again && request.kind != RequestKind::Reduce) cost += sectors * params_.atomic_return_256;
  last = {request.line, request.floating ? request.sectors : u8{0}};
  return cost;
}

// What a write leaves in the partition that it passes through; other copies are dropped, and by atomics all.
void MemorySystem::renew_copies(const Request& request, const Place& home, u32 near, Cycle at) {
  for (u32 partition = 0; partition < partitions_.size(); ++partition) {
    if (partition == home.partition) continue;
    const bool stays = partition == near && request.kind == RequestKind::Write;
    L2Tags::Line* copy = partitions_[partition].find(request.line);
    if (copy == nullptr && stays) copy = allocate(partition, request.line, at);
    if (copy == nullptr) continue;
    if (stays) {
      copy->valid |= request.sectors;
    } else {
      copy->valid &= static_cast<u8>(~request.sectors);
    }
  }
}

// Writes, reductions and atomics are done at home.
Cycle MemorySystem::serve_write(const Request& request, const Place& home, Cycle at, u32 near) {
  const u32 sectors = count(request.sectors);
  const bool atomic = request.kind != RequestKind::Write;
  if (near != home.partition) {
    count_l2(at, sectors);
    if (!atomic) at = fabric_[home.partition].book(at, std::min<u32>(request.bytes, sectors * kSectorBytes));
    at += params_.l2_fabric_latency / 2;
  }
  renew_copies(request, home, near, at);
  count_l2(at, sectors);
  L2Tags::Line* line = partitions_[home.partition].find(request.line);
  const Cycle done = atomic ? book_write(home.slice, at, atomic_cost(request, home.slice))
                            : write(request, line, home.slice, at);
  const u8 hit = line != nullptr ? line->valid & request.sectors : 0;
  if (line == nullptr) line = allocate(home.partition, request.line, done);
  Cycle ready = done;
  if (atomic && hit != request.sectors)
    ready = fetch_from_dram(request.line, request.sectors, *line, home, done);
  line->valid |= request.sectors;
  partitions_[home.partition].soil(*line, request.sectors);
  if (!atomic && request.bytes < sectors * kSectorBytes) line->patched = base_ + done;
  L2Tags::Victim old;
  if (partitions_[home.partition].clean_oldest(request.line, dirty_limit_, old))
    write_back(old.line, old.dirty, done);
  if (!atomic) {
    ++counts_.write_requests;
    counts_.write_sectors += sectors;
    counts_.write_hits += sectors;  // a write never waits for DRAM: ncu counts it as a hit
    return done;
  }
  ++(request.kind == RequestKind::Reduce        ? counts_.reduce_requests
     : request.kind == RequestKind::CompareSwap ? counts_.cas_requests
                                                : counts_.atomic_requests);
  counts_.other_sectors += sectors + request.passes - 1;
  // An atomic from the other partition never misses this one's tags: ncu counts it as a hit.
  counts_.other_hits += count(near == home.partition ? hit : request.sectors) + request.passes - 1;
  if (request.kind == RequestKind::Reduce) return done;
  return ready + params_.atomic_latency + (near != home.partition ? params_.l2_fabric_latency / 2 : 0);
}

// When the data of a read or an atomic is back in the SM. A read of what another SM of the GPC has asked for
// goes no further while L2 is busy with that one, as long as few have joined it: it is answered with the
// other's.
Cycle MemorySystem::serve_reply(const Request& request, const Place& home, Cycle arrives, u32 gpc, u32 near,
                                u64 way) {
  const u32 bytes = count(request.sectors) * kSectorBytes;
  counts_.reply_bytes += bytes;
  Cycle sent = 0;
  if (request.kind == RequestKind::Read) {
    const Cycle ready = coalescer_.join(gpc, request);
    if (ready != kNever) return reply_ports_[request.sm].book(ready, bytes);
    const Cycle done = serve_read(request, home, arrives, near);
    sent = done + params_.reply_latency + way;
    coalescer_.sent(gpc, request, done - arrives, sent);
  } else {
    sent = serve_write(request, home, arrives, near) + params_.reply_latency + way;
  }
  return std::max(gpc_ports_[gpc].book(sent, bytes), reply_ports_[request.sm].book(sent, bytes));
}

// Stores are on their way once they have left the SM, as long as not too many packets of it are: when the one
// that came `store_credits` earlier was done. Lanes that reduce into one word travel one after another.
Cycle MemorySystem::store_credit(const Request& request, Cycle done) {
  StoreWindow& window = store_windows_[request.sm];
  const u32 size = static_cast<u32>(window.done.size());
  const u32 packets = std::min<u32>(request.passes, size);
  Cycle before = 0;
  for (u32 i = 0; i < packets; ++i) {
    before = std::max(before, std::exchange(window.done[window.next], done));
    window.next = (window.next + 1) % size;
  }
  return before;
}

void MemorySystem::prefetch(const Request& request) const {
  for (const L2Tags& tags : partitions_) tags.prefetch(request.line);
}

void MemorySystem::serve(std::span<const Request> requests, std::vector<std::vector<Reply>>& replies,
                         MemoryTimeline* timeline) {
  timeline_ = timeline;
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i + kAhead < requests.size()) prefetch(requests[i + kAhead]);
    const Request& request = requests[i];
    const Place home = place_of(request.line);
    const u32 gpc = floorplan_.gpc(request.sm);
    const u32 near = floorplan_.partition(gpc);
    const u64 way = distances_[std::size_t{request.sm} * params_.l2_slices + home.slice];
    Cycle arrives = request.time + params_.request_latency + way;
    if (request.kind == RequestKind::Read) arrives = std::max(arrives, behind_stores_[request.sm]);
    Reply reply{.time = 0, .token = request.token, .done = 0};
    if (request.kind == RequestKind::Write || request.kind == RequestKind::Reduce) {
      const Cycle done = serve_write(request, home, arrives, near);
      reply.done = done + params_.reply_latency + way;
      reply.time = store_credit(request, reply.done);
      const Cycle taken = done - (near != home.partition ? params_.l2_fabric_latency / 2 : 0);
      if (request.kind == RequestKind::Write)
        behind_stores_[request.sm] = std::max(behind_stores_[request.sm], taken);
      last_write_ = std::max(last_write_, done);
    } else {
      reply.time = serve_reply(request, home, arrives, gpc, near, way);
    }
    replies[request.sm].push_back(reply);
  }
}

void MemorySystem::forget(Cycle now) {
  for (Slice& slice : slices_) {
    slice.reads.forget(now);
    slice.writes.forget(now);
  }
  for (Calendar& way : fabric_) way.forget(now);
  for (Channel& channel : channels_) channel.bus.forget(now);
  for (Calendar& port : reply_ports_) port.forget(now);
  for (Calendar& port : gpc_ports_) port.forget(now);
}

}  // namespace warpath
