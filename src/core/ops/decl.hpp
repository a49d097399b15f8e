// How an opcode is declared, once: mnemonic, modifiers, pipe, latency class, and the bind function that
// checks the operands and picks the lane semantics. Families are the files of this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/instr.hpp"

namespace warpath {

enum class Pipe : u8 { Alu, Fma, FmaHeavy, Fp16, Fp64, Xu, Lsu, Uniform, Tensor, Cbu, Adu, Tex, None };
enum class Latency : u8 { Fixed, Variable, None };

// One line of disassembly split into its parts: "IMAD.WIDE.U32" -> mnemonic "IMAD", modifiers {"WIDE","U32"}.
struct InstrText {
  std::string mnemonic;
  std::vector<std::string> modifiers;
  std::vector<Operand> operands;
  std::vector<std::string> operand_texts;
  u32 imm_field = 0;  // bits 63:32 of the encoding

  bool has(std::string_view modifier) const;  // is this modifier present?
};

// Fills exec/flags/aux/target of `out` (operands are already copied). Returns an empty string, or why this
// form is not supported ("operand 3 is a predicate set"). Never throws.
using BindFn = std::string (*)(const InstrText& text, Instr& out);

struct OpDecl {
  std::string_view mnemonic;
  std::string_view modifiers;  // every modifier this op takes, space separated; others are refused
  Pipe pipe;
  Latency latency;
  BindFn bind;
  bool runs_without_lanes = false;  // executed even when the guard leaves no lane (barriers, BRA.U ...)
};

struct Family {
  std::string_view name;
  std::span<const OpDecl> ops;
};

// All families, in a fixed order; defined in ops/table.cpp.
std::span<const Family> families();
// The declaration of a mnemonic, or null.
const OpDecl* find_op(std::string_view mnemonic);

// Parses nvdisasm's text ("@!P0", "LDG.E.64", "R4,desc[UR4][R4.64+0x4]"); `raw_hi`/`raw_lo` are the encoding.
// Returns false and sets `error` when an operand is not understood.
bool parse_text(std::string_view predicate, std::string_view opcode, std::string_view operands, u64 raw_lo,
                u64 raw_hi, InstrText& text, Instr& out, std::string& error);

}  // namespace warpath
