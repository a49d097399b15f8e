// Which 32-byte sectors of global memory a grid's loads touched: the least that DRAM must deliver once.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <unordered_map>

#include "types.hpp"

namespace warpath {

class Footprint {
 public:
  // Marks the sector of `address`. Repeated marks of one page, the usual case, skip the look-up.
  void mark(u64 address) {
    const u64 page = address >> kPageBits;
    if (page != last_page_) {
      auto& slot = pages_[page];
      if (!slot) slot = std::make_unique<Page>();
      last_ = slot.get();
      last_page_ = page;
    }
    const u64 sector = (address >> kSectorBits) & (kSectors - 1);
    (*last_)[sector / 64] |= u64{1} << (sector % 64);
  }

  // Adds the marks of `other`.
  void merge(const Footprint& other) {
    for (const auto& [page, theirs] : other.pages_) {
      auto& slot = pages_[page];
      if (!slot) slot = std::make_unique<Page>();
      for (std::size_t i = 0; i < theirs->size(); ++i) (*slot)[i] |= (*theirs)[i];
    }
  }

  // Distinct sectors marked.
  u64 sectors() const {
    u64 count = 0;
    for (const auto& [page, words] : pages_) {
      for (u64 word : *words) count += static_cast<u64>(std::popcount(word));
    }
    return count;
  }

 private:
  static constexpr u32 kPageBits = 21, kSectorBits = 5;
  static constexpr u64 kSectors = u64{1} << (kPageBits - kSectorBits);
  using Page = std::array<u64, kSectors / 64>;

  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
  u64 last_page_ = ~u64{0};
  Page* last_ = nullptr;
};

}  // namespace warpath
