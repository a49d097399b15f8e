// Branches, calls, convergence and CTA barriers, exits and hints. Branch targets are byte offsets in the
// segment.
#include <algorithm>
#include <array>

#include "exec/calls.hpp"
#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "ops/barrier.hpp"
#include "ops/bind.hpp"
#include "ops/families.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

// Backward branches a group may take while another group of its warp is ready: then it gives way, so that a
// loop that waits for the other group ends. Compilers put YIELD into such loops; this is for those that do
// not.
constexpr u32 kTripLimit = 10000;
constexpr u32 kAllLanes = 1;        // WARPSYNC.ALL
constexpr u16 kReturnAddress = 20;  // R20, R21: where a system call returns to

bool is_predicate(const Operand& op) { return op.kind == OperandKind::Pred || op.kind == OperandKind::UPred; }

std::string set_target(const Operand& op, Instr& out) {
  if (op.kind != OperandKind::Imm || op.is_float || op.value < 0 || op.value % 16 != 0)
    return "the target is no code offset";
  out.target = static_cast<u32>(op.value / 16);
  return "";
}

// Lanes of `taken` go to `target`; the other running lanes go on. The side with the lower pc runs first, so
// that loops finish before what follows them.
void branch(Warp& warp, u32 taken, u32 target) {
  const u32 others = warp.active & ~taken;
  const u32 next = warp.pc;
  if (taken == 0) return;
  if (others == 0) {
    warp.pc = target;
    if (target < next && (warp.ready | warp.soft) != 0 && ++warp.trips >= kTripLimit) {
      warp.trips = 0;
      rotate_group(warp);
    }
    return;
  }
  const bool taken_first = target < next;
  const u32 later = taken_first ? others : taken;
  const u32 later_pc = taken_first ? next : target;
  for_lanes(later, [&](u32 lane) { warp.lane_pc[lane] = later_pc; });
  warp.ready |= later;
  warp.active &= ~later;
  if (taken_first) warp.pc = target;
}

// A target outside the program faults when it is reached: index size() is an instruction that says so.
u32 clamp_target(const Warp& warp, u64 index) {
  const u32 size = warp.worker->grid->program().size();
  return index < size ? static_cast<u32>(index) : size;
}

// Lanes of `mask` jump to their own targets (byte offsets in the segment).
void branch_lanes(Warp& warp, u32 mask, const Row64& offset) {
  const u64 first = offset.v[lowest_lane(mask)];
  u32 together = 0;
  for_lanes(mask, [&](u32 lane) { together |= offset.v[lane] == first ? 1u << lane : 0u; });
  for_lanes(mask & ~together,
            [&](u32 lane) { warp.lane_pc[lane] = clamp_target(warp, offset.v[lane] / 16); });
  warp.ready |= mask & ~together;
  warp.active &= ~(mask & ~together);
  branch(warp, together, clamp_target(warp, first / 16));
}

// ---- BRA ----

void exec_bra(Warp& warp, const Instr& in, u32 mask) { branch(warp, mask, in.target); }

void exec_bra_predicate(Warp& warp, const Instr& in, u32 mask) {
  branch(warp, mask & pred_mask(warp, in.operands[0]), in.target);
}

// The lanes that the mask operand names and that have not exited are all here?
bool converged(const Warp& warp, const Instr& in) {
  u32 named = kFullMask;
  if (in.operand_count == 2) {
    named = scalar32(warp, in.operands[0]);
    if (in.operands[0].inv) named = ~named;
  }
  return (named & ~warp.exited & ~warp.active) == 0;
}

void exec_bra_conv(Warp& warp, const Instr& in, u32 mask) {
  if (converged(warp, in)) branch(warp, mask, in.target);
}
void exec_bra_div(Warp& warp, const Instr& in, u32 mask) {
  if (!converged(warp, in)) branch(warp, mask, in.target);
}

std::string bind_bra(const InstrText& text, Instr& out) {
  const auto& ops = text.operands;
  if (ops.empty() || ops.size() > 2) return "unexpected number of operands";
  const bool mask_form = text.has("CONV") || text.has("DIV");
  if (ops.size() == 1) {
    out.exec = text.has("CONV") ? exec_bra_conv : text.has("DIV") ? exec_bra_div : exec_bra;
  } else if (mask_form && ops[0].kind == OperandKind::UReg) {
    out.exec = text.has("CONV") ? exec_bra_conv : exec_bra_div;
  } else if (!mask_form && is_predicate(ops[0])) {
    out.exec = exec_bra_predicate;
  } else {
    return "unexpected operands";
  }
  return set_target(ops.back(), out);
}

