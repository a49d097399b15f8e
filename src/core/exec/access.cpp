#include "exec/access.hpp"

#include <algorithm>
#include <bit>

#include "check/checker.hpp"
#include "check/hang_probe.hpp"
#include "exec/run.hpp"
#include "memory/memory.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

constexpr u64 kWindowSize = u64{1} << 24;
constexpr u32 kLocalTop = 1u << 24;

u64 uniform_pair(const Warp& warp, u16 reg) {
  return reg == kRZ ? 0 : (static_cast<u64>(warp.ureg[reg + 1]) << 32) | warp.ureg[reg];
}

template <class Word>
void repeat_first(u32 mask, Word* address) {
  if (mask == kFullMask) return;
  const Word first = address[lowest_lane(mask)];
  for (int lane = 0; lane < kLanes; ++lane) address[lane] = (mask >> lane) & 1 ? address[lane] : first;
}

void note_outside(const Warp& warp, const Instr& in, u32 lane, u64 address, u32 bytes, AccessKind access) {
  warp.worker->grid->note({warp.cta->index, warp.id, lane, in.index, address, bytes, access}, *warp.worker);
}

// What a generic instruction would take to local or shared memory, one for global memory refuses: the H200
// does so for loads, stores and atomics alike.
[[noreturn, gnu::noinline]] void raise_unmapped(const Warp& warp, const Instr& in, u32 lane, u64 address,
                                                u32 bytes, AccessKind access) {
  const GridSpec& spec = warp.worker->grid->spec();
  if (address - spec.shared_window < kWindowSize) {
    raise_fault(FaultKind::IllegalAddressSpace, in, lane, address, bytes, access,
                "an address of shared memory, given to an instruction for global memory");
  }
  if (address - spec.local_window < kWindowSize) {
    raise_fault(FaultKind::IllegalAddressSpace, in, lane, address, bytes, access,
                "an address of local memory, given to an instruction for global memory");
  }
  raise_fault(FaultKind::IllegalAddress, in, lane, address, bytes, access,
              "an illegal memory access was encountered");
}

// Lane by lane: each may lie in another allocation, or in none.
u8* translate_lanes(Warp& warp, const Instr& in, u32 mask, u32 bytes, AccessKind access, Row64& address) {
  const Memory& memory = *warp.worker->memory;
  for_lanes(mask, [&](u32 lane) {
    const u64 own = address.v[lane];
    if (own % bytes != 0) {
      raise_fault(FaultKind::MisalignedAddress, in, lane, own, bytes, access, "misaligned address");
    }
    u8* host = memory.mapped(own, bytes);
    if (host == nullptr) raise_unmapped(warp, in, lane, own, bytes, access);
    const Allocation* home = memory.find(own);
    if (home == nullptr || own + bytes > home->base + home->size)
      note_outside(warp, in, lane, own, bytes, access);
    address.v[lane] = reinterpret_cast<u64>(host);
  });
  return nullptr;
}

// Distinct values of address >> shift among the lanes of `mask`.
u32 distinct(const Access& access, u32 mask, u32 shift) {
  std::array<u64, kLanes> seen;
  u32 count = 0;
  for_lanes(mask, [&](u32 lane) {
    const u64 block = access.address[lane] >> shift;
    if (std::find(seen.begin(), seen.begin() + count, block) == seen.begin() + count) seen[count++] = block;
  });
  return count;
}

// The common cases of a group of lanes: all at one address, or one after another over at most 32 words.
bool one_pass(const Access& access, u32 lanes) {
  if ((access.mask & lanes) != lanes) return false;
  const u32 first = lowest_lane(lanes);
  u64 spread = 0, gaps = 0;
  for_lanes(lanes, [&](u32 lane) {
    spread |= access.address[lane] ^ access.address[first];
    gaps |= access.address[lane] - access.address[first] - u64{lane - first} * access.width;
  });
  return spread == 0 || gaps == 0;
}

// Shared memory passes of one group of lanes: the most distinct words that fall into one of the 32 banks.
u32 bank_passes(const Access& access, u32 lanes) {
  if (one_pass(access, lanes)) return 1;
  std::array<std::array<u64, kLanes>, kLanes> words;
  std::array<u32, kLanes> depth{};
  for_lanes(access.mask & lanes, [&](u32 lane) {
    for (u32 word = access.address[lane] / 4; word <= (access.address[lane] + access.width - 1) / 4; ++word) {
      auto& bank = words[word % kLanes];
      u32& used = depth[word % kLanes];
      if (std::find(bank.begin(), bank.begin() + used, word) == bank.begin() + used) bank[used++] = word;
    }
  });
  return *std::max_element(depth.begin(), depth.end());
}

