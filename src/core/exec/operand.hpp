// Reading and writing operands as 32-lane rows. Everything an ALU op needs from the warp goes through here.
#pragma once

#include <cstring>

#include "exec/state.hpp"
#include "ops/instr.hpp"

namespace warpath {

// c[bank][offset] where the offset is not a plain number or lies outside the bank (which reads as zero).
u64 read_const_slow(const Warp& warp, const Operand& op, u32 size);

// The constant operand, equal in all lanes (register-indexed banks are read by LDC only), without modifiers.
inline u32 uniform_const32(const Warp& warp, const Operand& op) {
  const ConstBank& bank = warp.banks[op.bank];
  if (op.base_uniform || op.generic_uniform64 || static_cast<u64>(op.value) + 4 > bank.size) {
    return static_cast<u32>(read_const_slow(warp, op, 4));
  }
  u32 word;
  std::memcpy(&word, bank.data + op.value, sizeof word);
  return word;
}
inline u64 uniform_const64(const Warp& warp, const Operand& op) {
  const ConstBank& bank = warp.banks[op.bank];
  if (op.base_uniform || op.generic_uniform64 || static_cast<u64>(op.value) + 8 > bank.size) {
    return read_const_slow(warp, op, 8);
  }
  u64 word;
  std::memcpy(&word, bank.data + op.value, sizeof word);
  return word;
}

// One 32-bit word that is equal in all lanes: immediate, constant or uniform register, without modifiers.
inline u32 scalar32(const Warp& warp, const Operand& op) {
  switch (op.kind) {
    case OperandKind::UReg:
      return warp.ureg[op.reg];
    case OperandKind::Const:
      return uniform_const32(warp, op);
    default:
      return op.is_float ? op.bits : static_cast<u32>(op.value);
  }
}

// The operand's raw 32-bit words, no sign modifiers: a register row in place, or `scratch` filled by
// broadcast.
inline const u32* raw32(const Warp& warp, const Operand& op, Row& scratch) {
  if (op.kind == OperandKind::Reg) return warp.read_row(op.reg);
  const u32 word = scalar32(warp, op);
  for (int lane = 0; lane < kLanes; ++lane) scratch.v[lane] = word;
  return scratch.v;
}

// Integer source: '-' negates, '~' inverts.
inline const u32* int32(const Warp& warp, const Operand& op, Row& scratch) {
  const u32* row = raw32(warp, op, scratch);
  if (!op.neg && !op.inv) return row;
  for (int lane = 0; lane < kLanes; ++lane) scratch.v[lane] = op.neg ? 0u - row[lane] : ~row[lane];
  return scratch.v;
}

// binary32 source as bits: |x| clears, '-' flips the sign bit.
inline const u32* float32(const Warp& warp, const Operand& op, Row& scratch) {
  const u32* row = raw32(warp, op, scratch);
  if (!op.neg && !op.abs) return row;
  const u32 keep = op.abs ? 0x7fffffffu : 0xffffffffu;
  const u32 flip = op.neg ? 0x80000000u : 0u;
  for (int lane = 0; lane < kLanes; ++lane) scratch.v[lane] = (row[lane] & keep) ^ flip;
  return scratch.v;
}

// 64-bit source: register pair R, R+1, constant of 8 bytes, uniform pair, or immediate. RZ is zero. An
// `is_float` immediate is the high word of a binary64. No sign modifiers.
inline void raw64(const Warp& warp, const Operand& op, Row64& out) {
  if (op.kind == OperandKind::Reg) {
    const u32* lo = warp.read_row(op.reg);
    const u32* hi = op.reg == kRZ ? lo : warp.read_row(static_cast<u16>(op.reg + 1));
    for (int lane = 0; lane < kLanes; ++lane) out.v[lane] = (static_cast<u64>(hi[lane]) << 32) | lo[lane];
    return;
  }
  u64 word = 0;
  if (op.kind == OperandKind::UReg) {
    word = op.reg == kRZ ? 0 : (static_cast<u64>(warp.ureg[op.reg + 1]) << 32) | warp.ureg[op.reg];
  } else if (op.kind == OperandKind::Const) {
    word = uniform_const64(warp, op);
  } else {
    word = op.is_float ? static_cast<u64>(op.bits) << 32 : static_cast<u64>(op.value);
  }
  for (int lane = 0; lane < kLanes; ++lane) out.v[lane] = word;
}

// Predicate source as a lane mask; '!' inverts. Uniform predicates are all or nothing.
inline u32 pred_mask(const Warp& warp, const Operand& op) {
  const u32 mask = op.kind == OperandKind::UPred ? warp.upred[op.reg] : warp.pred[op.reg];
  return op.inv ? ~mask : mask;
}

// Stores the lanes of `mask` to register `reg` (RZ drops them).
inline void write32(Warp& warp, u16 reg, const u32* values, u32 mask) {
  u32* row = warp.write_row(reg);
  if (mask == kFullMask) {
    std::memcpy(row, values, sizeof(Row));
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) row[lane] = (mask >> lane) & 1 ? values[lane] : row[lane];
}

// Stores to the pair reg, reg+1.
inline void write64(Warp& warp, u16 reg, const Row64& values, u32 mask) {
  Row lo, hi;
  for (int lane = 0; lane < kLanes; ++lane) {
    lo.v[lane] = static_cast<u32>(values.v[lane]);
    hi.v[lane] = static_cast<u32>(values.v[lane] >> 32);
  }
  write32(warp, reg, lo.v, mask);
  write32(warp, reg == kRZ ? kRZ : static_cast<u16>(reg + 1), hi.v, mask);
}

// Stores predicate bits for the lanes of `mask`; PT drops them.
inline void write_pred(Warp& warp, const Operand& op, u32 bits, u32 mask) {
  if (op.reg == kPT) return;
  if (op.kind == OperandKind::UPred) {
    warp.upred[op.reg] = bits & mask ? kFullMask : 0;
  } else {
    warp.pred[op.reg] = (warp.pred[op.reg] & ~mask) | (bits & mask);
  }
}

// Uniform destinations; URZ drops them.
inline void write_uniform(Warp& warp, u16 reg, u32 value) {
  if (reg != kRZ) warp.ureg[reg] = value;
}
inline void write_uniform64(Warp& warp, u16 reg, u64 value) {
  if (reg == kRZ) return;
  warp.ureg[reg] = static_cast<u32>(value);
  warp.ureg[reg + 1] = static_cast<u32>(value >> 32);
}

}  // namespace warpath
