// Bind functions of the binary32 ops, shared with the uniform datapath, and float comparison.
#pragma once

#include "ops/decl.hpp"
#include "ops/rounding.hpp"

namespace warpath {

std::string bind_fadd(const InstrText& text, Instr& out);
std::string bind_fmul(const InstrText& text, Instr& out);
std::string bind_ffma(const InstrText& text, Instr& out);
std::string bind_packed(const InstrText& text, Instr& out);  // FADD2 FMUL2 FFMA2
// floating_compare.cpp
std::string bind_fsetp(const InstrText& text, Instr& out);
std::string bind_fset(const InstrText& text, Instr& out);
std::string bind_fsel(const InstrText& text, Instr& out);
std::string bind_fmnmx(const InstrText& text, Instr& out);
std::string bind_fmnmx3(const InstrText& text, Instr& out);
std::string bind_fchk(const InstrText& text, Instr& out);

// The fourteen comparisons of FSETP, DSETP and HSETP2: three bits say whether less, equal and greater hold,
// the fourth whether unordered does.
inline constexpr u32 kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;
// The set a modifier names (LT GEU NUM ...), or 0 when there is none.
u32 float_comparison(const InstrText& text);

template <class T>
inline u32 relation(T a, T b) {
  return (a < b ? kLess : 0) | (a == b ? kEqual : 0) | (a > b ? kGreater : 0) |
         ((a != a) | (b != b) ? kUnordered : 0);
}

}  // namespace warpath
