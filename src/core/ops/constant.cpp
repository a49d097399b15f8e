// Loads from constant banks: LDC per lane, LDCU and ULDC into uniform registers; and the slow constant
// operands.
#include <algorithm>
#include <cstring>

#include "exec/access.hpp"
#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "ops/memory_ops.hpp"

namespace warpath {
namespace {

inline constexpr u32 kSigned = 1u << 3;

// Reads up to 16 bytes; a load that sticks out of the bank reads zeros there, as the hardware's window does.
void read_bank(const Warp& warp, u8 bank, u32 offset, u32 size, void* out) {
  const ConstBank& from = warp.banks[bank];
  std::memset(out, 0, size);
  if (offset < from.size) std::memcpy(out, from.data + offset, std::min(size, from.size - offset));
}

u32 uniform_offset(const Warp& warp, const Operand& op) {
  return static_cast<u32>(op.value) + (op.base_uniform ? warp.ureg[op.reg] : 0);
}

u32 widen(u32 word, const Instr& in) {
  if ((in.flags & kSigned) == 0) return word;
  return in.aux == 1 ? static_cast<u32>(static_cast<i8>(word)) : static_cast<u32>(static_cast<i16>(word));
}

// For the clock: what each lane reads, the bank above the offset.
void observe_lanes(Worker& worker, const Operand& op, u32 size, u32 mask, const u32* index) {
  worker.access.space = Space::Constant;
  worker.access.width = static_cast<u8>(size);
  worker.access.write = worker.access.atomic = false;
  worker.access.mask = mask;
  for_lanes(mask, [&](u32 lane) {
    worker.access.address[lane] = u64{op.bank} << 16 | ((index[lane] + static_cast<u32>(op.value)) & 0xffff);
  });
}

void exec_ldc(Warp& warp, const Instr& in, u32 mask) {
  const Operand& op = in.operands[1];
  const u32 words = in.aux == 8 ? 2 : 1;
  const u16 reg = in.operands[0].reg;
  Row rows[2];
  if (op.reg == kRZ || op.base_uniform) {
    u32 value[2] = {0, 0};
    read_bank(warp, op.bank, uniform_offset(warp, op), in.aux, value);
    value[0] = widen(value[0], in);
    for (u32 word = 0; word < words; ++word) {
      for (int lane = 0; lane < kLanes; ++lane) rows[word].v[lane] = value[word];
    }
  } else {
    const u32* index = warp.read_row(op.reg);
    if (warp.worker->observe) observe_lanes(*warp.worker, op, in.aux, mask, index);
    for_lanes(mask, [&](u32 lane) {
      u32 value[2] = {0, 0};
      read_bank(warp, op.bank, index[lane] + static_cast<u32>(op.value), in.aux, value);
      rows[0].v[lane] = widen(value[0], in);
      rows[1].v[lane] = value[1];
    });
  }
  for (u32 word = 0; word < words; ++word) {
    write32(warp, reg == kRZ ? kRZ : static_cast<u16>(reg + word), rows[word].v, mask);
  }
}

void exec_ldcu(Warp& warp, const Instr& in, u32) {
  const Operand& op = in.operands[1];
  u32 value[4] = {0, 0, 0, 0};
  read_bank(warp, op.bank, uniform_offset(warp, op), in.aux, value);
  value[0] = widen(value[0], in);
  const u16 reg = in.operands[0].reg;
  for (u32 word = 0; word < std::max(in.aux / 4, 1u); ++word) {
    write_uniform(warp, reg == kRZ ? kRZ : static_cast<u16>(reg + word), value[word]);
  }
}

std::string bind_common(const InstrText& text, Instr& out, ExecFn exec) {
  if (text.operands.size() != 2 || text.operands[1].kind != OperandKind::Const) {
    return "expected a register and a constant";
  }
  if (text.operands[1].generic_uniform64) return "bindless constant banks are not modelled";
  const bool byte = text.has("U8") || text.has("S8");
  const bool half = text.has("U16") || text.has("S16");
  out.aux = byte ? 1 : half ? 2 : text.has("64") ? 8 : text.has("128") ? 16 : 4;
  out.flags = text.has("S8") || text.has("S16") ? kSigned : 0;
  out.exec = exec;
  return "";
}

}  // namespace

u64 read_const_slow(const Warp& warp, const Operand& op, u32 size) {
  u64 value = 0;
  read_bank(warp, op.bank, uniform_offset(warp, op), size, &value);
  return value;
}

std::string bind_ldc(const InstrText& text, Instr& out) { return bind_common(text, out, exec_ldc); }

std::string bind_ldcu(const InstrText& text, Instr& out) { return bind_common(text, out, exec_ldcu); }

}  // namespace warpath
