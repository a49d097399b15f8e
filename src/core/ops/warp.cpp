// Instructions that look across the lanes of a warp.
#include <algorithm>
#include <array>

#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "ops/bind.hpp"
#include "ops/families.hpp"
#include "ops/special.hpp"
#include "sm/cta.hpp"

namespace warpath {
namespace {

// ---- SHFL Pd, Rd, Rvalue, lane, bounds: bounds holds the clamp in 4:0 and the segment mask in 12:8 ----

enum class Shuffle : u8 { Index, Up, Down, Butterfly };

template <Shuffle kMode>
void exec_shfl(Warp& warp, const Instr& in, u32 mask) {
  Row scratch_lane, scratch_bounds, out;
  const u32* value = warp.read_row(in.operands[2].reg);
  const u32* by = raw32(warp, in.operands[3], scratch_lane);
  const u32* bounds = raw32(warp, in.operands[4], scratch_bounds);
  u32 in_range = 0;
  for (i32 lane = 0; lane < kLanes; ++lane) {
    const i32 distance = static_cast<i32>(by[lane] & 31);
    const i32 clamp = static_cast<i32>(bounds[lane] & 31);
    const i32 segment = static_cast<i32>((bounds[lane] >> 8) & 31);
    const i32 last = (lane & segment) | (clamp & ~segment);
    i32 source = 0;
    bool good = false;
    switch (kMode) {
      case Shuffle::Up:
        source = lane - distance;
        good = source >= last;
        break;
      case Shuffle::Down:
        source = lane + distance;
        good = source <= last;
        break;
      case Shuffle::Butterfly:
        source = lane ^ distance;
        good = source <= last;
        break;
      case Shuffle::Index:
        source = (lane & segment) | (distance & ~segment);
        good = source <= last;
        break;
    }
    out.v[lane] = value[good ? source & 31 : lane];
    in_range |= good ? 1u << lane : 0u;
  }
  write32(warp, in.operands[1].reg, out.v, mask);
  write_pred(warp, in.operands[0], in_range, mask);
}

std::string bind_shfl(const InstrText& text, Instr& out) {
  const auto& ops = text.operands;
  const auto good = [](const Operand& op) {
    return op.kind == OperandKind::Reg || op.kind == OperandKind::Imm || op.kind == OperandKind::UReg;
  };
  if (ops.size() != 5 || ops[0].kind != OperandKind::Pred || ops[1].kind != OperandKind::Reg ||
      ops[2].kind != OperandKind::Reg || !good(ops[3]) || !good(ops[4])) {
    return "unexpected operands";
  }
  if (text.has("UP")) {
    out.exec = exec_shfl<Shuffle::Up>;
  } else if (text.has("DOWN")) {
    out.exec = exec_shfl<Shuffle::Down>;
  } else if (text.has("BFLY")) {
    out.exec = exec_shfl<Shuffle::Butterfly>;
  } else if (text.has("IDX")) {
    out.exec = exec_shfl<Shuffle::Index>;
  } else {
    return "no mode";
  }
  return "";
}

// ---- VOTE [Rd,] Pd, Ps: the ballot of the running lanes, and what it says ----

enum class Vote : u8 { Any, All, Equal };

void exec_vote(Warp& warp, const Instr& in, u32 mask) {
  const bool has_ballot = in.operand_count == 3;
  const u32 ballot = pred_mask(warp, in.operands[has_ballot ? 2 : 1]) & mask;
  bool answer = false;
  switch (static_cast<Vote>(in.aux)) {
    case Vote::Any:
      answer = ballot != 0;
      break;
    case Vote::All:
      answer = ballot == mask;
      break;
    case Vote::Equal:
      answer = ballot == 0 || ballot == mask;
      break;
  }
  if (has_ballot) {
    const Operand& out = in.operands[0];
    if (out.kind == OperandKind::UReg) {
      write_uniform(warp, out.reg, ballot);
    } else {
      Row row;
      std::fill_n(row.v, kLanes, ballot);
      write32(warp, out.reg, row.v, mask);
    }
  }
  write_pred(warp, in.operands[has_ballot ? 1 : 0], answer ? kFullMask : 0, mask);
}

bool is_predicate(const Operand& op) { return op.kind == OperandKind::Pred || op.kind == OperandKind::UPred; }

std::string bind_vote(const InstrText& text, Instr& out) {
  const auto& ops = text.operands;
  const bool ballot =
      ops.size() == 3 && (ops[0].kind == OperandKind::Reg || ops[0].kind == OperandKind::UReg);
  const std::size_t first = ballot ? 1 : 0;
  if (ops.size() != first + 2 || !is_predicate(ops[first]) || !is_predicate(ops[first + 1]))
    return "unexpected operands";
  out.aux = static_cast<u32>(text.has("ALL") ? Vote::All : text.has("EQ") ? Vote::Equal : Vote::Any);
  if (!text.has("ANY") && !text.has("ALL") && !text.has("EQ")) return "no mode";
  out.exec = exec_vote;
  return "";
}

// ---- MATCH: lanes that hold the same value ----

void match_values(const Warp& warp, const Instr& in, const Operand& op, Row64& out) {
  if (in.aux != 0) {
    raw64(warp, op, out);
    return;
  }
  const u32* row = warp.read_row(op.reg);
  std::copy_n(row, kLanes, out.v);
}

void exec_match_any(Warp& warp, const Instr& in, u32 mask) {
  Row64 value;
  Row out;
  match_values(warp, in, in.operands[1], value);
  for_lanes(mask, [&](u32 lane) {
    u32 same = 0;
    for (u32 other = 0; other < kLanes; ++other) same |= value.v[other] == value.v[lane] ? 1u << other : 0u;
    out.v[lane] = same & mask;
  });
  write32(warp, in.operands[0].reg, out.v, mask);
}

void exec_match_all(Warp& warp, const Instr& in, u32 mask) {
  Row64 value;
  Row out;
  match_values(warp, in, in.operands[2], value);
  const u64 first = value.v[lowest_lane(mask)];
  bool same = true;
  for_lanes(mask, [&](u32 lane) { same = same && value.v[lane] == first; });
  std::fill_n(out.v, kLanes, same ? mask : 0);
  write32(warp, in.operands[1].reg, out.v, mask);
  write_pred(warp, in.operands[0], same ? kFullMask : 0, mask);
}

std::string bind_match(const InstrText& text, Instr& out) {
  out.aux = text.has("U64") ? 1 : 0;
  if (text.has("ANY") && has_shape(text, {OperandKind::Reg, OperandKind::Reg})) {
    out.exec = exec_match_any;
  } else if (text.has("ALL") && has_shape(text, {OperandKind::Pred, OperandKind::Reg, OperandKind::Reg})) {
    out.exec = exec_match_all;
  } else {
    return "unexpected operands";
  }
  return "";
}

// ---- REDUX: one value from all running lanes into a uniform register ----

enum class Reduce : u8 { And, Or, Xor, Sum, MinU, MaxU, MinS, MaxS };

u32 combine(Reduce how, u32 a, u32 b) {
  switch (how) {
    case Reduce::And:
      return a & b;
    case Reduce::Or:
      return a | b;
    case Reduce::Xor:
      return a ^ b;
    case Reduce::Sum:
      return a + b;
    case Reduce::MinU:
      return std::min(a, b);
    case Reduce::MaxU:
      return std::max(a, b);
    case Reduce::MinS:
      return static_cast<u32>(std::min(static_cast<i32>(a), static_cast<i32>(b)));
    case Reduce::MaxS:
      return static_cast<u32>(std::max(static_cast<i32>(a), static_cast<i32>(b)));
  }
  return 0;
}

void exec_redux(Warp& warp, const Instr& in, u32 mask) {
  const u32* row = warp.read_row(in.operands[1].reg);
  u32 result = row[lowest_lane(mask)];
  for_lanes(mask & (mask - 1),
            [&](u32 lane) { result = combine(static_cast<Reduce>(in.aux), result, row[lane]); });
  write_uniform(warp, in.operands[0].reg, result);
}

std::string bind_redux(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::UReg, OperandKind::Reg}))
    return "expected a uniform register and a register";
  const bool is_signed = text.has("S32");
  Reduce how = Reduce::And;
  if (text.has("OR")) how = Reduce::Or;
  if (text.has("XOR")) how = Reduce::Xor;
  if (text.has("SUM")) how = Reduce::Sum;
  if (text.has("MIN")) how = is_signed ? Reduce::MinS : Reduce::MinU;
  if (text.has("MAX")) how = is_signed ? Reduce::MaxS : Reduce::MaxU;
  out.aux = static_cast<u32>(how);
  out.exec = exec_redux;
  return "";
}

