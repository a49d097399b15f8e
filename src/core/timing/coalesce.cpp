#include "timing/coalesce.hpp"

#include <algorithm>

namespace warpath {
namespace {

u8 sectors_of(u64 address, u32 width) {
  const u32 first = static_cast<u32>(address % kLineBytes) / kSectorBytes;
  const u32 last =
      std::min<u32>(static_cast<u32>(address % kLineBytes + width - 1) / kSectorBytes, kSectorsPerLine - 1);
  return static_cast<u8>((2u << last) - (1u << first));
}

// Passes of one group of lanes: the most distinct words that fall into one bank. `merge`: equal words count
// once.
u32 bank_passes(const Access& access, u32 lanes, bool merge) {
  std::array<std::array<u32, kLanes>, kLanes> words;
  std::array<u8, kLanes> depth{};
  u32 most = 0;
  for_lanes(access.mask & lanes, [&](u32 lane) {
    const u32 first = static_cast<u32>(access.address[lane]) / 4;
    const u32 last = static_cast<u32>(access.address[lane] + access.width - 1) / 4;
    for (u32 word = first; word <= last; ++word) {
      auto& bank = words[word % kLanes];
      u8& used = depth[word % kLanes];
      const bool seen = merge && std::find(bank.begin(), bank.begin() + used, word) != bank.begin() + used;
      if (!seen && used < kLanes) bank[used++] = word;
      most = std::max<u32>(most, used);
    }
  });
  return most;
}

// The common case: every lane on its own bank, or all on one word.
bool trivially_free(const Access& access) {
  if (access.width != 4 || access.mask != kFullMask) return false;
  const u32 first = static_cast<u32>(access.address[0]);
  u32 different = 0, spread = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 own = static_cast<u32>(access.address[lane]);
    different |= own - first - lane * 4;
    spread |= own ^ first;
  }
  return different == 0 || spread == 0;
}

}  // namespace

void coalesce(const Access& access, u64 base, Coalesced& out) {
  out.count = 0;
  u64 last_line = ~u64{0};
  u32 at = 0;
  for_lanes(access.mask, [&](u32 lane) {
    const u64 address = access.address[lane] + base;
    const u64 line = address / kLineBytes;
    if (line != last_line) {
      last_line = line;
      for (at = 0; at < out.count && out.lines[at].line != line; ++at) {
      }
      if (at == out.count) out.lines[out.count++] = {line, 0, 1};
    }
    out.lines[at].sectors |= sectors_of(address, access.width);
  });
  out.sectors = 0;
  for (u32 i = 0; i < out.count; ++i)
    out.sectors += static_cast<u32>(__builtin_popcount(out.lines[i].sectors));
}

u32 tag_wavefronts(const Coalesced& lines) {
  std::array<u32, 4> depth{};
  u32 most = 1;
  for (u32 i = 0; i < lines.count; ++i) {
    const u64 l = lines.lines[i].line;
    most = std::max(most, ++depth[(l ^ l >> 2 ^ l >> 4 ^ l >> 6 ^ l >> 8) & 3]);
  }
  return most;
}

void count_passes(const Access& access, u64 base, Coalesced& out) {
  out.sectors = 0;
  for (u32 i = 0; i < out.count; ++i) {
    std::array<u8, kLineBytes / 4> lanes_on{};
    u8 most = 1;
    for_lanes(access.mask, [&](u32 lane) {
      const u64 address = access.address[lane] + base;
      if (address / kLineBytes != out.lines[i].line) return;
      most = std::max(most, ++lanes_on[address % kLineBytes / 4]);
    });
    out.lines[i].passes = most;
    // Each pass carries the sectors that still have a lane left.
    for (u32 sector = 0; sector < kSectorsPerLine; ++sector) {
      const auto first = lanes_on.begin() + sector * kSectorBytes / 4;
      out.sectors += *std::max_element(first, first + kSectorBytes / 4);
    }
  }
}

SharedPasses shared_passes(const Access& access, bool merges) {
  SharedPasses result;
  if (access.mask == 0) return result;
  if (!access.atomic && trivially_free(access)) return {1, 0};
  // Stores of 64-bit lanes go in two halves, of 128-bit lanes in four quarters; loads merge over the whole
  // warp.
  const u32 parts = access.write ? std::max<u32>(access.width / 4, 1) : 1;
  const u32 lanes = kLanes / parts;
  for (u32 part = 0; part < parts; ++part) {
    const u32 group = static_cast<u32>((u64{1} << lanes) - 1) << (part * lanes);
    const u32 own = bank_passes(access, group, !access.atomic || merges);
    result.wavefronts += own;
    result.conflicts += own != 0 ? own - 1 : 0;
  }
  if (!access.write && !access.atomic && access.width > 4) {
    // A 128-bit load takes two passes at least; the fewest that the width needs are no conflict.
    result.wavefronts = std::max<u32>(result.wavefronts, access.width / 8);
    const u32 least = std::min<u32>(result.wavefronts, access.width / 4);
    result.conflicts = result.wavefronts - least;
  }
  return result;
}

}  // namespace warpath
