// Running warps: choosing the group of lanes that runs, and the interpreter loop.
#pragma once

#include "exec/fault.hpp"
#include "exec/state.hpp"
#include "exec/worker.hpp"
#include "ops/instr.hpp"

namespace warpath {

// Exec functions of instructions that cannot run: they throw.
void exec_illegal(Warp& warp, const Instr& in, u32 mask);
void exec_unsupported(Warp& warp, const Instr& in, u32 mask);

[[noreturn]] void raise_fault(FaultKind kind, const Instr& in, u32 lane, u64 address, u32 size,
                              AccessKind access, std::string message);
// Same, without an address.
[[noreturn]] void raise_fault(FaultKind kind, const Instr& in, u32 lane, std::string message);

inline u32 guard_mask(const Warp& warp, const Instr& in) {
  const u32 predicate = in.guard_uniform ? warp.upred[in.guard] : warp.pred[in.guard];
  return warp.active & (in.guard_inv ? ~predicate : predicate);
}

// Runs one instruction of the warp's group; `warp.active` must not be 0. Used by both the functional loop and
// a timing model at issue time.
inline void execute(Warp& warp, const Instr* code, InstrCount* counts) {
  const Instr& in = code[warp.pc];
  const u32 mask = guard_mask(warp, in);
  InstrCount& count = counts[warp.pc];
  ++count.executed;
  count.threads += static_cast<u64>(__builtin_popcount(warp.active));
  count.threads_on += static_cast<u64>(__builtin_popcount(mask));
  ++warp.pc;
  if (mask != 0) in.exec(warp, in, mask);
}

// Makes the next group of lanes active: a completed WARPSYNC set first, else the ready lanes with the lowest
// pc. Returns false when no lane of the warp can run now.
bool select_group(Warp& warp);

// The lanes leave the set of a convergence barrier; the rest of the set no longer waits for them.
void leave_convergence(Warp& warp, u32 barrier, u32 leaving);

// Lets another ready group of the warp run, if there is one: round robin by pc. When only lanes in soft
// convergence barriers are left, these stop waiting: the running group may be spinning for what they hold.
void rotate_group(Warp& warp);

// Runs the warp until it blocks, ends, or `worker.left` runs out. Returns the number of instructions
// executed.
u64 run_warp(Worker& worker, Warp& warp, const Instr* code);

}  // namespace warpath
