// binary32 arithmetic: FADD, FMUL, FFMA and their packed forms, in every rounding, with .FTZ and .SAT.
#include "ops/floating.hpp"

#include "ops/families.hpp"

namespace warpath {
namespace {

enum class Arith { Add, Mul, Fma };

template <Arith Op>
inline float apply(float a, float b, float c) {
  if constexpr (Op == Arith::Add) {
    return a + b;
  } else if constexpr (Op == Arith::Mul) {
    return a * b;
  } else {
    return __builtin_fmaf(a, b, c);
  }
}

template <Arith Op, bool Ftz, bool Sat>
inline u32 arith_word(u32 a, u32 b, u32 c) {
  const auto read = [](u32 bits) { return as_float(Ftz ? flush32(bits) : bits); };
  const float result = apply<Op>(read(a), read(b), read(c));
  u32 bits = result != result ? kNan32 : as_bits(result);
  if (Ftz) bits = flush32(bits);
  return Sat ? saturate32(bits) : bits;
}

template <Arith Op, bool Ftz, bool Sat>
void exec_arith(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32* c = Op == Arith::Fma ? float32(warp, slot(in, kC), sc) : a;
  each_lane(warp, in.operands[0], mask, [=](int i) { return arith_word<Op, Ftz, Sat>(a[i], b[i], c[i]); });
}

// One row under a directed rounding; not inlined, see HostRounding.
template <Arith Op, bool Ftz, bool Sat>
[[gnu::noinline]] void arith_row(const u32* a, const u32* b, const u32* c, u32* out) {
  for (int i = 0; i < kLanes; ++i) out[i] = arith_word<Op, Ftz, Sat>(a[i], b[i], c[i]);
}

template <Arith Op, bool Ftz, bool Sat>
void exec_directed(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc, result;
  const u32* a = float32(warp, slot(in, kA), sa);
  const u32* b = float32(warp, slot(in, kB), sb);
  const u32* c = Op == Arith::Fma ? float32(warp, slot(in, kC), sc) : a;
  {
    const HostRounding scope(static_cast<Round>(in.flags));
    arith_row<Op, Ftz, Sat>(a, b, c, result.v);
  }
  store32(warp, in.operands[0], result.v, mask);
}

template <Arith Op>
void pick_arith(const InstrText& text, Instr& out) {
  static constexpr ExecFn nearest[] = {exec_arith<Op, false, false>, exec_arith<Op, false, true>,
                                       exec_arith<Op, true, false>, exec_arith<Op, true, true>};
  static constexpr ExecFn directed[] = {exec_directed<Op, false, false>, exec_directed<Op, false, true>,
                                        exec_directed<Op, true, false>, exec_directed<Op, true, true>};
  const Round mode = rounding(text);
  const int which = (text.has("FTZ") ? 2 : 0) + (text.has("SAT") ? 1 : 0);
  out.flags = static_cast<u32>(mode);
  out.exec = mode == Round::Nearest ? nearest[which] : directed[which];
}

// The lower or upper half of a packed pair of binary32 values.
Operand half_operand(const Operand& op, int half) {
  Operand part = op;
  if (half == 0) return part;
  if (op.kind == OperandKind::Const) {
    part.value += 4;
  } else if (op.reg != kRZ) {
    ++part.reg;
  }
  return part;
}

constexpr u32 kPackedFtz = 4;  // above the two bits of the rounding

template <Arith Op>
void exec_packed(Warp& warp, const Instr& in, u32 mask) {
  Row result[2];
  {
    const HostRounding scope(static_cast<Round>(in.flags & 3));
    for (int half = 0; half < 2; ++half) {
      Row sa, sb, sc;
      const u32* a = float32(warp, half_operand(slot(in, kA), half), sa);
      const u32* b = float32(warp, half_operand(slot(in, kB), half), sb);
      const u32* c = Op == Arith::Fma ? float32(warp, half_operand(slot(in, kC), half), sc) : a;
      if (in.flags & kPackedFtz) {
        arith_row<Op, true, false>(a, b, c, result[half].v);
      } else {
        arith_row<Op, false, false>(a, b, c, result[half].v);
      }
    }
  }
  for (int half = 0; half < 2; ++half) store32(warp, half_operand(in.operands[0], half), result[half].v, mask);
}

constexpr Latency kFixed = Latency::Fixed;

constexpr OpDecl kOps[] = {
    {"FADD", "FTZ SAT RM RP RZ", Pipe::Fma, kFixed, bind_fadd},
    {"FMUL", "FTZ SAT RM RP RZ", Pipe::Fma, kFixed, bind_fmul},
    {"FFMA", "FTZ SAT RM RP RZ", Pipe::Fma, kFixed, bind_ffma},
    {"FADD2", "FTZ RM RP RZ", Pipe::Fma, kFixed, bind_packed},
    {"FMUL2", "FTZ RM RP RZ", Pipe::Fma, kFixed, bind_packed},
    {"FFMA2", "FTZ RM RP RZ", Pipe::Fma, kFixed, bind_packed},
    {"FSETP", "LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR", Pipe::Alu, kFixed, bind_fsetp},
    {"FSET", "LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR BF", Pipe::Alu, kFixed, bind_fset},
    {"FSEL", "FTZ", Pipe::Alu, kFixed, bind_fsel},
    {"FMNMX", "FTZ NAN XORSIGN", Pipe::Alu, kFixed, bind_fmnmx},
    {"FMNMX3", "FTZ NAN", Pipe::Alu, kFixed, bind_fmnmx3},
    {"FCHK", "DIVIDE", Pipe::Xu, Latency::Variable, bind_fchk},
};

}  // namespace

std::string bind_fadd(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
  pick_arith<Arith::Add>(text, out);
  return "";
}

std::string bind_fmul(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dab"}) < 0) return refuse_operands(text);
  pick_arith<Arith::Mul>(text, out);
  return "";
}

std::string bind_ffma(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  pick_arith<Arith::Fma>(text, out);
  return "";
}

std::string bind_packed(const InstrText& text, Instr& out) {
  const bool fma = text.mnemonic == "FFMA2";
  if (match_float_slots(text, out, {fma ? "dabc" : "dab"}) < 0) return refuse_operands(text);
  for (std::size_t i = 1; i < text.operands.size(); ++i) {
    const bool pair = text.operand_texts[i].find(".F32x2.HI_LO") != std::string::npos;
    if (!pair || text.operands[i].kind == OperandKind::Imm) return refuse_operands(text);
  }
  out.flags = static_cast<u32>(rounding(text)) | (text.has("FTZ") ? kPackedFtz : 0);
  out.exec = fma ? exec_packed<Arith::Fma>
                 : text.mnemonic == "FADD2" ? exec_packed<Arith::Add> : exec_packed<Arith::Mul>;
  return "";
}

const Family& floating_family() {
  static constexpr Family family{"floating", kOps};
  return family;
}

}  // namespace warpath