// ---- BRX, CALL, RET: targets from registers ----

// What a relative target starts from, in bytes.
enum class From : u8 { Next, Segment, Address };

void register_targets(const Warp& warp, const Instr& in, const Operand& op, Row64& out) {
  u64 start = 0;
  switch (static_cast<From>(in.aux)) {
    case From::Next:
      start = (u64{in.index} + 1) * 16 + static_cast<u64>(in.operands[1].value);
      break;
    case From::Segment:
      start = static_cast<u64>(in.operands[1].value);
      break;
    case From::Address:
      start = (in.operand_count > 1 ? static_cast<u64>(in.operands[1].value) : 0) -
              warp.worker->grid->program().base();
      break;
  }
  raw64(warp, op, out);
  for (u64& offset : out.v) offset += start;
}

void exec_brx(Warp& warp, const Instr& in, u32 mask) {
  Row64 offset;
  register_targets(warp, in, in.operands[0], offset);
  branch_lanes(warp, mask, offset);
}

// CALL.ABS: lanes whose target is a system call perform it and return to R20, R21; the others jump.
void exec_call_absolute(Warp& warp, const Instr& in, u32 mask) {
  const Grid& grid = *warp.worker->grid;
  const u64 base = grid.program().base();
  Row64 offset, back;
  register_targets(warp, in, in.operands[0], offset);
  Operand return_address;
  return_address.kind = OperandKind::Reg;
  return_address.reg = kReturnAddress;
  raw64(warp, return_address, back);
  for (u32 rest = mask; rest != 0;) {
    const u64 target = offset.v[lowest_lane(rest)];
    u32 lanes = 0;
    for_lanes(rest, [&](u32 lane) { lanes |= offset.v[lane] == target ? 1u << lane : 0u; });
    rest &= ~lanes;
    if (target / 16 < grid.program().size()) continue;
    const std::optional<SystemCall> call = find_system_call(*warp.worker->memory, target + base);
    if (!call) continue;
    perform(*call, warp, in, lanes);
    for_lanes(lanes, [&](u32 lane) { offset.v[lane] = back.v[lane] - base; });
  }
  branch_lanes(warp, mask, offset);
}

std::string bind_register_jump(const InstrText& text, Instr& out, From from, bool has_offset, ExecFn exec) {
  const auto& ops = text.operands;
  const bool constant = from == From::Address && !ops.empty() && ops[0].kind == OperandKind::Imm;
  const bool source =
      constant || (!ops.empty() && (ops[0].kind == OperandKind::Reg || ops[0].kind == OperandKind::UReg));
  if (!source || ops.size() != (has_offset ? 2 : 1)) return "unexpected operands";
  if (has_offset && ops[1].kind != OperandKind::Imm) return "the offset is no number";
  out.aux = static_cast<u32>(from);
  out.exec = exec;
  return "";
}

std::string bind_brx(const InstrText& text, Instr& out) {
  return bind_register_jump(text, out, From::Next, true, exec_brx);
}

std::string bind_call(const InstrText& text, Instr& out) {
  if (text.has("ABS")) return bind_register_jump(text, out, From::Address, false, exec_call_absolute);
  if (!text.has("REL")) return "neither REL nor ABS";
  if (text.operands.size() == 2) return bind_register_jump(text, out, From::Segment, true, exec_brx);
  if (text.operands.size() != 1) return "unexpected operands";
  out.exec = exec_bra;
  return set_target(text.operands[0], out);
}

std::string bind_ret(const InstrText& text, Instr& out) {
  if (text.has("ABS")) {  // with or without an offset of 0
    return bind_register_jump(text, out, From::Address, text.operands.size() == 2, exec_brx);
  }
  if (!text.has("REL")) return "neither REL nor ABS";
  return bind_register_jump(text, out, From::Segment, true, exec_brx);
}

// LEPC Rd[, offset]: the address of that instruction, or of its own.
void exec_lepc(Warp& warp, const Instr& in, u32 mask) {
  Row64 out;
  std::fill_n(out.v, kLanes, warp.worker->grid->program().address(in.target));
  write64(warp, in.operands[0].reg, out, mask);
}

