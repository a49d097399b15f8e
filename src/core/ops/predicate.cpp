// Predicate logic and moves between predicates and registers: PLOP3, P2R, R2P.
#include "ops/predicate.hpp"

#include "ops/families.hpp"
#include "ops/lanes.hpp"

namespace warpath {
namespace {

// Three lane masks through an eight-entry table; the first source is the high index bit.
inline u32 table_lookup(u32 lut, u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (u32 index = 0; index < 8; ++index) {
    if (!((lut >> index) & 1)) continue;
    result |= (index & 4 ? a : ~a) & (index & 2 ? b : ~b) & (index & 1 ? c : ~c);
  }
  return result;
}

// A PLOP3 source: a predicate, or the signs of a register ("R0.SIGN").
inline u32 source_mask(const Warp& warp, const Operand& op) {
  if (op.kind == OperandKind::Pred || op.kind == OperandKind::UPred) return pred_mask(warp, op);
  Row scratch;
  const u32 signs = top_bits(raw32(warp, op, scratch));
  return op.neg || op.inv ? ~signs : signs;
}

void exec_plop3(Warp& warp, const Instr& in, u32 mask) {
  const u32 a = source_mask(warp, in.operands[2]);
  const u32 b = source_mask(warp, in.operands[3]);
  const u32 c = source_mask(warp, in.operands[4]);
  write_pred(warp, in.operands[0], table_lookup(in.flags & 0xff, a, b, c), mask);
  write_pred(warp, in.operands[1], table_lookup(in.flags >> 8, a, b, c), mask);
}

// Predicates of one lane as a word, P0 in bit 0.
inline u32 predicate_word(const u32* pred, int lane) {
  u32 word = 0;
  for (int p = 0; p < 7; ++p) word |= ((pred[p] >> lane) & 1) << p;
  return word;
}

// Flags of P2R and R2P: the bit where the byte of the register they touch starts, then
constexpr u32 kUniform = 0x100, kEveryPredicate = 0x200;

// Replaces the bits of `mask` (an immediate) in a by predicates.
void exec_p2r(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 shift = in.flags & 31;
  const u32* pred = in.flags & kUniform ? warp.upred : warp.pred;
  each_lane(warp, in.operands[0], mask, [=](int i) {
    const u32 field = (b[i] & 0x7f) << shift;
    return (a[i] & ~field) | ((predicate_word(pred, i) << shift) & field);
  });
}

// Sets the predicates named by the immediate from bits of a.
void exec_r2p(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 shift = in.flags & 31;
  Operand target;
  target.kind = in.flags & kUniform ? OperandKind::UPred : OperandKind::Pred;
  for (u16 p = 0; p < 7; ++p) {
    target.reg = p;
    const bool all = in.flags & kEveryPredicate;
    const u32 named = all ? kFullMask : lanes_where([=](int i) { return (b[i] >> p) & 1; });
    const u32 bits = lanes_where([=](int i) { return (a[i] >> (shift + p)) & 1; });
    if ((named & mask) != 0) write_pred(warp, target, bits, named & mask);
  }
}

// The byte is a modifier ("P2R.B1") or a suffix of the register ("R2P PR, R4.B1").
u32 byte_shift(const InstrText& text, const Operand& word) {
  const int suffix = word.part >= 1 && word.part <= 4 ? word.part - 1 : 0;
  return 8 * static_cast<u32>(choose(text, {"B0", "B1", "B2", "B3"}, suffix));
}

bool is_logic_source(const Operand& op, const std::string& text) {
  if (op.kind == OperandKind::Pred || op.kind == OperandKind::UPred) return true;
  const bool word =
      op.kind == OperandKind::Reg || op.kind == OperandKind::UReg || op.kind == OperandKind::Const;
  return word && text.find(".SIGN") != std::string::npos;
}

constexpr Latency kFixed = Latency::Fixed;

constexpr OpDecl kOps[] = {
    {"PLOP3", "LUT", Pipe::Alu, kFixed, bind_plop3},
    {"P2R", "B0 B1 B2 B3", Pipe::Alu, kFixed, bind_p2r},
    {"R2P", "B0 B1 B2 B3", Pipe::Alu, kFixed, bind_r2p},
};

}  // namespace

std::string bind_plop3(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"oo***ii"}) < 0) return refuse_operands(text);
  for (std::size_t i = 2; i < 5; ++i) {
    if (!is_logic_source(text.operands[i], text.operand_texts[i])) return refuse_operands(text);
  }
  const u32 first = static_cast<u32>(text.operands[5].value) & 0xff;
  const u32 second = static_cast<u32>(text.operands[6].value) & 0xff;
  out.flags = first | second << 8;
  out.exec = exec_plop3;
  return "";
}

std::string bind_p2r(const InstrText& text, Instr& out) {
  // nvdisasm leaves PR out of some listings.
  if (match_slots(text, out, {"dab", "drab"}) < 0) return refuse_operands(text);
  out.flags = byte_shift(text, slot(out, kA)) | (text.mnemonic[0] == 'U' ? kUniform : 0);
  out.exec = exec_p2r;
  return "";
}

std::string bind_r2p(const InstrText& text, Instr& out) {
  const int form = match_slots(text, out, {"ra", "ab", "rab"});
  if (form < 0) return refuse_operands(text);
  out.flags = byte_shift(text, slot(out, kA)) | (text.mnemonic[0] == 'U' ? kUniform : 0) |
              (form == 0 ? kEveryPredicate : 0);
  out.exec = exec_r2p;
  return "";
}

const Family& predicate_family() {
  static constexpr Family family{"predicate", kOps};
  return family;
}

}  // namespace warpath
