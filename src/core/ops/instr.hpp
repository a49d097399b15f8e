// The decoded instruction: what a line of nvdisasm text and its 128 bits become before execution.
#pragma once

#include <string>

#include "types.hpp"

namespace warpath {

enum class OperandKind : u8 {
  None,
  Reg,          // R0..R254, RZ
  UReg,         // UR0.., URZ
  Pred,         // P0..P6, PT
  UPred,        // UP0..UP6, UPT
  PredSet,      // PR / UPR: all predicates as one word
  Imm,          // integer from the text, or a float (see Operand::is_float)
  Const,        // c[bank][offset], c[bank][R+offset], c[UR][offset]
  Mem,          // [R+UR+offset] with .64/.U32/.X4/.X8/.X16
  Desc,         // desc[UR]: the descriptor of a global access; merged into the Mem operand by the parser
  Special,      // SR_TID.X, SR_CLOCKLO, ...
  Convergence,  // B0..B15
  Scoreboard,   // SB0..SB5
  Text,         // anything else; bind refuses it unless the op knows the word
};

inline constexpr u16 kRZ = 255;  // RZ, and URZ on every generation
inline constexpr u16 kPT = 7;    // PT and UPT

struct Operand {
  OperandKind kind = OperandKind::None;
  bool neg = false;           // leading '-'
  bool abs = false;           // |x|
  bool inv = false;           // leading '~' (integers) or '!' (predicates)
  bool is_float = false;      // immediate printed as a float: its bits are Operand::bits, not Operand::value
  bool addr64 = false;        // [R4.64]: the base is a register pair
  bool addr_u32 = false;      // [R4.U32+UR4]: zero-extended 32-bit base
  bool base_uniform = false;  // base is a uniform register ([UR4], c[UR4][..])
  bool generic_uniform64 = false;  // reserved for c[UR][..] descriptors that are 64 bits wide
  u8 scale = 1;                    // .X4 .X8 .X16
  u8 half = 0;                     // packed-half selector: 0 none (H1_H0), 1 .H0_H0, 2 .H1_H1, 3 .F32
  u8 part = 0;                     // sub-word selector: 0 none, 1..4 .B0..B3, 5 .H0, 6 .H1
  u8 bank = 0;                     // constant bank
  u16 reg = kRZ;   // register, predicate, barrier or scoreboard number; base register of Const/Mem
  u16 ureg = kRZ;  // uniform register added to a Mem address (or holding the const bank)
  u32 bits = 0;    // bits 63:32 of the instruction when is_float: the 32-bit immediate field
  i64 value = 0;   // integer immediate, Mem/Const byte offset, branch target (byte offset in the segment)
};

// Bits 125:105 of the instruction, see docs/architecture.md.
struct Control {
  u8 stall = 0;
  u8 write_barrier = 7;  // 7 = none
  u8 read_barrier = 7;
  u8 wait_mask = 0;
  u8 reuse = 0;
  bool yield = false;
};

struct Warp;
struct Instr;
struct OpDecl;

// Executes one warp instruction for the lanes of `mask` (guard already applied, never 0 except for
// instructions whose declaration says runs_without_lanes). Control flow changes Warp state.
using ExecFn = void (*)(Warp& warp, const Instr& in, u32 mask);

inline constexpr int kMaxOperands = 10;

struct Instr {
  ExecFn exec = nullptr;       // set by the op's bind; undeclared forms trap here
  const OpDecl* op = nullptr;  // null when the mnemonic is undeclared
  u32 index = 0;               // position in the program: pc / 16
  u8 guard = kPT;              // @Px / @UPx
  bool guard_inv = false;
  bool guard_uniform = false;
  u8 operand_count = 0;
  Control control;
  std::array<Operand, kMaxOperands> operands;  // in nvdisasm's order, destinations first
  // What bind worked out for exec; meaning is private to the op's family.
  u32 flags = 0;
  u32 aux = 0;
  u32 target = 0;  // branch target as an instruction index
};

}  // namespace warpath
