#include "timing/timeline.hpp"

#include <algorithm>

namespace warpath {

void Bins::coarsen() {
  ++bits_;
  const std::size_t count = (values_.size() + 1) / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const u64 second = 2 * i + 1 < values_.size() ? values_[2 * i + 1] : 0;
    values_[i] = values_[2 * i] + second;
  }
  values_.resize(count);
}

void Bins::widen(Cycle at) {
  while ((at >> bits_) >= kMost) coarsen();
}

void Bins::add_span(Cycle from, Cycle to) {
  while (from < to) {
    if (((to - 1) >> bits_) >= kMost) widen(to - 1);
    const Cycle stop = std::min(to, ((from >> bits_) + 1) << bits_);
    add(from, stop - from);
    from = stop;
  }
}

void Bins::add(const Bins& other) {
  for (std::size_t i = 0; i < other.values_.size(); ++i) add(Cycle{i} << other.bits_, other.values_[i]);
  while (bits_ < other.bits_) coarsen();
}

void Bins::fit(u32 bits, Cycle last) {
  while (bits_ < bits) coarsen();
  const std::size_t count = (last >> bits_) + 1;
  u64 late = 0;
  for (std::size_t i = count; i < values_.size(); ++i) late += values_[i];
  values_.resize(count);
  values_.back() += late;
}

void TimelineShare::request(u32 sm, u32 index, Cycle at, const Access& access) {
  Sample& own = samples_[index];
  if (at > own.at || (at == own.at && sm >= own.sm)) return;
  own.at = at;
  own.sm = sm;
  own.address.fill(-1);
  for_lanes(access.mask, [&](u32 lane) { own.address[lane] = static_cast<i64>(access.address[lane]); });
}

TimelineResult Timeline::result(Cycle cycles) const {
  TimelineResult out;
  out.watched_sm = watched_.number;
  out.stretches = watched_.stretches;
  out.dropped = watched_.dropped;
  out.samples.resize(instructions_);
  Bins warp_cycles, issued;
  for (const auto& share : shares_) {
    warp_cycles.add(share->warp_cycles_);
    issued.add(share->issued_);
    out.ctas.insert(out.ctas.end(), share->ctas_.begin(), share->ctas_.end());
    for (std::size_t i = 0; i < instructions_; ++i) {
      const Sample& other = share->samples_[i];
      if (std::pair(other.at, other.sm) < std::pair(out.samples[i].at, out.samples[i].sm))
        out.samples[i] = other;
    }
  }
  std::sort(out.ctas.begin(), out.ctas.end(),
            [](const CtaSpan& a, const CtaSpan& b) { return a.block < b.block; });
  Bins dram = memory.dram_bytes, l2 = memory.l2_sectors;
  const Cycle last = std::max<Cycle>(cycles, 1) - 1;
  out.bits = std::max({warp_cycles.bits(), issued.bits(), dram.bits(), l2.bits()});
  while ((last >> out.bits) >= Bins::kMost) ++out.bits;
  for (auto [bins, values] : {std::pair(&warp_cycles, &out.warp_cycles), std::pair(&issued, &out.issued),
                              std::pair(&dram, &out.dram_bytes), std::pair(&l2, &out.l2_sectors)}) {
    bins->fit(out.bits, last);
    *values = bins->values();
  }
  return out;
}

}  // namespace warpath
