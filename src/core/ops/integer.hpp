// Bind functions of the integer ops; the uniform datapath reuses them with UR and UP operands.
#pragma once

#include "ops/decl.hpp"

namespace warpath {

// integer_add.cpp
std::string bind_iadd3(const InstrText& text, Instr& out);
std::string bind_iadd(const InstrText& text, Instr& out);
std::string bind_lea(const InstrText& text, Instr& out);
// integer_multiply.cpp
std::string bind_imad(const InstrText& text, Instr& out);
std::string bind_idp(const InstrText& text, Instr& out);
// integer_logic.cpp
std::string bind_lop3(const InstrText& text, Instr& out);
std::string bind_shf(const InstrText& text, Instr& out);
std::string bind_mov(const InstrText& text, Instr& out);
std::string bind_rpcmov(const InstrText& text, Instr& out);
std::string bind_sel(const InstrText& text, Instr& out);
// integer_bits.cpp
std::string bind_prmt(const InstrText& text, Instr& out);
std::string bind_popc(const InstrText& text, Instr& out);
std::string bind_flo(const InstrText& text, Instr& out);
std::string bind_brev(const InstrText& text, Instr& out);
std::string bind_sgxt(const InstrText& text, Instr& out);
std::string bind_bmsk(const InstrText& text, Instr& out);
// integer_compare.cpp
std::string bind_isetp(const InstrText& text, Instr& out);
std::string bind_imnmx(const InstrText& text, Instr& out);
std::string bind_vimnmx3(const InstrText& text, Instr& out);
std::string bind_viaddmnmx(const InstrText& text, Instr& out);
std::string bind_iabs(const InstrText& text, Instr& out);
// integer_simd.cpp
std::string bind_viadd(const InstrText& text, Instr& out);
std::string bind_vabsdiff(const InstrText& text, Instr& out);
std::string bind_vabsdiff4(const InstrText& text, Instr& out);

}  // namespace warpath
