// From nvdisasm's text to operands. The text is the only decoder of operands; the encoding is consulted for
// float immediates (their exact bits) and the control word.
#include <charconv>
#include <cstdlib>

#include "ops/decl.hpp"

namespace warpath {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Splits at commas that are outside brackets, and between "][" (LDGSTS on sm_80 prints "[R7][R2.64]").
std::vector<std::string_view> split_operands(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (depth != 0 || c != ',') continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  if (start < text.size()) parts.push_back(text.substr(start));
  std::vector<std::string_view> result;
  for (std::string_view part : parts) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    const std::size_t joint = part.find("][");
    const bool two_addresses = joint != part.npos && part.front() == '[';
    if (two_addresses) result.push_back(part.substr(0, joint + 1));
    result.push_back(two_addresses ? part.substr(joint + 1) : part);
  }
  return result;
}

std::vector<std::string> split_dots(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = text.find('.');
    parts.emplace_back(text.substr(0, dot));
    if (dot == text.npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

bool parse_number(std::string_view text, i64& value) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (!starts_with(text, "0x")) return false;
  text.remove_prefix(2);
  u64 magnitude = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), magnitude, 16);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return false;
  value = static_cast<i64>(negative ? 0 - magnitude : magnitude);
  return true;
}

// "R12" after its prefix: all digits, within `limit`.
bool parse_index(std::string_view digits, u16 limit, u16& index) {
  if (digits.empty() || !is_digit(digits[0])) return false;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return result.ec == std::errc() && result.ptr == digits.data() + digits.size() && index <= limit;
}

// R7, RZ, UR5, URZ.
bool parse_register(std::string_view name, bool& uniform, u16& reg) {
  uniform = starts_with(name, "UR");
  if (uniform) name.remove_prefix(1);
  if (name.size() < 2 || name[0] != 'R') return false;
  name.remove_prefix(1);
  if (name == "Z") {
    reg = kRZ;
    return true;
  }
  return parse_index(name, 254, reg);
}

bool parse_named(std::string_view name, Operand& op) {
  bool uniform = false;
  if (parse_register(name, uniform, op.reg)) {
    op.kind = uniform ? OperandKind::UReg : OperandKind::Reg;
    return true;
  }
  if (name == "PR" || name == "UPR") {
    op.kind = OperandKind::PredSet;
    return true;
  }
  const bool upred = starts_with(name, "UP");
  std::string_view pred = upred ? name.substr(1) : name;
  if (pred == "PT" || (pred.size() == 2 && pred[0] == 'P' && parse_index(pred.substr(1), 6, op.reg))) {
    if (pred == "PT") op.reg = kPT;
    op.kind = upred ? OperandKind::UPred : OperandKind::Pred;
    return true;
  }
  if (starts_with(name, "SB") && parse_index(name.substr(2), 5, op.reg)) {
    op.kind = OperandKind::Scoreboard;
    return true;
  }
  if (name.size() >= 2 && name[0] == 'B' && parse_index(name.substr(1), 15, op.reg)) {
    op.kind = OperandKind::Convergence;
    return true;
  }
  if (starts_with(name, "SR")) {
    op.kind = OperandKind::Special;
    return true;
  }
  return false;
}

// One "+"-separated term inside an address: R4.64, R64.U32, R0.X4, UR6, UR6.64, 0x40, -0x8.
bool parse_address_term(std::string_view term, Operand& op) {
  if (parse_number(term, op.value)) return true;
  const std::size_t dot = term.find('.');
  bool uniform = false;
  u16 reg = kRZ;
  if (!parse_register(term.substr(0, dot), uniform, reg)) return false;
  const bool first = op.reg == kRZ && !op.base_uniform;
  if (uniform && !first) {
    op.ureg = reg;
  } else {
    op.reg = reg;
    op.base_uniform = uniform;
  }
  if (dot == term.npos) return true;
  for (const std::string& suffix : split_dots(term.substr(dot + 1))) {
    if (suffix == "64") {
      op.addr64 = true;
    } else if (suffix == "U32") {
      op.addr_u32 = true;
    } else if (suffix[0] == 'X' && suffix.size() > 1) {
      op.scale = static_cast<u8>(std::atoi(suffix.c_str() + 1));
    } else if (suffix != "reuse") {
      return false;
    }
  }
  return true;
}

