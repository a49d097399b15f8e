// What a timed launch executed, warp by warp: enough to run the clock over it again under other parameters
// without executing anything.
#pragma once

#include <memory>
#include <vector>

#include "timing/touch.hpp"

namespace warpath {

class MemorySystem;
class Program;

// One instruction of a warp. `payload`: a memory instruction's touch, a sleep's length in ns, or the meeting
// that a barrier's step belongs to.
struct Step {
  enum Flag : u8 {
    kExits = 1,    // the warp ended
    kArrives = 2,  // one of those the meeting waits for
    kWaits = 4,    // goes on once all have arrived
    kMore = 8,     // no instruction: a second meeting of the step before
    kParts = 16,   // a branch that only some of its lanes took,
    kDeeper = 32,  // when other lanes were elsewhere already
    kAhead = 64,   // a barrier that the warp does not wait at: what is behind it does
  };
  u32 pc : 24;
  u32 flags : 8;
  u32 payload;
};

class WarpStream {
 public:
  void add(u32 pc) { steps_.push_back({pc & 0xffffffu, 0, 0}); }
  // Of the step added last.
  void touched(const Touch& touch);
  Step& last() { return steps_.back(); }
  // The step added last is a barrier, and others will follow before it is complete.
  void goes_ahead();
  // The step that a meeting is about: that barrier, or else the last one.
  Step& meets();

  std::vector<Step>& steps() { return steps_; }
  const std::vector<Step>& steps() const { return steps_; }
  void read(u32 touch, Touch& out) const;

 private:
  struct Packed {
    u32 first;  // line
    u16 count, sectors, wavefronts, conflicts;
    Touch::Where where;
    u8 flags, width, pieces, lanes;
  };

  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<Step> steps_;
  std::size_t barrier_ = kNone;  // the step of the barrier that is not complete
  std::vector<Packed> touches_;
  std::vector<LineShare> lines_;
};

// The instructions of a CTA. Warps that wait for others meet: whoever let them go, and all that were let go,
// must have arrived before any goes on.
class CtaStream {
 public:
  explicit CtaStream(std::size_t warps = 0);

  WarpStream& warp(u32 id) { return *warps_[id]; }
  const std::vector<std::shared_ptr<WarpStream>>& warps() const { return warps_; }
  // By meeting, how many arrive.
  const std::vector<u32>& meetings() const { return meetings_; }
  void add(std::shared_ptr<WarpStream> warp) { warps_.push_back(std::move(warp)); }

  // While recording. The warp came to a barrier, and neither waits nor lets anybody go.
  void passed_by(u32 warp) { passers_.push_back({warp, warps_[warp]->steps().size() - 1}); }
  // A meeting is over: `join` says who took part.
  void open_meeting();
  void join(u32 warp, bool waits);
  // Recording stops before the CTA's end: its warps end here, and those that have not begun are left out.
  void cut();

 private:
  struct Passer {
    u32 warp;
    std::size_t step;
  };

  std::vector<std::shared_ptr<WarpStream>> warps_;
  std::vector<u32> meetings_;
  std::vector<Passer> passers_;
};

// What the launch ran on, and the streams of its first CTAs.
struct Stream {
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const Program* program = nullptr;
  std::vector<std::unique_ptr<CtaStream>> ctas;
  std::shared_ptr<const MemorySystem> before;  // as it was when the launch began
  u64 blocks = 0;                              // of the launch
  bool cut = false;                            // recording stopped before the last of `ctas` ended
  u32 blocks_per_sm = 0, local_bytes = 0;
  u64 l1_bytes = 0, code_id = 0;
  std::vector<std::pair<u64, u64>> banks;  // of constants: address, size
  u32 entry = 0;                           // instruction index

  u64 steps() const;
  bool has_meetings() const;
  // All that the launch executed.
  bool whole() const { return !cut && ctas.size() == blocks; }
  // Recording stops now.
  void stop();
};

// The same warps in CTAs of `warps`, the last of which may have fewer: what another block size would make of
// a kernel whose warps never meet. Null when they do.
std::shared_ptr<Stream> regroup(const Stream& stream, u32 warps);
// As if each thread did the work of `ways` with accesses `ways` times as wide: a warp stands for `ways`
// neighbours that ran the same instructions. Arithmetic is counted once. Null when the warps differ or an
// access cannot widen.
std::shared_ptr<Stream> widen(const Stream& stream, u32 ways);

}  // namespace warpath
