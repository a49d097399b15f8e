// Which CTA barriers a BAR names: read once, for the instruction and for what checks it.
#pragma once

#include "exec/operand.hpp"
#include "sm/cta.hpp"

namespace warpath {

// BAR id[, count][, predicate]. A register id alone gives the number; with the same register as count, the
// number is in bits 3:0 and the count in 27:16. Calls arrive(lanes, id, expected) for each barrier that lanes
// of `mask` name; expected is in threads, 0 for the whole CTA.
template <class Arrive>
void each_barrier(Warp& warp, const Instr& in, u32 mask, Arrive&& arrive) {
  const int words = in.operand_count - (static_cast<BarrierMode>(in.aux) >= BarrierMode::ReducePopc ? 1 : 0);
  Row id_scratch, count_scratch;
  const u32* id = raw32(warp, in.operands[0], id_scratch);
  const u32* count = words > 1 ? raw32(warp, in.operands[1], count_scratch) : nullptr;
  const bool packed =
      words > 1 && in.operands[0].kind == OperandKind::Reg && in.operands[1].kind == OperandKind::Reg;
  for (u32 rest = mask; rest != 0;) {
    const u32 first = lowest_lane(rest);
    u32 lanes = 0;
    for_lanes(rest, [&](u32 lane) {
      const bool same = id[lane] == id[first] && (count == nullptr || count[lane] == count[first]);
      lanes |= same ? 1u << lane : 0u;
    });
    rest &= ~lanes;
    const u32 expected = count == nullptr ? 0 : (packed ? count[first] >> 16 : count[first]) & 0xfff;
    arrive(lanes, id[first] & 15, expected);
  }
}

}  // namespace warpath