// The inside of [...]: terms joined by '+'. RZ as the first term still counts as the base.
bool parse_address(std::string_view inside, Operand& op) {
  op.value = 0;
  bool seen_base = false;
  while (!inside.empty()) {
    const std::size_t plus = inside.find('+');
    const std::string_view term = inside.substr(0, plus);
    bool uniform = false;
    u16 reg = kRZ;
    const bool is_register = parse_register(term.substr(0, term.find('.')), uniform, reg);
    if (is_register && uniform && seen_base) {
      op.ureg = reg;  // [RZ+UR4]: RZ is the base, whatever its number
    } else if (!parse_address_term(term, op)) {
      return false;
    }
    seen_base |= is_register;
    if (plus == inside.npos) return true;
    inside.remove_prefix(plus + 1);
  }
  return false;
}

// c[0x0][0x160], c[0x0][R4+0x8], c[0x0][UR9+0x258], c[0x4][URZ]; c[UR4][0x10] names a bindless bank.
bool parse_const(std::string_view text, Operand& op, std::string_view& suffix) {
  const std::size_t joint = text.find("][");
  const std::size_t end = text.find(']', joint + 2);
  if (joint == text.npos || end == text.npos) return false;
  op.kind = OperandKind::Const;
  const std::string_view bank = text.substr(2, joint - 2);
  i64 number = 0;
  if (parse_number(bank, number)) {
    if (number < 0 || number > 31) return false;
    op.bank = static_cast<u8>(number);
  } else {
    bool uniform = false;
    if (!parse_register(bank, uniform, op.ureg) || !uniform) return false;
    op.generic_uniform64 = true;
  }
  suffix = text.substr(end + 1);
  return parse_address(text.substr(joint + 2, end - joint - 2), op);
}

bool parse_memory(std::string_view text, Operand& op) {
  if (starts_with(text, "desc[")) text.remove_prefix(text.find(']') + 1);
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  op.kind = OperandKind::Mem;
  return parse_address(text.substr(1, text.size() - 2), op);
}

// A float immediate: decimal digits without 0x, or a word with INF or NAN. The sign is part of the bits.
bool looks_float(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || starts_with(text, "0x")) return false;
  if (starts_with(text, "INF") || starts_with(text, "QNAN") || starts_with(text, "SNAN")) return true;
  return is_digit(text[0]) || (text[0] == '.' && text.size() > 1);
}

void apply_suffix(std::string_view suffix, Operand& op) {
  if (suffix == "H0_H0") op.half = 1;
  if (suffix == "H1_H1") op.half = 2;
  if (suffix == "F32") op.half = 3;
  if (suffix.size() == 2 && suffix[0] == 'B' && suffix[1] >= '0' && suffix[1] <= '3') {
    op.part = static_cast<u8>(1 + suffix[1] - '0');
  }
  if (suffix == "H0") op.part = 5;
  if (suffix == "H1") op.part = 6;
}

