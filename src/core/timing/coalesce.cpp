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

// `count` parts of a warp cut into `parts`, from `part` on.
u32 lanes_of(u32 part, u32 count, u32 parts) {
  const u32 lanes = kLanes / parts;
  return static_cast<u32>((u64{1} << lanes * count) - 1) << part * lanes;
}

// Whether every lane has the address of its neighbour, or of the one after that.
bool in_pairs(const Access& access, u32 mask) {
  for (const u32 step : {1u, 2u}) {
    bool all = true;
    for_lanes(mask, [&](u32 lane) {
      const u32 other = lane ^ step;
      all = all && ((mask >> other & 1) == 0 || access.address[other] == access.address[lane]);
    });
    if (all) return true;
  }
  return false;
}

// Two bits, each the parity of some bits of the line's number: found by loads of two lines whose numbers
// differ in one or two bits, up to bit 22; all of 120 random pairs agree (H200).
u32 tag_bank(u64 line) {
  constexpr u64 kFirst = 0x6f7ab5, kSecond = 0x3ad5da;
  return static_cast<u32>(__builtin_parityll(line & kFirst) | __builtin_parityll(line & kSecond) << 1);
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
  for (u32 i = 0; i < lines.count; ++i) most = std::max(most, ++depth[tag_bank(lines.lines[i].line)]);
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
    u32 sum = 0;
    for (u32 sector = 0; sector < kSectorsPerLine; ++sector) {
      const auto first = lanes_on.begin() + sector * kSectorBytes / 4;
      sum += *std::max_element(first, first + kSectorBytes / 4);
    }
    out.lines[i].sector_passes = static_cast<u8>(std::min<u32>(sum, 255));
    out.sectors += sum;
  }
}

SharedPasses shared_passes(const Access& access, bool merges) {
  SharedPasses result;
  if (access.mask == 0) return result;
  if (!access.atomic && trivially_free(access)) return {1, 0};
  // Lanes of 64 bits go in two halves, of 128 bits in four quarters. Two parts of a load go as one when their
  // lanes come in pairs that want the same.
  const u32 parts = access.atomic ? 1 : std::max<u32>(access.width / 4, 1);
  const bool pairs = !access.write && parts > 1;
  for (u32 part = 0; part < parts;) {
    const u32 both = pairs ? lanes_of(part, 2, parts) : 0;
    const bool joined = pairs && in_pairs(access, access.mask & both);
    const u32 lanes = joined ? both : lanes_of(part, 1, parts);
    const u32 own = bank_passes(access, lanes, !access.atomic || merges);
    result.wavefronts += own;
    result.conflicts += own != 0 ? own - 1 : 0;
    part += joined ? 2 : 1;
  }
  if (pairs && parts == 4) result.wavefronts = std::max<u32>(result.wavefronts, 2);
  return result;
}

}  // namespace warpath
