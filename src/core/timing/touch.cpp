#include "timing/touch.hpp"

#include <algorithm>

namespace warpath {
namespace {

constexpr u64 kLocalTop = u64{1} << 24;

// Local memory stands word by word, lane beside lane.
void localise(Access& access, u32 local_bytes) {
  for_lanes(access.mask, [&](u32 lane) {
    const u64 offset = access.address[lane] % kLocalTop + local_bytes - kLocalTop;
    access.address[lane] = (offset / 4 * kLanes + lane) * 4 + offset % 4;
  });
}

void describe_shared(const Access& access, const TimedOp& op, Touch& out) {
  out.where = Touch::Where::Shared;
  const SharedPasses passes = shared_passes(access, op.merges);
  out.wavefronts = static_cast<u16>(passes.wavefronts);
  out.conflicts = static_cast<u16>(passes.conflicts);
}

void repeat_words(Coalesced& lines, u32 words) {
  const u32 first = lines.count;
  for (u32 word = 1; word < words; ++word) {
    for (u32 i = 0; i < first; ++i) {
      LineShare share = lines.lines[i];
      share.line += word;
      lines.sectors += static_cast<u32>(__builtin_popcount(share.sectors));
      lines.lines[lines.count++] = share;
    }
  }
}

// A word after another, in the order of the lanes that want it first.
void describe_constants(const Access& access, Touch& out) {
  out.where = Touch::Where::Constant;
  std::array<u64, kLanes> words;
  out.lines.count = out.lines.sectors = 0;
  for_lanes(access.mask, [&](u32 lane) {
    const u64 word = access.address[lane] / 4;
    const auto end = words.begin() + out.lines.count;
    if (std::find(words.begin(), end, word) != end) return;
    words[out.lines.count] = word;
    out.lines.lines[out.lines.count++] = {access.address[lane] >> kConstLineBits, 0, 1};
  });
}

}  // namespace

void describe(Access& access, const TimedOp& op, u32 local_bytes, Touch& out) {
  out.where = Touch::Where::Nowhere;
  if (access.mask == 0) return;
  out.local = access.space == Space::Local;
  out.write = access.write;
  out.atomic = access.atomic;
  out.width = access.width;
  out.pieces = 1;
  out.lanes = static_cast<u8>(__builtin_popcount(access.mask));
  if (access.space == Space::Shared) return describe_shared(access, op, out);
  if (access.space == Space::Constant) return describe_constants(access, out);
  out.where = Touch::Where::Cached;
  if (out.local) {
    out.pieces = static_cast<u8>(std::max<u32>(access.width / 4, 1));
    if (out.pieces > 1) out.width = access.width = 4;
    localise(access, local_bytes);
  }
  coalesce(access, 0, out.lines);
  if (out.pieces > 1) repeat_words(out.lines, out.pieces);
  const bool loads = !access.write && !access.atomic;  // what only they wait for
  out.wavefronts = loads ? static_cast<u16>(shared_passes(access, true).wavefronts * out.pieces) : u16{0};
  if (access.atomic) count_passes(access, 0, out.lines);
}

u32 distinct_sectors(const Touch& touch) {
  u32 sum = 0;
  for (u32 i = 0; i < touch.lines.count; ++i)
    sum += static_cast<u32>(__builtin_popcount(touch.lines.lines[i].sectors));
  return sum;
}

u32 least_sectors(const Touch& touch) {
  const u32 bytes = u32{touch.lanes} * touch.width * touch.pieces;
  return std::min(std::max<u32>((bytes + kSectorBytes - 1) / kSectorBytes, 1), distinct_sectors(touch));
}

void pack_lanes(Touch& touch, u32 turn) {
  if (touch.where != Touch::Where::Cached) return;
  Coalesced& lines = touch.lines;
  u32 least = least_sectors(touch);
  if (least == distinct_sectors(touch)) return;
  const u32 kept = (least + kSectorsPerLine - 1) / kSectorsPerLine;
  std::rotate(lines.lines.begin(), lines.lines.begin() + turn * kept % lines.count,
              lines.lines.begin() + lines.count);
  lines.count = std::min(kept, lines.count);
  lines.sectors = 0;
  for (u32 i = 0; i < lines.count; ++i) {
    const u32 own = std::min(least, kSectorsPerLine);
    lines.lines[i].sectors = static_cast<u8>((1u << own) - 1);
    lines.sectors += own;
    least -= own;
  }
  touch.wavefronts = static_cast<u16>(std::max<u32>(touch.width / 4, 1) * touch.pieces);
}

void spread_banks(Touch& touch) {
  if (touch.where != Touch::Where::Shared) return;
  touch.wavefronts = static_cast<u16>(touch.wavefronts - touch.conflicts);
  touch.conflicts = 0;
}

}  // namespace warpath
