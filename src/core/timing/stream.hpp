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
  };
  u32 pc : 24;
  u32 flags : 8;
  u32 payload;
};

// The instructions of a CTA. Warps that wait for others meet: whoever let them go, and all that were let go,
// must have arrived before any goes on.
class CtaStream {
 public:
  explicit CtaStream(std::size_t warps = 0) : warps_(warps) {}

  // While recording.
  void add(u32 warp, u32 pc) { warps_[warp].push_back({pc & 0xffffffu, 0, 0}); }
  void touched(u32 warp, const Touch& touch);
  void slept(u32 warp, u64 ns) { warps_[warp].back().payload = static_cast<u32>(ns); }
  void exits(u32 warp) { warps_[warp].back().flags |= Step::kExits; }
  // The warp came to a barrier, and neither waits nor lets anybody go.
  void passed_by(u32 warp) { passers_.push_back({warp, warps_[warp].size() - 1}); }
  // A meeting is over: `join` says who took part.
  void open_meeting();
  void join(u32 warp, bool waits);

  // While replaying.
  std::size_t warps() const { return warps_.size(); }
  const Step* steps(u32 warp) const { return warps_[warp].data(); }
  const std::vector<u32>& meetings() const { return meetings_; }
  void read(u32 touch, Touch& out) const;

 private:
  struct Packed {
    u32 first;  // line
    u16 count, sectors, wavefronts, conflicts;
    Touch::Where where;
    u8 flags, width, pieces, lanes;
  };
  struct Passer {
    u32 warp;
    std::size_t step;
  };

  std::vector<std::vector<Step>> warps_;
  std::vector<Packed> touches_;
  std::vector<LineShare> lines_;
  std::vector<u32> meetings_;  // how many arrive
  std::vector<Passer> passers_;
};

// What the launch ran on, and the streams of its first CTAs.
struct Stream {
  const Program* program = nullptr;
  std::vector<std::unique_ptr<CtaStream>> ctas;
  std::unique_ptr<const MemorySystem> before;  // as it was when the launch began
  u64 blocks = 0;                              // of the launch
  u64 steps = 0;                               // recorded
  u32 sms = 0, blocks_per_sm = 0, local_bytes = 0;
  u64 l1_bytes = 0, code_id = 0;
};

}  // namespace warpath
