// Shadow memory of the race check: for every word the last write and up to two reads that nothing orders.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "check/order.hpp"
#include "types.hpp"

namespace warpath {

inline constexpr u32 kStrong = 1u << 31;  // flag in Mark::index: atomic, or a strong (volatile) access

struct Mark {
  Stamp stamp;
  u32 index = 0;  // instruction, with kStrong
};

struct Cell {
  Mark write;
  Mark reads[2];
};

// Cells of one stretch of memory, a word each, and a byte each for words that were touched in parts.
class CellBlock {
 public:
  explicit CellBlock(u32 bytes) : words_((bytes + 3) / 4) {}
  u32 bytes() const { return static_cast<u32>(words_.size() * 4); }
  void clear();

  // Calls `visit(cell)` for the cells of [offset, offset + size): of words, or of bytes where they must be
  // kept apart. Aligned to its size, as every access is.
  template <class Visit>
  void visit(u32 offset, u32 size, Visit&& visit) {
    if (size < 4) split(offset / 4);
    for (u32 at = offset; at < offset + size;) {
      const u32 word = at / 4;
      if (split_.empty() || !split_[word]) {
        visit(words_[word]);
        at += 4;
      } else {
        visit(bytes_[at++]);
      }
    }
  }

 private:
  void split(u32 word);

  std::vector<Cell> words_;
  std::vector<Cell> bytes_;  // empty until a word is split
  std::vector<bool> split_;
};

// Cells of global memory, made as they are touched. Every grid starts afresh: the order of grids orders their
// accesses.
class GlobalCells {
 public:
  void begin_grid() { ++generation_; }
  // The block that holds `address`, and the offset in it; null when the shadow is full.
  CellBlock* find(u64 address, u32& offset);
  // Forgets what was done to these bytes.
  void clear(u64 address, u64 size);
  bool full() const { return full_; }

 private:
  struct Page {
    explicit Page(u32 bytes) : cells(bytes) {}
    CellBlock cells;
    u32 generation = 0;
  };
  std::unordered_map<u64, std::unique_ptr<Page>> pages_;
  u64 last_number_ = ~u64{0};
  Page* last_ = nullptr;
  u32 generation_ = 0;
  bool full_ = false;
};

}  // namespace warpath