bool parse_operand(std::string_view text, u32 imm_field, Operand& op) {
  if (looks_float(text)) {
    op.kind = OperandKind::Imm;
    op.is_float = true;
    op.bits = imm_field;
    return true;
  }
  if (parse_number(text, op.value)) {
    op.kind = OperandKind::Imm;
    return true;
  }
  if (starts_with(text, "[") || starts_with(text, "desc[")) return parse_memory(text, op);
  while (!text.empty() && (text[0] == '-' || text[0] == '~' || text[0] == '!' || text[0] == '+')) {
    if (text[0] == '-') op.neg = true;
    if (text[0] == '~' || text[0] == '!') op.inv = true;
    text.remove_prefix(1);
  }
  std::string_view suffixes;
  if (!text.empty() && text[0] == '|') {
    const std::size_t close = text.find('|', 1);
    if (close == text.npos) return false;
    op.abs = true;
    suffixes = text.substr(close + 1);
    text = text.substr(1, close - 1);
  }
  std::string_view inner;
  if (starts_with(text, "c[")) {
    if (!parse_const(text, op, inner)) return false;
  } else {
    const std::size_t dot = starts_with(text, "SR") ? text.npos : text.find('.');
    inner = dot == text.npos ? std::string_view() : text.substr(dot);
    if (!parse_named(text.substr(0, dot), op)) op.kind = OperandKind::Text;
  }
  for (std::string_view list : {inner, suffixes}) {
    if (!list.empty()) {
      for (const std::string& suffix : split_dots(list.substr(1))) apply_suffix(suffix, op);
    }
  }
  return true;
}

bool parse_guard(std::string_view text, Instr& out) {
  // nvdisasm prints the predicate set of P2R and R2P ("PR") in the guard's place.
  if (text.empty() || text == "PR" || text == "UPR") return true;
  if (text[0] != '@') return false;
  text.remove_prefix(1);
  if (!text.empty() && text[0] == '!') {
    out.guard_inv = true;
    text.remove_prefix(1);
  }
  Operand op;
  if (!parse_named(text, op)) return false;
  if (op.kind != OperandKind::Pred && op.kind != OperandKind::UPred) return false;
  out.guard = static_cast<u8>(op.reg);
  out.guard_uniform = op.kind == OperandKind::UPred;
  return true;
}

Control decode_control(u64 raw_hi) {
  Control control;  // bit 64 of the instruction is bit 0 of raw_hi
  control.stall = (raw_hi >> 41) & 15;
  control.yield = ((raw_hi >> 45) & 1) == 0;
  control.write_barrier = (raw_hi >> 46) & 7;
  control.read_barrier = (raw_hi >> 49) & 7;
  control.wait_mask = (raw_hi >> 52) & 63;
  control.reuse = (raw_hi >> 58) & 7;
  return control;
}

}  // namespace

bool InstrText::has(std::string_view modifier) const {
  for (const std::string& own : modifiers) {
    if (own == modifier) return true;
  }
  return false;
}

bool parse_text(std::string_view predicate, std::string_view opcode, std::string_view operands, u64 raw_lo,
                u64 raw_hi, InstrText& text, Instr& out, std::string& error) {
  std::vector<std::string> words = split_dots(opcode);
  text.mnemonic = words.front();
  text.modifiers.assign(words.begin() + 1, words.end());
  text.imm_field = static_cast<u32>(raw_lo >> 32);
  out.control = decode_control(raw_hi);
  if (!parse_guard(predicate, out)) {
    error = "guard " + std::string(predicate) + " is not understood";
    return false;
  }
  // nvdisasm prints "R5desc,[UR4][R4.64]" for "R5,desc[UR4][R4.64]" in some sm_80..89 code.
  std::string mended(operands);
  const std::size_t slip = mended.find("desc,[");
  if (slip != mended.npos) mended.replace(slip, 6, slip == 0 ? "desc[" : ",desc[");
  for (std::string_view part : split_operands(mended)) {
    if (out.operand_count == kMaxOperands) {
      error = "more than " + std::to_string(kMaxOperands) + " operands";
      return false;
    }
    Operand& op = out.operands[out.operand_count++];
    if (!parse_operand(part, text.imm_field, op)) {
      error = "operand " + std::string(part) + " is not understood";
      return false;
    }
    text.operand_texts.emplace_back(part);
    text.operands.push_back(op);
  }
  return true;
}

}  // namespace warpath
