// Bind functions of the conversions, shared with the uniform datapath, and the types they name.
#pragma once

#include "ops/decl.hpp"
#include "ops/rounding.hpp"

namespace warpath {

// convert_float.cpp
std::string bind_f2f(const InstrText& text, Instr& out);
std::string bind_f2fp(const InstrText& text, Instr& out);
std::string bind_frnd(const InstrText& text, Instr& out);
// convert_integer.cpp
std::string bind_f2i(const InstrText& text, Instr& out);
std::string bind_i2f(const InstrText& text, Instr& out);
std::string bind_i2i(const InstrText& text, Instr& out);
std::string bind_i2ip(const InstrText& text, Instr& out);
std::string bind_f2ip(const InstrText& text, Instr& out);

enum class FloatType : u32 { F32, F64, F16, Bf16 };

// The values of a float source, widened to binary64 (exact); `flush` turns binary32 denormals to zeros and
// NaNs to the canonical one first. Other NaNs keep sign and payload and are quiet.
void read_floats(const Warp& warp, const Operand& op, FloatType type, bool flush, Row64& out);

// What becomes of NaN payloads on the way: kept when one side is binary64, else the result is canonical.
enum class Payload { Keep, Drop };

// Stores binary64 results in the destination's type.
void write_floats(Warp& warp, const Operand& dst, FloatType type, const Row64& values, Round mode, bool flush,
                  Payload payload, u32 mask);

// FLOOR, CEIL and TRUNC; without one, nearest even.
Round integer_rounding(const InstrText& text);
// `value` rounded to an integral value.
double round_to_integer(double value, Round mode);

// The float type a modifier names: the last of "F32 F64 F16 BF16", or F32 when there is none.
FloatType source_float_type(const InstrText& text);

}  // namespace warpath
