// The conversion family: declarations.
#include "ops/convert.hpp"

#include "ops/families.hpp"

namespace warpath {
namespace {

constexpr Latency kVariable = Latency::Variable;

constexpr OpDecl kOps[] = {
    {"F2F", "F32 F64 F16 BF16 FTZ RM RP RZ", Pipe::Xu, kVariable, bind_f2f},
    {"F2FP",
     "F32 F16 BF16 TF32 E4M3 E5M2 PACK_AB PACK_B MERGE_C UNPACK_B PACK_AB_MERGE_C UNPACK_B_MERGE_C RELU "
     "SATFINITE RZ",
     Pipe::Alu, Latency::Fixed, bind_f2fp},
    {"FRND", "F32 F64 F16 BF16 FTZ FLOOR CEIL TRUNC", Pipe::Xu, kVariable, bind_frnd},
    {"F2I", "U8 S8 U16 S16 U32 S32 U64 S64 F32 F64 F16 BF16 FTZ FLOOR CEIL TRUNC NTZ", Pipe::Xu, kVariable,
     bind_f2i},
    {"I2F", "U8 S8 U16 S16 U32 S32 U64 S64 F32 F64 F16 BF16 RM RP RZ", Pipe::Xu, kVariable, bind_i2f},
    {"I2FP", "F32 S32 U32 RM RP RZ", Pipe::Alu, Latency::Fixed, bind_i2f},
    {"I2I", "U8 S8 U16 S16 S32 SAT", Pipe::Xu, kVariable, bind_i2i},
    {"I2IP", "U2 S2 U4 S4 U8 S8 U16 S16 S32 SAT", Pipe::Alu, Latency::Fixed, bind_i2ip},
    {"F2IP", "U8 F32 NTZ FLOOR CEIL TRUNC", Pipe::Alu, Latency::Fixed, bind_f2ip},
};

}  // namespace

const Family& convert_family() {
  static constexpr Family family{"convert", kOps};
  return family;
}

}  // namespace warpath
