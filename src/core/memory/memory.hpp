// Device memory: address regions backed by lazily committed host memory, pages mapped by allocations, and the
// table of live allocations that accesses are checked against.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "types.hpp"

namespace warpath {

inline constexpr u64 kPageBits = 21;
inline constexpr u64 kPageSize = u64{1} << kPageBits;  // 2 MiB, the granularity of the hardware's mappings

enum class MemoryKind : u8 { Device = 1, HostPinned = 2, Managed = 3, Code = 4, System = 5 };

// An access from outside the grid (driver, front end, Python) that no mapping covers.
struct AccessError : std::runtime_error {
  AccessError(u64 address, u64 size, const std::string& why);
  u64 address;
  u64 size;
};

struct Allocation {
  u64 base = 0;
  u64 size = 0;
  MemoryKind kind = MemoryKind::Device;
};

class WrittenMemory;  // check/initialized.hpp

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  // Adds an address region; `fd` >= 0 maps that file shared (from its offset 0). Throws std::invalid_argument
  // on overlap or misalignment, std::system_error when the host refuses.
  void reserve(u64 base, u64 size, int fd);
  void alloc(u64 base, u64 size, MemoryKind kind);
  void free(u64 base);

  // The live allocation holding `address`, or null.
  const Allocation* find(u64 address) const;
  // The live allocations around `address`: the last one starting at or below it and the first one above.
  std::pair<const Allocation*, const Allocation*> neighbours(u64 address) const;
  // Host address of [address, address + size) when all its pages are mapped, else null.
  u8* mapped(u64 address, u64 size) const;
  // As mapped(), throwing AccessError.
  u8* checked(u64 address, u64 size) const;

  std::string read(u64 address, u64 size) const;
  void write(u64 address, std::span<const u8> bytes);
  void fill(u64 address, u64 value, u64 size, u32 width);
  void copy(u64 destination, u64 source, u64 size);
  std::vector<Allocation> allocations() const;

  // From now on `written` is told what is allocated and written from outside the grids.
  void track_writes(WrittenMemory* written) { written_ = written; }

  // The device-side malloc heap: part of a live allocation. Blocks are 16-byte aligned, first fit.
  void set_heap(u64 base, u64 size);
  bool has_heap() const { return heap_size_ != 0; }
  u64 heap_number() const {
    return heap_number_;
  }  // counts set_heap(): a context that is reset has a new one
  bool in_heap(u64 address) const { return address - heap_base_ < heap_size_; }
  u64 heap_alloc(u64 size);     // 0 when full
  bool heap_free(u64 address);  // false when not a live block

 private:
  struct Region {
    u64 base = 0;
    u64 size = 0;
    u8* host = nullptr;
    bool shared = false;
    int fd = -1;
    std::vector<u32> pages;  // live allocations touching each page
  };
  Region* region(u64 address);
  const Region* region(u64 address) const;
  void map_pages(Region& region, const Allocation& allocation, bool add);

  WrittenMemory* written_ = nullptr;
  std::vector<Region> regions_;
  std::map<u64, Allocation> live_;
  u64 heap_base_ = 0;
  u64 heap_size_ = 0;
  u64 heap_number_ = 0;
  std::map<u64, u64> heap_blocks_;  // base -> size
  std::mutex heap_mutex_;
};

}  // namespace warpath
