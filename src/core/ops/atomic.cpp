// Atomic operations on global, generic and shared memory, with and without a returned value. The lanes of a
// warp act one after the other, lowest first.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "exec/access.hpp"
#include "exec/operand.hpp"
#include "exec/run.hpp"
#include "ops/bind.hpp"
#include "ops/families.hpp"
#include "ops/half.hpp"
#include "ops/rounding.hpp"
#include "sm/grid.hpp"

namespace warpath {
namespace {

// ---- what each operation does to the old value: `a` is the operand, `b` the second one of CAS ----

template <class T>
struct Add {
  using Word = T;
  static T apply(T old, T a, T) { return old + a; }
};
template <class T, class Signed>
struct Min {
  using Word = T;
  static T apply(T old, T a, T) { return static_cast<Signed>(a) < static_cast<Signed>(old) ? a : old; }
};
template <class T, class Signed>
struct Max {
  using Word = T;
  static T apply(T old, T a, T) { return static_cast<Signed>(a) > static_cast<Signed>(old) ? a : old; }
};
template <class T>
struct And {
  using Word = T;
  static T apply(T old, T a, T) { return old & a; }
};
template <class T>
struct Or {
  using Word = T;
  static T apply(T old, T a, T) { return old | a; }
};
template <class T>
struct Xor {
  using Word = T;
  static T apply(T old, T a, T) { return old ^ a; }
};
template <class T>
struct Exchange {
  using Word = T;
  static T apply(T, T a, T) { return a; }
};
template <class T>
struct CompareSwap {
  using Word = T;
  static T apply(T old, T a, T b) { return old == a ? b : old; }
};
struct Increment {
  using Word = u32;
  static u32 apply(u32 old, u32 a, u32) { return old >= a ? 0 : old + 1; }
};
struct Decrement {
  using Word = u32;
  static u32 apply(u32 old, u32 a, u32) { return old == 0 || old > a ? a : old - 1; }
};
struct CountOne {  // POPC.INC
  using Word = u32;
  static u32 apply(u32 old, u32, u32) { return old + 1; }
};

// ARRIVE: one arrival at an mbarrier, the 64-bit word that ptxas lays out for sm_80 to sm_89. Code around the
// instruction starts the word with plain stores and reads the phase with plain loads:
//   bit 63      the phase;
//   bits 62:32  the arrivals still missing, negated: the last one carries into the phase;
//   bits 30:0   2^30 less the arrivals of a whole phase: with another 2^30, bits 62:32 of the next phase.
// The arrival that ends a phase starts the next one. Inferred from ptxas 13 output, not measured.
struct Arrive {
  using Word = u64;
  static u64 apply(u64 old, u64, u64) {
    const u32 expected = static_cast<u32>(old);
    u32 state = static_cast<u32>(old >> 32) + 1;
    if ((state & 0x7fffffffu) == 0) state |= (expected + 0x40000000u) & 0x7fffffffu;
    return static_cast<u64>(state) << 32 | expected;
  }
};

template <bool kFlush>
struct AddFloat {
  using Word = u32;
  static u32 flush(u32 bits) { return kFlush && (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits; }
  static u32 apply(u32 old, u32 a, u32) {
    const u32 left = flush(old), right = flush(a);
    const float sum = std::bit_cast<float>(left) + std::bit_cast<float>(right);
    return std::isnan(sum) ? 0x7fffffffu : flush(std::bit_cast<u32>(sum));
  }
};
// A NaN comes out as it went in, not quieted; the operand's wins over memory's (measured on the H200).
struct AddDouble {
  using Word = u64;
  static u64 apply(u64 old, u64 a, u64) {
    const double x = std::bit_cast<double>(old), y = std::bit_cast<double>(a);
    if (std::isnan(y)) return a;
    if (std::isnan(x)) return old;
    const double sum = x + y;
    return std::isnan(sum) ? 0xfff8000000000000ull : std::bit_cast<u64>(sum);
  }
};
// Two packed halves, each added in binary32 and rounded once more: right for a sum, since 24 >= 2 * 11 + 2
// bits.
template <u32 (*kWiden)(u32), u32 (*kNarrow)(u32)>
struct AddHalves {
  using Word = u32;
  static u32 add(u32 a, u32 b) { return kNarrow(as_bits(as_float(kWiden(a)) + as_float(kWiden(b)))); }
  static u32 apply(u32 old, u32 a, u32) {
    return add(old & 0xffff, a & 0xffff) | add(old >> 16, a >> 16) << 16;
  }
};
using AddHalf2 = AddHalves<half_to_float, float_to_half>;
using AddBfloat2 = AddHalves<bfloat_to_float, float_to_bfloat>;

struct Word128 {
  u64 lo, hi;
  bool operator==(const Word128&) const = default;
};

// An operation on 32-bit parts applied to each part of a wider word.
template <class Part, class Wide>
struct Vector {
  using Word = Wide;
  static Wide apply(Wide old, Wide a, Wide) {
    std::array<u32, sizeof(Wide) / 4> left = std::bit_cast<decltype(left)>(old),
                                      right = std::bit_cast<decltype(right)>(a);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = Part::apply(left[i], right[i], 0);
    return std::bit_cast<Wide>(left);
  }
};

// ---- operands ----

template <class T>
struct LaneValues {
  alignas(64) T v[kLanes];
};

void read_lanes(const Warp& warp, const Operand& op, LaneValues<u32>& out) {
  Row scratch;
  std::memcpy(out.v, raw32(warp, op, scratch), sizeof out.v);
}
void read_lanes(const Warp& warp, const Operand& op, LaneValues<u64>& out) {
  Row64 wide;
  raw64(warp, op, wide);
  std::memcpy(out.v, wide.v, sizeof out.v);
}
void read_lanes(const Warp& warp, const Operand& op, LaneValues<Word128>& out) {
  const u32* rows[4];
  for (u32 word = 0; word < 4; ++word) {
    rows[word] = warp.read_row(op.reg == kRZ ? kRZ : static_cast<u16>(op.reg + word));
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    out.v[lane] = {static_cast<u64>(rows[1][lane]) << 32 | rows[0][lane],
                   static_cast<u64>(rows[3][lane]) << 32 | rows[2][lane]};
  }
}

void write_lanes(Warp& warp, u16 reg, const LaneValues<u32>& values, u32 mask) {
  write32(warp, reg, values.v, mask);
}
void write_lanes(Warp& warp, u16 reg, const LaneValues<u64>& values, u32 mask) {
  Row64 wide;
  std::memcpy(wide.v, values.v, sizeof wide.v);
  write64(warp, reg, wide, mask);
}
void write_lanes(Warp& warp, u16 reg, const LaneValues<Word128>& values, u32 mask) {
  if (reg == kRZ) return;
  for_lanes(mask, [&](u32 lane) {
    const u64 halves[2] = {values.v[lane].lo, values.v[lane].hi};
    for (u32 word = 0; word < 4; ++word) {
      warp.write_row(static_cast<u16>(reg + word))[lane] =
          static_cast<u32>(halves[word / 2] >> (word % 2 * 32));
    }
  });
}

// Where the parts of an atomic instruction stand among its operands; -1 = absent.
struct Layout {
  i8 address;
  i8 predicate = -1;
  i8 result = -1;
};
constexpr Layout kReduce{0};
constexpr Layout kGlobal{2, 0, 1};
constexpr Layout kShared{1, -1, 0};

// One lane's read-modify-write. Only reductions on integers run beside other host threads.
template <class Op>
typename Op::Word modify(typename Op::Word* place, typename Op::Word a, typename Op::Word b, bool alone) {
  using Word = typename Op::Word;
  Word old;
  if constexpr (sizeof(Word) <= 8) {
    if (!alone) {
      old = __atomic_load_n(place, __ATOMIC_RELAXED);
      while (!__atomic_compare_exchange_n(place, &old, Op::apply(old, a, b), true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED)) {
      }
      return old;
    }
  }
  std::memcpy(&old, place, sizeof old);
  const Word fresh = Op::apply(old, a, b);
  std::memcpy(place, &fresh, sizeof fresh);
  return old;
}

template <class Op, class Offset>
void modify_lanes(u8* base, const Offset* offset, u32 mask, const LaneValues<typename Op::Word>& a,
                  const LaneValues<typename Op::Word>& b, LaneValues<typename Op::Word>& old, bool alone) {
  using Word = typename Op::Word;
  for_lanes(mask, [&](u32 lane) {
    old.v[lane] = modify<Op>(reinterpret_cast<Word*>(base + offset[lane]), a.v[lane], b.v[lane], alone);
  });
}

template <class Op>
inline constexpr bool kSwaps = false;
template <class T>
inline constexpr bool kSwaps<CompareSwap<T>> = sizeof(T) <= 8;
template <class T>
inline constexpr bool kSwaps<Exchange<T>> = sizeof(T) <= 8;

// Notes which lanes stored: all that exchange, and those whose comparison held.
template <class Op, class Address>
void note_swaps(Warp& warp, const Instr& in, u32 mask, u64 home, const Address& address,
                const LaneValues<typename Op::Word>& a, const LaneValues<typename Op::Word>& b,
                const LaneValues<typename Op::Word>& old) {
  constexpr bool kCompares = std::is_same_v<Op, CompareSwap<typename Op::Word>>;
  for_lanes(mask, [&](u32 lane) {
    if (kCompares && old.v[lane] != a.v[lane]) return;
    const u64 value = kCompares ? b.v[lane] : a.v[lane];
    warp.worker->swaps.note({address.v[lane], home, value, warp.cta->index, warp.id, lane, in.index});
  });
}

template <class Op>
void modify_global(Warp& warp, const Instr& in, u32 mask, Row64& address,
                   const LaneValues<typename Op::Word>& a, const LaneValues<typename Op::Word>& b,
                   LaneValues<typename Op::Word>& old) {
  constexpr u32 kBytes = sizeof(typename Op::Word);
  Worker& worker = *warp.worker;
  if (worker.observe) observe_wide(worker, in, Space::Global, mask, kBytes, AccessKind::Atomic, address);
  [[maybe_unused]] const Row64 named = address;
  u8* base = translate(warp, in, mask, kBytes, AccessKind::Atomic, address);
  modify_lanes<Op>(base, address.v, mask, a, b, old, worker.alone);
  if constexpr (kSwaps<Op>) note_swaps<Op>(warp, in, mask, Swap::kGlobal, named, a, b, old);
}

template <class Op>
void modify_shared(Warp& warp, const Instr& in, u32 mask, const Row& offset,
                   const LaneValues<typename Op::Word>& a, const LaneValues<typename Op::Word>& b,
                   LaneValues<typename Op::Word>& old) {
  constexpr u32 kBytes = sizeof(typename Op::Word);
  Worker& worker = *warp.worker;
  if (worker.observe) observe_narrow(worker, in, Space::Shared, mask, kBytes, AccessKind::Atomic, offset);
  check_shared(warp, in, mask, kBytes, AccessKind::Atomic, offset);
  modify_lanes<Op>(warp.cta->shared.data(), offset.v, mask, a, b, old, true);
  if constexpr (kSwaps<Op>) note_swaps<Op>(warp, in, mask, warp.cta->index, offset, a, b, old);
}

// Local memory through a generic address: the H200 takes it, and no other thread can see it. Words lie lane
// beside lane, so a wide value is put together first.
template <class Op>
void modify_local(Warp& warp, const Instr& in, u32 mask, Row& offset, const LaneValues<typename Op::Word>& a,
                  const LaneValues<typename Op::Word>& b, LaneValues<typename Op::Word>& old) {
  using Word = typename Op::Word;
  constexpr u32 kBytes = sizeof(Word), kPiece = kBytes < 4 ? kBytes : 4;
  Worker& worker = *warp.worker;
  if (worker.observe) observe_narrow(worker, in, Space::Local, mask, kBytes, AccessKind::Atomic, offset);
  check_local(warp, in, mask, kBytes, AccessKind::Atomic, offset);
  for_lanes(mask, [&](u32 lane) {
    Word value;
    u8* const bytes = reinterpret_cast<u8*>(&value);
    auto place = [&](u32 at) {
      const u32 own = offset.v[lane] + at;
      return warp.local + (own / 4 * kLanes + lane) * 4 + own % 4;
    };
    for (u32 at = 0; at < kBytes; at += kPiece) std::memcpy(bytes + at, place(at), kPiece);
    old.v[lane] = modify<Op>(&value, a.v[lane], b.v[lane], true);
    for (u32 at = 0; at < kBytes; at += kPiece) std::memcpy(place(at), bytes + at, kPiece);
  });
}

template <class Op>
void read_sources(const Warp& warp, const Instr& in, const Layout& at, LaneValues<typename Op::Word>& a,
                  LaneValues<typename Op::Word>& b) {
  const int first = at.address + 1;
  if (in.operand_count > first) read_lanes(warp, in.operands[first], a);
  if (in.operand_count > first + 1) read_lanes(warp, in.operands[first + 1], b);
}

template <class Op, const Layout& kAt>
void exec_global(Warp& warp, const Instr& in, u32 mask) {
  LaneValues<typename Op::Word> a, b, old;
  read_sources<Op>(warp, in, kAt, a, b);
  Row64 address;
  wide_addresses(warp, in, in.operands[kAt.address], mask, address);
  modify_global<Op>(warp, in, mask, address, a, b, old);
  if constexpr (kAt.result >= 0) {
    write_lanes(warp, in.operands[kAt.result].reg, old, mask);
    write_pred(warp, in.operands[kAt.predicate], mask, mask);
    if (in.flags & kPolls) charge_poll(*warp.worker);
  }
}

// The address may be shared: floats are not added there (the predicate then says no, and the code falls
// back).
constexpr u32 kGlobalOnly = 1u << 4;

template <class Op>
void exec_generic(Warp& warp, const Instr& in, u32 mask) {
  LaneValues<typename Op::Word> a, b, old;
  read_sources<Op>(warp, in, kGlobal, a, b);
  Row64 address;
  wide_addresses(warp, in, in.operands[kGlobal.address], mask, address);
  const Windows windows = split_windows(warp, mask, address);
  if (windows.local != 0) {
    Row offset;
    window_offsets(address, warp.worker->grid->spec().local_window, windows.local, offset);
    modify_local<Op>(warp, in, windows.local, offset, a, b, old);
  }
  const u32 global = mask & ~(windows.shared | windows.local);
  const bool shared_too = (in.flags & kGlobalOnly) == 0;
  if (windows.shared != 0 && shared_too) {
    Row offset;
    window_offsets(address, warp.worker->grid->spec().shared_window, windows.shared, offset);
    modify_shared<Op>(warp, in, windows.shared, offset, a, b, old);
  }
  if (global != 0) {
    keep_lanes(global, address);
    modify_global<Op>(warp, in, global, address, a, b, old);
  }
  const u32 done = shared_too ? mask : mask & ~windows.shared;
  write_lanes(warp, in.operands[kGlobal.result].reg, old, done);
  write_pred(warp, in.operands[kGlobal.predicate], done, mask);
  if (in.flags & kPolls) charge_poll(*warp.worker);
}

template <class Op>
void exec_shared(Warp& warp, const Instr& in, u32 mask) {
  LaneValues<typename Op::Word> a, b, old;
  read_sources<Op>(warp, in, kShared, a, b);
  Row offset;
  narrow_addresses(warp, in.operands[kShared.address], mask, offset);
  modify_shared<Op>(warp, in, mask, offset, a, b, old);
  write_lanes(warp, in.operands[kShared.result].reg, old, mask);
}

// ATOMS.CAST: compare and swap that answers whether it swapped: 1 or 0 in a register, or a predicate (sm_100
// on).
template <class Word>
void exec_cast(Warp& warp, const Instr& in, u32 mask) {
  LaneValues<Word> a, b, old;
  read_sources<CompareSwap<Word>>(warp, in, kShared, a, b);
  Row offset;
  narrow_addresses(warp, in.operands[kShared.address], mask, offset);
  modify_shared<CompareSwap<Word>>(warp, in, mask, offset, a, b, old);
  u32 swapped = 0;
  for_lanes(mask, [&](u32 lane) { swapped |= old.v[lane] == a.v[lane] ? 1u << lane : 0u; });
  const Operand& result = in.operands[kShared.result];
  if (result.kind == OperandKind::Pred) {
    write_pred(warp, result, swapped, mask);
    return;
  }
  for_lanes(mask, [&](u32 lane) { old.v[lane] = (swapped >> lane) & 1; });
  write_lanes(warp, result.reg, old, mask);
}

// ATOM.CAST.SPIN: the same for a generic address that has been found to be shared.
template <class Word>
void exec_generic_cast(Warp& warp, const Instr& in, u32 mask) {
  exec_generic<CompareSwap<Word>>(warp, in, mask);
  LaneValues<Word> expected, old;
  read_lanes(warp, in.operands[3], expected);
  read_lanes(warp, in.operands[1], old);
  for_lanes(mask, [&](u32 lane) { old.v[lane] = old.v[lane] == expected.v[lane]; });
  write_lanes(warp, in.operands[1].reg, old, mask);
}

// ---- bind ----

enum class Place : u8 { Reduce, Global, Generic, Shared };

template <class Op>
ExecFn at_place(Place place) {
  switch (place) {
    case Place::Reduce:
      return exec_global<Op, kReduce>;
    case Place::Global:
      return exec_global<Op, kGlobal>;
    case Place::Generic:
      return exec_generic<Op>;
    case Place::Shared:
      if constexpr (sizeof(typename Op::Word) <= 8) return exec_shared<Op>;
  }
  return nullptr;
}

template <class T, class Signed>
ExecFn pick_integer(const InstrText& text, Place place, bool is_signed) {
  if (text.has("ADD")) return at_place<Add<T>>(place);
  if (text.has("MIN")) return is_signed ? at_place<Min<T, Signed>>(place) : at_place<Min<T, T>>(place);
  if (text.has("MAX")) return is_signed ? at_place<Max<T, Signed>>(place) : at_place<Max<T, T>>(place);
  if (text.has("AND")) return at_place<And<T>>(place);
  if (text.has("OR")) return at_place<Or<T>>(place);
  if (text.has("XOR")) return at_place<Xor<T>>(place);
  if (text.has("EXCH")) return at_place<Exchange<T>>(place);
  if (text.has("CAS")) return at_place<CompareSwap<T>>(place);
  return nullptr;
}

// F32x4, BF16x8 and the like: elements of one register each, or two packed halves each.
std::string_view vector_suffix(const InstrText& text) {
  for (std::string_view name : {"F32x2", "F32x4", "F16x4", "F16x8", "BF16x4", "BF16x8"}) {
    if (text.has(name)) return name;
  }
  return "";
}

template <class Part>
ExecFn pick_width(Place place, bool wide) {
  return wide ? at_place<Vector<Part, Word128>>(place) : at_place<Vector<Part, u64>>(place);
}

ExecFn pick_vector(const InstrText& text, Place place) {
  const std::string_view name = vector_suffix(text);
  if (name == "F32x2" || name == "F32x4") {
    return text.has("FTZ") ? pick_width<AddFloat<true>>(place, name == "F32x4")
                           : pick_width<AddFloat<false>>(place, name == "F32x4");
  }
  if (name[0] == 'B') return pick_width<AddBfloat2>(place, name == "BF16x8");
  return pick_width<AddHalf2>(place, name == "F16x8");
}

ExecFn pick(const InstrText& text, Place place) {
  const bool add = text.has("ADD");
  if (text.has("F32"))
    return !add              ? nullptr
           : text.has("FTZ") ? at_place<AddFloat<true>>(place)
                             : at_place<AddFloat<false>>(place);
  if (text.has("F64")) return add ? at_place<AddDouble>(place) : nullptr;
  if (text.has("F16x2")) return add ? at_place<AddHalf2>(place) : nullptr;
  if (text.has("BF16x2")) return add ? at_place<AddBfloat2>(place) : nullptr;
  if (!vector_suffix(text).empty()) return add ? pick_vector(text, place) : nullptr;
  if (text.has("POPC")) return text.has("INC") ? at_place<CountOne>(place) : nullptr;
  if (text.has("ARRIVE")) return text.has("64") ? at_place<Arrive>(place) : nullptr;
  if (text.has("INC")) return at_place<Increment>(place);
  if (text.has("DEC")) return at_place<Decrement>(place);
  if (text.has("128")) {
    if (text.has("EXCH")) return at_place<Exchange<Word128>>(place);
    return text.has("CAS") ? at_place<CompareSwap<Word128>>(place) : nullptr;
  }
  if (text.has("64") || text.has("S64")) return pick_integer<u64, i64>(text, place, text.has("S64"));
  return pick_integer<u32, i32>(text, place, text.has("S32"));
}

bool is_source(const Operand& op) { return op.kind == OperandKind::Reg || op.kind == OperandKind::UReg; }

std::string check_sources(const InstrText& text, std::size_t first) {
  const std::size_t needed = text.has("CAS") || text.has("CAST")      ? 2
                             : text.has("POPC") || text.has("ARRIVE") ? 0
                                                                      : 1;
  if (text.operands.size() != first + needed) return "unexpected number of operands";
  for (std::size_t i = first; i < text.operands.size(); ++i) {
    if (!is_source(text.operands[i])) return "operand " + text.operand_texts[i] + " is not a register";
  }
  return "";
}

std::string finish(const InstrText& text, Instr& out, Place place) {
  const bool wide_scope = text.has("GPU") || text.has("SYS");
  out.flags = (text.has("E") ? kWideAddress : 0) | (wide_scope && text.has("CAS") ? kPolls : 0);
  const bool floating = text.has("F32") || text.has("F64") || text.has("F16x2") || text.has("BF16x2");
  if (floating && place == Place::Generic && text.operands[0].reg != kPT) out.flags |= kGlobalOnly;
  out.exec = pick(text, place);
  return out.exec == nullptr ? "this operation and type are not declared together" : "";
}

std::string bind_returning(const InstrText& text, Instr& out) {
  const auto& ops = text.operands;
  if (ops.size() < 4 || ops[0].kind != OperandKind::Pred || ops[1].kind != OperandKind::Reg ||
      ops[2].kind != OperandKind::Mem) {
    return "expected a predicate, a register and an address";
  }
  const std::string error = check_sources(text, 3);
  if (!error.empty()) return error;
  if (text.has("CAST")) {
    if (ops[1].reg == kRZ || ops[1].reg == ops[3].reg) return "the result register is also the comparand";
    out.flags = kWideAddress;
    out.exec = text.has("64") ? exec_generic_cast<u64> : exec_generic_cast<u32>;
    return "";
  }
  return finish(text, out, text.mnemonic == "ATOM" ? Place::Generic : Place::Global);
}

std::string bind_reduction(const InstrText& text, Instr& out) {
  if (text.operands.empty() || text.operands[0].kind != OperandKind::Mem) return "expected an address";
  const std::string error = check_sources(text, 1);
  return error.empty() ? finish(text, out, Place::Reduce) : error;
}

std::string bind_shared(const InstrText& text, Instr& out) {
  const auto& ops = text.operands;
  if (ops.size() < 2 || ops[1].kind != OperandKind::Mem) return "expected a result and an address";
  const bool cast = text.has("CAST");
  if (ops[0].kind != OperandKind::Reg && !(cast && ops[0].kind == OperandKind::Pred))
    return "expected a result register";
  if (text.has("POPC") && ops[0].reg != kRZ) return "the value that POPC.INC returns is not known";
  const std::string error = check_sources(text, 2);
  if (!error.empty()) return error;
  if (!cast) return finish(text, out, Place::Shared);
  out.exec = text.has("64") ? exec_cast<u64> : exec_cast<u32>;
  return "";
}

#define ATOMIC_MODIFIERS                                                                                 \
  "E ADD MIN MAX INC DEC AND OR XOR EXCH 64 128 S32 U32 S64 U64 F32 F64 F16x2 BF16x2 F32x2 F32x4 F16x4 " \
  "F16x8 BF16x4 BF16x8 FTZ RN STRONG SYS GPU SM CTA "                                                    \
  "VC PRIVATE EF EL LU NA"

constexpr std::array kOps = {
    OpDecl{"ATOM", ATOMIC_MODIFIERS " CAS CAST SPIN", Pipe::Lsu, Latency::Variable, bind_returning},
    OpDecl{"ATOMG", ATOMIC_MODIFIERS " CAS", Pipe::Lsu, Latency::Variable, bind_returning},
    OpDecl{"RED", ATOMIC_MODIFIERS, Pipe::Lsu, Latency::Variable, bind_reduction},
    OpDecl{"REDG", ATOMIC_MODIFIERS, Pipe::Lsu, Latency::Variable, bind_reduction},
    OpDecl{"ATOMS", "ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST SPIN POPC ARRIVE 32 64 S32 U32 S64 U64",
           Pipe::Lsu, Latency::Variable, bind_shared},
};

}  // namespace

const Family& atomic_family() {
  static const Family family{"atomic", kOps};
  return family;
}

}  // namespace warpath
