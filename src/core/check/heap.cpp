#include "check/heap.hpp"

namespace warpath {
namespace {

constexpr u64 kGap = 64;  // bytes behind a block that belong to nobody

}  // namespace

// A context that is reset begins with an empty heap.
void HeapWatch::keep_up() {
  if (heap_number_ == memory_.heap_number()) return;
  lost_ = live();
  heap_number_ = memory_.heap_number();
  blocks_.clear();
  freed_.clear();
  last_ = nullptr;
}

u64 HeapWatch::allocate(u64 size, const HeapSite& site) {
  keep_up();
  if (size == 0) return 0;
  u64 base = memory_.heap_alloc(size + kGap);
  while (base == 0 && !freed_.empty()) {
    reuse_one();
    base = memory_.heap_alloc(size + kGap);
  }
  if (base != 0) blocks_[base] = {base, size, site, std::nullopt};
  last_ = nullptr;
  return base;
}

// What was freed first may be handed out again.
void HeapWatch::reuse_one() {
  memory_.heap_free(freed_.front());
  blocks_.erase(freed_.front());
  freed_.pop_front();
  last_ = nullptr;
}

HeapFree HeapWatch::release(u64 address, const HeapSite& site) {
  keep_up();
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return HeapFree::NotABlock;
  if (found->second.freed) return HeapFree::Twice;
  found->second.freed = site;
  freed_.push_back(address);
  return HeapFree::Done;
}

bool HeapWatch::is_outside(u64 address, u32 size) {
  if (!memory_.in_heap(address)) return false;
  keep_up();
  const auto inside = [&](const HeapBlock& block) {
    return address >= block.base && address + size <= block.base + block.size && !block.freed;
  };
  if (last_ != nullptr && inside(*last_)) return false;
  last_ = nearest(address);
  return last_ == nullptr || !inside(*last_);
}

const HeapBlock* HeapWatch::nearest(u64 address) const {
  const auto above = blocks_.upper_bound(address);
  if (above != blocks_.begin()) return &std::prev(above)->second;
  return above == blocks_.end() ? nullptr : &above->second;
}

std::vector<HeapBlock> HeapWatch::live() const {
  std::vector<HeapBlock> out = lost_;
  for (const auto& [base, block] : blocks_) {
    if (!block.freed) out.push_back(block);
  }
  return out;
}

}  // namespace warpath
