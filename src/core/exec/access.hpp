// Lane addresses of memory instructions, and their translation to host addresses with the hardware's checks.
#pragma once

#include "exec/fault.hpp"
#include "exec/state.hpp"
#include "exec/worker.hpp"
#include "ops/instr.hpp"

namespace warpath {

// Bits of Instr::flags shared by the memory families.
inline constexpr u32 kWideAddress = 1u << 0;  // .E: 64-bit address
inline constexpr u32 kPolls = 1u << 1;        // of the kind spin loops make

// 64-bit lane addresses of a global or generic operand. Lanes outside `mask` repeat the first lane's, so that
// they never decide a range check.
void wide_addresses(const Warp& warp, const Instr& in, const Operand& op, u32 mask, Row64& out);
// 32-bit lane addresses of a shared or local operand, same rule.
void narrow_addresses(const Warp& warp, const Operand& op, u32 mask, Row& out);

// Makes base + address[lane] a host address for every lane of `mask`. Rewrites `address` when the lanes lie
// in several allocations. Faults on unmapped pages and misalignment, and notes accesses outside every live
// allocation.
u8* translate(Warp& warp, const Instr& in, u32 mask, u32 bytes, AccessKind access, Row64& address);

// As narrow_addresses(), and whether all of them are aligned and inside the first `size` bytes: one pass over
// the lanes.
template <u32 kBytes>
inline bool narrow_addresses_within(const Warp& warp, const Operand& op, u32 size, Row& out) {
  const u32 uniform = static_cast<u32>(op.value) + warp.ureg[op.ureg];
  const u32* row = warp.read_row(op.reg);
  const u32 scale = op.scale;
  u32 low_bits = 0, highest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const u32 address = row[lane] * scale + uniform;
    out.v[lane] = address;
    highest = highest > address ? highest : address;
    low_bits |= address;
  }
  return size >= kBytes && highest <= size - kBytes && low_bits % kBytes == 0;
}

// Faults unless every lane of `mask` lies inside the CTA's shared memory and is aligned.
void check_shared(const Warp& warp, const Instr& in, u32 mask, u32 bytes, AccessKind access,
                  const Row& offset);
// Same for the backed part of local memory; rewrites the offsets to be relative to its start.
void check_local(const Warp& warp, const Instr& in, u32 mask, u32 bytes, AccessKind access, Row& offset);

// Splits generic addresses: lanes of `mask` in the shared and local windows; the rest are global.
struct Windows {
  u32 shared = 0;
  u32 local = 0;
};
Windows split_windows(const Warp& warp, u32 mask, const Row64& address);
// Offsets in a window, for the lanes of `mask`; the others repeat the first.
void window_offsets(const Row64& address, u64 window, u32 mask, Row& out);
// Lanes outside `mask` repeat the first lane's address.
void keep_lanes(u32 mask, Row64& address);

// Records the access for whoever looks (counters, the timing model). `Address` is a Row or a Row64.
void observe_wide(Worker& worker, const Instr& in, Space space, u32 mask, u32 bytes, AccessKind access,
                  const Row64& address);
void observe_narrow(Worker& worker, const Instr& in, Space space, u32 mask, u32 bytes, AccessKind access,
                    const Row& offset);

}  // namespace warpath
