// Which bytes of global memory a grid touched, in words of 4 bytes: what DRAM must deliver once, how much of
// it the lanes asked for, and what passes from one launch to the next.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "types.hpp"

namespace warpath {

class Footprint {
 public:
  using Range = std::pair<u64, u64>;  // [start, end) in bytes

  // Marks `bytes` at each lane of `mask`; addresses are multiples of `bytes`, at most 32, so that a lane's
  // bytes lie in one sector.
  void mark(const u64* address, u32 mask, u32 bytes) {
    if (mask == kFullMask && consecutive(address, bytes)) return mark_range(address[0], bytes * kLanes);
    for_lanes(mask, [&](u32 lane) { *sector(address[lane]) |= words_at(address[lane], bytes); });
  }

  // Adds the marks of `other`.
  void merge(const Footprint& other);
  u64 sectors() const;  // distinct 32-byte sectors touched
  u64 bytes() const;    // distinct bytes touched, in whole words

  // What was touched, ascending, as at most `most` ranges: `granule` is 4 or, when there were more, the
  // larger size that all bounds were rounded out to.
  std::vector<Range> ranges(std::size_t most, u64& granule) const;

 private:
  static constexpr u32 kPageBits = 21, kSectorBits = 5, kWordBits = 2;
  static constexpr u64 kPageBytes = u64{1} << kPageBits, kSectorBytes = u64{1} << kSectorBits;
  using Page = std::array<u8, (kPageBytes >> kSectorBits)>;  // by sector: a bit for each of its words

  static bool consecutive(const u64* address, u32 bytes) {
    u64 different = 0;
    for (u64 lane = 0; lane < kLanes; ++lane) different |= address[lane] - address[0] - lane * bytes;
    return different == 0;
  }

  static u8 words_at(u64 address, u32 bytes) {
    const u32 first = static_cast<u32>(address % kSectorBytes) >> kWordBits;
    const u32 count = bytes > 4 ? bytes >> kWordBits : 1;
    return static_cast<u8>(((1u << count) - 1) << first);
  }

  // Repeated marks of one page, the usual case, skip the look-up.
  u8* sector(u64 address) {
    const u64 page = address >> kPageBits;
    if (page != last_page_) {
      last_ = &own(page);
      last_page_ = page;
    }
    return &(*last_)[(address % kPageBytes) >> kSectorBits];
  }

  void mark_range(u64 start, u32 bytes) {
    const u64 end = start + bytes;
    for (u64 at = start; at < end;) {
      const u64 next = std::min(end, (at | (kSectorBytes - 1)) + 1);
      const u64 to = (next + 3) / 4 * 4;  // of a word that is touched in part, all
      *sector(at) |= words_at(at, static_cast<u32>(to - at / 4 * 4));
      at = next;
    }
  }

  Page& own(u64 page) {
    auto& slot = pages_[page];
    if (!slot) slot = std::make_unique<Page>();
    return *slot;
  }

  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
  u64 last_page_ = ~u64{0};
  Page* last_ = nullptr;
};

}  // namespace warpath
