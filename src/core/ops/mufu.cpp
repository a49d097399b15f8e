// MUFU: the transcendental unit, in binary32, for binary64 upper words, and on halves.
#include "ops/families.hpp"
#include "ops/mufu_model.hpp"
#include "ops/rounding.hpp"

namespace warpath {
namespace {

using Function = u32 (*)(u32);

template <Function Fn>
void exec_mufu(Warp& warp, const Instr& in, u32 mask) {
  Row sa;
  Row result{};
  const u32* a = float32(warp, slot(in, kA), sa);
  for_lanes(mask, [&](u32 i) { result.v[i] = Fn(a[i]); });
  write32(warp, in.operands[0].reg, result.v, mask);
}

// Halves: flags hold which half of the source is read.
constexpr u32 kUpperHalf = 1, kBfloat = 2, kTanh = 4;

// binary32 to binary16 towards zero, beyond its range to infinity.
u32 truncate_to_half(u32 bits) {
  if ((bits & 0x7fffffffu) >= 0x47800000u) return (bits >> 16 & 0x8000u) | 0x7c00u;
  return round_to(kBinary16, as_float(bits), Round::Zero);
}

u32 half_function(u32 word, const Operand& op, u32 flags) {
  u32 half = flags & kUpperHalf ? word >> 16 : word & 0xffff;
  if (op.abs) half &= 0x7fff;
  if (op.neg) half ^= 0x8000;
  // The unit works in binary32 and drops the bits below the half instead of rounding (measured on an H200).
  const u32 x = flags & kBfloat ? bfloat_to_float(half) : half_to_float(half);
  const u32 y = flags & kTanh ? mufu_tanh(x) : mufu_ex2(x);
  if (is_nan32(y)) return kNan16;
  return flags & kBfloat ? y >> 16 : truncate_to_half(y);
}

void exec_mufu_half(Warp& warp, const Instr& in, u32 mask) {
  Row sa;
  Row result{};
  const Operand& op = slot(in, kA);
  const u32* a = raw32(warp, op, sa);
  for_lanes(mask, [&](u32 i) { result.v[i] = half_function(a[i], op, in.flags); });
  write32(warp, in.operands[0].reg, result.v, mask);
}

std::string bind_mufu(const InstrText& text, Instr& out) {
  if (match_float_slots(text, out, {"da"}) < 0) return refuse_operands(text);
  const Operand& source = slot(out, kA);
  if (text.has("F16") || text.has("BF16")) {
    if (!text.has("EX2") && !text.has("TANH")) return refuse_modifiers(text);
    const bool upper = text.operand_texts[1].find(".H1") != std::string::npos;
    out.flags = (upper ? kUpperHalf : 0) | (text.has("BF16") ? kBfloat : 0) | (text.has("TANH") ? kTanh : 0);
    out.exec = exec_mufu_half;
    return "";
  }
  if (source.part != 0 || source.half != 0) return refuse_operands(text);
  static constexpr ExecFn table[] = {exec_mufu<mufu_rcp>,   exec_mufu<mufu_rsq>,  exec_mufu<mufu_sqrt>,
                                     exec_mufu<mufu_ex2>,   exec_mufu<mufu_lg2>,  exec_mufu<mufu_sin>,
                                     exec_mufu<mufu_cos>,   exec_mufu<mufu_tanh>, exec_mufu<mufu_rcp64h>,
                                     exec_mufu<mufu_rsq64h>};
  const int which =
      choose(text, {"RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H"}, -1);
  if (which < 0) return refuse_modifiers(text);
  out.exec = table[which];
  return "";
}

constexpr OpDecl kOps[] = {
    {"MUFU", "RCP RSQ SQRT EX2 LG2 SIN COS TANH RCP64H RSQ64H F16 BF16", Pipe::Xu, Latency::Variable,
     bind_mufu},
};

}  // namespace

const Family& mufu_family() {
  static constexpr Family family{"mufu", kOps};
  return family;
}

}  // namespace warpath
