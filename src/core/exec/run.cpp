#include "exec/run.hpp"

#include "exec/program.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

constexpr u32 kNoPc = ~0u;

// Lanes of `mask` whose BSYNC set is complete: every living lane of the set waits at the same barrier.
u32 complete_convergence(const Warp& warp) {
  u32 complete = 0;
  for (u32 rest = warp.at_convergence; rest != 0;) {
    const u32 lane = lowest_lane(rest);
    const u8 barrier = warp.lane_wait[lane];
    const u32 set = warp.convergence[barrier].v[lane] & ~warp.exited;
    if (((set >> lane) & 1) == 0) {  // the lane left the set: it waits for nobody
      complete |= 1u << lane;
      rest &= rest - 1;
      continue;
    }
    u32 arrived = 0;
    for_lanes(set & warp.at_convergence, [&](u32 other) {
      const bool same =
          warp.lane_wait[other] == barrier && (warp.convergence[barrier].v[other] & ~warp.exited) == set;
      arrived |= same ? 1u << other : 0u;
    });
    if (arrived == set) complete |= arrived;
    rest &= ~(arrived | (1u << lane));
  }
  return complete;
}

// One complete WARPSYNC set, or 0. A lane outside the mask it named does not wait for anyone but the mask.
u32 complete_warpsync(const Warp& warp) {
  for (u32 rest = warp.at_warpsync; rest != 0; rest &= rest - 1) {
    const u32 lane = lowest_lane(rest);
    const u32 set = warp.sync_mask[lane] & ~warp.exited;
    u32 arrived = 0;
    for_lanes(set & warp.at_warpsync, [&](u32 other) {
      arrived |= (warp.sync_mask[other] & ~warp.exited) == set ? 1u << other : 0u;
    });
    if (arrived == set) return arrived | (1u << lane);
  }
  return 0;
}

// Lanes of `mask` at the lowest pc not below `floor`; `pc` receives it (kNoPc when there are none).
u32 lowest_group(const Warp& warp, u32 mask, u32 floor, u32& pc) {
  pc = warp.lane_pc[lowest_lane(mask)];
  u32 different = 0;
  for (int lane = 0; lane < kLanes; ++lane) different |= (mask >> lane) & 1 ? warp.lane_pc[lane] ^ pc : 0;
  if (different == 0 && pc >= floor) return mask;  // nearly always: all stand together
  pc = kNoPc;
  u32 group = 0;
  for_lanes(mask, [&](u32 lane) {
    const u32 own = warp.lane_pc[lane];
    if (own < floor || own > pc) return;
    group = own == pc ? group | (1u << lane) : 1u << lane;
    pc = own;
  });
  return group;
}

void activate(Warp& warp, u32 group, u32 pc) {
  warp.active = group;
  warp.ready &= ~group;
  warp.pc = pc;
}

}  // namespace

bool select_group(Warp& warp) {
  if (warp.at_convergence != 0) {
    const u32 released = complete_convergence(warp);
    warp.at_convergence &= ~released;
    warp.soft &= ~released;
    warp.ready |= released;
  }
  while (warp.at_warpsync != 0) {
    const u32 released = complete_warpsync(warp);
    if (released == 0) break;
    warp.at_warpsync &= ~released;
    if ((warp.exclusive & released) == 0) {
      warp.ready |= released;
      continue;
    }
    warp.exclusive &= ~released;
    u32 pc;
    const u32 group = lowest_group(warp, released, 0, pc);
    warp.ready |= released & ~group;
    activate(warp, group, pc);
    return true;
  }
  if (warp.ready == 0) return false;
  u32 pc;
  const u32 group = lowest_group(warp, warp.ready, 0, pc);
  activate(warp, group, pc);
  return true;
}

void leave_convergence(Warp& warp, u32 barrier, u32 leaving) {
  u32* row = warp.convergence[barrier].v;
  u32 sets = 0;
  for_lanes(leaving, [&](u32 lane) { sets |= row[lane]; });
  for_lanes(sets, [&](u32 lane) { row[lane] &= ~leaving; });
}

void rotate_group(Warp& warp) {
  if (warp.ready == 0) {
    // Those that come later must not wait for them: they may wait for the late ones further on.
    for_lanes(warp.soft, [&](u32 lane) { leave_convergence(warp, warp.lane_wait[lane], 1u << lane); });
    warp.ready = warp.soft;
    warp.at_convergence &= ~warp.soft;
    warp.soft = 0;
  }
  if (warp.ready == 0) return;
  u32 pc;
  u32 group = lowest_group(warp, warp.ready, warp.pc, pc);
  if (group == 0) group = lowest_group(warp, warp.ready, 0, pc);
  warp.ready |= warp.active;
  warp.park(warp.active);
  activate(warp, group, pc);
}

u64 run_warp(Worker& worker, Warp& warp, const Instr* code) {
  InstrCount* counts = worker.counts.data();
  u64 executed = 0;
  while (worker.left > 0) {
    if (warp.active == 0 && !select_group(warp)) break;
    execute(warp, code, counts);
    --worker.left;
    ++executed;
  }
  return executed;
}

void exec_illegal(Warp& warp, const Instr& in, u32 mask) {
  raise_fault(FaultKind::IllegalInstruction, in, lowest_lane(mask),
              "the bytes here are no instruction: " + warp.worker->grid->program().raw_hex(in.index));
}

void exec_unsupported(Warp& warp, const Instr& in, u32 mask) {
  const Program& program = warp.worker->grid->program();
  raise_fault(FaultKind::UnsupportedInstruction, in, lowest_lane(mask),
              program.text(in.index) + ": " + program.reason(in.index) + " (bytes " +
                  program.raw_hex(in.index) + ")");
}

void raise_fault(FaultKind kind, const Instr& in, u32 lane, u64 address, u32 size, AccessKind access,
                 std::string message) {
  throw Fault{kind, in.index, lane, address, size, access, std::move(message)};
}

void raise_fault(FaultKind kind, const Instr& in, u32 lane, std::string message) {
  throw Fault{kind, in.index, lane, 0, 0, AccessKind::None, std::move(message)};
}

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::IllegalAddress:
      return "illegal_address";
    case FaultKind::MisalignedAddress:
      return "misaligned_address";
    case FaultKind::IllegalAddressSpace:
      return "illegal_address_space";
    case FaultKind::SharedOutOfRange:
      return "shared_out_of_range";
    case FaultKind::LocalOutOfRange:
      return "local_out_of_range";
    case FaultKind::StackOverflow:
      return "stack_overflow";
    case FaultKind::IllegalInstruction:
      return "illegal_instruction";
    case FaultKind::UnsupportedInstruction:
      return "unsupported_instruction";
    case FaultKind::DeviceAssert:
      return "device_assert";
    case FaultKind::Trap:
      return "trap";
    case FaultKind::DoubleFree:
      return "device_double_free";
    case FaultKind::InvalidFree:
      return "device_invalid_free";
    case FaultKind::Hang:
      return "hang";
  }
  return "unknown";
}

const char* access_name(AccessKind kind) {
  switch (kind) {
    case AccessKind::None:
      return "";
    case AccessKind::Read:
      return "read";
    case AccessKind::Write:
      return "write";
    case AccessKind::Atomic:
      return "atomic";
    case AccessKind::Execute:
      return "execute";
  }
  return "";
}

}  // namespace warpath
