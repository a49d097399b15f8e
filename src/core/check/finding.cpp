#include "check/finding.hpp"

#include <algorithm>

namespace warpath {
namespace {

constexpr std::size_t kMostPairs = 64;

}  // namespace

const char* finding_name(FindingKind kind) {
  switch (kind) {
    case FindingKind::RaceReadAfterWrite:
      return "race_read_after_write";
    case FindingKind::RaceWriteAfterRead:
      return "race_write_after_read";
    case FindingKind::RaceWriteAfterWrite:
      return "race_write_after_write";
    case FindingKind::UninitializedRead:
      return "uninitialized_read";
    case FindingKind::ConstantOutOfRange:
      return "constant_out_of_range";
    case FindingKind::HeapOutOfBounds:
      return "heap_out_of_bounds";
    case FindingKind::HeapUseAfterFree:
      return "heap_use_after_free";
    case FindingKind::DivergentBarrier:
      return "divergent_barrier";
    case FindingKind::BarrierCount:
      return "barrier_count";
    case FindingKind::BarrierExited:
      return "barrier_exited";
    case FindingKind::MaskWithoutCaller:
      return "mask_without_caller";
    case FindingKind::MaskExited:
      return "mask_exited";
  }
  return "unknown";
}

void Findings::add(Finding finding) {
  // A read and a write that nothing orders are one race, whichever the model happened to do first.
  const bool read_first = finding.kind == FindingKind::RaceWriteAfterRead;
  if (read_first || finding.kind == FindingKind::RaceReadAfterWrite) {
    Site& write = read_first ? finding.site : finding.other;
    Site& read = read_first ? finding.other : finding.site;
    const bool write_is_first = write.index <= read.index;
    if (write_is_first == read_first) std::swap(finding.site, finding.other);
    finding.kind = write_is_first ? FindingKind::RaceReadAfterWrite : FindingKind::RaceWriteAfterRead;
  }
  const auto key = std::tuple(finding.kind, finding.space, finding.site.index, finding.other.index);
  const auto [entry, fresh] = found_.emplace(key, finding);
  Finding& kept = entry->second;
  ++kept.count;
  if (finding.site.cta == finding.other.cta && kept.warps.size() < kMostPairs) {
    kept.warps.insert(std::minmax(finding.site.warp, finding.other.warp));
  }
}

std::vector<Finding> Findings::all() const {
  std::vector<Finding> list;
  for (const auto& [key, finding] : found_) list.push_back(finding);
  return list;
}

}  // namespace warpath
