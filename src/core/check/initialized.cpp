#include "check/initialized.hpp"

namespace warpath {

void WrittenMemory::track(u64 base, u64 size) {
  blocks_[base] = {base, size, std::unique_ptr<u8[], Free>(static_cast<u8*>(std::calloc(size, 1)))};
  last_ = nullptr;
}

void WrittenMemory::forget(u64 base) {
  blocks_.erase(base);
  last_ = nullptr;
}

WrittenMemory::Block* WrittenMemory::find(u64 address) {
  if (last_ != nullptr && address - last_->base < last_->size) return last_;
  const auto above = blocks_.upper_bound(address);
  if (above == blocks_.begin()) return nullptr;
  Block& block = std::prev(above)->second;
  if (address - block.base >= block.size || block.map == nullptr) return nullptr;
  return last_ = &block;
}

void WrittenMemory::set(u64 address, u64 size, u8 value) {
  Block* block = find(address);
  if (block == nullptr) return;
  const u64 offset = address - block->base;
  std::memset(block->map.get() + offset, value, std::min(size, block->size - offset));
}

void WrittenMemory::copy(u64 destination, u64 source, u64 size) {
  const Block* from = find(source);
  if (from == nullptr) return mark(destination, size);
  const u64 start = source - from->base, room = std::min(size, from->size - start);
  const u8* map = from->map.get() + start;
  Block* to = find(destination);
  if (to == nullptr) return;
  const u64 offset = destination - to->base;
  std::memmove(to->map.get() + offset, map, std::min(room, to->size - offset));
}

bool WrittenMemory::missing(u64 address, u32 size) {
  const Block* block = find(address);
  if (block == nullptr) return false;
  const u64 offset = address - block->base;
  return size <= block->size - offset && is_unwritten(block->map.get() + offset, size);
}

}  // namespace warpath
