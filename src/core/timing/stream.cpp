#include "timing/stream.hpp"

#include <algorithm>
#include <utility>

namespace warpath {
namespace {

constexpr u8 kLocal = 1, kWrite = 2, kAtomic = 4;

}  // namespace

void WarpStream::touched(const Touch& touch) {
  const bool cached = touch.where == Touch::Where::Cached || touch.where == Touch::Where::Constant;
  const u32 count = cached ? touch.lines.count : 0;
  const int flags = (touch.local ? kLocal : 0) | (touch.write ? kWrite : 0) | (touch.atomic ? kAtomic : 0);
  last().payload = static_cast<u32>(touches_.size());
  touches_.push_back({static_cast<u32>(lines_.size()), static_cast<u16>(count),
                      static_cast<u16>(cached ? touch.lines.sectors : 0), touch.wavefronts, touch.conflicts,
                      touch.where, static_cast<u8>(flags), touch.width, touch.pieces, touch.lanes});
  lines_.insert(lines_.end(), touch.lines.lines.begin(), touch.lines.lines.begin() + count);
}

void WarpStream::goes_ahead() {
  barrier_ = steps_.size() - 1;
  last().flags |= Step::kAhead;
}

Step& WarpStream::meets() { return steps_[std::min(std::exchange(barrier_, kNone), steps_.size() - 1)]; }

void WarpStream::read(u32 touch, Touch& out) const {
  const Packed& own = touches_[touch];
  out.where = own.where;
  out.local = (own.flags & kLocal) != 0;
  out.write = (own.flags & kWrite) != 0;
  out.atomic = (own.flags & kAtomic) != 0;
  out.width = own.width;
  out.pieces = own.pieces;
  out.lanes = own.lanes;
  out.wavefronts = own.wavefronts;
  out.conflicts = own.conflicts;
  out.lines.count = own.count;
  out.lines.sectors = own.sectors;
  std::copy_n(lines_.begin() + own.first, own.count, out.lines.lines.begin());
}

CtaStream::CtaStream(std::size_t warps) {
  for (std::size_t i = 0; i < warps; ++i) warps_.push_back(std::make_shared<WarpStream>());
}

void CtaStream::open_meeting() {
  const u32 number = static_cast<u32>(meetings_.size());
  meetings_.push_back(0);
  for (const Passer& passer : passers_) {
    Step& step = warps_[passer.warp]->steps()[passer.step];
    step.flags |= Step::kArrives;
    step.payload = number;
    ++meetings_.back();
  }
  passers_.clear();
}

void CtaStream::join(u32 warp, bool waits) {
  auto& steps = warps_[warp]->steps();
  if ((warps_[warp]->last().flags & Step::kArrives) != 0) steps.push_back({steps.back().pc, Step::kMore, 0});
  Step& step = warps_[warp]->meets();
  step.flags |= Step::kArrives | (waits ? Step::kWaits : 0);
  step.payload = static_cast<u32>(meetings_.size() - 1);
  ++meetings_.back();
}

void CtaStream::cut() {
  std::erase_if(warps_, [](const auto& warp) { return warp->steps().empty(); });
  for (const auto& warp : warps_) warp->last().flags |= Step::kExits;
}

void Stream::stop() {
  cut = true;
  for (const auto& cta : ctas) cta->cut();
  std::erase_if(ctas, [](const auto& cta) { return cta->warps().empty(); });
}

u64 Stream::steps() const {
  u64 sum = 0;
  for (const auto& cta : ctas) {
    for (const auto& warp : cta->warps()) sum += warp->steps().size();
  }
  return sum;
}

bool Stream::has_meetings() const {
  return std::any_of(ctas.begin(), ctas.end(), [](const auto& cta) { return !cta->meetings().empty(); });
}

}  // namespace warpath
