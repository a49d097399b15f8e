#include "exec/program.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "exec/fault.hpp"
#include "exec/run.hpp"

namespace warpath {
namespace {

constexpr u32 kWidestOperand = 8;  // registers one operand can span

bool declares(const OpDecl& op, std::string_view modifier) {
  std::string_view rest = op.modifiers;
  while (!rest.empty()) {
    const std::size_t space = rest.find(' ');
    if (rest.substr(0, space) == modifier) return true;
    if (space == rest.npos) return false;
    rest.remove_prefix(space + 1);
  }
  return false;
}

std::string check_and_bind(const InstrText& text, Instr& out) {
  const OpDecl* op = find_op(text.mnemonic);
  if (op == nullptr) return "opcode " + text.mnemonic + " is not declared";
  for (const std::string& modifier : text.modifiers) {
    if (!declares(*op, modifier))
      return "modifier ." + modifier + " of " + text.mnemonic + " is not declared";
  }
  out.op = op;
  return op->bind(text, out);
}

u64 load64(const u8* bytes) {
  u64 word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

Program::Program(u32 sm, u64 base, std::span<const u8> code, const std::vector<TextLine>& text)
    : sm_(sm), base_(base), code_(code.begin(), code.end()), lines_(text) {
  if (code.size() != text.size() * 16) {
    throw std::invalid_argument("code has " + std::to_string(code.size()) + " bytes for " +
                                std::to_string(text.size()) + " instructions; 16 each are needed");
  }
  instructions_.resize(text.size() + 1);
  for (u32 index = 0; index < text.size(); ++index) decode(index);
  Instr& end = instructions_.back();
  end.index = size();
  end.exec = exec_illegal;
}

void Program::decode(u32 index) {
  Instr& instr = instructions_[index];
  instr.index = index;
  const auto& [predicate, opcode, operands] = lines_[index];
  if (opcode.empty()) {
    instr.exec = exec_illegal;
    return;
  }
  const u8* raw = code_.data() + std::size_t{index} * 16;
  InstrText text;
  std::string error;
  if (parse_text(predicate, opcode, operands, load64(raw), load64(raw + 8), text, instr, error)) {
    error = check_and_bind(text, instr);
  }
  if (!error.empty()) {
    undeclared_.push_back({index, error});
    instr.op = nullptr;
    instr.exec = exec_unsupported;
    return;
  }
  instr.target = std::min(instr.target, size());  // a target outside faults when it is reached
  for (const Operand& op : text.operands) {
    const bool named =
        op.kind == OperandKind::Reg || op.kind == OperandKind::Mem || op.kind == OperandKind::Const;
    if (named && !op.base_uniform && op.reg != kRZ)
      registers_ = std::max(registers_, op.reg + kWidestOperand);
  }
  note_order(text);
}

void Program::note_order(const InstrText& text) {
  const std::string& name = text.mnemonic;
  const bool returns = name == "ATOM" || name == "ATOMG";
  const bool reduces = name == "RED" || name == "REDG";
  bool exact = !text.has("INC") && !text.has("DEC");  // integer reductions commute
  for (const std::string& modifier : text.modifiers) exact &= modifier[0] != 'F' && modifier[0] != 'B';
  const bool wide_scope = text.has("GPU") || text.has("SYS");
  const bool strong = text.has("STRONG") && !reduces;
  const bool fence = name == "MEMBAR" && wide_scope;
  const bool call = (name == "CALL" && text.has("ABS")) || name == "NANOSLEEP";
  order_visible_ |= returns || (reduces && !exact) || (strong && wide_scope) || fence || call;
}

std::string Program::text(u32 index) const {
  if (index >= size()) return "(end of code)";
  const auto& [predicate, opcode, operands] = lines_[index];
  std::string line = predicate.empty() ? "" : predicate + " ";
  line += opcode;
  if (!operands.empty()) line += " " + operands;
  return line;
}

std::string Program::raw_hex(u32 index) const {
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (u32 i = 0; index < size() && i < 16; ++i) {
    const u8 byte = code_[std::size_t{index} * 16 + i];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string Program::reason(u32 index) const {
  for (const Undeclared& entry : undeclared_) {
    if (entry.index == index) return entry.reason;
  }
  return "";
}

}  // namespace warpath
