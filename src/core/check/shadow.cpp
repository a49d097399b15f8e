#include "check/shadow.hpp"

#include <algorithm>

namespace warpath {
namespace {

constexpr u32 kPageBits = 14;
constexpr std::size_t kMostPages = 4096;  // 64 MiB of global memory a grid, 0.8 GiB of shadow

}  // namespace

void CellBlock::clear() {
  std::fill(words_.begin(), words_.end(), Cell{});
  bytes_.clear();
  split_.clear();
}

void CellBlock::split(u32 word) {
  if (split_.empty()) {
    split_.resize(words_.size());
    bytes_.resize(words_.size() * 4);
  }
  if (split_[word]) return;
  split_[word] = true;
  std::fill_n(bytes_.begin() + std::size_t{word} * 4, 4, words_[word]);
}

CellBlock* GlobalCells::find(u64 address, u32& offset) {
  const u64 number = address >> kPageBits;
  offset = static_cast<u32>(address & ((1u << kPageBits) - 1));
  if (number == last_number_ && last_->generation == generation_) return &last_->cells;
  auto found = pages_.find(number);
  if (found == pages_.end()) {
    if (pages_.size() >= kMostPages) {
      // Pages of earlier grids make room.
      std::erase_if(pages_, [&](const auto& entry) { return entry.second->generation != generation_; });
      last_number_ = ~u64{0};
    }
    if (pages_.size() >= kMostPages) {
      full_ = true;
      return nullptr;
    }
    found = pages_.emplace(number, std::make_unique<Page>(1u << kPageBits)).first;
    found->second->generation = generation_;
  }
  Page& page = *found->second;
  if (page.generation != generation_) {
    page.cells.clear();
    page.generation = generation_;
  }
  last_number_ = number;
  last_ = &page;
  return &page.cells;
}

void GlobalCells::clear(u64 address, u64 size) {
  for (u64 at = address & ~u64{3}; at < address + size; at += 4) {
    u32 offset = 0;
    if (CellBlock* cells = find(at, offset)) cells->visit(offset, 4, [](Cell& cell) { cell = {}; });
  }
}

}  // namespace warpath
