// Integer names, warp geometry and small helpers shared by the whole core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace warpath {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr int kLanes = 32;
inline constexpr u32 kFullMask = 0xffffffffu;

// One 32-bit value per lane: a register row, or a scratch vector of the same shape.
struct alignas(64) Row {
  u32 v[kLanes];
};
// One 64-bit value per lane (register pairs, addresses).
struct alignas(64) Row64 {
  u64 v[kLanes];
};

inline u32 lowest_lane(u32 mask) { return static_cast<u32>(__builtin_ctz(mask)); }

// Calls `body(lane)` for each set bit of `mask`, lowest first.
template <class Body>
inline void for_lanes(u32 mask, Body&& body) {
  for (u32 rest = mask; rest != 0; rest &= rest - 1) body(lowest_lane(rest));
}

}  // namespace warpath
