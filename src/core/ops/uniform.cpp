// The uniform datapath: the vector ops' semantics on UR and UP operands, one value per warp.
#include "ops/convert.hpp"
#include "ops/families.hpp"
#include "ops/floating.hpp"
#include "ops/integer.hpp"
#include "ops/predicate.hpp"

namespace warpath {
namespace {

constexpr Latency kFixed = Latency::Fixed;

constexpr OpDecl kOps[] = {
    {"UMOV", "64", Pipe::Uniform, kFixed, bind_mov},
    {"UIADD3", "X 64", Pipe::Uniform, kFixed, bind_iadd3},
    {"UIMAD", "WIDE HI U32 SHL MOV IADD X", Pipe::Uniform, kFixed, bind_imad},
    {"ULEA", "HI X SX32", Pipe::Uniform, kFixed, bind_lea},
    {"ULOP3", "LUT PAND", Pipe::Uniform, kFixed, bind_lop3},
    {"USHF", "L R U32 S32 U64 S64 HI W", Pipe::Uniform, kFixed, bind_shf},
    {"USEL", "64", Pipe::Uniform, kFixed, bind_sel},
    {"UPRMT", "F4E B4E RC8 ECL ECR RC16", Pipe::Uniform, kFixed, bind_prmt},
    {"UPOPC", "", Pipe::Uniform, kFixed, bind_popc},
    {"UFLO", "U32 SH", Pipe::Uniform, kFixed, bind_flo},
    {"UBREV", "", Pipe::Uniform, kFixed, bind_brev},
    {"USGXT", "U32 W", Pipe::Uniform, kFixed, bind_sgxt},
    {"UBMSK", "W", Pipe::Uniform, kFixed, bind_bmsk},
    {"UIABS", "", Pipe::Uniform, kFixed, bind_iabs},
    {"UISETP", "LT EQ LE GT NE GE F T U32 U64 S64 AND OR XOR EX", Pipe::Uniform, kFixed, bind_isetp},
    {"UIMNMX", "U32 S64 U64", Pipe::Uniform, kFixed, bind_imnmx},
    {"UVIMNMX", "S32 U32 S16x2 U16x2 S8x4 U8x4 RELU", Pipe::Uniform, kFixed, bind_imnmx},
    {"UVIADD", "16x2 U8x4 S32 ISAT", Pipe::Uniform, kFixed, bind_viadd},
    {"UPLOP3", "LUT", Pipe::Uniform, kFixed, bind_plop3},
    {"UP2UR", "B0 B1 B2 B3", Pipe::Uniform, kFixed, bind_p2r},
    {"UR2UP", "B0 B1 B2 B3", Pipe::Uniform, kFixed, bind_r2p},
    {"UFADD", "FTZ SAT RM RP RZ", Pipe::Uniform, kFixed, bind_fadd},
    {"UFMUL", "FTZ SAT RM RP RZ", Pipe::Uniform, kFixed, bind_fmul},
    {"UFFMA", "FTZ SAT RM RP RZ", Pipe::Uniform, kFixed, bind_ffma},
    {"UFSETP", "LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR", Pipe::Uniform, kFixed,
     bind_fsetp},
    {"UFSET", "LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU FTZ AND OR XOR BF", Pipe::Uniform, kFixed,
     bind_fset},
    {"UFSEL", "FTZ", Pipe::Uniform, kFixed, bind_fsel},
    {"UFMNMX", "FTZ NAN XORSIGN", Pipe::Uniform, kFixed, bind_fmnmx},
    {"UF2F", "F32 F64 F16 BF16 FTZ RM RP RZ", Pipe::Uniform, kFixed, bind_f2f},
    {"UF2FP", "F32 F16 BF16 PACK_AB MERGE_C RELU RZ", Pipe::Uniform, kFixed, bind_f2fp},
    {"UF2I", "U8 S8 U16 S16 U32 S32 U64 S64 F32 F64 F16 BF16 FTZ FLOOR CEIL TRUNC NTZ", Pipe::Uniform, kFixed,
     bind_f2i},
    {"UI2F", "U8 S8 U16 S16 U32 S32 U64 S64 F32 F64 F16 BF16 RM RP RZ", Pipe::Uniform, kFixed, bind_i2f},
    {"UI2FP", "F32 S32 U32 RM RP RZ", Pipe::Uniform, kFixed, bind_i2f},
    {"UFRND", "F32 F64 F16 BF16 FTZ FLOOR CEIL TRUNC", Pipe::Uniform, kFixed, bind_frnd},
};

}  // namespace

const Family& uniform_family() {
  static constexpr Family family{"uniform", kOps};
  return family;
}

}  // namespace warpath