// Local memory stands word by word, lane beside lane: a line holds one word of all lanes, a sector of eight.
[[gnu::noinline]] void count_local(const Access& access, MemoryCount& count) {
  const u32 words = std::max<u32>(access.width / 4, 1);
  const u32 shift = static_cast<u32>(std::countr_zero(words)) + 2;
  count.lines += words * distinct(access, access.mask, shift);
  for (u32 lanes = 0xff; lanes != 0; lanes <<= 8)
    count.sectors += words * distinct(access, access.mask & lanes, shift);
}

void count_access(Worker& worker, const Instr& in) {
  const Access& access = worker.access;
  MemoryCount& count = worker.memory_counts[in.index];
  ++count.requests;
  if (access.space == Space::Local) return count_local(access, count);
  if (access.space != Space::Shared) {
    count.sectors += distinct(access, access.mask, 5);
    count.lines += distinct(access, access.mask, 7);
    return;
  }
  // 64-bit lanes go in two halves, 128-bit lanes in four quarters.
  const u32 parts = std::max<u32>(access.width / 4, 1);
  const u32 lanes = kLanes / parts;
  u32 passes = 0, least = 0;
  for (u32 part = 0; part < parts; ++part) {
    const u32 group = static_cast<u32>((u64{1} << lanes) - 1) << (part * lanes);
    const u32 own = bank_passes(access, group);
    passes += own;
    least += own != 0 ? 1 : 0;
  }
  count.wavefronts += passes;
  count.conflicts += passes - least;
}

// What is counted in a timed run too, whose memory system counts the rest itself.
[[gnu::noinline]] void count_words(Worker& worker, const Instr& in) {
  worker.counts[in.index].words += distinct(worker.access, worker.access.mask, 2);
}

void begin_record(Worker& worker, Space space, u32 mask, u32 bytes, AccessKind access) {
  worker.access.space = space;
  worker.access.width = static_cast<u8>(bytes);
  worker.access.write = access == AccessKind::Write;
  worker.access.atomic = access == AccessKind::Atomic;
  worker.access.mask = mask;
}

}  // namespace

void wide_addresses(const Warp& warp, const Instr& in, const Operand& op, u32 mask, Row64& out) {
  u64 uniform = static_cast<u64>(op.value);
  const bool wide = (in.flags & kWideAddress) != 0;
  if (op.base_uniform) {
    uniform += wide ? uniform_pair(warp, op.reg) : warp.ureg[op.reg];
    std::fill_n(out.v, kLanes, uniform);
    return;
  }
  if (op.ureg != kRZ) uniform += uniform_pair(warp, op.ureg);
  const u32* lo = warp.read_row(op.reg);
  if (wide && !op.addr_u32) {
    const u32* hi = op.reg == kRZ ? lo : lo + kLanes;
    for (int lane = 0; lane < kLanes; ++lane)
      out.v[lane] = ((static_cast<u64>(hi[lane]) << 32) | lo[lane]) + uniform;
  } else {
    for (int lane = 0; lane < kLanes; ++lane) out.v[lane] = lo[lane] + uniform;
  }
  repeat_first(mask, out.v);
}

void narrow_addresses(const Warp& warp, const Operand& op, u32 mask, Row& out) {
  u32 uniform = static_cast<u32>(op.value);
  if (op.base_uniform) {
    std::fill_n(out.v, kLanes, uniform + warp.ureg[op.reg] * op.scale);
    return;
  }
  uniform += warp.ureg[op.ureg];
  const u32* row = warp.read_row(op.reg);
  const u32 scale = op.scale;
  for (int lane = 0; lane < kLanes; ++lane) out.v[lane] = row[lane] * scale + uniform;
  repeat_first(mask, out.v);
}

u8* translate(Warp& warp, const Instr& in, u32 mask, u32 bytes, AccessKind access, Row64& address) {
  Worker& worker = *warp.worker;
  AccessSlot& slot = worker.slots[in.index];
  for (int attempt = 0; attempt < 2; ++attempt) {
    const i64 lo = slot.lo;
    const i64 limit = slot.limit - static_cast<i64>(bytes);
    i64 outside = limit;  // negative once any lane is out of range
    u64 low_bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const i64 offset = static_cast<i64>(address.v[lane]) - lo;
      outside |= offset | (limit - offset);
      low_bits |= address.v[lane];
    }
    if (outside >= 0 && low_bits % bytes == 0) return slot.host - lo;
    if (attempt == 1) break;
    const Allocation* home = worker.memory->find(address.v[lowest_lane(mask)]);
    if (home == nullptr) break;
    slot = {static_cast<i64>(home->base), static_cast<i64>(home->size),
            worker.memory->mapped(home->base, home->size)};
  }
  return translate_lanes(warp, in, mask, bytes, access, address);
}

