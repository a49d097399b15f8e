// A quarter of an SM: its warp slots, when each can issue, and when its units are free.
#pragma once

#include <array>
#include <vector>

#include "timing/params.hpp"
#include "timing/resource.hpp"
#include "timing/stall.hpp"

namespace warpath {

inline constexpr u32 kMaxSlots = 16;

// Instructions in a queue, by when each leaves it. A full queue holds back the issue of its class.
class CreditQueue {
 public:
  explicit CreditQueue(u32 credits = 1) : leave_(credits, 0) {}
  // `leaves` never decreases from call to call. Returns when there is room for the next instruction.
  // When the one that must leave before another can come in does.
  Cycle oldest() const { return leave_[next_]; }

  Cycle push(Cycle leaves) {
    leave_[next_] = leaves;
    next_ = (next_ + 1) % leave_.size();
    return leave_[next_];
  }

 private:
  std::vector<Cycle> leave_;
  std::size_t next_ = 0;
};

struct SubPartition {
  u32 occupied = 0;      // slots holding a warp
  u32 live = 0;          // those whose warp can still issue
  u32 stays = 0;         // those whose last instruction does not yield
  u32 last = kMaxSlots;  // the slot that issued last
  u32 seen = 0;          // slots that were found ready and whose pipe wait is being measured
  Cycle next = kNever;
  Cycle port_free = 0;  // the issue port: register banks that are behind hold it
  u64 port_busy = 0;    // cycles for which they did, up to port_free
  std::array<Cycle, kMaxSlots> wake{};
  std::array<u8, kMaxSlots> issue{};      // IssueClass of the next instruction
  std::array<u32, kMaxSlots> age{};       // of its CTA: larger is younger
  std::array<Cycle, kMaxSlots> issued{};  // when the warp last issued
  std::array<u64, kMaxSlots> busy_at{};   // class_busy when the warp became ready
  std::array<u64, kMaxSlots> port_at{};   // and port_busy
  std::array<u16, kMaxSlots> warp{};      // index among the SM's warps
  std::array<Cycle, kServers> unit_free{};
  std::array<Cycle, kIssueClasses> class_free{};
  std::array<u64, kIssueClasses> class_busy{};  // cycles in which the class could not issue, up to class_free
  std::array<Server, 4> banks;                  // of registers
  Server mio_port;
  Calendar data_port;        // into the registers, a pass of shared memory or L1 after another
  Server constants;          // indexed ones: one instruction after another
  Cycle constants_held = 0;  // by one whose lines are not all asked for yet
  Server special_registers;  // as are reads of these
  Server matches;            // MATCH.ANY: a value after another
  CreditQueue mio, lg;
  Cycle mio_head = 0;  // when the last one left its queue, which it does in order
  std::array<u8, 3> reuse_register{255, 255, 255};
  std::array<u16, 3> reuse_warp{};

  // Cycles up to `at` in which class `c` could not issue.
  u64 busy_until(u32 c, Cycle at) const {
    return class_busy[c] - (class_free[c] > at ? class_free[c] - at : 0);
  }

  u64 port_until(Cycle at) const { return port_busy - (port_free > at ? port_free - at : 0); }

  void hold_port(Cycle now, Cycle until) {
    const Cycle from = std::max(port_free, now + 1);
    if (until <= from) return;
    port_busy += until - from;
    port_free = until;
  }

  void hold_class(u32 c, Cycle now, Cycle until) {
    const Cycle from = std::max(class_free[c], now + 1);
    if (until <= from) return;
    class_busy[c] += until - from;
    class_free[c] = until;
  }

  void wake_at(u32 slot, Cycle at, IssueClass c) {
    wake[slot] = at;
    issue[slot] = static_cast<u8>(c);
    seen &= ~(1u << slot);
    next = std::min(next, std::max(at, port_free));
  }
};

}  // namespace warpath
