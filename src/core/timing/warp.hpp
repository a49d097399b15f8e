// A resident warp as the clock sees it: when it can issue next, and what kept it from issuing before.
#pragma once

#include <vector>

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

// Asynchronous copies that LDGDEPBAR closed into one group, or will: groups complete in order.
struct CopyGroup {
  u32 open = 0;       // copies whose time is not known yet
  u8 scoreboard = 0;  // what is told, once closed
  bool closed = false;
  Cycle ready = 0;
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
  Cycle ack_time = 0;   // when L2 has taken the last of its stores
  Cycle done_time = 0;  // when the SM knows that the last of them is done
  u32 acks = 0;         // stores whose time is not known yet
  u32 line = ~0u;       // instruction line it decodes from
  u32 pc = 0;           // instruction index of what it issues next
  u32 exit_pc = 0;
  u32 meeting = 0;     // while replaying: whom it waits for
  u32 ahead = 0;       // its lanes, while it issues what is behind a barrier that is not complete
  Cycle released = 0;  // when the last barrier let it go
  u16 id = 0;          // in its CTA
  u16 cta = 0;         // index of its CTA among the SM's residents
  u8 part = 0;
  u8 slot = 0;
  Blocked blocked = Blocked::No;
  bool live = false;
  bool parts = false;   // its last branch was taken by some of its lanes only,
  bool deeper = false;  // when other lanes were elsewhere already
  bool scoreboard_long[kNoScoreboard + 1] = {};
  u16 scoreboard_open[kNoScoreboard + 1] = {};    // answers whose time is not known yet
  Cycle scoreboard_time[kNoScoreboard + 1] = {};  // when all known answers are there
  std::vector<CopyGroup> copies;                  // oldest first; the last is the one that copies join
  u32 copies_done = 0;                            // groups that have gone from the front of `copies`
};

}  // namespace warpath