// ELECT Pd, URd, Ps: the lowest running lane with Ps is chosen.
void exec_elect(Warp& warp, const Instr& in, u32 mask) {
  const u32 candidates = pred_mask(warp, in.operands[2]) & mask;
  const u32 chosen = candidates & (0 - candidates);
  if (candidates != 0) write_uniform(warp, in.operands[1].reg, lowest_lane(candidates));
  write_pred(warp, in.operands[0], chosen, mask);
}

std::string bind_elect(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::Pred, OperandKind::UReg, OperandKind::Pred}))
    return "unexpected operands";
  out.exec = exec_elect;
  return "";
}

// R2UR [Pd,] URd, Ra: the value of the first running lane. The predicate says whether all running lanes
// agree: code that takes a lane mask from a register leaves its fast path when they do not.
void exec_r2ur(Warp& warp, const Instr& in, u32 mask) {
  const bool tells = in.operand_count == 3;
  const u32* row = warp.read_row(in.operands[tells ? 2 : 1].reg);
  const u32 value = row[lowest_lane(mask)];
  if (tells) {
    u32 equal = 0;
    for (int lane = 0; lane < kLanes; ++lane) equal |= row[lane] == value ? 1u << lane : 0u;
    write_pred(warp, in.operands[0], (equal & mask) == mask ? kFullMask : 0, mask);
  }
  write_uniform(warp, in.operands[tells ? 1 : 0].reg, value);
}

