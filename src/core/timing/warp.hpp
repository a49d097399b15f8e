// A resident warp as the clock sees it: when it can issue next, and what kept it from issuing before.
#pragma once

#include "exec/state.hpp"
#include "timing/resource.hpp"
#include "timing/stall.hpp"
#include "timing/stream.hpp"

namespace warpath {

// What a warp waits for since its last instruction, in order; each entry lasts until its time.
struct Waits {
  static constexpr u32 kMost = 8;
  Cycle end[kMost];
  Stall reason[kMost];
  u32 count = 0;
  Cycle last = 0;

  void begin(Cycle at) {
    count = 0;
    last = at;
  }
  void add(Stall why, Cycle until) {
    if (until <= last) return;
    if (count == kMost) --count;
    end[count] = until;
    reason[count++] = why;
    last = until;
  }
};

enum class Blocked : u8 { No, Scoreboard, Group, Fence, Draining };

inline constexpr u32 kScoreboards = 6;
inline constexpr u32 kNoScoreboard = 7;

struct TimedWarp {
  Warp* warp = nullptr;          // null while replaying
  const Step* script = nullptr;  // while replaying: the step it is at
  Waits waits;
  Cycle started = 0;
  Cycle issued = 0;
  Cycle ack_time = 0;  // when L2 has taken the last of its stores
  u32 acks = 0;        // stores whose time is not known yet
  u32 line = ~0u;      // instruction line it decodes from
  u32 pc = 0;          // instruction index of what it issues next
  u32 exit_pc = 0;
  u32 meeting = 0;  // while replaying and blocked: whom it waits for
  u16 id = 0;       // in its CTA
  u16 cta = 0;      // index of its CTA among the SM's residents
  u8 part = 0;
  u8 slot = 0;
  Blocked blocked = Blocked::No;
  bool live = false;
  bool scoreboard_long[kNoScoreboard + 1] = {};
  u16 scoreboard_open[kNoScoreboard + 1] = {};    // answers whose time is not known yet
  Cycle scoreboard_time[kNoScoreboard + 1] = {};  // when all known answers are there
};

}  // namespace warpath
