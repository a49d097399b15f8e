// The tags of L2: which lines a partition holds, which of their sectors, and what of it DRAM has not seen
// yet.
#pragma once

#include <vector>

#include "timing/traffic.hpp"

namespace warpath {

// A fixed bijection that spreads numbers; results never depend on the host.
inline u64 mix(u64 x) {
  x ^= x >> 17;
  x *= 0x9e3779b97f4a7c15ull;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 32);
}

// One L2 partition's tags: set-associative over 128-byte lines, valid and dirty bits per sector.
class L2Tags {
 public:
  struct Line {
    u64 ready = 0;    // when data on its way from DRAM is there, counted over all launches
    u64 patched = 0;  // when a sector was last written in part, counted the same way
    u8 valid = 0;
    u8 dirty = 0;  // changed by `soil` and `clean...` alone
  };
  struct Victim {
    u64 line = 0;
    u8 dirty = 0;
  };
  // A partition holds every other page of 2^page_bits bytes.
  L2Tags(u64 bytes, u32 ways, u32 page_bits);

  Line* find(u64 line);
  // Makes room for `line`; `victim` receives what was there.
  Line* replace(u64 line, Victim& victim);
  void clear();
  void clean_all();
  // Lines of which `gone` is true hold nothing any more.
  template <class Test>
  void drop(Test gone) {
    for (std::size_t i = 0; i < tags_.size(); ++i) {
      if (tags_[i] != ~u64{0} && gone(tags_[i])) lines_[i].valid = 0;
    }
  }
  void soil(Line& line, u8 sectors);
  // Cleans the oldest dirty line of the set that holds `line` when more than `limit` of its lines are dirty;
  // whether it did.
  bool clean_oldest(u64 line, u32 limit, Victim& cleaned);
  // The set of `line` will be looked at soon.
  void prefetch(u64 line) const;

 private:
  std::size_t set_of(u64 line) const;
  u32 ways_;
  u32 page_lines_bits_;
  u64 sets_;
  u32 clock_ = 0;
  // Apart from the lines, since a look-up goes through all ways of a set.
  std::vector<u64> tags_;
  std::vector<u32> stamps_;
  std::vector<u32> dirty_ways_;  // by set
  std::vector<Line> lines_;
};

}  // namespace warpath
