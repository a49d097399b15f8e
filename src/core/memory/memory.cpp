#include "memory/memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <system_error>

#include "check/initialized.hpp"

namespace warpath {
namespace {

std::string hex(u64 value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}

constexpr u64 kHeapAlign = 16;
constexpr u64 kHostPage = 4096;

}  // namespace

AccessError::AccessError(u64 address, u64 size, const std::string& why)
    : std::runtime_error(std::to_string(size) + " bytes at " + hex(address) + ": " + why),
      address(address),
      size(size) {}

Memory::~Memory() {
  for (const Region& region : regions_) {
    munmap(region.host, region.size);
    if (region.fd >= 0) close(region.fd);
  }
}

void Memory::reserve(u64 base, u64 size, int fd) {
  if (size == 0 || base % kPageSize != 0 || size % kPageSize != 0 || base + size < base) {
    throw std::invalid_argument("region " + hex(base) + " + " + hex(size) +
                                " is not a whole number of 2 MiB pages");
  }
  for (const Region& other : regions_) {
    if (base < other.base + other.size && other.base < base + size) {
      throw std::invalid_argument("region " + hex(base) + " overlaps the one at " + hex(other.base));
    }
  }
  const int own_fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
  if (fd >= 0 && own_fd < 0) throw std::system_error(errno, std::generic_category(), "dup");
  const int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* host = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, own_fd, 0);
  if (host == MAP_FAILED) {
    const int error = errno;
    if (own_fd >= 0) close(own_fd);
    throw std::system_error(error, std::generic_category(), "mmap of " + hex(size) + " bytes");
  }
  Region region{base, size, static_cast<u8*>(host), fd >= 0, own_fd, {}};
  region.pages.resize(size >> kPageBits);
  regions_.push_back(std::move(region));
}

Memory::Region* Memory::region(u64 address) {
  for (Region& region : regions_) {
    if (address - region.base < region.size) return &region;
  }
  return nullptr;
}

const Memory::Region* Memory::region(u64 address) const { return const_cast<Memory*>(this)->region(address); }

void Memory::map_pages(Region& region, const Allocation& allocation, bool add) {
  const u64 first = (allocation.base - region.base) >> kPageBits;
  const u64 last = (allocation.base - region.base + allocation.size - 1) >> kPageBits;
  for (u64 page = first; page <= last; ++page) region.pages[page] += add ? 1 : -1;
}

void Memory::alloc(u64 base, u64 size, MemoryKind kind) {
  Region* home = region(base);
  if (size == 0 || home == nullptr || base + size > home->base + home->size) {
    throw std::invalid_argument("allocation " + hex(base) + " + " + hex(size) + " lies outside every region");
  }
  const auto [below, above] = neighbours(base);
  if ((below != nullptr && base < below->base + below->size) ||
      (above != nullptr && above->base < base + size)) {
    throw std::invalid_argument("allocation " + hex(base) + " + " + hex(size) + " overlaps a live one");
  }
  const Allocation allocation{base, size, kind};
  live_.emplace(base, allocation);
  if (written_ != nullptr && kind == MemoryKind::Device) written_->track(base, size);
  map_pages(*home, allocation, true);
}

void Memory::free(u64 base) {
  const auto found = live_.find(base);
  if (found == live_.end()) throw std::invalid_argument("no live allocation starts at " + hex(base));
  const Allocation allocation = found->second;
  Region& home = *region(base);
  map_pages(home, allocation, false);
  live_.erase(found);
  if (written_ != nullptr) written_->forget(base);
  // Give whole host pages back; what is left keeps its bytes, as on a GPU.
  const u64 from = (base - home.base + kHostPage - 1) & ~(kHostPage - 1);
  const u64 to = (base - home.base + allocation.size) & ~(kHostPage - 1);
  if (to <= from) return;
  if (home.shared) {
    fallocate(home.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
              static_cast<off_t>(to - from));
  } else {
    madvise(home.host + from, to - from, MADV_DONTNEED);
  }
}

std::pair<const Allocation*, const Allocation*> Memory::neighbours(u64 address) const {
  const auto above = live_.upper_bound(address);
  const Allocation* below = above == live_.begin() ? nullptr : &std::prev(above)->second;
  return {below, above == live_.end() ? nullptr : &above->second};
}

const Allocation* Memory::find(u64 address) const {
  const Allocation* below = neighbours(address).first;
  return below != nullptr && address - below->base < below->size ? below : nullptr;
}

u8* Memory::mapped(u64 address, u64 size) const {
  const Region* home = region(address);
  if (home == nullptr) return nullptr;
  const u64 offset = address - home->base;
  if (size > home->size - offset) return nullptr;
  const u64 last = (offset + (size == 0 ? 0 : size - 1)) >> kPageBits;
  for (u64 page = offset >> kPageBits; page <= last; ++page) {
    if (home->pages[page] == 0) return nullptr;
  }
  return home->host + offset;
}

u8* Memory::checked(u64 address, u64 size) const {
  u8* host = mapped(address, size);
  if (host == nullptr) throw AccessError(address, size, "not mapped");
  return host;
}

std::string Memory::read(u64 address, u64 size) const {
  return std::string(reinterpret_cast<const char*>(checked(address, size)), size);
}

void Memory::write(u64 address, std::span<const u8> bytes) {
  if (bytes.empty()) return;
  std::memcpy(checked(address, bytes.size()), bytes.data(), bytes.size());
  if (written_ != nullptr) written_->mark(address, bytes.size());
}

void Memory::fill(u64 address, u64 value, u64 size, u32 width) {
  if (width != 1 && width != 2 && width != 4 && width != 8)
    throw std::invalid_argument("fill width must be 1, 2, 4 or 8");
  if (size % width != 0) throw std::invalid_argument("fill size must be a multiple of its width");
  if (size == 0) return;
  u8* host = checked(address, size);
  if (written_ != nullptr) written_->mark(address, size);
  if (width == 1) {
    std::memset(host, static_cast<int>(value & 0xff), size);
    return;
  }
  for (u64 offset = 0; offset < size; offset += width) std::memcpy(host + offset, &value, width);
}

void Memory::copy(u64 destination, u64 source, u64 size) {
  if (size == 0) return;
  std::memmove(checked(destination, size), checked(source, size), size);
  if (written_ != nullptr) written_->copy(destination, source, size);
}

std::vector<Allocation> Memory::allocations() const {
  std::vector<Allocation> all;
  for (const auto& [base, allocation] : live_) all.push_back(allocation);
  return all;
}

void Memory::set_heap(u64 base, u64 size) {
  checked(base, size);
  heap_base_ = base;
  heap_size_ = size;
  ++heap_number_;
  heap_blocks_.clear();
}

u64 Memory::heap_alloc(u64 size) {
  const std::lock_guard lock(heap_mutex_);
  if (size == 0 || size > heap_size_) return 0;
  size = (size + kHeapAlign - 1) & ~(kHeapAlign - 1);
  u64 start = heap_base_;
  for (const auto& [base, length] : heap_blocks_) {
    if (base - start >= size) break;
    start = base + length;
  }
  if (heap_base_ + heap_size_ - start < size) return 0;
  heap_blocks_.emplace(start, size);
  return start;
}

bool Memory::heap_free(u64 address) {
  const std::lock_guard lock(heap_mutex_);
  return heap_blocks_.erase(address) == 1;
}

}  // namespace warpath