std::string bind_r2ur(const InstrText& text, Instr& out) {
  if (!has_shape(text, {OperandKind::UReg, OperandKind::Reg}) &&
      !has_shape(text, {OperandKind::Pred, OperandKind::UReg, OperandKind::Reg}))
    return "expected a uniform register and a register";
  out.exec = exec_r2ur;
  return "";
}

// B2R.RESULT Rd[, Pd]: what the last BAR.RED found: a count of threads, or a vote.
void exec_b2r(Warp& warp, const Instr& in, u32 mask) {
  Row row;
  std::fill_n(row.v, kLanes, warp.barrier_count);
  write32(warp, in.operands[0].reg, row.v, mask);
  if (in.operand_count == 2) write_pred(warp, in.operands[1], warp.barrier_vote ? kFullMask : 0, mask);
}

std::string bind_b2r(const InstrText& text, Instr& out) {
  const bool good =
      has_shape(text, {OperandKind::Reg}) || has_shape(text, {OperandKind::Reg, OperandKind::Pred});
  if (!text.has("RESULT") || !good) return "only B2R.RESULT";
  out.exec = exec_b2r;
  return "";
}

// MOVM: transposes an 8x8 matrix of 16-bit elements; lane l holds columns 2 (l % 4) and the next of row l
// / 4.
void exec_movm(Warp& warp, const Instr& in, u32 mask) {
  const u32* row = warp.read_row(in.operands[1].reg);
  const auto element = [row](u32 r, u32 c) { return row[r * 4 + c / 2] >> (c % 2 * 16) & 0xffffu; };
  Row out;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    const u32 r = lane / 4, c = lane % 4 * 2;
    out.v[lane] = element(c, r) | element(c + 1, r) << 16;
  }
  write32(warp, in.operands[0].reg, out.v, mask);
}

std::string bind_movm(const InstrText& text, Instr& out) {
  if (!text.has("16") || !text.has("MT88") || !has_shape(text, {OperandKind::Reg, OperandKind::Reg})) {
    return "only 8x8 matrices of 16-bit elements";
  }
  out.exec = exec_movm;
  return "";
}

constexpr std::array kOps = {
    OpDecl{"SHFL", "IDX UP DOWN BFLY", Pipe::Lsu, Latency::Variable, bind_shfl},
    OpDecl{"VOTE", "ANY ALL EQ", Pipe::Alu, Latency::Fixed, bind_vote},
    OpDecl{"VOTEU", "ANY ALL EQ", Pipe::Uniform, Latency::Fixed, bind_vote},
    OpDecl{"MATCH", "ANY ALL U64", Pipe::Adu, Latency::Variable, bind_match},
    OpDecl{"REDUX", "SUM MIN MAX OR XOR S32", Pipe::Adu, Latency::Variable, bind_redux},
    OpDecl{"CREDUX", "MIN MAX S32", Pipe::Adu, Latency::Variable, bind_redux},
    OpDecl{"ELECT", "", Pipe::Alu, Latency::Fixed, bind_elect},
    OpDecl{"R2UR", "", Pipe::Alu, Latency::Variable, bind_r2ur},
    OpDecl{"S2R", "", Pipe::Adu, Latency::Variable, bind_s2r},
    OpDecl{"S2UR", "", Pipe::Adu, Latency::Variable, bind_s2ur},
    OpDecl{"CS2R", "32", Pipe::Alu, Latency::Fixed, bind_cs2r},
    OpDecl{"CS2UR", "32", Pipe::Uniform, Latency::Fixed, bind_cs2ur},
    OpDecl{"MOVM", "16 MT88", Pipe::Lsu, Latency::Variable, bind_movm},
    OpDecl{"B2R", "RESULT", Pipe::Adu, Latency::Variable, bind_b2r},
};

}  // namespace

const Family& warp_family() {
  static const Family family{"warp", kOps};
  return family;
}

}  // namespace warpath
