// Fitting operands to the forms an op declares.
#include "ops/slots.hpp"

namespace warpath {
namespace {

bool is_source(const Operand& op) {
  return op.kind == OperandKind::Reg || op.kind == OperandKind::UReg || op.kind == OperandKind::Imm ||
         op.kind == OperandKind::Const;
}

bool is_pred(const Operand& op) { return op.kind == OperandKind::Pred || op.kind == OperandKind::UPred; }

bool letter_fits(char letter, const Operand& op) {
  switch (letter) {
    case 'd':
      return op.kind == OperandKind::Reg || op.kind == OperandKind::UReg;
    case 'a':
    case 'b':
    case 'c':
      return is_source(op);
    case 'o':
    case 'p':
      return is_pred(op);
    case 'i':
      return op.kind == OperandKind::Imm && !op.is_float;
    case 'r':
      return op.kind == OperandKind::PredSet;
    default:
      return true;
  }
}

// The slot a letter fills; `again` when it is the second one of its kind. -1: fills none.
int slot_of(char letter, bool again) {
  switch (letter) {
    case 'a':
      return kA;
    case 'b':
      return kB;
    case 'c':
      return kC;
    case 'p':
      return again ? kPredIn2 : kPredIn;
    case 'o':
      return again ? kPredOut2 : kPredOut;
    case 'i':
      return kImm;
    default:
      return -1;
  }
}

u32 absent_slots() {
  u32 aux = 0;
  for (u32 which : {kA, kB, kC, kImm}) aux |= kAbsentReg << (4 * which);
  for (u32 which : {kPredIn, kPredIn2, kPredOut, kPredOut2}) aux |= kAbsentPred << (4 * which);
  return aux;
}

}  // namespace

int match_slots(const InstrText& text, Instr& out, std::initializer_list<std::string_view> patterns) {
  int index = -1;
  for (std::string_view pattern : patterns) {
    ++index;
    if (pattern.size() != text.operands.size() || pattern.size() > kAbsentPred) continue;
    u32 aux = absent_slots();
    bool fits = true;
    for (u32 i = 0; i < pattern.size() && fits; ++i) {
      fits = letter_fits(pattern[i], text.operands[i]);
      const int which = slot_of(pattern[i], pattern.substr(0, i).find(pattern[i]) != std::string_view::npos);
      if (which >= 0) aux = (aux & ~(15u << (4 * which))) | (i << (4 * which));
    }
    if (!fits) continue;
    out.aux = aux;
    Operand& no_pred = out.operands[kAbsentPred];
    no_pred.kind = OperandKind::Pred;
    no_pred.reg = kPT;
    no_pred.inv = true;
    out.operands[kAbsentReg].kind = OperandKind::Reg;
    out.operands[kAbsentReg].reg = kRZ;
    return index;
  }
  return -1;
}

int match_float_slots(const InstrText& text, Instr& out, std::initializer_list<std::string_view> patterns) {
  const int form = match_slots(text, out, patterns);
  for (u32 i = 0; form >= 0 && i < text.operands.size(); ++i) {
    Operand& op = out.operands[i];
    if (op.kind != OperandKind::Imm) continue;
    op.is_float = true;
    op.bits = text.imm_field;
    op.neg = false;
    op.abs = false;
  }
  return form;
}

std::string refuse_operands(const InstrText& text) {
  std::string message = text.mnemonic + " does not take the operands ";
  for (std::size_t i = 0; i < text.operand_texts.size(); ++i) {
    if (i != 0) message += ", ";
    message += text.operand_texts[i];
  }
  return message;
}

std::string refuse_modifiers(const InstrText& text) {
  std::string message = "this combination of modifiers is not supported: " + text.mnemonic;
  for (const std::string& modifier : text.modifiers) message += "." + modifier;
  return message;
}

int choose(const InstrText& text, std::initializer_list<std::string_view> names, int fallback) {
  int index = 0;
  for (std::string_view name : names) {
    if (text.has(name)) return index;
    ++index;
  }
  return fallback;
}

}  // namespace warpath
