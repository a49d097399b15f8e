// The integer family: declarations.
#include "ops/integer.hpp"

#include "ops/families.hpp"

namespace warpath {
namespace {

constexpr Latency kFixed = Latency::Fixed;

constexpr OpDecl kOps[] = {
    {"IADD3", "X 64", Pipe::Alu, kFixed, bind_iadd3},
    {"IADD", "X 64", Pipe::Alu, kFixed, bind_iadd},
    {"VIADD", "16x2 U8x4 S32 ISAT", Pipe::FmaHeavy, kFixed, bind_viadd},
    {"IMAD", "WIDE HI U32 SHL MOV IADD X", Pipe::FmaHeavy, kFixed, bind_imad},
    {"LEA", "HI X SX32", Pipe::Alu, kFixed, bind_lea},
    {"LOP3", "LUT PAND", Pipe::Alu, kFixed, bind_lop3},
    {"SHF", "L R U32 S32 U64 S64 HI W", Pipe::Alu, kFixed, bind_shf},
    {"MOV", "64", Pipe::Alu, kFixed, bind_mov},
    {"RPCMOV", "32", Pipe::Alu, kFixed, bind_rpcmov},
    {"SEL", "64", Pipe::Alu, kFixed, bind_sel},
    {"PRMT", "F4E B4E RC8 ECL ECR RC16", Pipe::Alu, kFixed, bind_prmt},
    {"POPC", "", Pipe::Xu, Latency::Variable, bind_popc},
    {"FLO", "U32 SH", Pipe::Xu, Latency::Variable, bind_flo},
    {"BREV", "", Pipe::Xu, Latency::Variable, bind_brev},
    {"SGXT", "U32 W", Pipe::Alu, kFixed, bind_sgxt},
    {"BMSK", "W", Pipe::Alu, kFixed, bind_bmsk},
    {"ISETP", "LT EQ LE GT NE GE F T U32 U64 S64 AND OR XOR EX", Pipe::Alu, kFixed, bind_isetp},
    {"IMNMX", "U32 S64 U64", Pipe::Alu, kFixed, bind_imnmx},
    {"VIMNMX", "S32 U32 S16x2 U16x2 S8x4 U8x4 RELU", Pipe::Alu, kFixed, bind_imnmx},
    {"VIMNMX3", "S32 U32 S16x2 U16x2 RELU", Pipe::Alu, kFixed, bind_vimnmx3},
    {"VIADDMNMX", "S32 U32 S16x2 U16x2 RELU", Pipe::Alu, kFixed, bind_viaddmnmx},
    {"IABS", "", Pipe::Alu, kFixed, bind_iabs},
    {"IDP", "4A 2A LO HI U8 S8 U16 S16", Pipe::FmaHeavy, kFixed, bind_idp},
    {"VABSDIFF", "U32", Pipe::Alu, kFixed, bind_vabsdiff},
    {"VABSDIFF4", "U8 ACC", Pipe::Alu, kFixed, bind_vabsdiff4},
};

}  // namespace

const Family& integer_family() {
  static constexpr Family family{"integer", kOps};
  return family;
}

}  // namespace warpath
