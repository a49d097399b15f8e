// Moving lane values between registers and memory: element kinds, and gather/scatter over host addresses.
#pragma once

#include <cstring>

#include "exec/state.hpp"
#include "types.hpp"

namespace warpath {

// Element kinds of loads and stores: the memory type, how many registers it fills, and how it widens to 32
// bits.
template <class Memory, class Register = Memory>
struct Narrow {
  using Type = Memory;
  static constexpr u32 kBytes = sizeof(Memory);
  static constexpr u32 kRegisters = 1;
  static u32 widen(Type value) { return static_cast<u32>(static_cast<Register>(value)); }
};
using U8 = Narrow<u8, u32>;
using S8 = Narrow<i8, i32>;
using U16 = Narrow<u16, u32>;
using S16 = Narrow<i16, i32>;
using B32 = Narrow<u32, u32>;
struct B64 {
  static constexpr u32 kBytes = 8;
  static constexpr u32 kRegisters = 2;
};
struct B128 {
  static constexpr u32 kBytes = 16;
  static constexpr u32 kRegisters = 4;
};

// Element values lane after lane, as memory holds them.
template <class Kind>
struct alignas(64) LaneMajor {
  u8 bytes[kLanes * Kind::kBytes];
};

using Quad = u32 __attribute__((vector_size(16)));

// Rows -> lane-major: 32 lanes of 4 words.
inline void rows_to_lanes(const Row* rows, LaneMajor<B128>& out) {
  for (int lane = 0; lane < kLanes; lane += 4) {
    Quad a, b, c, d;
    std::memcpy(&a, rows[0].v + lane, 16);
    std::memcpy(&b, rows[1].v + lane, 16);
    std::memcpy(&c, rows[2].v + lane, 16);
    std::memcpy(&d, rows[3].v + lane, 16);
    const Quad ab_lo = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               ab_hi = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Quad cd_lo = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               cd_hi = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    const Quad lanes[4] = {
        __builtin_shufflevector(ab_lo, cd_lo, 0, 1, 4, 5), __builtin_shufflevector(ab_lo, cd_lo, 2, 3, 6, 7),
        __builtin_shufflevector(ab_hi, cd_hi, 0, 1, 4, 5), __builtin_shufflevector(ab_hi, cd_hi, 2, 3, 6, 7)};
    std::memcpy(out.bytes + lane * 16, lanes, sizeof lanes);
  }
}
inline void rows_to_lanes(const Row* rows, LaneMajor<B64>& out) {
  u64* words = reinterpret_cast<u64*>(out.bytes);
  for (int lane = 0; lane < kLanes; ++lane)
    words[lane] = (static_cast<u64>(rows[1].v[lane]) << 32) | rows[0].v[lane];
}
template <class Memory, class Register>
inline void rows_to_lanes(const Row* rows, LaneMajor<Narrow<Memory, Register>>& out) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const Memory value = static_cast<Memory>(rows[0].v[lane]);
    std::memcpy(out.bytes + lane * sizeof(Memory), &value, sizeof(Memory));
  }
}

// Lane-major -> rows, all 32 lanes.
inline void lanes_to_rows(const u8* bytes, Row* rows, const B128*) {
  for (int lane = 0; lane < kLanes; lane += 4) {
    Quad l[4];
    std::memcpy(l, bytes + lane * 16, sizeof l);
    const Quad a = __builtin_shufflevector(l[0], l[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(l[0], l[1], 2, 6, 3, 7);
    const Quad c = __builtin_shufflevector(l[2], l[3], 0, 4, 1, 5),
               d = __builtin_shufflevector(l[2], l[3], 2, 6, 3, 7);
    const Quad words[4] = {
        __builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(a, c, 2, 3, 6, 7),
        __builtin_shufflevector(b, d, 0, 1, 4, 5), __builtin_shufflevector(b, d, 2, 3, 6, 7)};
    for (int word = 0; word < 4; ++word) std::memcpy(rows[word].v + lane, &words[word], 16);
  }
}
inline void lanes_to_rows(const u8* bytes, Row* rows, const B64*) {
  for (int lane = 0; lane < kLanes; ++lane) {
    u64 word;
    std::memcpy(&word, bytes + lane * 8, 8);
    rows[0].v[lane] = static_cast<u32>(word);
    rows[1].v[lane] = static_cast<u32>(word >> 32);
  }
}
template <class Memory, class Register>
inline void lanes_to_rows(const u8* bytes, Row* rows, const Narrow<Memory, Register>*) {
  for (int lane = 0; lane < kLanes; ++lane) {
    Memory value;
    std::memcpy(&value, bytes + lane * sizeof(Memory), sizeof(Memory));
    rows[0].v[lane] = Narrow<Memory, Register>::widen(value);
  }
}

// Loads the lanes of `mask` from host addresses base + offset[lane].
template <class Kind, class Offset>
inline void gather(const u8* base, const Offset* offset, u32 mask, Row* rows) {
  LaneMajor<Kind> values;
  if (mask == kFullMask) {
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(values.bytes + lane * Kind::kBytes, base + offset[lane], Kind::kBytes);
    }
    lanes_to_rows(values.bytes, rows, static_cast<const Kind*>(nullptr));
    return;
  }
  Row fresh[Kind::kRegisters];
  for_lanes(mask, [&](u32 lane) {
    std::memcpy(values.bytes + lane * Kind::kBytes, base + offset[lane], Kind::kBytes);
  });
  lanes_to_rows(values.bytes, fresh, static_cast<const Kind*>(nullptr));
  for (u32 word = 0; word < Kind::kRegisters; ++word) {
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[word].v[lane] = (mask >> lane) & 1 ? fresh[word].v[lane] : rows[word].v[lane];
    }
  }
}

// Stores the lanes of `mask`, lowest first: of lanes with equal addresses the highest wins.
template <class Kind, class Offset>
inline void scatter(u8* base, const Offset* offset, u32 mask, const Row* rows) {
  LaneMajor<Kind> values;
  rows_to_lanes(rows, values);
  if (mask == kFullMask) {
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(base + offset[lane], values.bytes + lane * Kind::kBytes, Kind::kBytes);
    }
    return;
  }
  for_lanes(mask, [&](u32 lane) {
    std::memcpy(base + offset[lane], values.bytes + lane * Kind::kBytes, Kind::kBytes);
  });
}

}  // namespace warpath
