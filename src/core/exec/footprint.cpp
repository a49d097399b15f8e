#include "exec/footprint.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace warpath {
namespace {

// Ranges in ascending order, rounded out to a granule; refuses more than `most`.
class Ranges {
 public:
  Ranges(u64 granule, std::size_t most) : granule_(granule), most_(most) {}

  bool add(u64 start, u64 end) {
    start = start / granule_ * granule_;
    end = (end + granule_ - 1) / granule_ * granule_;
    if (!found.empty() && start <= found.back().second) {
      found.back().second = std::max(found.back().second, end);
      return true;
    }
    found.emplace_back(start, end);
    return found.size() <= most_;
  }

  // The runs of set bits of one sector.
  bool add_sector(u64 address, u32 words) {
    while (words != 0) {
      const u32 first = static_cast<u32>(std::countr_zero(words));
      const u32 count = static_cast<u32>(std::countr_one(words >> first));
      if (!add(address + first * 4, address + (first + count) * 4)) return false;
      words &= ~(((1u << count) - 1) << first);
    }
    return true;
  }

  std::vector<Footprint::Range> found;

 private:
  u64 granule_;
  std::size_t most_;
};

template <class Sectors>
bool add_page(Ranges& ranges, u64 base, const Sectors& sectors) {
  constexpr std::size_t kStep = sizeof(u64);  // sectors looked at together: mostly all are touched, or none
  for (std::size_t i = 0; i < sectors.size(); i += kStep) {
    u64 several;
    std::memcpy(&several, &sectors[i], kStep);
    if (several == 0) continue;
    if (several == ~u64{0}) {
      if (!ranges.add(base + i * 32, base + (i + kStep) * 32)) return false;
      continue;
    }
    for (std::size_t j = i; j < i + kStep; ++j) {
      if (!ranges.add_sector(base + j * 32, sectors[j])) return false;
    }
  }
  return true;
}

}  // namespace

void Footprint::merge(const Footprint& other) {
  for (const auto& [page, theirs] : other.pages_) {
    Page& mine = own(page);
    for (std::size_t i = 0; i < theirs->size(); ++i) mine[i] |= (*theirs)[i];
  }
}

u64 Footprint::sectors() const {
  u64 count = 0;
  for (const auto& [page, sectors] : pages_)
    count += static_cast<u64>(
        std::count_if(sectors->begin(), sectors->end(), [](u8 words) { return words != 0; }));
  return count;
}

u64 Footprint::bytes() const {
  u64 words = 0;
  for (const auto& [page, sectors] : pages_)
    for (u8 sector : *sectors) words += static_cast<u64>(std::popcount(sector));
  return words << kWordBits;
}

std::vector<Footprint::Range> Footprint::ranges(std::size_t most, u64& granule) const {
  std::map<u64, const Page*> sorted;
  for (const auto& [page, sectors] : pages_) sorted.emplace(page, sectors.get());
  for (granule = 4;; granule *= 8) {
    Ranges ranges(granule, most);
    const bool fits = std::all_of(sorted.begin(), sorted.end(), [&](const auto& entry) {
      return add_page(ranges, entry.first << kPageBits, *entry.second);
    });
    if (fits) return std::move(ranges.found);
  }
}

}  // namespace warpath
