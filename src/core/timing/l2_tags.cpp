#include "timing/l2_tags.hpp"

#include <algorithm>
#include <stdexcept>

namespace warpath {

L2Tags::L2Tags(u64 bytes, u32 ways, u32 page_bits)
    : ways_(ways),
      page_lines_bits_(page_bits - 7),
      sets_(std::max<u64>(bytes / kLineBytes / ways, 1)),
      tags_(sets_ * ways, ~u64{0}),
      stamps_(sets_ * ways),
      dirty_ways_(sets_),
      lines_(sets_ * ways) {
  if (ways > 32) throw std::invalid_argument("L2 has at most 32 ways");
}

// Lines that follow each other in a partition go to sets that follow each other, so that an array fills all
// evenly; each round through the sets starts at another one, so that strides do not meet in a few.
std::size_t L2Tags::set_of(u64 line) const {
  const u64 in_page = line & ((u64{1} << page_lines_bits_) - 1);
  const u64 own = (line >> (page_lines_bits_ + 1)) << page_lines_bits_ | in_page;
  return (own + mix(own / sets_)) % sets_ * ways_;
}

void L2Tags::prefetch(u64 line) const {
  const std::size_t set = set_of(line);
  __builtin_prefetch(&tags_[set]);
  __builtin_prefetch(&tags_[set + ways_ / 2]);
  __builtin_prefetch(&stamps_[set]);
}

L2Tags::Line* L2Tags::find(u64 line) {
  const std::size_t set = set_of(line);
  for (u32 way = 0; way < ways_; ++way) {
    if (tags_[set + way] == line) {
      stamps_[set + way] = ++clock_;
      return &lines_[set + way];
    }
  }
  return nullptr;
}

L2Tags::Line* L2Tags::replace(u64 line, Victim& victim) {
  const std::size_t set = set_of(line);
  const auto stamps = stamps_.begin() + static_cast<std::ptrdiff_t>(set);
  const std::size_t way = static_cast<std::size_t>(std::min_element(stamps, stamps + ways_) - stamps);
  Line& own = lines_[set + way];
  victim = {tags_[set + way], own.dirty};
  own = Line{};
  dirty_ways_[set / ways_] &= ~(1u << way);
  tags_[set + way] = line;
  stamps_[set + way] = ++clock_;
  return &own;
}

void L2Tags::clear() {
  std::fill(tags_.begin(), tags_.end(), ~u64{0});
  std::fill(stamps_.begin(), stamps_.end(), 0u);
  std::fill(dirty_ways_.begin(), dirty_ways_.end(), 0u);
  std::fill(lines_.begin(), lines_.end(), Line{});
}

void L2Tags::clean_all() {
  std::fill(dirty_ways_.begin(), dirty_ways_.end(), 0u);
  for (Line& line : lines_) line.dirty = 0;
}

void L2Tags::soil(Line& line, u8 sectors) {
  const std::size_t index = static_cast<std::size_t>(&line - lines_.data());
  line.dirty |= sectors;
  if (line.dirty != 0) dirty_ways_[index / ways_] |= 1u << index % ways_;
}

bool L2Tags::clean_oldest(u64 line, u32 limit, Victim& cleaned) {
  const std::size_t set = set_of(line);
  u32& dirty = dirty_ways_[set / ways_];
  if (static_cast<u32>(__builtin_popcount(dirty)) <= limit) return false;
  u32 oldest = lowest_lane(dirty);
  for (u32 rest = dirty; rest != 0; rest &= rest - 1) {
    const u32 way = lowest_lane(rest);
    if (stamps_[set + way] < stamps_[set + oldest]) oldest = way;
  }
  cleaned = {tags_[set + oldest], lines_[set + oldest].dirty};
  lines_[set + oldest].dirty = 0;
  dirty &= ~(1u << oldest);
  return true;
}

}  // namespace warpath