std::string bind_lepc(const InstrText& text, Instr& out) {
  out.exec = exec_lepc;
  out.target = out.index;
  if (has_shape(text, {OperandKind::Reg})) return "";
  if (!has_shape(text, {OperandKind::Reg, OperandKind::Imm})) return "unexpected operands";
  return set_target(text.operands[1], out);
}

// ---- convergence barriers ----

// From sm_100 on the compiler marks the barriers that must hold (RECONVERGENT, RELIABLE). It puts unmarked
// ones where a lane inside may hold what the others spin for (a lock taken in a loop): there convergence is a
// wish. Inferred from ptxas 13 output, not measured.
constexpr u32 kSoftBarriersSince = 100;
constexpr u32 kFirmBarrier = 1;

void exec_bssy(Warp& warp, const Instr& in, u32 mask) {
  u32* row = warp.convergence[in.operands[0].reg].v;
  for (int lane = 0; lane < kLanes; ++lane) row[lane] = (mask >> lane) & 1 ? mask : row[lane];
}

std::string bind_bssy(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::Convergence, OperandKind::Imm}))
    return "expected a barrier and a target";
  out.exec = exec_bssy;
  return "";
}

void exec_bsync(Warp& warp, const Instr& in, u32 mask) {
  const u16 barrier = in.operands[0].reg;
  const u32 set = warp.convergence[barrier].v[lowest_lane(mask)] & ~warp.exited;
  if (set == mask) return;  // everybody is here
  for_lanes(mask, [&](u32 lane) { warp.lane_wait[lane] = static_cast<u8>(barrier); });
  warp.park(mask);
  warp.at_convergence |= mask;
  if (in.flags == 0 && warp.worker->grid->program().sm() >= kSoftBarriersSince) warp.soft |= mask;
}

std::string bind_bsync(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::Convergence})) return "expected a barrier";
  out.exec = exec_bsync;
  out.flags = text.has("RECONVERGENT") || text.has("RELIABLE") ? kFirmBarrier : 0;
  return "";
}

// BREAK B[, P]: the lanes leave the set they entered with BSSY; the rest of the set no longer waits for them.
void exec_break(Warp& warp, const Instr& in, u32 mask) {
  u32 leaving = mask;
  if (in.operand_count == 2) leaving &= pred_mask(warp, in.operands[1]);
  leave_convergence(warp, in.operands[0].reg, leaving);
}

std::string bind_break(const InstrText& text, Instr& out) {
  const bool good = has_shape(text, {OperandKind::Convergence}) ||
                    has_shape(text, {OperandKind::Convergence, OperandKind::Pred});
  out.exec = exec_break;
  return good ? "" : "expected a barrier";
}

void exec_bmov_from(Warp& warp, const Instr& in, u32 mask) {
  u32* row = warp.convergence[in.operands[1].reg].v;
  write32(warp, in.operands[0].reg, row, mask);
  if (in.aux == 0) return;
  for_lanes(mask, [&](u32 lane) { row[lane] = 0; });
}

void exec_bmov_to(Warp& warp, const Instr& in, u32 mask) {
  Row scratch;
  const u32* value = raw32(warp, in.operands[1], scratch);
  u32* row = warp.convergence[in.operands[0].reg].v;
  for_lanes(mask, [&](u32 lane) { row[lane] = value[lane]; });
}

std::string bind_bmov(const InstrText& text, Instr& out) {
  if (has_shape(text, {OperandKind::Reg, OperandKind::Convergence})) {
    out.exec = exec_bmov_from;
    out.aux = text.has("CLEAR") ? 1 : 0;
    return "";
  }
  if (!has_shape(text, {OperandKind::Convergence, OperandKind::Reg}))
    return "only moves between a register and a barrier";
  out.exec = exec_bmov_to;
  return "";
}

