// Logic, funnel shifts, moves and selections: LOP3, SHF, MOV, SEL.
#include <array>
#include <utility>

#include "ops/integer.hpp"
#include "ops/lanes.hpp"

namespace warpath {
namespace {

u32 pass(u32 a) { return a; }

// Any function of three bits as a tree of selections on a, b, c; folds to one or two operations when Lut is
// known.
inline u32 lut_tree(u32 lut, u32 a, u32 b, u32 c) {
  const auto entry = [lut](u32 index) { return 0u - ((lut >> index) & 1); };
  const auto on_c = [&](u32 index) { return (c & entry(index + 1)) | (~c & entry(index)); };
  const u32 with_b[2] = {(b & on_c(2)) | (~b & on_c(0)), (b & on_c(6)) | (~b & on_c(4))};
  return (a & with_b[1]) | (~a & with_b[0]);
}

template <u32 Lut>
u32 lop3(u32 a, u32 b, u32 c) {
  return lut_tree(Lut, a, b, c);
}

void exec_lop3_any(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const u32 lut = in.flags & 0xff;
  each_lane(warp, in.operands[0], mask, [=](int i) { return lut_tree(lut, a[i], b[i], c[i]); });
}

constexpr u32 kJoinAnd = 0x100;  // flag: .PAND, else the predicate is OR-ed

// Writes a LOP3's word (register operand 1) and its predicate: (value != 0) OR p, or AND p.
void store_lop3(Warp& warp, const Instr& in, const Row& value, u32 mask) {
  const u32 nonzero = lanes_where([&](int i) { return value.v[i] != 0; });
  const u32 other = pred_mask(warp, slot(in, kPredIn));
  if (in.operands[1].reg != kRZ) store32(warp, in.operands[1], value.v, mask);
  write_pred(warp, slot(in, kPredOut), in.flags & kJoinAnd ? nonzero & other : nonzero | other, mask);
}

void exec_lop3_pred_any(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc, value;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  const u32 lut = in.flags & 0xff;
  for (int i = 0; i < kLanes; ++i) value.v[i] = lut_tree(lut, a[i], b[i], c[i]);
  store_lop3(warp, in, value, mask);
}

template <u32 Lut>
void exec_lop3_pred(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb, sc, value;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32* c = int32(warp, slot(in, kC), sc);
  for (int i = 0; i < kLanes; ++i) value.v[i] = lut_tree(Lut, a[i], b[i], c[i]);
  store_lop3(warp, in, value, mask);
}

// The tables that compilers emit most are compiled in; others go through the general tree.
template <u32... Luts>
ExecFn pick_common(u32 lut, bool with_pred, std::integer_sequence<u32, Luts...>) {
  ExecFn found = with_pred ? exec_lop3_pred_any : exec_lop3_any;
  ((lut == Luts ? (found = with_pred ? exec_lop3_pred<Luts> : exec_int3<lop3<Luts>>) : found), ...);
  return found;
}

using CommonLuts =
    std::integer_sequence<u32, 0xc0, 0xfc, 0x3c, 0x30, 0x0c, 0x3f, 0x33, 0x0f, 0xf3, 0xcf, 0xc3, 0x03, 0x80,
                          0xfe, 0x96, 0xf8, 0xe2, 0xb8, 0xe8, 0xca, 0xac, 0xd8, 0xea, 0xf2, 0x78, 0x6a, 0x48,
                          0x40, 0x20, 0x08, 0x5a, 0xa0, 0x50, 0x0a, 0xfa, 0x88, 0xee>;

// SHF flags.
constexpr u32 kRight = 1, kHigh = 2, kWrap = 4, kWide = 8, kArithmetic = 16;

// {c, a} shifted by b; the count clamps to the type's width or wraps.
inline u32 funnel(u32 flags, u32 a, u32 b, u32 c) {
  const u32 width = flags & kWide ? 64 : 32;
  const u32 count = flags & kWrap ? b & (width - 1) : (b < width ? b : width);
  const u64 joined = (static_cast<u64>(c) << 32) | a;
  u64 shifted = 0;
  if (!(flags & kRight)) {
    shifted = count > 63 ? 0 : joined << (count & 63);
  } else if (flags & kArithmetic) {
    shifted = static_cast<u64>(static_cast<i64>(joined) >> (count > 63 ? 63 : count));
  } else {
    shifted = count > 63 ? 0 : joined >> (count & 63);
  }
  return static_cast<u32>(flags & kHigh ? shifted >> 32 : shifted);
}

template <u32 Flags>
u32 funnel_op(u32 a, u32 b, u32 c) {
  return funnel(Flags, a, b, c);
}

// The forms where one word is enough, with 32-bit lanes.
u32 left_low(u32 a, u32 b, u32) { return b > 31 ? 0 : a << (b & 31); }
u32 left_low_wrap(u32 a, u32 b, u32) { return a << (b & 31); }
u32 right_high(u32, u32 b, u32 c) { return b > 31 ? 0 : c >> (b & 31); }
u32 right_high_wrap(u32, u32 b, u32 c) { return c >> (b & 31); }
u32 right_high_signed(u32, u32 b, u32 c) {
  return static_cast<u32>(static_cast<i32>(c) >> (b > 31 ? 31 : b));
}

template <u32... Flags>
ExecFn pick_funnel(u32 flags, std::integer_sequence<u32, Flags...>) {
  static constexpr std::array<ExecFn, sizeof...(Flags)> table = {exec_int3<funnel_op<Flags>>...};
  return table[flags];
}

void exec_mov64(Warp& warp, const Instr& in, u32 mask) {
  Row low, high;
  const WordPair a = words64(warp, slot(in, kA), low, high);
  PairWriter out(warp, in.operands[0], mask);
  // The pairs may overlap: both words are read before either is written.
  for (int i = 0; i < kLanes; ++i) {
    const u32 low_word = a.low[i], high_word = a.high[i];
    out.low[i] = low_word;
    out.high[i] = high_word;
  }
  out.store();
}

// Word of Rpc that a text names, or -1.
int rpc_word(const std::string& text) { return text == "Rpc.LO" ? 0 : text == "Rpc.HI" ? 1 : -1; }

void exec_from_rpc(Warp& warp, const Instr& in, u32 mask) {
  const u32* word = warp.rpc[in.flags].v;
  each_lane(warp, in.operands[0], mask, [=](int i) { return word[i]; });
}

void exec_to_rpc(Warp& warp, const Instr& in, u32 mask) {
  Row scratch;
  const u32* value = int32(warp, in.operands[1], scratch);
  u32* word = warp.rpc[in.flags].v;
  for_lanes(mask, [=](u32 i) { word[i] = value[i]; });
}

void exec_sel(Warp& warp, const Instr& in, u32 mask) {
  Row sa, sb;
  const u32* a = int32(warp, slot(in, kA), sa);
  const u32* b = int32(warp, slot(in, kB), sb);
  const u32 take_a = pred_mask(warp, slot(in, kPredIn));
  each_lane(warp, in.operands[0], mask, [=](int i) { return (take_a >> i) & 1 ? a[i] : b[i]; });
}

void exec_sel64(Warp& warp, const Instr& in, u32 mask) {
  Row64 a, b;
  int64(warp, slot(in, kA), a);
  int64(warp, slot(in, kB), b);
  const u32 take_a = pred_mask(warp, slot(in, kPredIn));
  each_lane64(warp, in.operands[0], mask, [&](int i) { return (take_a >> i) & 1 ? a.v[i] : b.v[i]; });
}

}  // namespace

std::string bind_lop3(const InstrText& text, Instr& out) {
  const int form = match_slots(text, out, {"dabcip", "odabcip"});
  if (form < 0) return refuse_operands(text);
  const u32 lut = static_cast<u32>(slot(out, kImm).value) & 0xff;
  out.flags = lut | (text.has("PAND") ? kJoinAnd : 0);
  out.exec = pick_common(lut, form == 1, CommonLuts{});
  return "";
}

std::string bind_shf(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabc"}) < 0) return refuse_operands(text);
  const int type = choose(text, {"U32", "S32", "U64", "S64"}, -1);
  if (type < 0 || text.has("L") == text.has("R")) return refuse_modifiers(text);
  const bool right = text.has("R");
  const bool high = text.has("HI");
  const bool wrap = text.has("W");
  const bool wide = type >= 2;
  const bool arithmetic = type == 1 || type == 3;
  if (!wide && !right && !high) {
    out.exec = wrap ? exec_int3<left_low_wrap> : exec_int3<left_low>;
  } else if (!wide && right && high && !arithmetic) {
    out.exec = wrap ? exec_int3<right_high_wrap> : exec_int3<right_high>;
  } else if (!wide && right && high && !wrap) {
    out.exec = exec_int3<right_high_signed>;
  } else {
    const u32 flags = (right ? kRight : 0) | (high ? kHigh : 0) | (wrap ? kWrap : 0) | (wide ? kWide : 0) |
                      (arithmetic ? kArithmetic : 0);
    out.exec = pick_funnel(flags, std::make_integer_sequence<u32, 32>{});
  }
  return "";
}

std::string bind_mov(const InstrText& text, Instr& out) {
  // Older generations print a trailing lane-byte mask; only the full one is a plain move.
  const int form = match_slots(text, out, {"da", "dai"});
  if (form < 0 || (form == 1 && slot(out, kImm).value != 0xf)) return refuse_operands(text);
  out.exec = text.has("64") ? exec_mov64 : exec_int1<pass>;
  return "";
}

std::string bind_rpcmov(const InstrText& text, Instr& out) {
  if (text.operands.size() != 2 || !text.has("32")) return refuse_operands(text);
  const int to = rpc_word(text.operand_texts[0]);
  const int from = rpc_word(text.operand_texts[1]);
  const Operand& other = text.operands[to >= 0 ? 1 : 0];
  if ((to < 0) == (from < 0) || other.kind != OperandKind::Reg) return refuse_operands(text);
  out.flags = static_cast<u32>(to >= 0 ? to : from);
  out.exec = to >= 0 ? exec_to_rpc : exec_from_rpc;
  return "";
}

std::string bind_sel(const InstrText& text, Instr& out) {
  if (match_slots(text, out, {"dabp"}) < 0) return refuse_operands(text);
  out.exec = text.has("64") ? exec_sel64 : exec_sel;
  return "";
}

}  // namespace warpath
