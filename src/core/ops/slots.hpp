// Operand slots: where an ALU op finds its sources and predicates, worked out once when the op is bound.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "ops/decl.hpp"

namespace warpath {

// Slot numbers, each a nibble of Instr::aux holding an operand index.
enum Slot : u32 { kA = 0, kB = 1, kC = 2, kPredIn = 3, kPredIn2 = 4, kPredOut = 5, kPredOut2 = 6, kImm = 7 };

// Operands that a form leaves out read as RZ, or as a predicate that is false and drops what is written.
inline constexpr u32 kAbsentPred = kMaxOperands - 2;
inline constexpr u32 kAbsentReg = kMaxOperands - 1;

inline const Operand& slot(const Instr& in, Slot which) { return in.operands[(in.aux >> (4 * which)) & 15]; }

inline bool is_zero_register(const Operand& op) { return op.kind == OperandKind::Reg && op.reg == kRZ; }

// Fits the operands to the first of `patterns` that matches and fills Instr::aux. Letters: d destination
// register (first operand), a b c sources (register, constant, immediate, uniform), o predicate destination,
// p predicate source, i integer immediate, r PR or UPR, * anything. Returns the index of the pattern, or -1.
int match_slots(const InstrText& text, Instr& out, std::initializer_list<std::string_view> patterns);

// The same for float ops: immediates take their bits from the encoding, since "1" and "-0" do not say their
// format.
int match_float_slots(const InstrText& text, Instr& out, std::initializer_list<std::string_view> patterns);

// The message of a bind that matched no pattern, naming the operands as written.
std::string refuse_operands(const InstrText& text);
// The message of a bind that knows each modifier but not their combination.
std::string refuse_modifiers(const InstrText& text);

// Position of `name` in `names` among the modifiers of the instruction, or `fallback` when none is present.
int choose(const InstrText& text, std::initializer_list<std::string_view> names, int fallback);

}  // namespace warpath
