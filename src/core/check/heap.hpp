// The blocks of device-side malloc(): bounds, use after free, wrong frees, leaks.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "memory/memory.hpp"
#include "types.hpp"

namespace warpath {

// A thread of a launch at an instruction, in words that outlast the grid.
struct HeapSite {
  u64 launch = 0;
  u32 index = 0;
  std::array<u32, 3> block{};
  std::array<u32, 3> thread{};
};

struct HeapBlock {
  u64 base = 0;
  u64 size = 0;  // as asked for
  HeapSite made;
  std::optional<HeapSite> freed;
};

enum class HeapFree : u8 { Done, Twice, NotABlock };

class HeapWatch {
 public:
  explicit HeapWatch(Memory& memory) : memory_(memory) {}

  // malloc() and free() of a watched program: blocks lie apart, and freed ones are not used again while there
  // is room elsewhere. 0 when the heap is full.
  u64 allocate(u64 size, const HeapSite& site);
  HeapFree release(u64 address, const HeapSite& site);

  // Whether [address, address + size) lies in the heap, but not inside one live block.
  bool is_outside(u64 address, u32 size);
  // The block that holds `address`, or the one closest below it, else above; null when there was none.
  const HeapBlock* nearest(u64 address) const;
  // Those that nobody has freed, also of heaps that are gone.
  std::vector<HeapBlock> live() const;

 private:
  void reuse_one();
  void keep_up();

  Memory& memory_;
  std::map<u64, HeapBlock> blocks_;  // live and freed, by base
  std::deque<u64> freed_;            // those that the heap has not got back, oldest first
  const HeapBlock* last_ = nullptr;
  u64 heap_number_ = 0;
  std::vector<HeapBlock> lost_;  // what lived when its heap went
};

}  // namespace warpath