void check_shared(const Warp& warp, const Instr& in, u32 mask, u32 bytes, AccessKind access,
                  const Row& offset) {
  Cta& cta = *warp.cta;
  cta.shared_written |= access != AccessKind::Read;
  const u32 size = static_cast<u32>(cta.shared.size());
  const u32 limit = size - bytes;
  u32 low_bits = 0, highest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    highest = std::max(highest, offset.v[lane]);
    low_bits |= offset.v[lane];
  }
  if (size >= bytes && highest <= limit && low_bits % bytes == 0) [[likely]]
    return;
  for_lanes(mask, [&](u32 lane) {
    const u32 own = offset.v[lane];
    if (size < bytes || own > limit) {
      raise_fault(FaultKind::SharedOutOfRange, in, lane, own, bytes, access,
                  "shared memory offset beyond the block's " + std::to_string(size) + " bytes");
    }
    if (own % bytes != 0)
      raise_fault(FaultKind::MisalignedAddress, in, lane, own, bytes, access, "misaligned address");
  });
}

void check_local(const Warp& warp, const Instr& in, u32 mask, u32 bytes, AccessKind access, Row& offset) {
  warp.cta->local_written |= access != AccessKind::Read;
  const u32 size = warp.worker->grid->spec().local_bytes;
  const u32 start = kLocalTop - size;
  for (int lane = 0; lane < kLanes; ++lane) offset.v[lane] = (offset.v[lane] & (kLocalTop - 1)) - start;
  u32 low_bits = 0, highest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    highest = std::max(highest, offset.v[lane]);
    low_bits |= offset.v[lane];
  }
  if (size >= bytes && highest <= size - bytes && low_bits % bytes == 0) [[likely]]
    return;
  for_lanes(mask, [&](u32 lane) {
    const u32 own = offset.v[lane] + start;
    if (own % bytes != 0)
      raise_fault(FaultKind::MisalignedAddress, in, lane, own, bytes, access, "misaligned address");
    if (size >= bytes && offset.v[lane] <= size - bytes) return;
    const bool below = own < start;
    raise_fault(below ? FaultKind::StackOverflow : FaultKind::LocalOutOfRange, in, lane, own, bytes, access,
                "local memory offset outside the thread's " + std::to_string(size) + " bytes");
  });
}

Windows split_windows(const Warp& warp, u32 mask, const Row64& address) {
  const GridSpec& spec = warp.worker->grid->spec();
  Windows windows;
  for (int lane = 0; lane < kLanes; ++lane) {
    windows.shared |= address.v[lane] - spec.shared_window < kWindowSize ? 1u << lane : 0u;
    windows.local |= address.v[lane] - spec.local_window < kWindowSize ? 1u << lane : 0u;
  }
  windows.shared &= mask;
  windows.local &= mask;
  return windows;
}

void window_offsets(const Row64& address, u64 window, u32 mask, Row& out) {
  for (int lane = 0; lane < kLanes; ++lane) out.v[lane] = static_cast<u32>(address.v[lane] - window);
  repeat_first(mask, out.v);
}

void keep_lanes(u32 mask, Row64& address) { repeat_first(mask, address.v); }

void observe_wide(Worker& worker, const Instr& in, Space space, u32 mask, u32 bytes, AccessKind access,
                  const Row64& address) {
  begin_record(worker, space, mask, bytes, access);
  std::copy_n(address.v, kLanes, worker.access.address);
  if (worker.keep_footprints && space == Space::Global) {
    if (access != AccessKind::Write) worker.loaded.mark(address.v, mask, bytes);
    if (access != AccessKind::Read) worker.stored.mark(address.v, mask, bytes);
  }
  if (worker.keep_footprints && access == AccessKind::Atomic) count_words(worker, in);
  if (worker.checker != nullptr) worker.checker->access(in, space, mask, bytes, access, address);
  if (worker.probe != nullptr) worker.probe->access(in, space, mask, bytes, access, address);
  if (!worker.memory_counts.empty()) count_access(worker, in);
}

void observe_narrow(Worker& worker, const Instr& in, Space space, u32 mask, u32 bytes, AccessKind access,
                    const Row& offset) {
  begin_record(worker, space, mask, bytes, access);
  std::copy_n(offset.v, kLanes, worker.access.address);
  if (worker.keep_footprints && access == AccessKind::Atomic) count_words(worker, in);
  if (worker.checker != nullptr) worker.checker->access(in, space, mask, bytes, access, offset);
  if (worker.probe != nullptr) worker.probe->access(in, space, mask, bytes, access, offset);
  if (!worker.memory_counts.empty()) count_access(worker, in);
}

}  // namespace warpath
