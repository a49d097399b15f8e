// Streams as another launch shape or wider accesses would make them.
#include <algorithm>

#include "timing/stream.hpp"

namespace warpath {
namespace {

using Warps = std::vector<std::shared_ptr<WarpStream>>;

// All of it but the CTAs.
std::shared_ptr<Stream> frame(const Stream& stream) {
  auto out = std::make_shared<Stream>();
  out->program = stream.program;
  out->before = stream.before;
  out->blocks_per_sm = stream.blocks_per_sm;
  out->local_bytes = stream.local_bytes;
  out->l1_bytes = stream.l1_bytes;
  out->code_id = stream.code_id;
  out->banks = stream.banks;
  out->entry = stream.entry;
  return out;
}

Warps all_warps(const Stream& stream) {
  Warps out;
  for (const auto& cta : stream.ctas) out.insert(out.end(), cta->warps().begin(), cta->warps().end());
  return out;
}

// `warps` in CTAs of `size`, the rest in a last one; the whole launch has as many more of them.
std::shared_ptr<Stream> seat(const Stream& stream, const Warps& warps, u32 size) {
  if (size == 0 || warps.empty()) return nullptr;
  std::shared_ptr<Stream> out = frame(stream);
  for (std::size_t i = 0; i < warps.size(); ++i) {
    if (i % size == 0) out->ctas.push_back(std::make_unique<CtaStream>());
    out->ctas.back()->add(warps[i]);
  }
  out->cut = stream.cut;
  out->blocks = std::max(stream.blocks * out->ctas.size() / stream.ctas.size(), out->ctas.size());
  return out;
}

// The lines of `more` beside those of `into`, each once.
bool merge_lines(Coalesced& into, const Coalesced& more) {
  for (u32 i = 0; i < more.count; ++i) {
    const LineShare& share = more.lines[i];
    LineShare* const end = into.lines.data() + into.count;
    LineShare* same =
        std::find_if(into.lines.data(), end, [&](const LineShare& own) { return own.line == share.line; });
    if (same == end) {
      if (into.count == into.lines.size()) return false;
      *same = share;
      ++into.count;
    } else {
      same->sectors |= share.sectors;
    }
  }
  into.sectors = 0;
  for (u32 i = 0; i < into.count; ++i)
    into.sectors += static_cast<u32>(__builtin_popcount(into.lines[i].sectors));
  return true;
}

// Whether the lanes fill all they touch: lines that follow each other, every sector in full.
bool dense(const Touch& touch) {
  const Coalesced& lines = touch.lines;
  const auto [low, high] =
      std::minmax_element(lines.lines.begin(), lines.lines.begin() + lines.count,
                          [](const LineShare& a, const LineShare& b) { return a.line < b.line; });
  return lines.count != 0 && high->line - low->line + 1 == lines.count &&
         distinct_sectors(touch) == least_sectors(touch);
}

bool same_path(const WarpStream& a, const WarpStream& b) {
  return std::equal(a.steps().begin(), a.steps().end(), b.steps().begin(), b.steps().end(),
                    [](const Step& x, const Step& y) { return x.pc == y.pc && x.flags == y.flags; });
}

// One warp for all of `warps`; null when they cannot be one.
std::shared_ptr<WarpStream> as_one(const Program& program, const std::shared_ptr<WarpStream>* warps,
                                   u32 ways) {
  auto out = std::make_shared<WarpStream>();
  Touch touch, more;
  for (u32 i = 1; i < ways; ++i) {
    if (!same_path(*warps[0], *warps[i])) return nullptr;
  }
  for (std::size_t at = 0; at < warps[0]->steps().size(); ++at) {
    const Step& step = warps[0]->steps()[at];
    out->steps().push_back(step);
    if (!touches_memory(program, step.pc)) continue;
    warps[0]->read(step.payload, touch);
    const bool widens =
        touch.where == Touch::Where::Cached && !touch.local && !touch.atomic && touch.width * ways <= 16;
    if (touch.where != Touch::Where::Nowhere && !widens) return nullptr;
    for (u32 i = 1; i < ways; ++i) {
      warps[i]->read(warps[i]->steps()[at].payload, more);
      if (more.where != touch.where || (widens && !merge_lines(touch.lines, more.lines))) return nullptr;
    }
    touch.width = static_cast<u8>(widens ? touch.width * ways : touch.width);
    if (widens && !dense(touch)) return nullptr;
    out->touched(touch);
  }
  return out;
}

}  // namespace

std::shared_ptr<Stream> regroup(const Stream& stream, u32 warps) {
  return stream.has_meetings() ? nullptr : seat(stream, all_warps(stream), warps);
}

std::shared_ptr<Stream> widen(const Stream& stream, u32 ways) {
  Warps warps = all_warps(stream);
  if (!stream.whole()) warps.resize(warps.size() / ways * ways);  // the neighbours of the last are not known
  if (stream.has_meetings() || warps.empty() || warps.size() % ways != 0) return nullptr;
  Warps merged;
  for (std::size_t i = 0; i < warps.size(); i += ways) {
    std::shared_ptr<WarpStream> one = as_one(*stream.program, &warps[i], ways);
    if (one == nullptr) return nullptr;
    merged.push_back(std::move(one));
  }
  const u32 size = static_cast<u32>(stream.ctas[0]->warps().size());
  return seat(stream, merged, size);
}

}  // namespace warpath