// WARPSYNC mask: the lanes wait for the lanes they name (ALL: for every lane). EXCLUSIVE and COLLECTIVE then
// run as a group of just these. COLLECTIVE names where the code after its ENDCOLLECTIVE starts.
void exec_warpsync(Warp& warp, const Instr& in, u32 mask) {
  Row scratch;
  const u32* named = in.aux == kAllLanes ? nullptr : raw32(warp, in.operands[0], scratch);
  const bool exclusive = in.flags != 0;
  const u32 first = named == nullptr ? kFullMask : named[lowest_lane(mask)];
  u32 different = 0;
  if (named != nullptr) for_lanes(mask, [&](u32 lane) { different |= named[lane] ^ first; });
  const u32 set = first & ~warp.exited;
  const bool here = (set & ~mask) == 0;
  if (different == 0 && here && (!exclusive || set == warp.active)) return;
  for_lanes(mask, [&](u32 lane) { warp.sync_mask[lane] = named == nullptr ? kFullMask : named[lane]; });
  warp.park(mask);
  warp.at_warpsync |= mask;
  if (exclusive) warp.exclusive |= mask;
}

std::string bind_warpsync(const InstrText& text, Instr& out) {
  const auto& ops = text.operands;
  const bool collective = text.has("COLLECTIVE");
  out.exec = exec_warpsync;
  out.flags = collective || text.has("EXCLUSIVE") ? 1 : 0;
  out.aux = text.has("ALL") ? kAllLanes : 0;
  const std::size_t masks = text.has("ALL") ? 0 : 1;
  if (ops.size() != masks + (collective ? 1 : 0)) return "unexpected operands";
  if (collective && ops.back().kind != OperandKind::Imm) return "the target is no code offset";
  if (masks == 0) return "";
  const OperandKind kind = ops[0].kind;
  const bool good = kind == OperandKind::Reg || kind == OperandKind::Imm || kind == OperandKind::Const ||
                    kind == OperandKind::UReg;
  return good ? "" : "the mask is no word";
}

// ---- CTA barriers ----

void exec_bar(Warp& warp, const Instr& in, u32 mask) {
  const BarrierMode mode = static_cast<BarrierMode>(in.aux);
  const u32 votes = mode >= BarrierMode::ReducePopc ? pred_mask(warp, in.operands[in.operand_count - 1]) : 0;
  each_barrier(warp, in, mask, [&](u32 lanes, u32 id, u32 expected) {
    barrier_arrive(warp, lanes, id, expected, mode, votes);
  });
}

// BAR.SYNC with a constant number for the whole CTA, all lanes together: nearly every barrier there is.
void exec_bar_plain(Warp& warp, const Instr& in, u32 mask) {
  barrier_arrive(warp, mask, static_cast<u32>(in.operands[0].value) & 15, 0, BarrierMode::Sync, 0);
}

std::string bind_bar(const InstrText& text, Instr& out) {
  const auto& ops = text.operands;
  BarrierMode mode = BarrierMode::Sync;
  if (text.has("ARV")) mode = BarrierMode::Arrive;
  if (text.has("RED")) {
    mode = text.has("POPC")  ? BarrierMode::ReducePopc
           : text.has("AND") ? BarrierMode::ReduceAnd
                             : BarrierMode::ReduceOr;
    if (!text.has("POPC") && !text.has("AND") && !text.has("OR")) return "no reduction";
  } else if (!text.has("SYNC") && !text.has("ARV")) {
    return "no mode";
  }
  const bool reduces = text.has("RED");
  const std::size_t words = ops.size() - (reduces ? 1 : 0);
  if (ops.empty() || words < 1 || words > 2) return "unexpected number of operands";
  if (reduces && ops.back().kind != OperandKind::Pred) return "the last operand is no predicate";
  for (std::size_t i = 0; i < words; ++i) {
    const OperandKind kind = ops[i].kind;
    if (kind != OperandKind::Reg && kind != OperandKind::Imm && kind != OperandKind::UReg)
      return "unexpected operands";
  }
  if (mode == BarrierMode::Arrive && words != 2) return "BAR.ARV needs a thread count";
  out.aux = static_cast<u32>(mode);
  const bool plain = mode == BarrierMode::Sync && words == 1 && ops[0].kind == OperandKind::Imm;
  out.exec = plain ? exec_bar_plain : exec_bar;
  return "";
}

// ---- ends and hints ----

// EXIT [P]: a predicate operand is one more condition beside the guard.
void exec_exit(Warp& warp, const Instr& in, u32 mask) {
  if (in.operand_count == 1) mask &= pred_mask(warp, in.operands[0]);
  if (mask == 0) return;
  warp.exited |= mask;
  warp.active &= ~mask;
  warp.cta->live -= static_cast<u32>(__builtin_popcount(mask));
  barrier_recheck(*warp.cta);
}

