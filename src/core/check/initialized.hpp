// Which bytes of memory have been written.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "types.hpp"

namespace warpath {

// Wide loads that the compiler merges may take padding along, so one written byte is enough.
inline bool is_unwritten(const u8* map, u32 size) {
  u32 any = 0;
  for (u32 i = 0; i < size; ++i) any |= map[i];
  return any == 0;
}

// One byte of map for one byte of memory: simple, and writes of a warp are single stores.
class WrittenBytes {
 public:
  void reset(u32 size) { map_.assign(size, 0); }
  void mark(u32 offset, u32 size) {
    static constexpr u32 kFour = 0x01010101;
    if (size == 4) {
      std::memcpy(map_.data() + offset, &kFour, sizeof kFour);
    } else {
      std::memset(map_.data() + offset, 1, size);
    }
  }
  bool inside(u32 offset, u32 size) const { return offset <= map_.size() && size <= map_.size() - offset; }
  // Whether no byte of the access was ever written.
  bool missing(u32 offset, u32 size) const { return is_unwritten(map_.data() + offset, size); }

 private:
  std::vector<u8> map_;
};

// The same for device allocations, by address. What is in no tracked allocation counts as written.
class WrittenMemory {
 public:
  void track(u64 base, u64 size);
  void forget(u64 base);
  void mark(u64 address, u64 size) { set(address, size, 1); }
  void unmark(u64 address, u64 size) { set(address, size, 0); }
  // Copied bytes are as written as their source.
  void copy(u64 destination, u64 source, u64 size);
  bool missing(u64 address, u32 size);

 private:
  struct Free {
    void operator()(u8* map) const { std::free(map); }
  };
  struct Block {
    u64 base = 0;
    u64 size = 0;
    std::unique_ptr<u8[], Free> map;  // calloc: memory is taken as it is touched
  };
  Block* find(u64 address);
  void set(u64 address, u64 size, u8 value);

  std::map<u64, Block> blocks_;
  Block* last_ = nullptr;
};

}  // namespace warpath