std::string bind_exit(const InstrText& text, Instr& out) {
  if (!has_shape(text, {}) && !has_shape(text, {OperandKind::Pred})) return "unexpected operands";
  out.exec = exec_exit;
  return "";
}

void exec_trap(Warp&, const Instr& in, u32 mask) {
  raise_fault(FaultKind::Trap, in, lowest_lane(mask), "a trap instruction was executed");
}

void exec_yield(Warp& warp, const Instr&, u32) {
  charge_poll(*warp.worker);
  rotate_group(warp);
}

// Sleeping uses up the slice as if that many instructions had run, and lets others go first.
void exec_nanosleep(Warp& warp, const Instr& in, u32 mask) {
  Row scratch;
  const u32* time = raw32(warp, in.operands[0], scratch);
  u32 longest = 0;
  for_lanes(mask, [&](u32 lane) { longest = std::max(longest, time[lane]); });
  warp.worker->left -= longest;
  charge_poll(*warp.worker);
  rotate_group(warp);
}

std::string bind_nanosleep(const InstrText& text, Instr& out) {
  out.exec = exec_nanosleep;
  return text.operands.size() == 1 && text.operands[0].kind != OperandKind::Text ? "" : "expected a time";
}

void exec_nothing(Warp&, const Instr&, u32) {}

template <ExecFn kExec>
std::string bind_bare(const InstrText& text, Instr& out) {
  out.exec = kExec;
  return text.operands.empty() ? "" : "unexpected operands";
}

std::string bind_trap(const InstrText& text, Instr& out) {
  out.exec = exec_trap;
  return text.has("TRAP") ? "" : "only BPT.TRAP";
}

constexpr std::array kOps = {
    OpDecl{"BRA", "U CONV DIV", Pipe::Cbu, Latency::Variable, bind_bra},
    OpDecl{"BRX", "", Pipe::Cbu, Latency::Variable, bind_brx},
    OpDecl{"BRXU", "", Pipe::Cbu, Latency::Variable, bind_brx},
    OpDecl{"CALL", "REL ABS NOINC", Pipe::Cbu, Latency::Variable, bind_call},
    OpDecl{"RET", "REL ABS NODEC", Pipe::Cbu, Latency::Variable, bind_ret},
    OpDecl{"LEPC", "", Pipe::Alu, Latency::Fixed, bind_lepc},
    OpDecl{"BSSY", "RECONVERGENT RELIABLE", Pipe::Cbu, Latency::Variable, bind_bssy},
    OpDecl{"BSYNC", "RECONVERGENT RELIABLE", Pipe::Cbu, Latency::Variable, bind_bsync},
    OpDecl{"BREAK", "RELIABLE RECONVERGENT", Pipe::Cbu, Latency::Variable, bind_break},
    OpDecl{"BMOV", "32 CLEAR", Pipe::Cbu, Latency::Variable, bind_bmov},
    OpDecl{"WARPSYNC", "ALL EXCLUSIVE COLLECTIVE", Pipe::Cbu, Latency::Variable, bind_warpsync},
    OpDecl{"ENDCOLLECTIVE", "", Pipe::Cbu, Latency::Variable, bind_bare<exec_nothing>},
    OpDecl{"BAR", "SYNC ARV RED POPC AND OR DEFER_BLOCKING", Pipe::Adu, Latency::Variable, bind_bar},
    OpDecl{"EXIT", "", Pipe::Cbu, Latency::Variable, bind_exit},
    OpDecl{"BPT", "TRAP", Pipe::Cbu, Latency::Variable, bind_trap},
    OpDecl{"YIELD", "", Pipe::Cbu, Latency::Fixed, bind_bare<exec_yield>},
    OpDecl{"NANOSLEEP", "WARP", Pipe::Cbu, Latency::Variable, bind_nanosleep},
    OpDecl{"NOP", "", Pipe::None, Latency::Fixed, bind_bare<exec_nothing>},
    // Programmatic dependent launch: grids run one after the other here, so there is nothing to wait for.
    OpDecl{"ACQBULK", "", Pipe::Cbu, Latency::Variable, bind_bare<exec_nothing>},
    OpDecl{"PREEXIT", "", Pipe::Cbu, Latency::Variable, bind_bare<exec_nothing>},
};

}  // namespace

const Family& control_family() {
  static const Family family{"control", kOps};
  return family;
}

}  // namespace warpath
